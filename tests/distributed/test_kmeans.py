"""k-means over partitions, in this process: that of memory, to the last bit, however it is cut."""

from __future__ import annotations

import warnings
from contextlib import contextmanager, nullcontext
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from hypothesis import strategies as st

import kseeds
from kseeds import FewerDistinctPointsWarning, kmeans
from kseeds.distributed import lloyd
from kseeds.distributed.clustering import cluster
from kseeds.distributed.local_backend import LocalBackend
from kseeds.distributed.partition import Part
from kseeds.inputs.clustering import STARTS, state_of_run
from tests.data import ODDITIES, points_of
from tests.distributed.common import cuts_of, whole_numbers
from tests.harness.profiles import generated
from tests.lloyd.test_golden import GOLDEN, digest_of, job_of


class Twice(LocalBackend):
    """Runs every task twice, as a backend does after a fault; the second answer counts."""

    def run(self, task, message, keep):
        super().run(task, message, keep=False)
        return super().run(task, message, keep)


class Counting(LocalBackend):
    """Remembers which tasks it ran, and whether it was left."""

    def __init__(self, parts):
        super().__init__(parts)
        self.tasks, self.is_open = [], True

    def run(self, task, message, keep):
        self.tasks.append(task.__name__)
        return super().run(task, message, keep)

    @contextmanager
    def running(self):
        try:
            yield self
        finally:
            self.is_open = False


def parts_of(X, weights, borders, kind=LocalBackend):
    return kind(
        [
            Part.of(number, X[lo:hi], None if weights is None else weights[lo:hi])
            for number, (lo, hi) in enumerate(pairwise(borders))
        ]
    )


def fit(X, k, weights=None, borders=None, kind=LocalBackend, backend=None, **options):
    """Return the result, and the labels and distances that the partitions keep."""
    borders = [0, X.shape[0]] if borders is None else borders
    backend = backend or parts_of(X, weights, borders, kind)
    given = {"init": "k-means++", "n_init": 1, "metric": "euclidean", "max_iter": 300}
    given |= {"tol": 1e-4, "random_state": 0, "progress": False, "columns": None, "dtype": None}
    running = backend.running() if isinstance(backend, Counting) else nullcontext(backend)
    found, (labels, distances) = cluster(
        lambda: running,
        k,
        take=lambda backend, *_: map(np.concatenate, zip(*backend.states, strict=True)),
        **{**given, **options},
    )
    return found, labels, distances


def same(ours, theirs):
    """Assert that a result is that of memory."""
    found, labels, distances = ours
    np.testing.assert_array_equal(found.centers, theirs.centers)
    assert found.centers.dtype == theirs.centers.dtype
    np.testing.assert_array_equal(labels, theirs.labels)
    np.testing.assert_array_equal(distances, theirs.distances)
    assert distances.dtype == theirs.distances.dtype
    assert found.inertia == pytest.approx(theirs.inertia, rel=1e-12)
    assert (found.n_iter, found.converged) == (theirs.n_iter, theirs.converged)


