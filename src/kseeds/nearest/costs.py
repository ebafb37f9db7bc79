"""What everything costs, in nanoseconds of one thread of the machine this was measured on.

Only ratios matter: they choose a strategy, and decide when lazy k-means++ refreshes its bounds.
They are constants and not measured at run time, so that the same random state gives the same seeds;
`tree`, `gemm` and those of bytes alone depend on the machine, and no seed on them.
``python -m benchmarks run calibrate`` sets every one of them beside what it measures.

Costs are per row, or per (row, centre) pair, of points of some shape, precision and metric.
"""

from __future__ import annotations

import math

from kseeds.distances.metrics import Family, FloatArray, Metric
from kseeds.distances.sparse_rows import SparseRows
from kseeds.runtime import registers
from kseeds.runtime.block_sizes import COLUMNS, LANES

PLAIN_OTHER = 3.0
"""A coordinate of a pair, compared in plain NumPy by a metric that is not Euclidean."""
PRUNED = 0.15
"""Share of brute force that a vantage-point tree leaves."""
DRAW = 250.0
"""A proposal of lazy k-means++, without its distances."""
SCAN = 1.2
"""A row that a partial refresh only looks at."""
TREE_BATCH = 10.0
"""A row, when a batch of few centres is compared by a tree."""
LEAF_ROWS = 192
"""Rows of a leaf of such a tree, about."""
BUILD = 35.0
"""A row, when a tree over the points is built, and one coordinate more for each dimension."""
NEW_BUILD = 2.0 if registers.ARE_WIDE else 1.5
"""How much more building a tree takes, compared with products, in memory that is new to a call."""
IN_LEAF = 0.5 if registers.ARE_WIDE else 1.0
"""What wide registers leave of the cost of pairs in leaves, compared with products."""
OF_MEANS = 0.5
"""What means leave open of the pairs that projections of rows do."""
SAMPLE_ROWS = 256
"""Rows of a sample by which structure is judged."""
COMPONENTS = 40_000.0
"""A dimension, when principal components are looked for, whatever the number of rows."""
PROBE = 2e6
"""Looking at a sample for structure, whatever the number of rows."""
STOPPED = (0.85, 0.6)
"""Share of brute force that is left where sums stop at what a row has already, with few centres
a batch and with hundreds."""
HUNDREDS = 512
FEW_COLUMNS = 8
"""Columns up to which no sum stops."""

BATCH_PAYS = {
    "tree": 10.0,
    "projected_tree": 150.0,
    "projected_scan": 20.0,
    "quantized_scan": 20.0,
    "vantage": 1000.0,
}
"""What brute force must take for a row and one batch for a strategy to be used on that batch."""
PROJECTED_TREE_LEAVES = 0.1
"""Share of the variance that few components may leave out for a tree over projections to pay."""
PROJECTED_TREE_ENOUGH = 0.002
"""Share left out below which fewer components will do."""
USELESS = {
    "tree": 0.25,
    "projected_tree": 0.25,
    "projected_scan": 0.25,
    "quantized": 0.05,
    "quantized_scan": 0.05,
    "vantage": 0.7,
}
"""Share of all pairs evaluated exactly from which on a strategy is given up: no structure."""
GREEDY_ROWS = 8192
GREEDY_COPIED = 2 << 20
"""Bytes of data that are copied as columns without asking."""
GREEDY_PROJECTED = (900.0, 0.6)
"""What greedy k-means++ by a tree over projections costs a row, beside a share of what a pool
of all columns costs."""
GREEDY_LEADING = (0.88, 0.6)
"""Share of the variance that columns must have to be compared before the others, and how many of
the columns that may be at most."""
GREEDY_LEADING_SEEDS = 24
"""Seeds from which on they are: of fewer, too many pairs are left open."""
GREEDY_STEP = {"naive": 6e4, "plain": 2e5, "scan": 2e5, "columns": 5e3, "pool": 4e4}
"""A greedy step, whatever the number of rows."""

