"""Every constant of the cost model beside what it is on this machine.

In nanoseconds of one thread. The model needs ratios only, so a factor that all share is of no
account. ``CALIBRATIONS`` has a row for every constant; a test compares it with the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.charts import Table
from benchmarks.internals import Bench, costs
from benchmarks.suites.base import Cell, Cells, Lines, Result, Run, Section, Suite

SHAPES = [(60_000, 3), (60_000, 8), (1_000_000, 3), (500_000, 54), (60_000, 784)]
BATCHES = (8, 32, 128, 512, 1024)
SHARES = (0.0, 0.002, 0.02, 0.1, 0.2, 0.4)

Pair = tuple[float | None, float]
"""What was measured, None where that is beyond what was tried, and what the model says."""


@dataclass(frozen=True)
class Calibration:
    """How some constants are measured: their names, a measurement, and where it counts."""

    constants: tuple[str, ...]
    measure: Callable[[Bench], Pair]
    columns: tuple[int, int] = (1, 10_000)
    metric: str = "euclidean"


def _slope(bench: Bench, strategy: str) -> float:
    """Return nanoseconds that a further centre takes a row."""
    return (bench.update(strategy, 1024)[1] - bench.update(strategy, 128)[1]) / 896


def _leaf_pair(bench: Bench) -> float:
    """Return nanoseconds that a pair takes which a tree does not rule out."""
    (_, many, of_many), (_, few, of_few) = bench.update("tree", 1024), bench.update("tree", 128)
    return (many - few) / max(1024 * of_many - 128 * of_few, 1e-9)


def _pays(bench: Bench, strategy: str, known: float) -> Pair:
    """Measure from how many nanoseconds of brute force a row on a strategy is faster."""
    for m in BATCHES:
        update, brute = bench.update(strategy, m)[1], bench.update("brute", m)[1]
        if update < brute:
            return brute, known
    return None, known


def _given_up(bench: Bench, strategy: str, known: float) -> Pair:
    """Measure the share of distances at which a strategy takes as long as brute force."""
    _, update, share = bench.update(strategy, 512)
    return min(1.0, share * bench.update("brute", 512)[1] / update), known


def _explains(bench: Bench, strategy: str, known: float) -> Pair:
    """Measure which share of the variance outside a few dimensions a projection can bear."""
    n, d = min(bench.n, 60_000), bench.points.shape[1]
    rng, borne = np.random.default_rng(0), None
    inside = rng.normal(size=(n, 5)) @ rng.normal(size=(5, d)) / np.sqrt(5.0)
    outside = rng.normal(size=(n, d))
    for share in SHARES:
        X = np.sqrt(1.0 - share) * inside + np.sqrt(share) * outside
        made = Bench(X.astype(bench.points.dtype))
        if made.update(strategy, 512)[1] < made.update("brute", 512)[1]:
            borne = share
    return borne, known


def _lazy(constants: tuple[str, ...], model: Callable[..., float]) -> Calibration:
    return Calibration(constants, lambda bench: (bench.lazy()[constants[0]], model(*bench.rows)))


FEW, MANY = (1, 8), (17, 10_000)
WHERE = {
    "tree": (FEW, "euclidean"), "projected_tree": (MANY, "euclidean"),
    "projected_scan": (MANY, "euclidean"),
    "quantized": (MANY, "euclidean"), "quantized_scan": (MANY, "euclidean"),
    "vantage": ((1, 10_000), "manhattan"),
}  # fmt: skip
"""Columns and metric for which a strategy is there."""


def _each(
    constant: str, known: dict[str, float], measure: Callable[..., Pair], words: str
) -> dict[str, Calibration]:
    return {
        f"{strategy} {words}": Calibration(
            (constant,), partial(measure, strategy=strategy, known=value), *WHERE[strategy]
        )
        for strategy, value in known.items()
    }


# fmt: off
CALIBRATIONS: dict[str, Calibration] = {
    "a proposal": _lazy(("DRAW", "proposal"), lambda *_: costs.DRAW),
    "a distance of a proposal": _lazy(("proposal_pair",), costs.proposal_pair),
    "a row looked at": _lazy(("SCAN",), lambda *_: costs.SCAN),
    "a row as a column": _lazy(("gather",), costs.gather),
    "tree, building": Calibration(
        ("BUILD", "NEW_BUILD", "tree_build", "build_here", "tree"),
        lambda b: (b.update("tree", 8)[0], costs.build_here(b.points)), FEW),
    "tree, few centres": Calibration(
        ("TREE_BATCH",), lambda b: (b.update("tree", 8)[1], costs.TREE_BATCH), FEW),
    "tree, a centre": Calibration(
        ("tree_pair",), lambda b: (_slope(b, "tree"), costs.tree_pair(b.points)), FEW),
    "tree, a pair in a leaf": Calibration(
        ("leaf_pair", "LEAF_ROWS", "IN_LEAF"),
        lambda b: (_leaf_pair(b), costs.leaf_pair(b.points)), FEW),
    "brute force, a centre": Calibration(
        ("pair", "width_of"), lambda b: (_slope(b, "brute"), costs.pair(*b.rows)), FEW),
    "brute force, a centre, manhattan": Calibration(
        ("pair",), lambda b: (_slope(b, "brute"), costs.pair(*b.rows)), metric="manhattan"),
    **{f"plain NumPy, 512 centres, {metric}": Calibration(
        ("PLAIN_OTHER", "plain"),
        lambda b: (b.update("plain", 512)[1], costs.plain(*b.rows, 512, 1)), metric=metric)
        for metric in ("euclidean", "manhattan")},
    "projected tree, 512 centres": Calibration(
        ("projected_tree",),
        lambda b: (sum(b.update("projected_tree", 512)[:2]), costs.projected_tree(
            b.points, 512, 1, b.dimension(), b.left_open(7))), MANY),
    "pruned by a vantage-point tree": Calibration(
        ("PRUNED",), lambda b: (b.update("vantage", 512)[1],
                                costs.PRUNED * 512 * costs.pair(*b.rows)),
        metric="manhattan"),
    **{f"brute force, {m} centres": Calibration(
        ("STOPPED", "HUNDREDS", "FEW_COLUMNS", "stopped"),
        lambda b, m=m: (b.update("brute", m)[1], costs.stopped(*b.rows, m, 1)), MANY)
        for m in (128, 1024)},
    "projected scan, 512 centres": Calibration(
        ("projected_scan", "SAMPLE_ROWS", "OF_MEANS"),
        lambda b: (sum(b.update("projected_scan", 512)[:2]),
                   costs.projected_scan(b.points, 8, 512, 1, b.left_open(8))), MANY),
    "scan by products of bytes, 512 centres": Calibration(
        ("quantized_scan",),
        lambda b: (sum(b.update("quantized_scan", 512)[:2]),
                   costs.quantized_scan(b.points, 15, 512, 1, b.left_open_in_steps(15))), MANY),
    "gemm, 512 centres": Calibration(
        ("gemm",),
        lambda b: (sum(b.update("gemm", 512)[:2]), costs.gemm(b.points, 512, 1)), MANY),
    "products of bytes, 512 centres": Calibration(
        ("quantized", "products"),
        lambda b: (sum(b.update("quantized", 512)[:2]), costs.quantized(b.points, 512, 1)), MANY),
    "principal components": Calibration(
        ("COMPONENTS", "components"),
        lambda b: (b.components(), costs.components(b.points)), MANY),
    **_each("BATCH_PAYS", costs.BATCH_PAYS, _pays, "pays"),
    **_each("USELESS", costs.USELESS, _given_up, "is given up"),
    "variance a projected tree may leave out": Calibration(
        ("PROJECTED_TREE_LEAVES", "PROJECTED_TREE_ENOUGH"),
        lambda b: _explains(b, "projected_tree", costs.PROJECTED_TREE_LEAVES), MANY),
    **{f"greedy, {strategy}": Calibration(
        constants, lambda b, strategy=strategy, model=model: (b.greedy(strategy), model(b)))
        for strategy, constants, model in (
            ("plain", ("greedy_plain",), lambda b: costs.greedy_plain(b.points, 6)),
            ("columns", ("greedy_columns", "GREEDY_COPIED"),
             lambda b: costs.greedy_columns(b.points, 6)),
            ("pool", ("greedy_pool", "GREEDY_LEADING", "GREEDY_LEADING_SEEDS"),
             lambda b: costs.greedy_pool(b.points, 64, 6, b.leading()) / 64))},
    "greedy, scan, manhattan": Calibration(
        ("greedy_scan",), lambda b: (b.greedy("scan"), costs.greedy_scan(*b.rows, 6)),
        metric="manhattan"),
    "greedy, naive": Calibration(
        ("greedy_naive",), lambda b: (b.greedy("naive"), costs.greedy_naive(b.points, 6))),
    "greedy, tree": Calibration(
        ("greedy_tree", "greedy_pair", "leaf_centers"),
        lambda b: (b.greedy("tree"), costs.greedy_tree(b.points, 64, 6, b.dimension()) / 64), FEW),
    "greedy, projected tree": Calibration(
        ("GREEDY_PROJECTED", "GREEDY_ROWS", "greedy_projected_tree"),
        lambda b: (b.greedy("projected_tree"),
                   costs.greedy_projected_tree(b.points, 64, 6) / 64), MANY),
    **{f"greedy, a step by {strategy} of few rows": Calibration(
        ("GREEDY_STEP",),
        lambda b, strategy=strategy, known=known: (b.greedy_step(strategy), known))
        for strategy, known in costs.GREEDY_STEP.items()},
    **{f"sparse rows, {strategy}, 512 centres": Calibration(
        constants, lambda b, strategy=strategy, model=model: (
            b.sparse.update(strategy, 512)[1], model(b.sparse.points, 512)), MANY)
        for strategy, constants, model in (
            ("plain", ("SPARSE_PLAIN", "SPARSE_PAIR", "sparse_plain"), costs.sparse_plain),
            ("inverted", ("SPARSE_ENTRY", "inverted"), costs.inverted))},
    **{f"sparse rows, greedy, {strategy}": Calibration(
        constants, lambda b, strategy=strategy, model=model: (
            b.sparse.greedy(strategy), model(b.sparse.points, 6)), MANY)
        for strategy, constants, model in (
            ("plain", ("greedy_sparse_naive",), costs.greedy_sparse_naive),
            ("pool", ("greedy_postings",), costs.greedy_postings))},
    "looking for structure": Calibration(
        ("PROBE", "probe"), lambda b: (b.probe(), costs.probe(b.points))),
}
# fmt: on
"""How every constant is measured; the keys are what the table shows."""


def cells(run: Run) -> Cells:
    """Measure all calibrations of all shapes."""
    shapes = run.either([(60_000, 8), (60_000, 54)], SHAPES)
    for n, d in [(min(n, run.rows or n), d) for n, d in shapes]:
        for dtype in run.either(["float32"], ["float32", "float64"]):
            for metric in ("euclidean", "manhattan"):
                key = {"n": n, "d": d, "dtype": dtype, "metric": metric}
                yield Cell(key, partial(_measure, **key))


def _measure(n: int, d: int, dtype: str, metric: str) -> Result:
    bench = Bench(np.random.default_rng(0).normal(size=(n, d)).astype(dtype), metric)
    return {
        name: list(calibration.measure(bench))
        for name, calibration in CALIBRATIONS.items()
        if calibration.columns[0] <= d <= calibration.columns[1] and calibration.metric == metric
    }


def sections(lines: Lines) -> list[Section]:
    """Show what was measured beside the model."""
    rows = [
        [f"{line['n']} × {line['d']}", line["dtype"], name,
         *("–" if value is None else f"{value:.3g}" for value in line[name]),
         ", ".join(CALIBRATIONS[name].constants)]
        for line in lines
        for name in CALIBRATIONS
        if name in line
    ]  # fmt: skip
    header = ["rows × columns", "dtype", "what", "measured", "model", "constants"]
    return [Section("The cost model", "Nanoseconds of one thread.", [Table(header, rows)])]


SUITE = Suite("every constant of the cost model, measured", cells, sections)
