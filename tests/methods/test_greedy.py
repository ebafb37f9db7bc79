"""Greedy k-means++ beyond its enumerated law: longer runs, ties, counted work, memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from kseeds import assign, greedy_kmeans_plusplus, kmeans_parallel
from kseeds import laws as table
from kseeds.distances.reference import squared_distances
from kseeds.inputs import prepare_problem
from kseeds.methods.greedy import fast, naive, pool, rule, tree
from kseeds.methods.greedy.leading import leading_columns
from kseeds.methods.greedy.proposal_kernels import candidates_of_step
from kseeds.methods.greedy.proposals import Proposals
from kseeds.nearest import costs
from kseeds.nearest.choice import Job
from kseeds.runtime import compile_policy
from kseeds.runtime.threads import Workers
from kseeds.sampling import sum_tree
from kseeds.sampling.streams import Purpose, Stream
from kseeds.sampling.sum_tree import Masses
from tests.data import METRICS, fit_for, points_of
from tests.harness.profiles import sizes
from tests.methods.cases import METHODS, Case, Input
from tests.methods.laws import greedy_law
from tests.methods.twins import check, variants_and_draws

VARIANTS = [
    (algorithm, options)
    for algorithm in table.GREEDY.algorithms
    for options in ({}, *METHODS["greedy_kmeans_plusplus"].options.get(algorithm, ()))
]
every = pytest.mark.parametrize(("algorithm", "options"), VARIANTS, ids=str)


def test_the_number_of_trials_is_that_of_scikit_learn():
    wanted = {1: 2, 2: 2, 3: 3, 7: 3, 8: 4, 20: 4, 21: 5, 1000: 8, 1097: 9}
    assert {k: rule.trials_for(k, None) for k in wanted} == wanted
    assert rule.trials_for(1000, 1) == 1


def test_of_equal_gains_the_first_drawn_wins():
    assert rule.winner([3.0, 5.0, 5.0, 1.0]) == 1
    assert rule.winner([5.0 * (1 - 1e-6), 5.0]) == 0
    assert rule.winner([5.0 * (1 - 3e-6), 5.0]) == 1
    assert rule.winner([0.0, 0.0]) == 0


@variants_and_draws("greedy_kmeans_plusplus", VARIANTS, 2_400, 8_000)
def test_the_next_seed_among_many_rows_follows_the_law(algorithm, options, draws, seed_offset):
    """On a few hundred points; the best of L draws is row i if none is better but one is i."""
    X = np.random.default_rng(5).normal(size=(250, 3)) ** 3
    weights = np.random.default_rng(6).integers(0, 3, size=250).astype(float)
    table = ((X[:, None] - X) ** 2).sum(axis=2)
    alpha2 = table[:, :6].min(axis=1)
    gain = (weights[:, None] * np.maximum(0.0, alpha2[:, None] - table)).sum(axis=0)
    share = weights * alpha2 / (weights * alpha2).sum()
    law = {}
    for i in np.flatnonzero(share):
        no_better = share[gain <= gain[i]].sum()
        law[(int(i),)] = no_better**4 - (no_better - share[i]) ** 4
    rows = Input(X, weights, 1, {"initial_centers": X[:6], "n_local_trials": 4})
    case = Case("greedy_kmeans_plusplus", algorithm, options, "prefix", rows)
    check(case, law, draws, seed_offset)


@variants_and_draws("greedy_kmeans_plusplus", VARIANTS, 1_000, 8_000)
def test_weight_two_is_a_repeated_row_in_law(algorithm, options, draws, seed_offset):
    """Both inputs follow one law on *points*; the duplicated one is drawn, not enumerated."""
    law = greedy_law([[0.0], [1.0], [4.0], [9.0]], [1, 2, 1, 1], 3)
    repeated = Input([[0.0], [1.0], [4.0], [9.0], [1.0]], [1, 1, 1, 1, 1], 3)
    case = Case("greedy_kmeans_plusplus", algorithm, options, "repeated", repeated)
    check(case, law, draws, seed_offset, same={4: 1})


@every
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n", [1, 90, 3000])
def test_labels_and_distances_come_with_the_seeds(algorithm, options, metric, n):
    X = fit_for(metric, points_of("clustered", n, 4, 0))
    k, initial = min(n, 12), X[: n // 40] if n > 1 else None
    for first in (None, initial):
        found = greedy_kmeans_plusplus(
            X, k, metric=metric, initial_centers=first, random_state=1, algorithm=algorithm,
            **options,
        )  # fmt: skip
        centers = X[found.indices] if first is None else np.concatenate([first, X[found.indices]])
        wanted = assign(X, centers, metric=metric)
        np.testing.assert_array_equal(found.labels, wanted.labels)
        np.testing.assert_array_equal(found.distances, wanted.distances)
        assert found.potential == wanted.potential
        assert len(set(found.indices.tolist())) == k


@every
@pytest.mark.parametrize("initial", [0, 3])
def test_no_row_is_left_to_compare(algorithm, options, initial):
    problem, _, _ = prepare_problem(
        points_of("random", 500, 3, 0), 9, sample_weight=None, metric="euclidean",
        initial_centers=np.eye(3)[:initial], random_state=0, n_threads=1, progress=False,
    )  # fmt: skip
    drawn = table.GREEDY.method(algorithm).draw(problem, None, **options)
    assert drawn.nearest.oldest == 9 + initial
    assert drawn.trials == 4


@every
def test_work_is_counted_and_never_above_that_of_naive(algorithm, options):
    X = points_of("clustered", 3000, 3, 0)
    for trials in (1, 4):
        same = {"n_local_trials": trials, "random_state": 0}
        found = greedy_kmeans_plusplus(X, 20, algorithm=algorithm, **options, **same)
        assert found.work.rounds == 20
        assert found.work.candidates == 19 * trials
        assert 0 < found.work.distances <= 3000 * (1 + 19 * trials)


def test_naive_computes_every_distance_once():
    X = points_of("random", 3000, 3, 0)
    found = greedy_kmeans_plusplus(X, 20, n_local_trials=4, random_state=0, algorithm="naive")
    assert found.work.distances == 3000 * (1 + 19 * 4), "no two candidates of a step are the same"
    two = greedy_kmeans_plusplus([[0.0], [1.0], [1.0]], 2, n_local_trials=50, algorithm="naive")
    assert two.work.distances in (3 * 2, 3 * 3), "a repeated candidate is compared once"
    assert greedy_kmeans_plusplus(X, 1, algorithm="naive").work.distances == 0


def test_few_rows_and_many_draw_alike(monkeypatch):
    """Naive compares few rows with all candidates at once, and many one by one."""
    X = points_of("random", 700, 3, 0).astype(np.float32)
    weights = np.random.default_rng(0).random(700)
    runs = []
    for few in (1 << 14, 0):
        monkeypatch.setattr(naive, "_FEW", few)
        for keywords in ({}, {"sample_weight": weights}, {"metric": "chebyshev"}):
            found = greedy_kmeans_plusplus(X, 30, random_state=0, algorithm="naive", **keywords)
            runs.append((found.indices.tolist(), found.labels.tolist(), found.work))
    assert runs[:3] == runs[3:]


def test_a_candidate_that_wins_late_is_compared_again(monkeypatch):
    """The first is overtaken by the third by more than a tie, but the second equals the third."""
    X = points_of("random", 700, 3, 0)
    gains = iter([1.0, 1.0 + 1.5e-6, 1.0 + 3e-6] * 100)
    monkeypatch.setattr(naive, "_FEW", 0)
    monkeypatch.setattr(naive, "_gains", lambda *columns: next(gains))
    monkeypatch.setattr(naive._Rows, "candidates", lambda self, proposals: [5, 6, 7])
    found = greedy_kmeans_plusplus(
        X, 1, initial_centers=X[:1], n_local_trials=3, algorithm="naive", random_state=0
    )
    assert found.indices.tolist() == [6]
    assert found.work.distances == 700 * (1 + 4)
    np.testing.assert_array_equal(found.labels, assign(X, X[[0, 6]]).labels)


@every
@sizes("dtypes", [np.float32], [np.float32, np.float64])
def test_memory_beyond_the_input_is_forty_bytes_a_row(algorithm, options, dtypes):
    for dtype in dtypes:
        check_memory(algorithm, options, dtype)


def check_memory(algorithm, options, dtype):
    X = np.random.default_rng(0).random((1_000_000, 2)).astype(dtype)
    greedy_kmeans_plusplus(X[:5000], 3, random_state=0, algorithm=algorithm, **options)  # imports
    tracemalloc.start()
    try:
        greedy_kmeans_plusplus(
            X, 3, n_local_trials=8, random_state=0, n_threads=2, algorithm=algorithm, **options
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A forest keeps a copy of the coordinates, or of their projections, and makes another.
    copied = {"columns": 2, "tree": 4 * 2, "projected_tree": 6 * 3}
    columns = copied.get(options.get("strategy", ""), 0)
    # α² and the frozen masses are in the precision of the data.
    assert peak < (32 + 2 * X.itemsize + columns * X.itemsize) * len(X)


@pytest.mark.parametrize("algorithm", table.PARALLEL.algorithms)
def test_candidates_do_not_depend_on_their_reduction(algorithm):
    X = points_of("clustered", 2000, 3, 0)
    plain = kmeans_parallel(X, 12, random_state=0, algorithm=algorithm)
    found = kmeans_parallel(X, 12, random_state=0, algorithm=algorithm, reduction="greedy")
    assert found.work.candidates == plain.work.candidates
    assert found.indices.tolist() != plain.indices.tolist()
    naive = kmeans_parallel(X, 12, random_state=0, algorithm="naive", reduction="greedy")
    assert found.indices.tolist() == naive.indices.tolist()


@pytest.mark.parametrize("strategy", fast.STRATEGIES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 8, 15, 40])
def test_fast_equals_naive_row_for_row(strategy, dtype, d):
    """They share their random numbers; also where rounding leaves nothing of products."""
    rng = np.random.default_rng(d)
    for case, X in enumerate((
        rng.normal(size=(2500, d)), np.round(20.0 / d * rng.normal(size=(700, d))),
        1e3 + rng.normal(size=(900, d)), rng.normal(size=(900, d)) ** 5,
    )):  # fmt: skip
        rows, weights = X.astype(dtype), rng.integers(0, 3, size=len(X)).astype(float)
        for keywords in ({}, {"sample_weight": weights, "initial_centers": rows[:2] + 0.5}):
            same = {"random_state": case, "n_threads": 1 + case % 2, **keywords}
            naive_, found = (
                greedy_kmeans_plusplus(rows, 25, algorithm=one, **options, **same)
                for one, options in (("naive", {}), ("fast", {"strategy": strategy}))
            )
            np.testing.assert_array_equal(found.indices, naive_.indices)
            np.testing.assert_array_equal(found.labels, naive_.labels)
            np.testing.assert_array_equal(found.distances, naive_.distances)


def test_a_forest_shares_out_large_steps_and_takes_small_ones_together(monkeypatch):
    """Both ways give the same; an effort of nothing and one without limit force either."""
    X = points_of("clustered", 40_000, 3, 0).astype(np.float32)
    runs = []
    for limit in (-1, 10**12):
        monkeypatch.setattr(tree, "_MANY_PAIRS", limit)
        for strategy in ("tree", "projected_tree"):
            found = greedy_kmeans_plusplus(
                X, 30, algorithm="fast", strategy=strategy, random_state=0, n_threads=2
            )
            runs.append((found.indices.tolist(), found.labels.tolist(), found.work.distances))
    assert runs[:2] == runs[2:]
    assert runs[0][0] == runs[1][0]
    assert runs[0][2] < 0.3 * 40_000 * 30 * 5, "whole leaves are ruled out"


def test_few_candidates_of_an_old_epoch_are_accepted_in_law_and_in_order():
    """What is proposed from frozen masses, and accepted, is what a plain loop over them accepts."""
    rng = np.random.default_rng(0)
    then, weights = rng.random(200), rng.integers(0, 3, size=200).astype(float)
    now = then * rng.random(200)
    now[::3] = 0.0
    frozen, masses = (Masses(one, weights, sum_tree.new_sums(200)) for one in (then, now))
    for one in (frozen, masses):
        sum_tree.sum_rows(one, 0, 200)
        sum_tree.sum_inner(one.sums)
    stream = Stream.from_random_state(3).by_round(Purpose.GREEDY)
    numbers = stream(1, 4000).reshape(-1, 2)
    rows = sum_tree.draw_rows(frozen, numbers[:, 0])
    wanted = [i for i, u in zip(rows, numbers[:, 1], strict=True) if u * then[i] < now[i]]
    for candidates in (Proposals.of_step, candidates_of_step):
        proposals = Proposals(stream, 7)
        proposals.begin_step(frozen)
        proposals.begin_step = lambda masses: None  # the epoch goes on, however old
        found = [i for _ in range(40) for i in candidates(proposals, masses)]
        assert found == wanted[: 7 * 40]
        assert not set(found) & set(range(0, 200, 3)), "α² = 0 is never accepted"


def test_an_epoch_begins_when_half_of_the_masses_are_gone():
    masses = Masses(np.array([1.0, 3.0]), np.empty(0), sum_tree.new_sums(2))
    sum_tree.sum_rows(masses, 0, 2)
    proposals, epochs = Proposals(lambda epoch, count: np.full(count, 0.5), 2), []
    for total in (4.0, 3.0, 2.0, 1.9, 1.0, 0.9, 0.0):
        masses.bounds[:], masses.sums[1] = total / 2, total
        proposals.begin_step(masses)
        epochs.append(float(proposals.frozen.sums[1]))
    assert epochs == [4.0, 4.0, 4.0, 1.9, 1.9, 0.9, 0.0]


@pytest.mark.parametrize("weighted", [False, True])
def test_pools_of_any_size_serve_the_same_steps(monkeypatch, weighted):
    """Little room for lists, steps on threads, and pools of one step or many change nothing."""
    X = points_of("clustered", 6000, 5, 0).astype(np.float32)
    X[3000:] = X[:3000]  # every row twice: candidates whose gains are equal
    keywords = {"random_state": 2, "n_threads": 2}
    if weighted:
        keywords["sample_weight"] = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    wanted = greedy_kmeans_plusplus(X, 60, algorithm="naive", **keywords)
    for settings in (
        {}, {"_PER_ROW": 0, "_AT_LEAST": 10}, {"_MANY_ENTRIES": -1}, {"_MOST_COLUMNS": 1},
        {"_AT_A_TIME": 0}, {"_LISTED": 1e-6, "_DECAY": 0.999}, {"_FEW_CENTERS": 0},
    ):  # fmt: skip
        with monkeypatch.context() as patch:
            for name, value in settings.items():
                patch.setattr(pool, name, value)
            found = greedy_kmeans_plusplus(X, 60, algorithm="fast", strategy="pool", **keywords)
        np.testing.assert_array_equal(found.indices, wanted.indices, err_msg=str(settings))
        np.testing.assert_array_equal(found.labels, wanted.labels)
        np.testing.assert_array_equal(found.distances, wanted.distances)
        assert found.work.distances <= wanted.work.distances


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seeds", [0, 9])
def test_leading_columns_leave_nothing_out(monkeypatch, dtype, seeds):
    """From the first pool on, or in the middle; the other columns have some of the variance."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 40)) * np.where(np.arange(40) % 5 == 2, 9.0, 1.0)
    X = np.round(X).astype(dtype)
    assert len(leading_columns(X)) < 20
    monkeypatch.setattr(costs, "GREEDY_LEADING_SEEDS", seeds)
    for keywords in ({}, {"sample_weight": rng.integers(0, 3, size=3000).astype(float)}):
        same = {"random_state": 4, "n_threads": 2, **keywords}
        wanted = greedy_kmeans_plusplus(X, 50, algorithm="naive", **same)
        found = greedy_kmeans_plusplus(X, 50, algorithm="fast", strategy="pool", **same)
        np.testing.assert_array_equal(found.indices, wanted.indices)
        np.testing.assert_array_equal(found.labels, wanted.labels)
        np.testing.assert_array_equal(found.distances, wanted.distances)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 16, 37])
