"""Every vector instruction and its twin in NumPy do the same, on random rows.

With ``NUMBA_DISABLE_JIT=1`` the twins take the place of the instructions, so a twin that differs
would have coverage runs and debuggers follow another program. The twins are always called directly
here, beside the instruction compiled into a small kernel, in one process.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from kseeds.inputs.fingerprint import factors_for, fingerprint_of
from kseeds.inputs.fingerprint_kernels import fingerprint_words
from kseeds.runtime.block_sizes import COLUMNS, LANES
from kseeds.runtime.compiler import kernel
from kseeds.runtime.threads import Workers
from kseeds.simd import (
    columns,
    interpreted,
    rows,
    runs,
    tables,
    transposed,
)

TERMS = ("square", "abs", "square_of_sum", "max_abs")
WIDTHS = (1, 2, 3, 8, 15, 16, 17, 31, 32, 33, 40, 64, 100)
LARGE = {np.float32: 3e19, np.float64: 1e160}  # the squares of these overflow

every_width = pytest.mark.parametrize("d", WIDTHS)
both_types = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def compiled(function, arity):
    """Return a kernel that does nothing but call an instruction of so many arguments."""
    names = ", ".join(f"a{n}" for n in range(arity))
    scope = {"function": function}
    exec(f"def call({names}):\n    return function({names})", scope)
    # Not from a file, so there is no place for a cache of it.
    return kernel(scope["call"])


LANE_SUMS = {term: compiled(rows.lane_sum(term), 4) for term in TERMS}
FINGERPRINT_WORDS = compiled(fingerprint_words, 4)
FINGERPRINTED_SUM = compiled(rows.fingerprinted_sum_of_squares(), 7)
WEIGHTED_SUM = compiled(rows.weighted_sum(), 4)
COLUMN_SUMS = {count: compiled(columns.column_sums(count), 6) for count in (LANES, COLUMNS)}
BOX_SUMS = compiled(columns.box_sums(), 9)
COMPARE_PAIR = compiled(columns.compare_pair(), 9)
COMPARE_WITH_GAP = compiled(columns.compare_with_gap(), 8)
TRANSPOSE_BLOCK = compiled(transposed.transpose_block(), 7)
TRANSPOSE_FEW = compiled(transposed.transpose_few(), 4)
KEEP_NEARER = compiled(tables.keep_nearer(), 4)
KEEP_TWO_NEAREST = compiled(tables.keep_two_nearest(), 5)
LARGEST_OF_LESSER = compiled(tables.largest_of_lesser(), 2)
GROUP_MINIMA = compiled(columns.group_minima(), 7)
ADD_RUNS = compiled(runs.add_runs(), 5)
LEAST_GAP = compiled(runs.least_gap(), 2)
GAPS_WITHIN = compiled(runs.gaps_within(), 4)
PREFETCH = compiled(runs.prefetch(), 2)


def values(rng, shape, dtype, kind="random"):
    """Return random values over several orders of magnitude; or from a grid, which gives ties."""
    if kind == "grid":
        return rng.integers(-2, 3, size=shape).astype(dtype)
    return (rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, size=shape)).astype(dtype)


def test_every_twin_is_compared_here_or_beside():
    twins = {
        name
        for name, function in inspect.getmembers(interpreted, inspect.isfunction)
        if function.__module__ == interpreted.__name__ and not name.startswith("_")
    }
    assert twins == {
        "lane_sum", "fingerprint_words", "fingerprinted_sum_of_squares", "weighted_sum",
        "column_sums", "box_sums", "compare_pair", "compare_with_gap", "group_minima",
        "least_products", "products_within", "four_products", "transpose_block", "transpose_few",
        "keep_nearer", "largest_of_lesser", "keep_two_nearest", "row_products", "lowest_bit",
        "nearest_of_groups", "add_runs", "least_gap", "gaps_within", "prefetch", "byte_products",
        "entries_within",
    }  # fmt: skip


@every_width
@both_types
@pytest.mark.parametrize("term", TERMS)
def test_lane_sum(term, dtype, d):
    rng = np.random.default_rng(d)
    A, B = values(rng, (5, d), dtype), values(rng, (4, d), dtype)
    A[4] *= LARGE[dtype]
    twin = interpreted.lane_sum(term)
    for i in range(len(A)):
        for j in range(len(B)):
            found = LANE_SUMS[term](A, i, B, j)
            assert dtype(found) == twin(A, i, B, j)


@every_width
@both_types
def test_fingerprinted_sum_of_squares(dtype, d):
    """Row by row, the sums of squares and the fingerprint of `kseeds.inputs.fingerprint`."""
    rng = np.random.default_rng(d)
    A, B = values(rng, (50, d), dtype), values(rng, (1, d), dtype)
    factors, words = factors_for(A), A.view(np.uint32).shape[1]
    mine, twin = np.zeros((2, LANES * words // d), dtype=np.uint32)
    for i in range(len(A)):
        found = FINGERPRINTED_SUM(A, i, B, 0, factors, i * words, mine)
        assert dtype(found) == LANE_SUMS["square"](A, i, B, 0)
        assert found == interpreted.fingerprinted_sum_of_squares(
            A, i, B, 0, factors, i * words, twin
        )
        assert mine.sum(dtype=np.uint32) == twin.sum(dtype=np.uint32)
    assert [mine.sum(dtype=np.uint32)] == fingerprint_of(A, Workers(1)).tolist()


@every_width
@both_types
def test_fingerprint_words(dtype, d):
    A = values(np.random.default_rng(d), (64, d), dtype)
    words, factors = A.view(np.uint32).reshape(-1), factors_for(A)
    for start, stop in ((0, len(words)), (0, 1), (3, len(words)), (5, 5)):
        mine = FINGERPRINT_WORDS(words, start, max(start, stop), factors)
        assert mine == interpreted.fingerprint_words(words, start, max(start, stop), factors)


@both_types
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("length", [0, 1, 7, 15, 16, 17, 48, 64, 100])
def test_weighted_sum(dtype, weighted, length):
    rng = np.random.default_rng(length)
    q = np.abs(values(rng, 200, dtype))
    w = rng.random(200) * 10.0 ** rng.integers(-8, 8, 200) if weighted else np.empty(0)
    for start in (0, 3):
        found = WEIGHTED_SUM(q, w, start, start + length)
        twin = interpreted.weighted_sum(q, w, start, start + length)
        assert found == twin


@every_width
@both_types
@pytest.mark.parametrize("kind", ["random", "grid"])
@pytest.mark.parametrize("limit", ["none", "some", "all"])
@pytest.mark.parametrize("count", COLUMN_SUMS)
def test_column_sums(dtype, d, kind, limit, count):
    rng = np.random.default_rng(d)
    A, T = values(rng, (3, d), dtype, kind), values(rng, (d, 3 * COLUMNS), dtype, kind)
    for i, first in ((0, 0), (1, COLUMNS), (2, 2 * COLUMNS)):
        whole, limits = np.empty(count, dtype), np.full(count, np.inf, dtype)
        assert interpreted.column_sums(A, i, T, first, limits, whole)
        if limit == "all":
            limits[:] = 0
        elif limit == "some":
            limits[:] = np.where(np.arange(count) == 5, whole * 2 + 1, whole / 2)
        mine, twin = np.empty(count, dtype), np.empty(count, dtype)
        below = COLUMN_SUMS[count](A, i, T, first, limits, mine)
        assert below == interpreted.column_sums(A, i, T, first, limits, twin) == (limit != "all")
        if below:  # else the instruction may have given up, with sums that are not finished
            np.testing.assert_array_equal(mine, twin)
        else:
            assert (mine >= limits).all()
            assert (mine <= twin).all()


def test_column_sums_of_a_later_group_of_rows():
    """``first`` may lead beyond the columns of a row of T: to the group that comes next."""
    rng = np.random.default_rng(0)
    A, T = values(rng, (1, 5), np.float32), values(rng, (15, COLUMNS), np.float32)
    limits = np.full(COLUMNS, np.inf, np.float32)
    mine, twin = np.empty(COLUMNS, np.float32), np.empty(COLUMNS, np.float32)
    COLUMN_SUMS[COLUMNS](A, 0, T, 10 * COLUMNS, limits, mine)
    interpreted.column_sums(A, 0, T, 10 * COLUMNS, limits, twin)
    np.testing.assert_array_equal(mine, twin)
    assert mine.tolist() != [0.0] * COLUMNS


@every_width
@both_types
@pytest.mark.parametrize("added", [0, 1])
def test_box_sums(dtype, d, added):
    rng = np.random.default_rng(d)
    T = values(rng, (2 * d + 1, 2 * COLUMNS), dtype)
    corners = values(rng, (2, 3, d), dtype)
    if added:  # norms are not negative
        T, corners[..., -1] = np.abs(T), np.abs(corners[..., -1])
    lower, upper = corners.min(axis=0), corners.max(axis=0)
    for t, row, first in ((0, 0, 0), (2, d + 1, COLUMNS)):
        mine, twin = np.full((2, 2, 2 * COLUMNS), -1, dtype)
        least = BOX_SUMS(lower, upper, t, T, row, first, added, mine[0], mine[1])
        wanted = interpreted.box_sums(lower, upper, t, T, row, first, added, twin[0], twin[1])
        np.testing.assert_array_equal(mine, twin)
        assert dtype(least) == wanted == mine[1, first : first + COLUMNS].min()


@pytest.mark.parametrize("d", [d for d in WIDTHS if d < LANES])  # it is for few coordinates
@both_types
@pytest.mark.parametrize("kind", ["random", "grid"])
@pytest.mark.parametrize("numbers", [(3, 9), (9, 3), (2**31 - 2, 2**31 - 1)])
def test_compare_pair(dtype, d, kind, numbers):
    rng = np.random.default_rng(d)
    A, T = values(rng, (4, d), dtype, kind), values(rng, (d, 2 * COLUMNS), dtype, kind)
    A[3] = A[1]  # a pair of equal centres ties in every column
    for i, k in ((0, 1), (1, 3), (3, 2)):
        sums = np.empty(COLUMNS, dtype)
        interpreted.column_sums(A, i, T, COLUMNS, np.zeros(COLUMNS, dtype), sums)
        best = sums * rng.choice(np.array([0.5, 1.0, 2.0], dtype), COLUMNS)
        best[::7] = np.inf
        near = rng.integers(0, 12, COLUMNS).astype(np.int32)
        mine, twin = (best.copy(), near.copy()), (best.copy(), near.copy())
        COMPARE_PAIR(A, i, k, T, COLUMNS, *numbers, *mine)
        interpreted.compare_pair(A, i, k, T, COLUMNS, *numbers, *twin)
        np.testing.assert_array_equal(mine[0], twin[0])
        np.testing.assert_array_equal(mine[1], twin[1])
        assert (mine[1] != near).any()


@pytest.mark.parametrize("d", [d for d in WIDTHS if d < LANES])
@both_types
@pytest.mark.parametrize("kind", ["random", "grid"])
def test_compare_with_gap(dtype, d, kind):
    rng = np.random.default_rng(d)
    A, T = values(rng, (4, d), dtype, kind), values(rng, (d, 2 * COLUMNS), dtype, kind)
    for i in range(len(A)):
        sums = np.empty(COLUMNS, dtype)
        interpreted.column_sums(A, i, T, COLUMNS, np.zeros(COLUMNS, dtype), sums)
        for factors in ([0.5, 1.0, 2.0], [0.25, 0.5]):
            best = sums * rng.choice(np.array(factors, dtype), COLUMNS)
            near = rng.integers(0, 12, COLUMNS).astype(np.int32)
            mine, twin = ((best.copy(), near.copy(), np.sqrt(best)) for _ in range(2))
            gap = COMPARE_WITH_GAP(A, i, T, COLUMNS, 5, *mine)
            assert dtype(gap) == interpreted.compare_with_gap(A, i, T, COLUMNS, 5, *twin)
            assert gap == (np.sqrt(sums) - np.sqrt(best)).min()
            for one, other in zip(mine, twin, strict=True):
                np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(mine[2], np.sqrt(mine[0]))


@every_width
@both_types
@pytest.mark.parametrize("limit", ["none", "all"])
def test_group_minima(dtype, d, limit):
    """Fused multiply-adds round less often, so sums agree up to rounding, and limits rule out."""
    rng = np.random.default_rng(d)
    tile, T = values(rng, (d, COLUMNS), dtype), values(rng, (d, 3 * LANES), dtype)
    limits = np.full(COLUMNS, np.inf if limit == "none" else -1.0, dtype)
    mine, twin = np.zeros((2, 2 * LANES, COLUMNS), dtype)
    least, wanted = np.zeros((2, 2, COLUMNS), dtype)
    GROUP_MINIMA(tile, T, 2 * LANES, limits, mine, least, 1)
    interpreted.group_minima(tile, T, 2 * LANES, limits, twin, wanted, 1)
    slack = 4 * (d + 2) * np.finfo(dtype).eps
    if limit == "none":
        np.testing.assert_allclose(mine, twin, rtol=slack)
        np.testing.assert_allclose(least, wanted, rtol=slack)
    else:
        assert (mine <= twin * (1 + slack)).all()
        assert (mine[LANES:] > limits).all()
    np.testing.assert_array_equal(least[1], mine[LANES:].min(axis=0))
    assert not mine[:LANES].any()
    assert not least[0].any()


@pytest.mark.parametrize("d", range(1, LANES))
@both_types
def test_transpose_few(dtype, d):
    rng = np.random.default_rng(d)
    A, rows_ = values(rng, (90, d), dtype), rng.integers(0, 90 - LANES + 1, COLUMNS)
    rows_[5] = 90 - LANES  # from which 16 numbers are left, whatever d is
    mine, twin = np.zeros((2, LANES, COLUMNS), dtype=dtype)
    for c in (0, 16, 48):
        TRANSPOSE_FEW(A, rows_, c, mine)
        interpreted.transpose_few(A, rows_, c, twin)
    np.testing.assert_array_equal(mine, twin)
    np.testing.assert_array_equal(mine[:d, :16], A[rows_[:16]].T)
    assert not mine[:, 32:48].any()
    assert not mine[d:].any(), "more is written than a row has"


@both_types
def test_transpose_block(dtype):
    rng = np.random.default_rng(0)
    A, rows_ = values(rng, (90, 37), dtype), rng.integers(0, 90, COLUMNS)
    mine, twin = np.zeros((2, 40, COLUMNS), dtype=dtype)
    for c, j, place, stride in ((0, 0, 0, 2), (16, 16, 1, 2), (48, 21, 3, 1)):
        TRANSPOSE_BLOCK(A, rows_, c, j, mine, place, stride)
        interpreted.transpose_block(A, rows_, c, j, twin, place, stride)
        np.testing.assert_array_equal(mine, twin)
        assert mine[place + 4 * stride, c + 2] == A[rows_[c + 2], j + 1]


@both_types
@pytest.mark.parametrize("kind", ["random", "grid"])
def test_keep_nearer_and_largest_of_lesser(dtype, kind):
    rng = np.random.default_rng(0)
    for number in (0, 7, 2**31 - 1):
        sums, squared = values(rng, (2, COLUMNS), dtype, kind)
        squared[::9] = np.inf
        labels = rng.integers(-1, 12, COLUMNS).astype(np.int32)
        assert LARGEST_OF_LESSER(sums, squared) == interpreted.largest_of_lesser(sums, squared)
        mine, twin = (squared.copy(), labels.copy()), (squared.copy(), labels.copy())
        KEEP_NEARER(sums, number, *mine)
        interpreted.keep_nearer(sums, number, *twin)
        np.testing.assert_array_equal(mine[0], twin[0])
        np.testing.assert_array_equal(mine[1], twin[1])
        assert (mine[1] != labels).any()


@both_types
@pytest.mark.parametrize("kind", ["random", "grid"])
def test_keep_two_nearest(dtype, kind):
    rng = np.random.default_rng(0)
    for number in (0, 7, 2**31 - 1):
        sums, squared, more = values(rng, (3, COLUMNS), dtype, kind)
        second = np.maximum(squared, more)
        second[::9] = np.inf
        labels = rng.integers(-1, 12, COLUMNS).astype(np.int32)
        mine, twin = ([a.copy() for a in (squared, labels, second)] for _ in range(2))
        KEEP_TWO_NEAREST(sums, number, *mine)
        interpreted.keep_two_nearest(sums, number, *twin)
        for one, other in zip(mine, twin, strict=True):
            np.testing.assert_array_equal(one, other)
        assert (mine[2] != second).any()


@both_types
@pytest.mark.parametrize("width", [COLUMNS, 5 * COLUMNS])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_add_runs(dtype, width, count):
    """Fused multiply-adds round less often, so sums agree up to rounding."""
    rng = np.random.default_rng(count)
    table, factors = values(rng, (9, width), dtype), values(rng, 8, dtype)
    which = rng.integers(0, 9, 8).astype(np.int32)
    before = values(rng, width, dtype)
    mine, twin, size = (
        before.copy(),
        before.copy(),
        np.abs(before) + np.abs(factors[:count]) @ np.abs(table[which[:count]]),
    )
    ADD_RUNS(table, which, factors, count, mine)
    interpreted.add_runs(table, which, factors, count, twin)
    assert (np.abs(mine - twin) <= 4 * (count + 1) * np.finfo(dtype).eps * size).all()
    assert count == 0 or not np.array_equal(
        mine, values(np.random.default_rng(count), width, dtype)
    )


@both_types
@pytest.mark.parametrize("kind", ["random", "grid"])
def test_gaps(dtype, kind):
    rng = np.random.default_rng(5)
    a, b = values(rng, (2, 4 * LANES), dtype, kind)
    a[-3:] = np.inf
    least = LEAST_GAP(a, b)
    assert least == interpreted.least_gap(a, b)
    for most in (least, dtype(0.0), dtype(-np.inf), dtype(np.inf)):
        for start in range(0, 4 * LANES, LANES):
            mine = GAPS_WITHIN(a, b, start, most)
            assert mine == interpreted.gaps_within(a, b, start, most)
            bits = [bool(mine >> lane & 1) for lane in range(LANES)]
            part = slice(start, start + LANES)
            assert bits == (a[part] - b[part] <= most).tolist()


@both_types
def test_prefetch_changes_nothing(dtype):
    """Even of places that are not there, which kernels do not ask for."""
    a = np.arange(40, dtype=dtype)
    for place in (0, 7, 39, 1 << 40):
        assert PREFETCH(a, place) is None
        assert interpreted.prefetch(a, place) is None
    np.testing.assert_array_equal(a, np.arange(40))