SPARSE_PLAIN, SPARSE_ENTRY = 12.0, 1.2
"""An entry of a sparse row, in plain NumPy and compiled; compiled, also a pair with a centre."""
SPARSE_PAIR = 45.0
"""Such a pair in plain NumPy, where centres are means of many rows."""


def width_of(points: FloatArray) -> float:
    """Return how much dearer the precision of the points is than float32."""
    return int(points.itemsize) / 4


def _columns(points: FloatArray) -> int:
    return int(points.shape[1])


def pair(points: FloatArray, metric: Metric) -> float:
    """Return the cost of brute force for one pair."""
    d, width = _columns(points), width_of(points)
    if metric.family is Family.EUCLIDEAN:
        return width * (0.07 + 0.035 * d)
    return width * (10.0 + 0.1 * d)


def plain(points: FloatArray, metric: Metric, expected: float, batches: int) -> float:
    """Return the cost of plain NumPy for all centres expected."""
    d = _columns(points)
    if metric.family is not Family.EUCLIDEAN:
        return PLAIN_OTHER * expected * d
    # The table, its two least entries, and the few distances.
    return width_of(points) * (expected * (0.9 + 0.025 * d) + batches * (120.0 + 5.5 * d))


def tree(points: FloatArray, expected: float, batches: int, dimension: float) -> float:
    """Return the cost of a tree over the points, built and used for all centres expected."""
    pairs = min(expected, leaf_centers(points, expected, dimension))
    return build_here(points) + batches * TREE_BATCH + IN_LEAF * pairs * leaf_pair(points)


def build_here(points: FloatArray) -> float:
    """Return `tree_build` on this machine: for choices that no result shows."""
    return NEW_BUILD * tree_build(points)


def leaf_centers(points: FloatArray, count: float, dimension: float) -> float:
    """Return with how many of ``count`` centres a leaf is compared.

    In D dimensions, a ball that reaches from the middle of a leaf to past its rows and on to their
    nearest centres holds about (1 + 2ρ)^D centres, ρ^D being those in a leaf; as measured, a leaf
    is compared with up to three times as many, where density varies.
    """
    in_leaf = LEAF_ROWS * count / len(points)
    if dimension <= 0.0:
        return 3.0 * (1.0 + in_leaf)
    return float(3.0 * (1.0 + 2.0 * in_leaf ** (1.0 / dimension)) ** dimension)


def leaf_pair(points: FloatArray) -> float:
    """Return the cost of a pair of a row and a centre that its leaf is compared with."""
    return width_of(points) * (0.15 + 0.06 * _columns(points))


def proposal_pair(points: FloatArray, metric: Metric) -> float:
    """Return the same for a row that is proposed, compared with 64 centres side by side."""
    if metric.family is Family.EUCLIDEAN:
        return width_of(points) * (0.2 + 0.038 * _columns(points))
    return pair(points, metric)


def gather(points: FloatArray, metric: Metric) -> float:
    """Return the cost of laying out a row as a column."""
    return 5.0 + 0.65 * _columns(points) if metric.family is Family.EUCLIDEAN else 0.0


def proposal(points: FloatArray, metric: Metric) -> float:
    """Return the cost of a proposal, compared with a group of centres of which few are pending."""
    return DRAW + 0.625 * COLUMNS * proposal_pair(points, metric)


def tree_build(points: FloatArray) -> float:
    """Return the cost of building a tree over the points."""
    return width_of(points) * (BUILD + _columns(points))


def tree_pair(points: FloatArray) -> float:
    """Return what each further centre of a batch adds for a tree."""
    return width_of(points) * (0.003 + 0.001 * _columns(points))


def probe(points: FloatArray) -> float:
    """Return the cost of looking for structure."""
    return PROBE / len(points)


def components(points: FloatArray) -> float:
    """Return the cost of looking for principal components."""
    return _columns(points) * COMPONENTS / len(points)