def test_bounds_of_a_pool_hold_every_gain(dtype, d):
    """Lists leave out no row that a candidate is nearer to; exact gains are within the bounds."""
    rng = np.random.default_rng(d)
    X = (rng.normal(size=(2100, d)) + 30.0 * rng.integers(0, 2, size=(2100, 1))).astype(dtype)
    problem, _, _ = prepare_problem(
        X, 40, sample_weight=None, metric="euclidean", initial_centers=None, random_state=0,
        n_threads=1, progress=False,
    )  # fmt: skip
    with Workers(1) as workers:
        rows = pool.PoolRows(problem, 6, workers)
        rows.add_centers(problem.points[:3])
        proposals = Proposals(problem.stream.by_round(Purpose.GREEDY), 6)
        for _ in range(4):
            proposals.begin_step(rows._masses)
            made, frozen = rows._refill(proposals, 5), proposals.frozen.bounds
            kernels, step = pool.kernels, rows._step
            while kernels.next_candidates(rows._rows, made, frozen, step):
                count = int(step.place[1])
                kernels.bound_gains(rows._rows, made, frozen, 0, rows._blocks, step)
                upper, lower = step.most.sum(axis=0), step.least.sum(axis=0)
                for q, column in enumerate(step.columns[:count].tolist()):
                    candidate = problem.points[made.of_columns[column]]
                    found = squared_distances(problem.points, candidate, problem.metric.kind)
                    lowered = np.subtract(rows.nearest.squared, found, dtype=np.float64)
                    gain = np.maximum(lowered, 0.0).sum()
                    assert lower[q] * (1 - 1e-9) <= gain <= upper[q] * (1 + 1e-9)
                    assert upper[q] - lower[q] < 0.5 * upper[q], "the bounds tell something"
                    assert rows._exact_gain(made, column, frozen, 9) == pytest.approx(gain, 1e-12)
                rows._shared_step(made, frozen)
        assert rows.nearest.n_compared > 6


