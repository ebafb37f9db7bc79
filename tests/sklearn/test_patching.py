"""The patch: what is seeded by kseeds under it, what is left alone, and that nothing stays."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse
import sklearn.cluster
import sklearn.mixture
from sklearn.cluster import (
    BisectingKMeans,
    KMeans,
    MiniBatchKMeans,
    _bisect_k_means,
    _kmeans,
    k_means,
)
from sklearn.cluster import kmeans_plusplus as imported_before
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kseeds.sklearn import Patched, patch_sklearn, patched, unpatch_sklearn
from tests.harness.isolation import run
from tests.sklearn.common import blobs, draws, said

__all__ = ["draws", "said"]

X = blobs()
PLACES = [
    (_kmeans, "_kmeans_plusplus"), (_kmeans, "kmeans_plusplus"),
    (sklearn.cluster, "kmeans_plusplus"), (sklearn.mixture._base, "kmeans_plusplus"),
    (KMeans, "fit"), (_kmeans, "_labels_inertia_threadpool_limit"),
    (_bisect_k_means, "_labels_inertia_threadpool_limit"),
]  # fmt: skip
BEFORE = [getattr(module, name) for module, name in PLACES]

USERS = {
    "KMeans": lambda: KMeans(4, random_state=0).fit(X).cluster_centers_,
    "elkan": lambda: KMeans(4, algorithm="elkan", random_state=0).fit(X).cluster_centers_,
    "k_means": lambda: k_means(X, 4, random_state=0)[0],
    "MiniBatchKMeans": lambda: MiniBatchKMeans(4, random_state=0).fit(X).cluster_centers_,
    "partial_fit": lambda: MiniBatchKMeans(4, random_state=0).partial_fit(X).cluster_centers_,
    "BisectingKMeans": lambda: (
        BisectingKMeans(4, init="k-means++", random_state=0).fit(X).cluster_centers_
    ),
    "GaussianMixture": lambda: (
        GaussianMixture(4, init_params="k-means++", random_state=0).fit(X).means_
    ),
    "GaussianMixture by k-means": lambda: GaussianMixture(4, random_state=0).fit(X).means_,
    "BayesianGaussianMixture": lambda: (
        BayesianGaussianMixture(n_components=2, init_params="k-means++", random_state=0)
        .fit(X)
        .means_
    ),
    "imported before": lambda: imported_before(X, 4, random_state=0)[0],
    "the function": lambda: sklearn.cluster.kmeans_plusplus(X, 4, random_state=0)[0],
    "a pipeline": lambda: (
        make_pipeline(StandardScaler(), KMeans(4, random_state=0)).fit(X)[-1].cluster_centers_
    ),
}


def is_restored() -> bool:
    return [getattr(module, name) for module, name in PLACES] == BEFORE


@pytest.fixture(autouse=True)
def _restored():
    yield
    unpatch_sklearn()
    assert is_restored()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("user", USERS)
def test_seeds_are_drawn_by_kseeds_under_the_patch_only(user, draws):
    USERS[user]()
    assert not draws
    patch_sklearn()
    USERS[user]()
    assert draws
    count = len(draws)
    unpatch_sklearn()
    USERS[user]()
    assert len(draws) == count


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("user", USERS)
def test_the_same_random_state_gives_the_same_answer(user):
    with patched():
        assert np.array_equal(USERS[user](), USERS[user]())


def test_functions_imported_before_and_after_draw_the_same_seeds():
    with patched():
        before, after = (
            function(X, 5, random_state=3)[1]
            for function in (imported_before, sklearn.cluster.kmeans_plusplus)
        )
    assert before.tolist() == after.tolist()


def test_a_random_state_is_advanced():
    state = np.random.RandomState(0)
    with patched():
        first, second = (imported_before(X, 9, random_state=state)[1].tolist() for _ in range(2))
    assert first != second


def test_n_init_draws_so_often(draws):
    with patched():
        KMeans(3, n_init=7, random_state=0).fit(X)
    assert len(draws) == 7


def test_it_says_what_it_patched(said):
    names = patch_sklearn()
    assert "sklearn.cluster.KMeans" in names
    assert repr(names).startswith("kseeds draws the k-means++ seeds of sklearn.cluster")
    assert said() == [repr(names)]


def test_patching_twice_is_patching_once(said):
    assert patch_sklearn() == patch_sklearn()
    assert len(said()) == 1
    unpatch_sklearn()
    assert is_restored()
    unpatch_sklearn()


def test_blocks_are_nested():
    with patched() as outer, patched() as inner:
        assert outer == inner
    assert is_restored()
    with patched():
        with patched():
            pass
        assert not is_restored()
    assert is_restored()


def test_a_block_ends_with_an_error_too():
    with pytest.raises(KeyError), patched():
        raise KeyError
    assert is_restored()


def test_a_patch_outlives_the_blocks_around_and_within_it():
    with patched():
        patch_sklearn()
    assert not is_restored()
    with patched():
        unpatch_sklearn()
        assert not is_restored()
    assert is_restored()


def test_what_others_put_there_since_is_left_alone(monkeypatch):
    with patched():
        other = object()
        monkeypatch.setattr(_kmeans, "kmeans_plusplus", other)
    assert _kmeans.kmeans_plusplus is other
    monkeypatch.undo()
    _kmeans.kmeans_plusplus = BEFORE[1]


def test_a_function_that_was_imported_under_the_patch_is_theirs_afterwards(draws):
    with patched():
        from sklearn.cluster import kmeans_plusplus as imported_under_it

        assert imported_under_it([[0], [1], [5]], 2)[0].dtype == np.float64
    count = len(draws)
    ours, theirs = (
        f(X, 3, random_state=0)[1].tolist() for f in (imported_under_it, imported_before)
    )
    assert ours == theirs
    assert len(draws) == count
    with pytest.raises(AttributeError):  # as theirs does for any list
        imported_under_it([[0], [1], [5]], 2)


def test_a_module_that_was_imported_under_the_patch_is_restored_too():
    done = run(
        """
        from kseeds.sklearn import patched
        from sklearn.cluster import kmeans_plusplus
        with patched():
            from sklearn.mixture import _base
            print(_base.kmeans_plusplus is kmeans_plusplus)
        print(_base.kmeans_plusplus is kmeans_plusplus)
        """
    )
    assert done.stdout.split() == ["False", "True"]


def test_threads_patch_and_fit_at_once():
    """Blocks of several threads overlap; each of them is patched from its start to its end."""
    barrier = threading.Barrier(4, timeout=60)

    def work(seed):
        barrier.wait()
        seen = []
        for _ in range(20):
            with patched():
                seen.append(_kmeans._kmeans_plusplus is not BEFORE[0])
                seen.append(imported_before(X, 5, random_state=seed)[1].tolist())
        return seen

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, range(4)))
    for seed, seen in enumerate(found):
        assert all(is_patched is True for is_patched in seen[::2])
        with patched():
            alone = imported_before(X, 5, random_state=seed)[1].tolist()
        assert all(indices == alone for indices in seen[1::2])


def test_an_unknown_scikit_learn_is_left_alone(monkeypatch, said):
    def other(X, n_clusters, sample_weight, random_state, tree=None):
        raise AssertionError

    monkeypatch.setattr(_kmeans, "_kmeans_plusplus", other)
    names = patch_sklearn()
    assert names == Patched()
    assert "is not patched" in repr(names)
    assert said() == [repr(names)]
    assert _kmeans._kmeans_plusplus is other
    unpatch_sklearn()
    monkeypatch.undo()


def sparse_rows(share):
    rng = np.random.default_rng(0)
    return scipy.sparse.random(2_000, 300, share, format="csr", random_state=rng)


def test_few_seeds_of_sparse_data_are_left_to_scikit_learn(draws, said):
    data = sparse_rows(0.02)
    theirs = KMeans(3, random_state=0).fit(data).labels_
    with patched():
        ours = [KMeans(3, random_state=0).fit(data).labels_ for _ in range(2)]
    assert not draws
    assert all(np.array_equal(labels, theirs) for labels in ours)
    assert sum("sparse data" in line for line in said()) == 1


@pytest.mark.parametrize("container", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("user", [KMeans, MiniBatchKMeans])
def test_many_seeds_of_sparse_data_are_drawn_by_kseeds(user, container, draws, said):
    data = container(sparse_rows(0.02))
    with patched():
        models = [user(150, n_init=1, max_iter=2, random_state=0).fit(data) for _ in range(2)]
        centers, indices = imported_before(data, 150, random_state=0)
    assert len(draws) == 3
    assert not any("leaves" in line for line in said())
    assert np.array_equal(models[0].cluster_centers_, models[1].cluster_centers_)
    assert np.array_equal(centers, data[indices].toarray())
    assert len(set(indices.tolist())) == 150


def test_data_that_is_sparse_in_name_only_has_the_seeds_of_an_array(draws):
    few, full = scipy.sparse.csr_array(np.eye(40)), sparse_rows(0.5)
    with patched():
        for data in (few, full):
            indices = [
                imported_before(each, 4, random_state=0)[1] for each in (data, data.toarray())
            ]
            assert indices[0].tolist() == indices[1].tolist()
    assert len(draws) == 4


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("user", [KMeans, MiniBatchKMeans])
def test_more_clusters_than_positive_weights_are_left_to_scikit_learn(user, draws, said):
    weights = np.zeros(len(X))
    weights[:3] = 1.0
    with patched():
        user(4, n_init=1, random_state=0).fit(X, sample_weight=weights)
        assert not draws
        user(2, n_init=1, random_state=0).fit(np.repeat(X[:2], 50, axis=0))
    assert draws
    assert sum("rows of positive weight" in line for line in said()) == 1


def test_more_clusters_than_rows_are_left_to_scikit_learn(draws, said):
    """As when a cluster of one row is bisected."""
    with patched():
        _kmeans._kmeans_plusplus(X[:1], 2, np.ones(1), np.ones(1), np.random.RandomState(0))
    assert not draws
    assert any("more clusters than rows of positive weight" in line for line in said())


@pytest.mark.parametrize("n", [60, 60_000])
def test_rows_of_weight_zero_are_never_seeds(n):
    rng = np.random.default_rng(1)
    data, weights = rng.normal(size=(n, 2)), rng.integers(0, 2, size=n).astype(float)
    with patched():
        for seed in range(10):
            indices = imported_before(data, 12, sample_weight=weights, random_state=seed)[1]
            assert (weights[indices] > 0).all()


def test_weights_change_the_seeds_and_equal_ones_do_not():
    rising = np.linspace(0.1, 5.0, len(X))
    with patched():
        plain, equal, weighted = (
            imported_before(X, 8, sample_weight=weights, random_state=0)[1].tolist()
            for weights in (None, np.full(len(X), 0.3), rising)
        )
    assert plain == equal != weighted


@pytest.mark.parametrize("n", [90, 30_000])
def test_no_row_twice_and_one_warning_where_points_repeat(n, recwarn):
    """The warning is that of scikit-learn, as before."""
    data = np.repeat(np.eye(3), n // 3, axis=0)
    with patched():
        indices = imported_before(data, 5, random_state=0)[1]
        assert not recwarn.list
        with pytest.warns(ConvergenceWarning) as caught:
            KMeans(5, random_state=0).fit(data)
    assert len(set(indices.tolist())) == 5
    assert len({tuple(row) for row in data[indices]}) == 3
    assert len(caught) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [240, 40_000])
def test_centres_are_rows_in_the_precision_of_the_data(n, dtype):
    data = blobs(n, dtype=dtype)
    with patched():
        centers, indices = imported_before(np.asfortranarray(data), 6, random_state=0)
    assert centers.dtype == dtype
    assert np.array_equal(centers, data[indices])


def test_lists_and_integers_work_under_the_patch():
    rows = [[0, 0], [0, 1], [9, 9]]
    with patched():
        for data in (rows, np.array(rows), tuple(rows)):
            centers, indices = sklearn.cluster.kmeans_plusplus(data, 2, random_state=0)
            assert centers.dtype == np.float64
            assert np.array_equal(centers, np.array(rows, dtype=float)[indices])


@pytest.mark.parametrize(
    "arguments",
    [
        (None, 2),
        ("text", 2),
        (X, 0),
        (X, "2"),
        (X, len(X) + 1),
        ([[np.nan], [1.0]], 1),
        ([1, 2], 1),
    ],
    ids=repr,
)
def test_errors_of_the_function_are_those_of_scikit_learn(arguments):
    def error():
        with pytest.raises(Exception) as caught:  # noqa: PT011 - whichever it is
            sklearn.cluster.kmeans_plusplus(*arguments)
        return caught.type, str(caught.value)

    plain = error()
    with patched():
        patched_one = error()
    if isinstance(arguments[0], list):  # theirs ends in an AttributeError for any list
        assert issubclass(patched_one[0], ValueError)
    else:
        assert patched_one == plain


def test_a_fork_waits_for_a_patch_in_another_thread():
    """Else the child would wait forever for a thread that it does not have."""
    done = run(
        """
        import os, threading
        from kseeds.sklearn import patch_sklearn, patching
        held = threading.Event()
        def hold():
            with patching._PATCH.lock:
                held.set()
                threading.Event().wait(0.5)
        threading.Thread(target=hold).start()
        held.wait()
        child = os.fork()
        if child == 0:
            os._exit(0 if patch_sklearn() else 1)
        print(os.waitpid(child, 0)[1])
        """
    )
    assert done.stdout.strip() == "0"