def stopped(points: FloatArray, metric: Metric, expected: float, batches: int) -> float:
    """Return the cost of brute force for all centres expected."""
    d, share = _columns(points), 1.0
    if metric.family is not Family.EUCLIDEAN:
        return expected * pair(points, metric)
    if d > FEW_COLUMNS:
        share = STOPPED[int(expected >= batches * HUNDREDS)]
    return share * expected * pair(points, metric) + batches * width_of(points) * (5.0 + 0.4 * d)


def projected_scan(
    points: FloatArray, count: int, expected: float, batches: int, left_open: float
) -> float:
    """Return the cost of a projected scan along ``count`` components for all centres expected.

    Projecting, all pairs of projections, the share of distances they leave open, and the nearest.
    That share is of as many centres as there are rows in a sample; the nearer the nearest of more
    centres is, the less is left.
    """
    d = _columns(points)
    projecting = d * (0.85 + 0.025 * count)
    pairs = expected * (0.04 + 0.035 * count)
    left_open *= math.sqrt(SAMPLE_ROWS / max(SAMPLE_ROWS, expected / batches))
    whole = left_open * expected * (40.0 + 0.08 * d)
    return width_of(points) * (projecting + pairs + whole + batches * (110.0 + 0.63 * d))


def quantized_scan(
    points: FloatArray, count: int, expected: float, batches: int, left_open: float
) -> float:
    """Return the same of one in steps of bytes, on machines that multiply them."""
    d, width = _columns(points), width_of(points)
    projecting = d * (0.85 + 0.025 * count)
    pairs = expected * (0.13 + 0.0053 * (count + 1))
    left_open *= math.sqrt(SAMPLE_ROWS / max(SAMPLE_ROWS, expected / batches))
    whole = width * (40.0 + 0.08 * d)
    return projecting + pairs + left_open * expected * whole + batches * (25.0 + whole)


def projected_tree(
    points: FloatArray, expected: float, batches: int, dimension: float, left_open: float
) -> float:
    """Return the cost of a tree over projections, built and used for all centres expected.

    It looks at a share of the centres that grows with the ``dimension`` of the projections, at some
    in every batch, and at the share of whole rows that projections leave open.
    """
    d, dimension = _columns(points), min(dimension, 64.0)
    share: float = 0.0035 * dimension**2.4 + left_open * (1.4 + 0.25 * d)
    each = TREE_BATCH + 22.0 * dimension
    return width_of(points) * (60.0 + 3.0 * d + batches * each + expected * share)


def gemm(points: FloatArray, expected: float, batches: int) -> float:
    """Return the cost of matrix products for all centres expected, on this machine.

    Compared with a tree, wide registers do pairs of few columns faster, and what is done once a row
    more slowly.
    """
    d = _columns(points)
    if d >= LANES:
        pair_, beside = 0.045 + 0.02 * d, 9.0 + 0.5 * d
    elif registers.ARE_WIDE:
        pair_, beside = 0.005 + 0.0133 * d, 9.0
    else:
        pair_, beside = 0.045 + 0.02 * d, 5.0 + 0.8 * d
    return width_of(points) * (expected * pair_ + batches * beside)


def quantized(points: FloatArray, expected: float, batches: int, keeps: bool = False) -> float:
    """Return the cost of products of bytes for all centres expected, on machines that have them.

    Whatever the precision: only rows are in it until they have been made steps, which may be kept.
    """
    d = _columns(points)
    made = 1 if keeps else batches
    beside = batches * 25.0 + made * (20.0 + 0.6 * width_of(points) * d)
    return expected * (0.13 + 0.0053 * d) + beside


def products(points: FloatArray, expected: float, batches: int, keeps: bool = False) -> float:
    """Return the cost of the faster products for all centres expected, on this machine."""
    numbers = gemm(points, expected, batches)
    has_bytes = registers.MULTIPLY_BYTES and _columns(points) >= LANES
    return min(numbers, quantized(points, expected, batches, keeps)) if has_bytes else numbers


