"""The compiled squared distance of sparse rows, bit for bit that of `sparse_reference`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.arcs import arc_of
from kseeds.distances.metrics import SAME_DIRECTION
from kseeds.distances.sparse_reference import NEAR
from kseeds.distances.sparse_rows import SparseRows
from kseeds.runtime.aligned import read_only
from kseeds.runtime.compiler import inlined, kernel
from kseeds.runtime.threads import Workers, rows_for

_arc_of = inlined(arc_of)


class SparseArrays(NamedTuple):
    """`SparseRows` as kernels take them.

    Columns are unsigned: else every use of one as an index would look whether it counts from the
    end.
    """

    data: Any
    indices: Any
    indptr: Any
    norms: Any

    @classmethod
    def of(cls, rows: SparseRows) -> SparseArrays:
        """Return the arrays of rows."""
        norms = read_only(rows.norms)
        return cls(rows.data, rows.indices.view(np.uint32), rows.indptr, norms)


@kernel
def write_norms(data: Any, indptr: Any, start: int, stop: int, norms: Any) -> None:
    """Write the squared norms of rows ``start`` to ``stop``, as `SparseRows.norms` are."""
    for i in range(start, stop):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += np.float64(data[p]) * np.float64(data[p])
        norms[i] = total


def find_norms(rows: SparseRows, workers: Workers) -> None:
    """Have the norms of rows known; on threads, and faster than without the compiler."""
    if "norms" in rows.__dict__:
        return
    norms = np.empty(len(rows))

    def task(start: int, stop: int) -> None:
        write_norms(rows.data, rows.indptr, start, stop, norms)

    workers.over_blocks(task, len(rows), rows_for(2.0 * rows.per_row, most=1 << 14))
    norms.flags.writeable = False
    rows.norms = norms


@kernel
def difference(A: Any, i: int, B: Any, j: int, sign: float) -> float:
    """Return |a + sign·b|² of row i of A and row j of B, summed in the order of the columns."""
    p, p_end = A.indptr[i], A.indptr[i + 1]
    q, q_end = B.indptr[j], B.indptr[j + 1]
    total = 0.0
    while p < p_end or q < q_end:
        value = 0.0
        if q == q_end or (p < p_end and A.indices[p] < B.indices[q]):
            value = np.float64(A.data[p])
            p += 1
        elif p == p_end or B.indices[q] < A.indices[p]:
            value = np.float64(B.data[q])
            q += 1
        else:
            value = np.float64(A.data[p]) + sign * np.float64(B.data[q])
            p += 1
            q += 1
        total += value * value
    return total


@inlined
def from_dot(dot: float, A: Any, i: int, B: Any, j: int, family: Any) -> Any:
    """Return the squared distance of row i of A and row j of B, given their scalar product."""
    norms = A.norms[i] + B.norms[j]
    squared = norms - 2.0 * dot
    if squared < NEAR * norms:
        squared = difference(A, i, B, j, -1.0)
    if family is None:
        return A.data.dtype.type(squared)
    eps = SAME_DIRECTION * np.finfo(A.data.dtype).eps
    if squared <= eps * eps:
        return A.data.dtype.type(0.0)
    if squared > 2.0:
        opposite = norms + 2.0 * dot
        if opposite < NEAR * norms:
            opposite = difference(A, i, B, j, 1.0)
        arc = math.pi - _arc_of(opposite)
    else:
        arc = _arc_of(squared)
    return A.data.dtype.type(arc * arc)


@kernel
def squared_distance(A: Any, i: int, B: Any, j: int, family: Any) -> Any:
    """Return the squared distance of row i of A and row j of B."""
    p, p_end = A.indptr[i], A.indptr[i + 1]
    q, q_end = B.indptr[j], B.indptr[j + 1]
    dot = 0.0
    while p < p_end and q < q_end:
        if A.indices[p] < B.indices[q]:
            p += 1
        elif B.indices[q] < A.indices[p]:
            q += 1
        else:
            dot += np.float64(A.data[p]) * np.float64(B.data[q])
            p += 1
            q += 1
    return from_dot(dot, A, i, B, j, family)


@kernel
def dot_with(A: Any, i: int, dense: Any) -> float:
    """Return the scalar product of row i of A and a dense row of float64."""
    dot = 0.0
    for p in range(A.indptr[i], A.indptr[i + 1]):
        dot += np.float64(A.data[p]) * dense[A.indices[p]]
    return dot