@pytest.mark.parametrize("kind", ODDITIES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_result_is_that_of_memory(kind, dtype, weighted, metric):
    X = points_of(kind, 300, 3, 0).astype(dtype)
    weights = np.random.default_rng(1).random(300) * 7.0 if weighted else None
    if weighted:
        weights[::5] = 0.0
    start = X[1:10]
    wanted = kmeans(X, 9, init=start, sample_weight=weights, metric=metric)
    found = []
    for borders in ([0, 300], cuts_of(300, 9, seed=3), [0, 0, 299, 300, 300]):
        ours = fit(X, 9, weights, borders, init=start, metric=metric)
        same(ours, wanted)
        found.append(ours[0])
    assert len({one.inertia for one in found}) == 1  # to the last bit, too


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_sparse_columns_far_from_zero_stop_where_dense_ones_do(offset):
    X = np.random.default_rng(0).normal(size=(300, 4)) + offset
    wanted = kmeans(X, 9, init=X[:9], tol=1e-2)
    rows = scipy.sparse.csr_array(X)
    for borders in ([0, 300], cuts_of(300, 5, seed=3)):
        found, *_ = fit(rows, 9, borders=borders, init=X[:9], tol=1e-2)
        assert found.n_iter == wanted.n_iter == kmeans(rows, 9, init=X[:9], tol=1e-2).n_iter


@pytest.mark.parametrize("job", GOLDEN)
@pytest.mark.parametrize("parts", [1, 5, 40])
def test_partitions_give_the_golden_results(job, parts):
    X, weights, k, options = job_of(job)
    found, labels, _ = fit(X, k, weights, cuts_of(len(X), parts), **options)
    assert digest_of(found.centers, labels, found.n_iter) == GOLDEN[job]


def test_every_row_may_be_a_partition():
    X, weights = whole_numbers(60, 2)
    wanted = kmeans(X, 5, init=X[:5] + 0.5, sample_weight=weights)
    same(fit(X, 5, weights, range(61), init=X[:5] + 0.5), wanted)


@generated(
    25,
    300,
    cuts=st.lists(st.integers(0, 80), max_size=12),
    seed=st.integers(0, 2**20),
    k=st.integers(1, 20),
    weighted=st.booleans(),
    twice=st.booleans(),
    tol=st.sampled_from([0.0, 1e-3, 0.5]),
    max_iter=st.sampled_from([1, 2, 300]),
)
def test_partitions_change_nothing(cuts, seed, k, weighted, twice, tol, max_iter):
    rng = np.random.default_rng(seed)
    X = points_of(ODDITIES[seed % len(ODDITIES)], 80, 1 + seed % 4, seed)
    weights = rng.integers(0, 3, 80) * rng.random(80) if weighted else None
    if weighted:
        weights[:k] = 1.0
    # Some centres are far off, and some the same, so that clusters are empty.
    start = X[rng.integers(0, 80, k)] + 1e3 * (rng.random((k, 1)) < 0.2)
    options = {"init": start, "tol": tol, "max_iter": max_iter}
    wanted = kmeans(X, k, sample_weight=weights, **options)
    kind = Twice if twice else LocalBackend
    same(fit(X, k, weights, [0, *sorted(cuts), 80], kind, **options), wanted)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_empty_clusters_take_the_farthest_rows_of_all_partitions(weighted, dtype):
    X = np.concatenate([points_of("random", 200, 2, 0), [[50.0, 0.0], [0.0, 50.0]] * 2])
    X = X.astype(dtype)
    weights = None
    if weighted:
        weights = np.ones(204)
        weights[200] = 0.0  # never taken
    start = np.concatenate([X[:2], np.full((4, 2), 1e4, dtype)])
    backend = parts_of(X, weights, [0, 100, 100, 201, 202, 204], Counting)
    for most in (1, 2, 300):
        wanted = kmeans(X, 6, init=start, sample_weight=weights, max_iter=most)
        backend.forget()
        same(fit(X, 6, init=start, max_iter=most, backend=backend), wanted)
    assert "farthest" in backend.tasks


def test_clusters_that_nothing_is_left_for_keep_their_centres():
    X = np.repeat([[1.0], [5.0]], 10, axis=0)
    start = np.array([[1.0], [5.0], [7.0], [9.0]])
    same(fit(X, 4, borders=[0, 7, 20], init=start), kmeans(X, 4, init=start))


@pytest.mark.parametrize("start", STARTS)
def test_seeds_of_too_few_distinct_points_warn(start):
    X = np.repeat([[1.0], [5.0], [9.0]], 20, axis=0)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found, labels, distances = fit(X, 5, borders=[0, 11, 60], init=start, n_init=2)
    assert found.inertia == 0.0
    assert not distances.any()
    assert {found.centers[label, 0] for label in labels} == {1.0, 5.0, 9.0}
    repeated = [one for one in seen if one.category is FewerDistinctPointsWarning]
    assert len(repeated) == (start != "random")


@pytest.mark.parametrize("start", ["k-means||", "random"])
@pytest.mark.parametrize("n_init", [1, 3])
def test_starts_that_draw_the_rows_of_memory_end_where_it_ends(start, n_init):
    X, weights = whole_numbers(900)
    options = {"init": start, "n_init": n_init, "random_state": 4}
    wanted = kmeans(X, 7, sample_weight=weights, **options)
    ours = fit(X, 7, weights, cuts_of(900, 5), **options)
    same(ours, wanted)
    assert ours[0].seeding.indices.tolist() == wanted.seeding.indices.tolist()


@pytest.mark.parametrize("start", STARTS)
def test_every_start_is_the_same_for_any_partitions(start):
    X, weights = whole_numbers(900)
    one, other = (
        fit(X, 7, weights, borders, init=start, n_init=3, random_state=4)
        for borders in ([0, 900], cuts_of(900, 6))
    )
    for ours, theirs in zip(one[1:], other[1:], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(one[0].centers, other[0].centers)
    assert (one[0].inertia, one[0].n_iter) == (other[0].inertia, other[0].n_iter)
    assert one[0].seeding.indices.tolist() == other[0].seeding.indices.tolist()
    names = {"greedy": "greedy k-means++", "random": "random rows"}
    assert one[0].seeding.algorithm == names.get(start, start)
    # The best of single runs, and the labels of that run.
    singles = [
        fit(X, 7, weights, init=start, random_state=state_of_run(4, number)) for number in range(3)
    ]
    best = min(singles, key=lambda single: single[0].inertia)
    np.testing.assert_array_equal(one[0].centers, best[0].centers)
    np.testing.assert_array_equal(one[1], best[1])
    np.testing.assert_array_equal(one[2], best[2])


@pytest.mark.parametrize("state", [7, np.random.SeedSequence(7)])
def test_the_first_seeds_are_those_of_the_seeding_function(state):
    X, weights = whole_numbers(500)
    seeding = kseeds.kmeans_plusplus(
        X, 9, sample_weight=weights, random_state=state, algorithm="rounds"
    )
    found, labels, _ = fit(X, 9, weights, [0, 200, 500], random_state=state)
    assert found.seeding.indices.tolist() == seeding.indices.tolist()
    same((found, labels, _), kmeans(X, 9, init=seeding, sample_weight=weights))


def test_generators_are_advanced_by_every_run_and_left_alone_by_refusals():
    X, _ = whole_numbers(200)
    one, other = (np.random.default_rng(0) for _ in range(2))
    fit(X, 4, n_init=3, random_state=one)
    other.integers(0, 2**64, size=6, dtype=np.uint64)
    assert one.bit_generator.state == other.bit_generator.state
    fit(X, 4, init=X[:4], random_state=one)  # draws nothing
    assert one.bit_generator.state == other.bit_generator.state
    X[100, 1] = np.nan
    with pytest.raises(ValueError, match="partition 1 cannot be used: X has nan at row 50"):
        fit(X, 4, borders=[0, 50, 200], random_state=one)
    assert one.bit_generator.state == other.bit_generator.state


@pytest.mark.parametrize("k", [1, 40])
def test_one_cluster_and_as_many_as_rows(k):
    X, weights = points_of("random", 40, 3, 0), np.random.default_rng(0).random(40) + 0.1
    wanted = kmeans(X, k, init=X[:k], sample_weight=weights)
    same(fit(X, k, weights, [0, 13, 40], init=X[:k]), wanted)
    found, labels, _ = fit(X, k, weights, [0, 13, 40])
    assert sorted(set(labels.tolist())) == list(range(k))
    if k == 40:
        assert found.inertia < 1e-28  # w·x / w may be rounded


@pytest.mark.parametrize("factor", [1e-200, 1e-30, 1e30, 1e200])
@pytest.mark.parametrize("weighted", [False, True])
def test_values_and_weights_of_any_size(factor, weighted):
    X = points_of("random", 90, 2, 0) * factor
    X[::7] = X[0] + np.arange(13)[:, None] * factor * 1e-180  # squares underflow
    weights = None
    if weighted:
        weights = 10.0 ** np.random.default_rng(0).integers(-250, 40, 90)
    wanted = kmeans(X, 6, init=X[1:7], sample_weight=weights)
    same(fit(X, 6, weights, [0, 40, 90], init=X[1:7]), wanted)


@pytest.mark.parametrize("weights", [None, [1.0, 3.0, 1.0, 1e-250]])
def test_an_inertia_of_squares_that_underflow(weights):
    X = np.array([[0.0], [1e30], [1e200], [1e200]])
    weights = None if weights is None else np.array(weights)
    ours = fit(X, 2, weights, [0, 1, 4], init=X[1:3])
    same(ours, kmeans(X, 2, init=X[1:3], sample_weight=weights))
    assert ours[0].inertia > 1e59


def test_steps_that_begin_anew_change_nothing(monkeypatch):
    X, weights = points_of("random", 400, 2, 0), np.random.default_rng(0).random(400)
    wanted = kmeans(X, 12, init=X[:12], sample_weight=weights, tol=0)
    assert wanted.n_iter > 12
    for steps in (1, 2, 5):
        monkeypatch.setattr(lloyd, "_STEPS", steps)
        same(fit(X, 12, weights, [0, 100, 400], Twice, init=X[:12], tol=0), wanted)


def test_an_iteration_is_one_communication():
    X, _ = whole_numbers(500)
    backend = parts_of(X, None, [0, 200, 500], Counting)
    found, *_ = fit(X, 6, init=X[:6], tol=0, backend=backend)
    asked = ["survey", "extent", *["assign"] * found.n_iter]
    assert backend.tasks in (  # once more at the end, unless no centre moved
        [*asked, "finish"],
        [*asked, "assign", "finish"],
    )
    work = found.work
    assert (work.rows, work.rounds) == (500, found.n_iter)
    assert work.communications == len(backend.tasks)
    assert work.distances == 500 * 6 * backend.tasks.count("assign")
    assert work.bytes_out > 0
    assert work.bytes_back > 0


def test_what_the_seeding_knows_of_rows_is_used():
    """Only seeds that rows were not compared with are compared, and rows are surveyed once."""
    X, _ = whole_numbers(500)
    for start, known in (("k-means++", None), ("greedy", 5), ("random", 0)):
        backend = parts_of(X, None, [0, 200, 500], Counting)
        found, *_ = fit(X, 6, init=start, max_iter=1, tol=0, backend=backend)
        first = found.work.distances - 500 * 6  # all but those of the last labels
        before = backend.tasks[: backend.tasks.index("extent")]
        assert first == 500 * (6 - (before.count("update") if known is None else known))
        assert backend.tasks.count("survey") == 1


def test_only_clusters_that_change_are_sent():
    X = np.arange(12.0)[:, None]
    changes = []

    class Watching(LocalBackend):
        def run(self, task, message, keep):
            replies = super().run(task, message, keep)
            if task.__name__ == "assign":
                changes.append([one.change for one in replies])
            return replies

    start = np.array([[1.0], [4.0], [6.1], [9.5]])
    fit(X, 4, borders=[0, 6, 6, 12], kind=Watching, init=start, tol=0)
    first, second, last = changes[0], changes[1], changes[-1]
    assert [None if one is None else one.places.tolist() for one in first] == [[0, 1], None, [2, 3]]
    assert second[0] is None  # no row of this partition has changed
    assert second[2].places.tolist() == [2, 3]
    assert last == [None, None, None]


def test_progress_is_told_of_iterations_and_an_interrupt_leaves_nothing_behind():
    X, _ = whole_numbers(500)
    seen = []
    found, *_ = fit(X, 6, max_iter=5, tol=0, progress=lambda *step: seen.append(step))
    assert seen == [*((done, 5) for done in range(found.n_iter)), (found.n_iter, found.n_iter)]

    def interrupt(done, total):
        if done == 2:
            raise KeyboardInterrupt

    backend = parts_of(X, None, [0, 200, 500], Counting)
    with pytest.raises(KeyboardInterrupt):
        fit(X, 6, progress=interrupt, backend=backend)
    assert not backend.is_open


@pytest.mark.parametrize("n_init", [1, 2])
def test_a_bar_shows_seeds_and_iterations(n_init, capsys):
    X, _ = whole_numbers(500)
    fit(X, 6, max_iter=3, n_init=n_init, progress=True)
    assert "iterations" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "n_clusters=0 is too small"),
        ({"k": 101}, "than the 100 rows of X; ask for at most 100 clusters"),
        ({"n_init": 0}, "n_init=0 is too small"),
        ({"max_iter": 1.5}, r"max_iter=1\.5 is not an integer"),
        ({"tol": -1}, "tol=-1 is out of range"),
        ({"metric": "manhattan"}, "metric='manhattan' has no mean"),
        ({"metric": lambda a, b: 0.0}, "metric=<function .* has no mean"),
        ({"init": "kmeans++"}, r"init='kmeans\+\+' is unknown to kmeans; use one of k-means\+\+"),
        ({"init": None}, "init=None is no start of kmeans"),
        ({"init": np.zeros((4, 3))}, "init has 4 centres but n_clusters=5"),
        ({"init": np.zeros((5, 2))}, "init has 2 columns but the data has 3"),
        ({"init": np.full((5, 3), np.nan)}, "init has nan in 5 rows"),
        ({"init": [1.0]}, "init has 1 dimensions, not 2"),
        ({"init": np.zeros((0, 3))}, "init is empty; pass at least one centre"),
        ({"init": np.full((5, 3), 1e200), "scale": 1e-200}, r"init reaches 1e\+200, too far from"),
        ({"init": kseeds.kmeans_plusplus(np.eye(9, 3), 3)}, "init has 3 centres but n_clusters=5"),
        ({"random_state": -1}, "random_state=-1 is negative"),
        ({"progress": 3}, "progress=3 is not possible"),
        ({"metric": "cosine", "scale": 0.0}, "partition 0 cannot be used: X has a zero vector"),
        ({"weights": np.zeros(100)}, "sample_weight is 0 for every row"),
        ({"weights": np.eye(100)[0]}, "n_clusters=5 is more than the 1 rows with positive"),
    ],
)
def test_bad_arguments_are_refused_in_a_sentence(options, message):
    X = points_of("random", 100, 3, 0) * options.get("scale", 1.0)
    given = {name: value for name, value in options.items() if name not in ("k", "scale")}
    with pytest.raises((TypeError, ValueError), match=f"^.*{message}") as caught:
        fit(X, options.get("k", 5), **given)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")
