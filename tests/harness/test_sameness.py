"""No choice of algorithm, tier, strategy, threads or units may show in a result.

Data is full of duplicates, grids and ties, where the last bit of a distance decides.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import note
from hypothesis import strategies as st

from kseeds import FewerDistinctPointsWarning, assign
from tests.data import DIRECTIONS, NORMS, OF_ANY_COLUMNS
from tests.harness import profiles
from tests.harness.catalogue import STRATEGIES, STRATEGY_OPTION, VARIANTS, Variant, combinations
from tests.harness.contents import contents
from tests.harness.counts import add
from tests.harness.profiles import generated, sizes
from tests.harness.strategies import SEEDS, SHARES, count_for

TIED = ("duplicates", "grid", "tenths", "collinear", "constant", "random")
DIMENSIONS = st.sampled_from([*range(1, 65), 1, 2, 3, 15, 16, 17, 32, 48, 64])
FEW_ROWS = st.sampled_from([*range(2, 60), *range(60, 400, 10)])
PRECISIONS = st.sampled_from(["float32", "float64"])
THREADS = (1, 2, 5)

CLOCKS = [Variant("kmeans_plusplus", "naive"), *combinations("kmeans_plusplus", "paper")]
ROUNDS = [Variant("kmeans_parallel", "naive"), *combinations("kmeans_parallel", "paper")]
FAST = [Variant("kmeans_parallel", "auto"), *combinations("kmeans_parallel", "fast")]
LAZY = combinations("kmeans_plusplus", "lazy", kernels="plain")


def with_kernels(variant: Variant, kernels: str) -> Variant:
    return Variant(variant.function, variant.algorithm, {**variant.options, "kernels": kernels})


def run(variant: Variant, X, k, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerDistinctPointsWarning)
        return variant(X, k, **keywords)


def same(found, wanted, story: object) -> None:
    """Refuse any difference, down to the last bit."""
    for name in ("indices", "labels", "distances"):
        a, b = getattr(found, name), getattr(wanted, name)
        assert a.tobytes() == b.tobytes(), (
            f"{story}: {name} differ at {np.flatnonzero(a != b)[:5]}: "
            f"{a[a != b][:5]} and {b[a != b][:5]}"
        )
    assert found.potential == wanted.potential, f"{story}: potential"


def check_all(variants, X, k, **keywords) -> None:
    first = run(variants[0], X, k, **keywords)
    for variant in variants[1:]:
        same(run(variant, X, k, **keywords), first, f"{variant} and {variants[0]}")
    labels, distances = assign(
        X, first.centers, metric=keywords["metric"], sample_weight=keywords["sample_weight"]
    )
    np.testing.assert_array_equal(labels, first.labels, "assign")
    assert distances.tobytes() == first.distances.tobytes(), "assign: distances"


class Tied(tuple):
    """Rows, a number of seeds and keywords; shown as what they were made from."""

    def __repr__(self) -> str:
        X, k, keywords = self
        weighted = keywords["sample_weight"] is not None
        return f"Tied({X.shape}, {X.dtype}, k={k}, {keywords['metric']}, weighted={weighted})"

    def _repr_pretty_(self, printer, cycle) -> None:
        printer.text(repr(self))


@st.composite
def tied(draw):
    """Rows, a number of seeds and keywords, made for ties."""
    n, d, seed = draw(FEW_ROWS), draw(DIMENSIONS), draw(SEEDS)
    kind, dtype = draw(st.sampled_from(TIED)), draw(PRECISIONS)
    X = contents(kind, n, d, dtype, seed)
    k = count_for(draw(SHARES), min(n, 40))
    weights = np.random.default_rng(seed).integers(1, 4, size=n) if draw(st.booleans()) else None
    metric = draw(st.sampled_from(["euclidean", *NORMS]))
    note(f"contents({kind!r}, {n}, {d}, {dtype!r}, {seed}), k={k}, weighted={weights is not None}")
    return Tied((X, k, {"sample_weight": weights, "metric": metric, "random_state": seed}))


@generated(25, 1000, case=tied())
def test_naive_and_paper(case):
    X, k, keywords = case
    check_all(CLOCKS, X, k, **keywords)
    check_all(ROUNDS, X, k, **keywords)


@generated(20, 600, case=tied())
def test_strategies(case):
    X, k, keywords = case
    check_all(FAST, X, k, **keywords)
    counts = {run(v, X, k, **keywords).work.candidates for v in (FAST[0], ROUNDS[0], ROUNDS[1])}
    assert len(counts) == 1, "all algorithms of kmeans_parallel draw the same candidates"


@generated(40, 2000, case=tied(), variant=st.sampled_from(LAZY))
def test_plain_and_compiled(case, variant):
    X, k, keywords = case
    pair = [variant, with_kernels(variant, "compiled"), with_kernels(variant, "auto")]
    check_all(pair, X, k, **keywords)


@generated(
    60, 3000,
    case=tied(), variant=st.sampled_from(VARIANTS), sign=st.sampled_from([-1, 1]),
    metric=st.sampled_from(OF_ANY_COLUMNS),
)  # fmt: skip
def test_units_that_are_powers_of_two(case, variant, sign, metric):
    X, k, keywords = case
    if metric in DIRECTIONS:
        X = X[X.any(axis=1)]
        if len(X) < k:
            return
        keywords["sample_weight"] = None
    keywords["metric"] = metric
    note(str(variant))
    exponent = sign * (60 if X.dtype == np.float32 else 400)
    plain = run(variant, X, k, **keywords)
    scaled = run(variant, np.ldexp(X, exponent), k, **keywords)
    np.testing.assert_array_equal(scaled.indices, plain.indices)
    np.testing.assert_array_equal(scaled.labels, plain.labels)
    unit = 0 if metric in DIRECTIONS else exponent
    wanted = np.ldexp(plain.distances, unit)
    np.testing.assert_array_equal(scaled.distances, wanted)
    if abs(unit) < 100:
        assert scaled.potential == np.ldexp(plain.potential, 2 * unit)


@generated(
    30, 1500,
    case=tied(), variant=st.sampled_from(VARIANTS),
    exponent=st.sampled_from([-1000, -400, -1, 1, 400, 1000]),
)  # fmt: skip
def test_weights_in_units_that_are_powers_of_two(case, variant, exponent):
    X, k, keywords = case
    note(str(variant))
    weights = np.random.default_rng(0).random(len(X)) + 0.01
    plain = run(variant, X, k, **{**keywords, "sample_weight": weights})
    heavy = np.ldexp(weights, exponent)
    scaled = run(variant, X, k, **{**keywords, "sample_weight": heavy})
    np.testing.assert_array_equal(scaled.indices, plain.indices)
    if abs(exponent) < 500:
        assert scaled.potential == np.ldexp(plain.potential, exponent)


@generated(30, 1500, case=tied(), variant=st.sampled_from(VARIANTS))
def test_orders_of_memory(case, variant):
    X, k, keywords = case
    note(str(variant))
    plain = run(variant, X, k, **keywords)
    wide = np.zeros((2 * len(X), X.shape[1]), dtype=X.dtype)
    wide[::2] = X
    for other in (np.asfortranarray(X), wide[::2], X.astype(X.dtype.newbyteorder())):
        same(run(variant, other, k, **keywords), plain, variant)


def many_rows(kind: str, d: int) -> np.ndarray:
    """Rows enough for several blocks of every loop."""
    few = contents(kind, 3000, d, "float32", 7)
    return few[np.random.default_rng(7).integers(0, len(few), size=70_000)]


@sizes("dimensions", (2,), (1, 2, 17, 40))
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_threads(variant, dimensions):
    if profiles.SCALE < 1.0:  # one number of dimensions a variant, so that all are tried by some
        dimensions = [dimensions[VARIANTS.index(variant) % len(dimensions)]]
    for d in dimensions:
        X = many_rows("tenths" if d > 2 else "random", d)
        one = run(variant, X, 25, random_state=0, n_threads=1)
        for n_threads in THREADS[1:]:
            add("cases")
            many = run(variant, X, 25, random_state=0, n_threads=n_threads)
            same(many, one, f"{variant} on {n_threads} threads")


@sizes("dimensions", (24,), (2, 8, 24, 64))
def test_threads_and_strategies_on_many_rows(dimensions):
    """The first example of the issue: 60 points, 9000 rows, whichever strategy runs."""
    for d in dimensions:
        rng = np.random.default_rng(0)
        few = rng.normal(size=(60, 6)) @ rng.normal(size=(6, d))
        X = few[rng.integers(0, 60, size=9000)].astype(np.float32)
        first = None
        for strategy in STRATEGIES:
            variant = Variant("kmeans_parallel", "fast", {STRATEGY_OPTION: strategy})
            for n_threads in THREADS:
                add("cases")
                found = run(variant, X, 50, random_state=0, n_threads=n_threads)
                first = first or found
                same(found, first, f"{variant} on {n_threads} threads")