def greedy_naive(points: FloatArray, trials: int) -> float:
    """Return the cost of a step of the naive greedy algorithm."""
    return width_of(points) * trials * (10.0 + 2.2 * _columns(points))


def greedy_plain(points: FloatArray, trials: int) -> float:
    """Return the cost of a step of greedy k-means++ by products in plain NumPy."""
    d = _columns(points)
    return width_of(points) * (8.0 + 0.6 * d + trials * (2.5 + 0.05 * d))


def greedy_scan(points: FloatArray, metric: Metric, trials: int) -> float:
    """Return the cost of a step of greedy k-means++ by a metric that is not Euclidean."""
    return trials * pair(points, metric)


def greedy_pool(points: FloatArray, n_clusters: int, trials: int, leading: int) -> float:
    """Return the cost of all steps of greedy k-means++ by pools of candidates.

    Products with all candidates in the ``leading`` columns, passes over the rows, of which the
    first are for few candidates each, and lists: after s steps a list has about a share of 1/s of
    the rows.
    """
    d, logarithm = _columns(points), math.log(max(2, n_clusters))
    if n_clusters <= 2 * GREEDY_LEADING_SEEDS:
        leading = d
    candidates = 1.15 * trials * n_clusters
    passes = 5.0 * min(logarithm, 3.7) + candidates / 256
    listed = logarithm * (10.0 + 5.0 * trials + 0.15 * d)
    products = candidates * (0.1 + 0.02 * leading)
    if leading < d:
        listed += 5.0 * trials * logarithm * (1.0 + 0.01 * d)
        listed += 1.15 * trials * GREEDY_LEADING_SEEDS * 0.02 * (d - leading)
    return width_of(points) * (products + passes * (5.0 + 0.25 * d) + listed)


def greedy_projected_tree(points: FloatArray, n_clusters: int, trials: int) -> float:
    """Return the cost of all steps of greedy k-means++ by a forest over projections."""
    beside, share = GREEDY_PROJECTED
    of_pool = greedy_pool(points, n_clusters, trials, _columns(points))
    return width_of(points) * beside + share * of_pool


def greedy_columns(points: FloatArray, trials: int) -> float:
    """Return the cost of a step of greedy k-means++ on columns, on one thread."""
    return width_of(points) * (2.0 + trials * (0.9 + 0.02 * _columns(points)))


def greedy_tree(points: FloatArray, n_clusters: int, trials: int, dimension: float) -> float:
    """Return the cost of all steps of greedy k-means++ by a forest, which is built first.

    After s steps a leaf is compared with the share of candidates that it would be compared with of
    s centres; see `leaf_centers`. Summed over the steps at powers of two.
    """
    total, step = 2.5 * tree_build(points) + 0.02 * n_clusters, 1.0
    while step < n_clusters:
        share = min(1.0, leaf_centers(points, step, dimension) / step)
        total += min(step, n_clusters - step) * trials * share * greedy_pair(points)
        step *= 2.0
    return total


def greedy_pair(points: FloatArray) -> float:
    """Return the cost of a pair of a row and a candidate that its leaf is compared with."""
    return width_of(points) * (0.6 + 0.1 * _columns(points))


def sparse_plain(points: SparseRows, expected: float) -> float:
    """Return the cost of a sparse row, compared with so many centres in plain NumPy and SciPy."""
    return SPARSE_PLAIN * points.per_row + SPARSE_PAIR * expected


def inverted(points: SparseRows, expected: float) -> float:
    """Return the cost of a sparse row, compared with so many centres by lists."""
    return SPARSE_ENTRY * (points.per_row + expected)


def greedy_sparse_naive(points: SparseRows, trials: int) -> float:
    """Return the cost of a sparse row in a greedy step of plain NumPy."""
    return SPARSE_PLAIN * trials * (points.per_row + 2.0)


def greedy_postings(points: SparseRows, trials: int) -> float:
    """Return the cost of a sparse row in a greedy step by postings."""
    return SPARSE_ENTRY * trials * 2.0
