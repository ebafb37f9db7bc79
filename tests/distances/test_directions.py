"""Metrics that are blind to lengths: rows of one direction coincide, whatever rounding says."""

from __future__ import annotations

import warnings

import dask.array as da
import numpy as np
import pytest

import kseeds.dask
from kseeds import (
    FewerDistinctPointsWarning,
    VPTree,
    assign,
    greedy_kmeans_plusplus,
    kmeans_parallel,
    kmeans_plusplus,
)
from kseeds import laws as table
from kseeds.distances.embeddings import UNIT_VECTORS
from kseeds.distances.metrics import SAME_DIRECTION
from tests.data import DIRECTIONS
from tests.harness import oracle
from tests.harness.profiles import scaled, sizes
from tests.methods.laws import chi_square_p, euclidean, plusplus_law

SEEDERS = [
    *((kmeans_plusplus, {"algorithm": algorithm}) for algorithm in table.PLUSPLUS.algorithms),
    (kmeans_plusplus, {"algorithm": "lazy", "kernels": "compiled"}),
    *((greedy_kmeans_plusplus, {"algorithm": one}) for one in table.GREEDY.algorithms),
    *((kmeans_parallel, {"algorithm": algorithm}) for algorithm in table.PARALLEL.algorithms),
    (kmeans_parallel, {"algorithm": "fast", "strategy": "tree"}),
]
every_seeder = pytest.mark.parametrize(("function", "options"), SEEDERS)
every_metric = pytest.mark.parametrize("metric", DIRECTIONS)
both_types = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def rows_of_directions(count, n, d, dtype, seed=0):
    """Return rows of random lengths and few directions, and the direction of each."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, count, size=n)
    which[:count] = np.arange(count)
    lengths = 10.0 ** rng.uniform(-3, 3, size=(n, 1))
    return (rng.normal(size=(count, d))[which] * lengths).astype(dtype), which


@every_seeder
@every_metric
@both_types
@sizes("shapes", [(2, True), (40, False)], [(2, False), (2, True), (40, False), (40, True)])
def test_fewer_directions_than_seeds_warn_and_none_is_drawn_twice(
    function, options, metric, dtype, shapes
):
    for d, weighted in shapes:
        check_fewer_directions_than_seeds(function, options, metric, dtype, d, weighted)


def check_fewer_directions_than_seeds(function, options, metric, dtype, d, weighted):
    X, which = rows_of_directions(3, 300, d, dtype)
    weights = np.random.default_rng(1).uniform(0.0, 1e3, size=300) if weighted else None
    for seed in range(3):
        with pytest.warns(FewerDistinctPointsWarning, match="the 3 seeds drawn"):
            found = function(
                X, 5, metric=metric, sample_weight=weights, random_state=seed, **options
            )
        assert len(set(found.indices.tolist())) == 5
        assert sorted(which[found.indices[:3]]) == [0, 1, 2]
        assert found.distances.max() <= SAME_DIRECTION * np.finfo(dtype).eps


@every_metric
def test_rows_of_directions_drawn_are_not_compared_again(metric):
    X, _ = rows_of_directions(3, 300, 4, np.float64)
    with pytest.warns(FewerDistinctPointsWarning):
        found = kmeans_plusplus(X, 5, metric=metric, algorithm="naive", random_state=0)
    assert found.work.distances == 3 * 300


@every_seeder
@every_metric
def test_enough_directions_are_no_reason_to_warn(function, options, metric):
    X, which = rows_of_directions(7, 300, 3, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = function(X, 7, metric=metric, random_state=0, **options)
    assert sorted(which[found.indices]) == list(range(7))


@every_metric
@both_types
def test_directions_in_partitions_agree_with_memory(metric, dtype):
    X, which = rows_of_directions(3, 300, 4, dtype)
    for chunks in (300, 77):
        data = da.from_array(X, chunks=(chunks, 4))
        for on_dask, in_memory, options in [
            (kseeds.dask.kmeans_plusplus, kmeans_plusplus, {"algorithm": "rounds"}),
            (kseeds.dask.kmeans_parallel, kmeans_parallel, {}),
        ]:
            wanted = in_memory(X, 3, metric=metric, random_state=1, **options)
            found = on_dask(data, 3, metric=metric, random_state=1)
            assert found.indices.tolist() == wanted.indices.tolist()
            with pytest.warns(FewerDistinctPointsWarning):
                found = on_dask(data, 6, metric=metric, random_state=1)
            assert len(set(found.indices.tolist())) == 6
            assert sorted(which[found.indices[:3]]) == [0, 1, 2]


@every_metric
@both_types
def test_exact_multiples_coincide_exactly(metric, dtype):
    X = np.random.default_rng(0).integers(-99, 100, size=(500, 7)).astype(dtype)
    X = X[X.any(axis=1)]
    found = assign(np.concatenate([3 * X, 8 * X, 77 * X]), X, metric=metric)
    assert not found.distances.any()
    assert found.potential == 0.0


@both_types
@pytest.mark.parametrize("d", [1, 2, 3, 17, 100, 1000, 5000])
def test_rounding_of_unit_vectors_is_within_what_is_ignored(dtype, d):
    X, which = rows_of_directions(4, 2000 if d < 1000 else 100, d, dtype, seed=d)
    unit = UNIT_VECTORS.points(X).astype(np.longdouble)
    noise = np.sqrt(((unit - unit[:4][which]) ** 2).sum(axis=1)).max()
    assert noise < 0.75 * SAME_DIRECTION * np.finfo(dtype).eps


@every_metric
@both_types
def test_a_tree_finds_the_nearest_direction(metric, dtype):
    rng = np.random.default_rng(0)
    items, queries = rng.normal(size=(300, 5)).astype(dtype), rng.normal(size=(80, 5)).astype(dtype)
    labels, distances = VPTree(items, metric=metric).nearest_in_range(queries)
    oracle.check_nearest(queries, items, metric, labels, distances)


@every_metric
def test_a_zero_vector_has_no_direction(metric):
    X = np.eye(4)[:, :3]
    message = (
        rf"zero vector at row 3, which has no direction; metric='{metric}' needs it dropped\.$"
    )
    for call in (kmeans_plusplus, kmeans_parallel, assign):
        with pytest.raises(ValueError, match=message):
            call(X, X[:1] if call is assign else 1, metric=metric)
    with pytest.raises(ValueError, match=message):
        kseeds.dask.kmeans_plusplus(da.from_array(X, chunks=(4, 3)), 2, metric=metric)


every_small_unit = pytest.mark.parametrize(
    ("dtype", "unit"), [(np.float32, 2.0**-17), (np.float64, 2.0**-46)]
)
HEIGHTS, WEIGHTS = [[0.0], [1.5], [2.0], [4.0]], [1, 1, 2, 3]


def drawn_near_each_other(algorithm, metric, dtype, unit, draws, seed):
    X = np.array([[1.0, unit * height] for (height,) in HEIGHTS], dtype=dtype)
    for t in range(draws):
        found = kmeans_plusplus(
            X, 3, sample_weight=WEIGHTS, metric=metric, initial_centers=[[1.0, unit]],
            random_state=seed + t, algorithm=algorithm, n_threads=1,
        )  # fmt: skip
        yield tuple(found.indices.tolist())


def algorithms_and_draws(short, long):
    """Yield every algorithm; paper, which draws the seeds of naive, in the long profile only."""
    for algorithm in table.PLUSPLUS.algorithms:
        if algorithm != "paper":
            yield pytest.param(algorithm, scaled(short))
        yield pytest.param(algorithm, scaled(long, least=scaled(short)), marks=pytest.mark.long)


# Distances that are not squared, and weights that are left out, are refused.
@pytest.mark.parametrize(("algorithm", "draws"), list(algorithms_and_draws(500, 1_000)))
@every_small_unit
@every_metric
def test_the_law_of_directions_that_differ_by_little(
    algorithm, draws, metric, dtype, unit, seed_offset
):
    """By more than rounding, but by so little that rounding could make up much of the mass."""
    law = plusplus_law(HEIGHTS, WEIGHTS, 3, euclidean, [[1.0]])
    drawn = drawn_near_each_other(algorithm, metric, dtype, unit, draws, seed_offset)
    assert chi_square_p(law, drawn) > 1e-5


@every_small_unit
@every_metric
def test_paper_draws_the_directions_of_naive(metric, dtype, unit, seed_offset):
    paper, naive = (
        list(drawn_near_each_other(each, metric, dtype, unit, scaled(100, least=20), seed_offset))
        for each in ("paper", "naive")
    )
    assert paper == naive


def test_cosine_is_the_chord():
    X = [[2.0, 0.0], [0.0, 5.0], [-1.0, 0.0], [3.0, 3.0]]
    found = assign(X, [[7.0, 0.0]], metric="cosine")
    wanted = [0.0, 2**0.5, 2.0, (2 - 2**0.5) ** 0.5]
    np.testing.assert_allclose(found.distances, wanted, rtol=1e-15)
    np.testing.assert_allclose(found.potential, 2.0 + 4.0 + 2.0 - 2**0.5)


def test_parallel_directions_are_one_and_opposite_ones_are_pi_apart():
    X = np.array([[1.0, 1.0], [3.0, 3.0], [-1.0, -1.0], [0.0, 7.0]])
    found = kmeans_plusplus(X, 3, metric="angular", random_state=0)
    assert not {0, 1} <= set(found.indices.tolist()), "the same direction drawn twice"
    found = kmeans_plusplus(X, 1, initial_centers=X[:1], metric="angular", random_state=1)
    whole = found.distances
    assert whole[1] == 0.0
    assert kmeans_plusplus(X[[0, 2]], 1, metric="angular", random_state=0).distances.max() == (
        pytest.approx(np.pi)
    )
