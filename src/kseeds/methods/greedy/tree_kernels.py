"""Gains by a forest over the points: whole leaves learn that a candidate is of no use to them.

The trees are those of `kseeds.nearest.point_tree`, one after the other in the same arrays. A
candidate is dropped at a node whose box is farther from it than any row of the node is from its
nearest seed. Over projections, whose distances never exceed those of the points, the same test
holds; gains are then bounded from above first, so that candidates which cannot win any more are
never compared with whole rows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.pair_kernels import sum_of_squares
from kseeds.methods.greedy.proposal_kernels import draw_candidates, is_outdated
from kseeds.methods.greedy.rule import TIE
from kseeds.nearest.brute_force_kernels import squares
from kseeds.nearest.forest import Forest
from kseeds.nearest.point_tree_kernels import widened
from kseeds.runtime.aligned import aligned
from kseeds.runtime.block_sizes import COLUMNS, LANES
from kseeds.runtime.compiler import inlined, kernel
from kseeds.sampling.sum_tree import Masses
from kseeds.sampling.sum_tree_kernels import refresh_block, sum_block, sum_inner

BOUND, EXACT, TAKE = 0, 1, 2
"""What is done at a leaf: gains are bounded from above or computed, or a candidate is taken."""


class Rows(NamedTuple):
    """The points with what is known of each; ``changed`` marks blocks of 64 to sum again."""

    points: Any
    squared: Any
    labels: Any
    weights: Any
    changed: Any


class Candidates(NamedTuple):
    """Candidates as the forest has them, and whole, and how far to trust distances.

    ``gains[p, q]`` is what part p has found of candidate q.
    """

    projected: Any
    centers: Any
    gains: Any
    relative: float
    absolute: float


class Workspace(NamedTuple):
    """A stack of nodes with the candidates left at each, and what a leaf needs.

    ``effort`` counts the pairs looked at, whole or projected.
    """

    nodes: Any
    alive: Any
    limits: Any
    sums: Any
    weight: Any
    places: Any
    lowered: Any
    drawn: Any
    targets: Any
    totals: Any
    effort: Any


def workspace(trials: int, dtype: Any) -> Workspace:
    """Return what `visit` and `run` need."""
    nodes, alive = np.zeros((2, 256), dtype=np.int64)
    limits, sums = aligned((2, COLUMNS), dtype)
    return Workspace(
        nodes, alive, limits, sums, aligned(COLUMNS, np.float64), aligned(COLUMNS, np.int64),
        aligned((trials, COLUMNS), np.float64), np.empty(trials, dtype=np.int64), np.empty(trials),
        np.empty(trials), np.zeros(1, dtype=np.int64),
    )  # fmt: skip


@inlined
def _alive_at(forest: Forest, node: int, bits: Any, candidates: Candidates) -> Any:
    """Return which of the candidates may be nearer to a row of a node than what it has."""
    limit = widened(forest.largest[node], candidates.relative, candidates.absolute)
    alive, q, left = np.int64(0), 0, bits
    while left != 0:
        if left & 1:
            total = 0.0
            for j in range(forest.lower.shape[1]):
                value = candidates.projected[q, j]
                below, above = forest.lower[node, j] - value, value - forest.upper[node, j]
                apart = np.float64(below if below > above else above)
                total += apart * apart if apart > 0.0 else 0.0
            if total <= limit:
                alive |= np.int64(1) << q
        left >>= 1
        q += 1
    return alive


@inlined
def _load_tile(
    forest: Forest, start: int, rows: Rows, candidates: Candidates, projection: Any,
    space: Workspace,
) -> None:  # fmt: skip
    """Load what the rows of a tile have, as limits of squared distances, and their weights."""
    for c in range(COLUMNS):
        space.limits[c] = forest.kept[start + c]
        space.weight[c] = 1.0
    if rows.weights.shape[0] > 0:
        for c in range(COLUMNS):
            space.weight[c] = rows.weights[forest.order[start + c]]
    if projection is not None:
        for c in range(COLUMNS):
            kept = forest.kept[start + c]
            if kept >= 0.0:
                limit = widened(np.float64(kept), candidates.relative, candidates.absolute)
                space.limits[c] = limit
                space.limits[c] = np.nextafter(space.limits[c], space.limits.dtype.type(np.inf))


@inlined
def _lower(forest: Forest, rows: Rows, start: int, c: int, found: float, number: Any) -> None:
    """Note that a row is ``found`` from the centre of this number, which is nearer."""
    i = forest.order[start + c]
    forest.kept[start + c], rows.squared[i], rows.labels[i] = found, found, number
    rows.changed[i // COLUMNS] = 1


@inlined
def _at_tile(
    forest: Forest, start: int, size: int, q: int, mode: Any, number: Any, rows: Rows,
    candidates: Candidates, projection: Any, space: Workspace,
) -> int:  # fmt: skip
    """Compare a tile with a candidate whose distances to it are in ``sums``; return the pairs."""
    sums, limits, lowered = space.sums, space.limits, space.lowered
    if projection is None:
        if mode != TAKE:
            for c in range(COLUMNS):
                gain = np.float64(limits[c]) - np.float64(sums[c])
                lowered[q, c] += space.weight[c] * (gain if gain > 0.0 else 0.0)
        else:
            for c in range(size):
                if sums[c] < limits[c]:
                    _lower(forest, rows, start, c, sums[c], number)
        return 0  # counted already
    if mode == BOUND:
        for c in range(COLUMNS):
            # No nearer than its projection, less the rounding of that.
            distance = math.sqrt(sums[c]) * (1.0 - candidates.relative) - candidates.absolute
            least = distance * distance if distance > 0.0 else 0.0
            gain = np.float64(forest.kept[start + c]) - least
            lowered[q, c] += space.weight[c] * (gain if gain > 0.0 else 0.0)
        return 0
    count = 0
    for c in range(size):
        space.places[count] = c
        count += sums[c] < limits[c]
    # Reads a value of every cache line of these rows: such reads do not wait for each other.
    touched = rows.points.dtype.type(0.0)
    for at in range(count):
        i = forest.order[start + space.places[at]]
        for j in range(0, rows.points.shape[1], LANES):
            touched += rows.points[i, j]
    sums[0] = touched
    for at in range(count):
        c = space.places[at]
        found = sum_of_squares(rows.points, int(forest.order[start + c]), candidates.centers, q)
        if found < forest.kept[start + c]:
            if mode == TAKE:
                _lower(forest, rows, start, c, found, number)
            else:
                gain = np.float64(forest.kept[start + c]) - np.float64(found)
                lowered[q, c] += space.weight[c] * gain
    return 0 if mode == TAKE else count


@inlined
def _visit_part(
    forest: Forest, part: int, bits: Any, mode: Any, number: Any, rows: Rows,
    candidates: Candidates, projection: Any, space: Workspace,
) -> int:  # fmt: skip
    """Compare the rows of a part with some candidates; return the whole pairs compared.

    Those of the winner have been compared, and counted, before it is taken.
    """
    leaves, d = forest.parts[part + 1] - forest.parts[part], forest.lower.shape[1]
    root, nodes, alive = 2 * forest.parts[part] - part, space.nodes, space.alive
    nodes[0], alive[0], size, pairs = 0, bits, 1, 0
    while size > 0:
        size -= 1
        t = nodes[size]
        if t < 0:  # both children are done
            node = root + ~t
            left, right = forest.largest[node + ~t + 1], forest.largest[node + ~t + 2]
            forest.largest[node] = left if left > right else right
            continue
        node = root + t
        if forest.largest[node] <= 0.0:
            continue
        here = _alive_at(forest, node, alive[size], candidates)
        if here == 0:
            continue
        if t < leaves - 1:
            if mode == TAKE:
                nodes[size] = ~t
                size += 1
            for child in range(2):
                nodes[size], alive[size] = 2 * t + 2 - child, here
                size += 1
            continue
        leaf = forest.parts[part] + t - (leaves - 1)
        end = forest.first[leaf] + forest.counts[leaf]
        for start in range(forest.first[leaf], end, COLUMNS):
            within = COLUMNS if start + COLUMNS < end else end - start
            _load_tile(forest, start, rows, candidates, projection, space)
            q, left = 0, here
            while left != 0:
                if left & 1:
                    space.effort[0] += within
                    if projection is None and mode != TAKE:  # the winner was compared before
                        pairs += within
                    if squares(
                        candidates.projected, q, forest.tiles, start * d, space.limits, space.sums
                    ):
                        pairs += _at_tile(
                            forest, start, within, q, mode, number, rows, candidates, projection,
                            space,
                        )  # fmt: skip
                left >>= 1
                q += 1
        if mode == TAKE:
            most = 0.0
            for s in range(forest.first[leaf], end):
                most = forest.kept[s] if forest.kept[s] > most else most
            forest.largest[node] = most
    return pairs


@kernel
def visit(
    forest: Forest, part: Any, stop: Any, bits: Any, mode: Any, number: Any, rows: Rows,
    candidates: Candidates, projection: Any, space: Workspace,
) -> int:  # fmt: skip
    """Compare the parts ``part`` to ``stop`` with some candidates; return the pairs compared."""
    pairs = 0
    for p in range(part, stop):
        before = space.effort[0]
        pairs += _visit_part(forest, p, bits, mode, number, rows, candidates, projection, space)
        if mode == TAKE:
            continue
        for q in range(space.lowered.shape[0]):
            if bits >> q & 1:
                total = 0.0
                if space.effort[0] > before:
                    for c in range(COLUMNS):
                        total += space.lowered[q, c]
                        space.lowered[q, c] = 0.0
                candidates.gains[p, q] = total
    return pairs


@kernel
def add_parts(gains: Any, totals: Any) -> None:
    """Add up the gains of all parts, in their order, however they were shared out to threads."""
    for q in range(totals.shape[0]):
        totals[q] = 0.0
    for p in range(gains.shape[0]):
        for q in range(totals.shape[0]):
            totals[q] += gains[p, q]


@kernel
def sum_changed(changed: Any, masses: Masses) -> None:
    """Sum the blocks again in which a row has changed."""
    count, leaves = 0, masses.sums.shape[0] // 2
    for block in range(changed.shape[0]):
        count += changed[block]
    is_few = 16 * count < leaves
    for block in range(changed.shape[0]):
        if changed[block]:
            changed[block] = 0
            if is_few:
                refresh_block(masses, block)
            else:
                sum_block(masses, block)
    if not is_few:
        sum_inner(masses.sums)


@kernel
def set_candidates(rows: Rows, drawn: Any, candidates: Candidates, projection: Any) -> int:
    """Write the rows drawn as candidates, each once; return how many there are.

    ``drawn`` keeps the different ones, in the order in which they were drawn.
    """
    count = 0
    for b in range(drawn.shape[0]):
        is_new = True
        for q in range(count):
            is_new = is_new and drawn[q] != drawn[b]
        if not is_new:
            continue
        i = drawn[b]
        drawn[count] = i
        for j in range(rows.points.shape[1]):
            candidates.centers[count, j] = rows.points[i, j]
            if projection is None:
                candidates.projected[count, j] = rows.points[i, j]
        if projection is not None:
            mean, directions = projection
            rest = 0.0
            for j in range(mean.shape[0]):
                value = np.float64(rows.points[i, j]) - mean[j]
                rest += value * value
            for k in range(directions.shape[1]):
                along = 0.0
                for j in range(mean.shape[0]):
                    along += (np.float64(rows.points[i, j]) - mean[j]) * directions[j, k]
                candidates.projected[count, k] = along
                rest -= along * along
            last = directions.shape[1]
            candidates.projected[count, last] = math.sqrt(rest) if rest > 0.0 else 0.0
        count += 1
    return count


@inlined
def winner_of(gains: Any, is_known: Any) -> int:
    """Return which of the candidates whose bits are set wins; see `rule.winner`."""
    most, at = -1.0, 0
    for q in range(gains.shape[0]):
        if is_known >> q & 1 and gains[q] > most:
            most = gains[q]
    for q in range(gains.shape[0] - 1, -1, -1):
        if is_known >> q & 1 and gains[q] >= most * (1.0 - TIE):
            at = q
    return at


@kernel
def run(
    forest: Forest, rows: Rows, masses: Masses, candidates: Candidates, projection: Any,
    frozen: Masses, numbers: Any, taken: Any, least: float, number: Any, most: int, seeds: Any,
    space: Workspace,
) -> Any:  # fmt: skip
    """Take steps while Σ w·α² is at least ``least`` and at most so many pairs were looked at.

    Stops where an epoch or the numbers of proposals end. Returns how many ``seeds`` there are, and
    the pairs compared.
    """
    parts, pairs, done = forest.parts.shape[0] - 1, 0, 0
    gains, drawn = space.totals, space.drawn
    space.effort[0] = 0
    while done < seeds.shape[0] and space.effort[0] <= most and masses.sums[1] >= least:
        if is_outdated(masses.sums[1], frozen.sums[1]):
            break
        if not draw_candidates(frozen, numbers, taken, rows.squared, space.targets, drawn):
            break
        count = set_candidates(rows, drawn, candidates, projection)
        bits, known = (np.int64(1) << count) - 1, np.int64(0)
        # Not the numbers themselves, for each of which `visit` would be compiled.
        exact, taking, none = np.int64(EXACT), np.int64(TAKE), np.int64(0)
        mode = exact if projection is None else np.int64(BOUND)
        pairs += visit(forest, none, parts, bits, mode, none, rows, candidates, projection, space)
        add_parts(candidates.gains, gains)
        if projection is None:
            known = bits
        else:
            best = 0.0
            while True:
                at = -1
                for q in range(count):
                    if not known >> q & 1 and (at < 0 or gains[q] > gains[at]):
                        at = q
                # The bounds are sums of the same length as the gains, and round alike.
                if at < 0 or gains[at] < best * (1.0 - 2.0 * TIE):
                    break
                bit = np.int64(1) << at
                pairs += visit(
                    forest, none, parts, bit, exact, none, rows, candidates, projection, space
                )
                gains[at] = 0.0
                for p in range(parts):
                    gains[at] += candidates.gains[p, at]
                known |= bit
                best = gains[at] if gains[at] > best else best
        at = winner_of(gains, known)
        bit = np.int64(1) << at
        visit(forest, none, parts, bit, taking, number + done, rows, candidates, projection, space)
        sum_changed(rows.changed, masses)
        seeds[done] = drawn[at]
        done += 1
    return done, pairs
