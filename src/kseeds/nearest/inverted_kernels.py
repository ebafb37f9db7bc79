"""Scalar products of sparse rows with centres by column, and the nearest of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.sparse_kernels import dot_with, from_dot
from kseeds.nearest.state import Rows
from kseeds.runtime.block_sizes import LANES
from kseeds.runtime.compiler import inlined, kernel
from kseeds.simd.runs import add_runs, gaps_within, least_gap

_add_runs, _least_gap, _gaps_within = add_runs(), least_gap(), gaps_within()

RUNS_AT_ONCE = 256
"""Runs that are added together."""
_SEVERAL = -2
"""In place of a centre: several could be the nearest, and were compared."""
RUN_SHARE = 16
"""A column in which more than one in so many centres has an entry is a run."""


class Columns(NamedTuple):
    """The entries of centres by column.

    Column j has the slot s = ``slots[j]``, -1 if no centre has an entry there: the owners and
    values from ``starts[s]`` to ``starts[s + 1]``, or, if ``which[s]`` is not -1, that row of
    ``runs``, with a value for each centre. ``rough`` are the runs in the precision of the products.
    """

    slots: Any
    starts: Any
    which: Any
    owners: Any
    values: Any
    runs: Any
    rough: Any


class Space(NamedTuple):
    """A workspace: products with all centres, the runs of a row and their factors, a number.

    Then the centre that each row of a task has been found to be nearest to, the rows by centre and
    where those of each centre begin, and a dense row of zeros.
    """

    dots: Any
    which: Any
    factors: Any
    limit: Any
    chosen: Any
    order: Any
    begins: Any
    dense: Any


@kernel
def fill(centers: Any, columns: Columns, places: Any) -> None:
    """Sort the entries of centres by column; ``places`` is where the next of each slot goes."""
    for c in range(centers.norms.shape[0]):
        for p in range(centers.indptr[c], centers.indptr[c + 1]):
            slot, value = columns.slots[centers.indices[p]], centers.data[p]
            if columns.which[slot] >= 0:
                columns.runs[columns.which[slot], c] = value
                columns.rough[columns.which[slot], c] = value
            else:
                columns.owners[places[slot]], columns.values[places[slot]] = c, value
                places[slot] += 1


@kernel
def compare(
    rows: Rows, centers: Any, columns: Columns, halves: Any, largest: float, first: int,
    family: Any, start: int, stop: int, space: Space,
) -> None:  # fmt: skip
    """Compare rows ``start`` to ``stop`` with all centres, numbered from ``first``.

    |x − c|² = |x|² + 2·(|c|²/2 − x·c), in the precision of ``dots``, errs by less than
    2·(entries + 8)·eps·(|x|² + |c|²). What could be the nearest by that is computed as
    `kseeds.distances.sparse_reference` says: at once if it is several, and centre after centre if
    there is but one. ``halves`` are |c|²/2, infinite past the last.
    """
    points, dots = rows.points, space.dots
    width = dots.shape[0]
    eps = np.float64(np.finfo(dots.dtype).eps)
    for i in range(start, stop):
        space.chosen[i - start] = -1
        for c in range(width):
            dots[c] = 0.0
        count = 0
        for p in range(points.indptr[i], points.indptr[i + 1]):
            slot, value = columns.slots[points.indices[p]], points.data[p]
            if slot < 0:
                continue
            run = columns.which[slot]
            if run >= 0:
                if count == space.which.shape[0]:
                    _add_runs(columns.rough, space.which, space.factors, count, dots)
                    count = 0
                space.which[count], space.factors[count] = run, value
                count += 1
            else:
                for q in range(columns.starts[slot], columns.starts[slot + 1]):
                    dots[columns.owners[q]] += value * columns.values[q]
        if count:
            _add_runs(columns.rough, space.which, space.factors, count, dots)
        norm, least = points.norms[i], np.float64(_least_gap(halves, dots))
        error = 2.0 * (points.indptr[i + 1] - points.indptr[i] + 8) * eps * (norm + largest)
        squared = norm + 2.0 * least
        if family is None and squared - error > 1.001 * rows.squared[i]:
            continue
        # Both the least and another may err; and results are equal if they are rounded so.
        most = least + error + 16.0 * eps * (squared if squared > 0.0 else 0.0)
        space.limit[0] = most
        for group in range(0, width, LANES):
            within = _gaps_within(halves, dots, group, space.limit[0])
            lane = 0
            while within > 0:
                if within & 1:
                    c = group + lane
                    if space.chosen[i - start] == -1:
                        space.chosen[i - start] = c  # for the time being
                    else:
                        _keep_nearer(rows, centers, columns, space, i, start, first, family)
                        dot = _dot(points, i, columns, c)
                        _keep(rows, i, from_dot(dot, points, i, centers, c, family), first + c)
                within >>= 1
                lane += 1
    _compare_chosen(rows, centers, columns, first, family, start, stop, space)


@inlined
def _keep(rows: Rows, i: int, distance: Any, number: int) -> None:
    """Make a centre the nearest of a row if it is nearer."""
    if distance < rows.squared[i]:
        rows.squared[i], rows.labels[i] = distance, number


@inlined
def _keep_nearer(
    rows: Rows, centers: Any, columns: Columns, space: Space, i: int, start: int, first: int,
    family: Any,
) -> None:  # fmt: skip
    """Compare a row with the centre chosen for it, which turns out not to be the only one."""
    c = space.chosen[i - start]
    if c >= 0:
        dot = _dot(rows.points, i, columns, c)
        _keep(rows, i, from_dot(dot, rows.points, i, centers, c, family), first + c)
        space.chosen[i - start] = _SEVERAL


@inlined
def _compare_chosen(
    rows: Rows, centers: Any, columns: Columns, first: int, family: Any, start: int, stop: int,
    space: Space,
) -> None:  # fmt: skip
    """Compare rows with the only centre that can be the nearest, centre after centre.

    The entries of a centre are looked up in a dense row, which is written once for all its rows.
    """
    points, begins, m = rows.points, space.begins, centers.norms.shape[0]
    begins[:] = 0
    for i in range(start, stop):
        if space.chosen[i - start] >= 0:
            begins[space.chosen[i - start] + 1] += 1
    for c in range(m):
        begins[c + 1] += begins[c]
    for i in range(start, stop):
        c = space.chosen[i - start]
        if c >= 0:
            space.order[begins[c]] = i
            begins[c] += 1  # in the end, where the next one's begin
    for c in range(m):
        low, high = begins[c - 1] if c else 0, begins[c]
        if low == high:
            continue
        for p in range(centers.indptr[c], centers.indptr[c + 1]):
            space.dense[centers.indices[p]] = centers.data[p]
        for place in range(low, high):
            i = space.order[place]
            dot = dot_with(points, i, space.dense)
            _keep(rows, i, from_dot(dot, points, i, centers, c, family), first + c)
        for p in range(centers.indptr[c], centers.indptr[c + 1]):
            space.dense[centers.indices[p]] = 0.0


@inlined
def _dot(points: Any, i: int, columns: Columns, c: int) -> float:
    """Return the scalar product of row i and centre c, summed in the order of the columns."""
    dot = 0.0
    for p in range(points.indptr[i], points.indptr[i + 1]):
        slot, value = columns.slots[points.indices[p]], np.float64(points.data[p])
        if slot < 0:
            continue
        run = columns.which[slot]
        if run >= 0:
            dot += value * np.float64(columns.runs[run, c])
        else:
            low, high = columns.starts[slot], columns.starts[slot + 1]
            while low < high:
                middle = (low + high) // 2
                if columns.owners[middle] < c:
                    low = middle + 1
                else:
                    high = middle
            if low < columns.starts[slot + 1] and columns.owners[low] == c:
                dot += value * np.float64(columns.values[low])
    return dot