def test_the_fast_strategy_is_chosen_by_shape(monkeypatch):
    def chosen(X, k):
        problem, _, _ = prepare_problem(
            X, k, sample_weight=None, metric="euclidean", initial_centers=None, random_state=0,
            n_threads=1, progress=False,
        )  # fmt: skip
        for kernels in fast._KERNELS.values():
            compile_policy._ready.add(compile_policy.name_of(kernels, problem.points.dtype))
        job = Job(problem.points, problem.metric, Workers(1), k)
        return fast._choose(problem, rule.trials_for(k, None), job)

    monkeypatch.setattr(compile_policy, "_ready", set())
    monkeypatch.setattr(compile_policy, "is_loaded", lambda: True)
    rng = np.random.default_rng(0)
    assert chosen(rng.random((100_000, 2)), 256) == "tree"
    assert chosen(rng.random((3000, 2)).astype(np.float32), 256) == "columns"
    assert chosen(rng.normal(size=(20_000, 60)), 64) == "pool"
    assert chosen(rng.normal(size=(100_000, 8)), 256) == "pool", "no structure for a tree to use"
    flat = rng.normal(size=(60_000, 4)) @ rng.normal(size=(4, 60))
    assert chosen(np.concatenate([flat, 50.0 * flat[:, :4]], axis=1), 512) == "pool", "few columns"
    assert chosen(flat, 512) == "projected_tree"
    assert chosen(flat, 16) == "pool"
