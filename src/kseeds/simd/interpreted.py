"""The functions of `kseeds.simd` in NumPy, used with ``NUMBA_DISABLE_JIT=1``.

For measuring coverage and for debugging kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kseeds.runtime.block_sizes import COLUMNS, LANES, place_of
from kseeds.simd.lane_order import lane_sum as sum_in_lanes


def box_sums(
    lower: Any, upper: Any, t: int, T: Any, row: int, first: int, added: int, near: Any, far: Any
) -> Any:
    """See `kseeds.simd.columns.box_sums`."""
    d = lower.shape[1]
    columns = T[row : row + d, first : first + COLUMNS]
    below, above = lower[t][:, None] - columns, columns - upper[t][:, None]
    to_nearest = np.maximum(np.maximum(below, above), 0.0)
    to_farthest = np.maximum(-below, -above)
    if added:
        to_farthest[d - 1] = upper[t, d - 1] + columns[d - 1]
    near[first : first + COLUMNS] = np.square(to_nearest).sum(axis=0)
    far[first : first + COLUMNS] = np.square(to_farthest).sum(axis=0)
    return far[first : first + COLUMNS].min()


def _silent() -> np.errstate:
    """Return a context without warnings of overflow: compiled code does not warn either."""
    return np.errstate(over="ignore", invalid="ignore")


def weighted_sum(values: Any, weights: Any, start: int, stop: int) -> Any:
    """See `kseeds.simd.rows.weighted_sum`."""
    products = np.zeros((1, -(-(stop - start) // LANES) * LANES))
    with _silent():
        products[0, : stop - start] = values[start:stop]
        if len(weights):
            products[0, : stop - start] *= weights[start:stop]
        return float(sum_in_lanes(products)[0])


def lane_sum(term: str) -> Callable[..., Any]:
    """See `kseeds.simd.rows.lane_sum`."""
    terms: Callable[[Any, Any], Any] = {
        "square": lambda a, b: np.square(a - b),
        "abs": lambda a, b: np.abs(a - b),
        "square_of_sum": lambda a, b: np.square(a + b),
        "max_abs": lambda a, b: np.abs(a - b),
    }[term]

    def interpreted(A: Any, i: int, B: Any, j: int) -> Any:
        with _silent():
            values = terms(A[i], B[j])
            return values.max() if term == "max_abs" else sum_in_lanes(values[None, :])[0]

    return interpreted


def fingerprint_words(words: Any, start: int, stop: int, factors: Any) -> Any:
    """See `kseeds.inputs.fingerprint_kernels`."""
    block = words[start:stop]
    products = (block ^ (block >> np.uint32(16))) * factors[: stop - start]
    return products.sum(dtype=np.uint32)


def fingerprinted_sum_of_squares(
    A: Any, i: int, B: Any, j: int, factors: Any, first: int, prints: Any
) -> Any:
    """See `kseeds.simd.rows.fingerprinted_sum_of_squares`."""
    words = A[i].view(np.uint32)
    prints[:1] += fingerprint_words(words, 0, len(words), factors[first:])
    return lane_sum("square")(A, i, B, j)


def column_sums(A: Any, i: int, T: Any, first: int, limits: Any, out: Any) -> bool:
    """See `kseeds.simd.columns.column_sums`."""
    flat, width = T.reshape(-1), T.shape[1]
    rows = np.array([place_of(j, A.shape[1]) for j in range(A.shape[1])])
    places = rows[None, :] * width + first + np.arange(len(out))[:, None]
    with _silent():
        out[:] = sum_in_lanes(np.square(A[i] - flat[places]))
    return bool((out < limits).any())


def transpose_few(A: Any, rows: Any, c: Any, T: Any) -> None:
    """See `kseeds.simd.transposed.transpose_few`."""
    T[: A.shape[1], c : c + LANES] = A[rows[c : c + LANES]].T


def transpose_block(A: Any, rows: Any, c: int, j: int, T: Any, place: int, stride: int) -> None:
    """See `kseeds.simd.transposed.transpose_block`."""
    for lane in range(LANES):
        number = lane % 4 * 4 + lane // 4
        T[place + number * stride, c : c + LANES] = A[rows[c : c + LANES], j + lane]


def compare_pair(
    A: Any, i: int, k: int, T: Any, first: int, number_i: int, number_k: int, best: Any, near: Any
) -> None:
    """See `kseeds.simd.columns.compare_pair`."""
    sums = np.empty_like(best)
    for row, number in ((i, number_i), (k, number_k)):
        column_sums(A, row, T, first, best, sums)
        nearer = (sums < best) | ((sums == best) & (number < near))
        best[nearer], near[nearer] = sums[nearer], number


def compare_with_gap(
    A: Any, i: int, T: Any, first: int, number: int, best: Any, near: Any, roots: Any
) -> Any:
    """See `kseeds.simd.columns.compare_with_gap`."""
    sums = np.empty_like(best)
    column_sums(A, i, T, first, best, sums)
    lengths = np.sqrt(sums)
    gap = (lengths - roots).min()
    nearer = (sums < best) | ((sums == best) & (number < near))
    best[nearer], roots[nearer], near[nearer] = sums[nearer], lengths[nearer], number
    return gap


def group_minima(tile: Any, T: Any, first: int, limits: Any, all: Any, least: Any, g: int) -> None:
    """See `kseeds.simd.columns.group_minima`."""
    totals = np.zeros((LANES, COLUMNS), tile.dtype)
    with _silent():
        for j in range(len(tile)):
            totals += np.square(T[j, first : first + LANES, None] - tile[j])
    all[g * LANES : (g + 1) * LANES], least[g] = totals, totals.min(axis=0)


def _products(tile: Any, factors: Any, added: Any) -> Any:
    groups = factors.reshape(-1, len(tile), factors.shape[1])
    with _silent():
        return groups.swapaxes(1, 2).reshape(-1, len(tile)) @ tile + added[:, None]


def least_products(together: int) -> Callable[..., Any]:
    """See `kseeds.simd.products.least_products`."""

    def interpreted(
        tile: Any, factors: Any, added: Any, least: Any, next_least: Any, at: Any
    ) -> None:
        entries = _products(tile, factors, added)
        entries = entries.reshape(-1, together, COLUMNS).min(axis=1)
        first = entries.argmin(axis=0)
        at[:], least[:] = together * first, entries[first, np.arange(COLUMNS)]
        entries[first, np.arange(COLUMNS)] = np.inf
        next_least[:] = entries.min(axis=0)

    return interpreted


def products_within(tile: Any, factors: Any, added: Any, k: int, limits: Any, within: Any) -> bool:
    """See `kseeds.simd.products.products_within`."""
    d, abreast = len(tile), factors.shape[1]
    part = slice(k // abreast * d, (k // abreast + 1) * d)
    is_within = _products(tile, factors[part], added[k : k + abreast]) <= limits[:COLUMNS]
    bits = is_within.reshape(abreast, -1, LANES) << np.arange(LANES)
    within[:] = bits.sum(axis=2).astype(within.dtype)
    return bool(is_within.any())


def four_products(tile: Any, factors: Any, added: Any, k: int, out: Any) -> None:
    """See `kseeds.simd.products.four_products`."""
    d, abreast = len(tile), factors.shape[1]
    part = slice(k // abreast * d, (k // abreast + 1) * d)
    out[:] = _products(tile, factors[part], added[k : k + abreast])


def byte_products(
    tile: Any, factors: Any, starts: Any, scales: Any, slopes: Any, added: Any, table: Any,
    fours: Any, least: Any, at: Any,
) -> None:  # fmt: skip
    """See `kseeds.simd.byte_products.byte_products`."""
    words, abreast = len(tile), factors.shape[1]
    rows = np.ascontiguousarray(tile.T).view(np.uint8).astype(np.int64)
    groups = factors.reshape(-1, words, abreast).swapaxes(1, 2).reshape(-1, words)
    products = np.ascontiguousarray(groups).view(np.int8).astype(np.int64) @ rows.T
    with _silent():
        scaled = (products + starts[:, None]).astype(np.float32) * scales
        table[: len(added)] = added[:, None] + slopes[:, None] * scaled
    fours[: len(groups) // abreast] = table[: len(added)].reshape(-1, abreast, COLUMNS).min(axis=1)
    first = fours[: len(groups) // abreast].argmin(axis=0)
    least[:] = fours[first, np.arange(COLUMNS)]
    at[:] = first


def entries_within(table: Any, k: int, limits: Any) -> int:
    """See `kseeds.simd.byte_products.entries_within`."""
    is_within = ~(table[k] > limits)
    return int(np.packbits(is_within, bitorder="little").view(np.uint64)[0])  # no sign, no end


def nearest_of_groups(tile: Any, groups: Any, at: Any, squared: Any, near: Any) -> None:
    """See `kseeds.simd.groups.nearest_of_groups`."""
    d, abreast = len(tile), groups.shape[1]
    found = np.zeros((tile.shape[1], abreast), dtype=tile.dtype)
    with _silent():
        for j in range(d):
            found += np.square(tile[j, :, None] - groups[at // abreast * d + j])
    near[:] = at + found.argmin(axis=1)
    squared[:] = found.min(axis=1)


def keep_nearer(sums: Any, number: int, squared: Any, labels: Any) -> None:
    """See `kseeds.simd.tables.keep_nearer`."""
    nearer = sums < squared
    squared[nearer], labels[nearer] = sums[nearer], number


def keep_two_nearest(sums: Any, number: int, squared: Any, labels: Any, second: Any) -> None:
    """See `kseeds.simd.tables.keep_two_nearest`."""
    nearer = (sums < squared) | ((sums == squared) & (number < labels))
    second[:] = np.minimum(second, np.where(nearer, squared, sums))
    squared[nearer], labels[nearer] = sums[nearer], number


def largest_of_lesser(a: Any, b: Any) -> Any:
    """See `kseeds.simd.tables.largest_of_lesser`."""
    return np.minimum(a, b).max()


def add_runs(runs: Any, which: Any, factors: Any, count: int, sums: Any) -> None:
    """See `kseeds.simd.runs.add_runs`."""
    with _silent():
        sums += factors[:count] @ runs[which[:count]]


def least_gap(a: Any, b: Any) -> Any:
    """See `kseeds.simd.runs.least_gap`."""
    return (a - b).min()


def prefetch(array: Any, place: int) -> None:
    """See `kseeds.simd.runs.prefetch`: nothing that could be seen."""


def gaps_within(a: Any, b: Any, start: int, most: float) -> int:
    """See `kseeds.simd.runs.gaps_within`."""
    part = slice(start, start + LANES)
    return sum(1 << lane for lane in np.flatnonzero(a[part] - b[part] <= most).tolist())


def row_products(
    rows: Any, tile: Any, added: Any, k: int, limits: Any, out: Any, within: Any
) -> bool:
    """See `kseeds.simd.row_products.row_products`."""
    d = rows.shape[1]
    with _silent():
        out[:] = rows @ tile[k // LANES * d : (k // LANES + 1) * d] + added[k : k + LANES]
    is_within = out <= limits[:, None]
    within[:] = (is_within << np.arange(LANES)).sum(axis=1).astype(within.dtype)
    return bool(is_within.any())


def lowest_bit(bits: Any) -> int:
    """See `kseeds.simd.row_products.lowest_bit`."""
    return (int(bits) & -int(bits)).bit_length() - 1
