"""`kseeds.sklearn.KMeans`: an estimator as scikit-learn has it, computed by kseeds."""

from __future__ import annotations

import pickle
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn.cluster
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import kseeds
from kseeds.nearest.finish import finish
from kseeds.sklearn import Init, KMeans, assigning, costs, fitting
from kseeds.sklearn import kmeans as module
from tests.sklearn.common import blobs

Theirs = sklearn.cluster.KMeans


@pytest.fixture(params=["by size", "ours"])
def loop(request, monkeypatch):
    """Which loop is used: what costs say, or ours however small the data."""
    if request.param == "ours":
        monkeypatch.setattr(costs, "lloyd_pays", lambda shape, k: True)
        monkeypatch.setattr(costs, "assign_pays", lambda shape, k: True)


@pytest.fixture
def ours(monkeypatch):
    """Our loop, however small the data; tells how often it was used."""
    calls = []
    real = fitting._by_ours
    monkeypatch.setattr(costs, "lloyd_pays", lambda shape, k: True)
    monkeypatch.setattr(costs, "assign_pays", lambda shape, k: True)
    monkeypatch.setattr(fitting, "_by_ours", lambda *a: calls.append(a) or real(*a))
    return calls


# As for scikit-learn's own: seeds are other draws if a row is repeated instead of weighted.
NOT_OF_ONE_DRAW = {
    f"check_sample_weight_equivalence_on_{kind}_data": "seeds are drawn"
    for kind in ("dense", "sparse")
}
checks = parametrize_with_checks(
    [KMeans(n_clusters=3)], expected_failed_checks=lambda model: NOT_OF_ONE_DRAW
)


def passes(estimator, check):
    """Run a check; arrays of other libraries are checked only where SciPy was told to take them."""
    try:
        check(estimator)
    except SkipTest as reason:
        if "SCIPY_ARRAY_API is not set" not in str(reason):
            raise


@checks
def test_it_is_an_estimator(estimator, check):
    passes(estimator, check)


@checks
def test_it_is_one_by_our_loop(estimator, check, ours):
    passes(estimator, check)


DATA = {
    "blobs": lambda rng: blobs(3_000, 5),
    "uniform": lambda rng: rng.uniform(size=(4_000, 2)),
    "correlated": lambda rng: rng.normal(size=(2_500, 30)) @ rng.normal(size=(30, 30)),
    "far from 0": lambda rng: 1e6 + rng.normal(size=(3_000, 4)),
    "uneven columns": lambda rng: rng.normal(size=(3_000, 6)) * 10.0 ** np.arange(-3, 3),
    "float32": lambda rng: rng.normal(size=(3_000, 8)).astype(np.float32),
}

"""None with exact ties, as integers have them: scikit-learn leaves those to rounding."""


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("k", [3, 40])
def test_it_equals_scikit_learn_from_the_same_start(name, k, weighted, ours):
    rng = np.random.default_rng(5)
    X = DATA[name](rng)
    weights = rng.uniform(0.1, 3.0, size=len(X)) if weighted else None
    start = X[rng.choice(len(X), k, replace=False)]
    # Where roundings differ the last iterations may; a few suffice.
    models = [
        kind(k, init=start, n_init=1, max_iter=12, tol=1e-3).fit(X, sample_weight=weights)
        for kind in (KMeans, Theirs)
    ]
    assert len(ours) == 1
    mine, theirs = models
    assert mine.inertia_ == pytest.approx(theirs.inertia_, rel=1e-6)
    assert mine.n_iter_ == theirs.n_iter_
    assert mine.cluster_centers_.dtype == theirs.cluster_centers_.dtype
    assert mine.labels_.dtype == theirs.labels_.dtype == np.int32
    scale = np.abs(theirs.cluster_centers_).max()
    assert np.allclose(mine.cluster_centers_, theirs.cluster_centers_, rtol=1e-4, atol=1e-5 * scale)
    # Where labels differ, both centres are as near, within rounding.
    for row in np.flatnonzero(mine.labels_ != theirs.labels_):
        pair = mine.cluster_centers_[[mine.labels_[row], theirs.labels_[row]]].astype(float)
        near, far = ((X[row].astype(float) - pair) ** 2).sum(axis=1)
        assert far == pytest.approx(near, rel=1e-4)
    assert (mine.labels_ == theirs.labels_).mean() > 0.999


@pytest.mark.parametrize("algorithm", ["lloyd", "elkan"])
def test_it_equals_kmeans_of_kseeds(algorithm, ours):
    X = blobs(12_000, 4)
    model = KMeans(20, random_state=1, algorithm=algorithm).fit(X)
    start = kseeds.greedy_kmeans_plusplus(X, 20, random_state=np.random.RandomState(1)).centers
    found = kseeds.kmeans(X, 20, init=start)
    assert np.array_equal(model.cluster_centers_, found.centers)
    assert np.array_equal(model.labels_, found.labels)
    assert (model.inertia_, model.n_iter_) == (found.inertia, found.n_iter)


def test_labels_are_those_of_the_centres(ours):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 3))
    for most in (1, 2, 300):
        model = KMeans(30, max_iter=most, random_state=0).fit(X)
        nearest = pairwise_distances(X, model.cluster_centers_).argmin(axis=1)
        assert np.array_equal(model.labels_, nearest)
        assert np.array_equal(model.predict(X), model.labels_)
        assert model.score(X) == pytest.approx(-model.inertia_)


def test_it_is_one_of_theirs():
    assert isinstance(KMeans(), Theirs)
    assert KMeans().get_params() == Theirs().get_params()
    assert KMeans()._parameter_constraints == Theirs()._parameter_constraints


def test_the_data_is_left_as_it_is(ours):
    X = blobs(2_000)
    for copied in (True, False):
        before = X.copy()
        KMeans(5, copy_x=copied, random_state=0).fit(X)
        assert np.array_equal(X, before)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_precisions_and_orders(order, dtype, loop):
    X = np.asarray(10 * blobs(400), dtype=dtype, order=order)
    model = KMeans(4, random_state=0).fit(X)
    expected = KMeans(4, random_state=0).fit(np.ascontiguousarray(X))
    assert np.array_equal(model.cluster_centers_, expected.cluster_centers_)
    assert model.cluster_centers_.dtype == (dtype if dtype != np.int64 else np.float64)
    assert isinstance(model.inertia_, float)
    assert isinstance(model.n_iter_, int)


@pytest.mark.parametrize("init", ["k-means++", "random", "callable", "Init", "array"])
def test_starts(init, loop):
    X = blobs(300)
    seen = []

    def function(data, k, random_state):
        seen.append(data)
        return data[random_state.permutation(len(data))[:k]]

    start = {"callable": function, "Init": Init("k-means||"), "array": X[[0, 100, 200]].tolist()}
    model = KMeans(3, init=start.get(init, init), random_state=3).fit(X)
    assert model._n_init == (1 if init in ("k-means++", "array") else 10)
    again = clone(model).fit(X)
    assert np.array_equal(model.cluster_centers_, again.cluster_centers_)
    for data in seen:
        assert np.allclose(data.mean(axis=0), 0.0, atol=1e-12)
        assert data.flags.c_contiguous


def test_random_starts_are_those_of_scikit_learn(ours):
    X = blobs(500)
    weights = np.arange(500.0)
    models = [
        kind(4, init="random", n_init=3, random_state=7).fit(X, sample_weight=weights)
        for kind in (KMeans, Theirs)
    ]
    assert np.array_equal(models[0].labels_, models[1].labels_)


def test_several_starts_are_no_worse_than_one(loop):
    X = np.random.default_rng(1).normal(size=(400, 2))
    one, ten = (KMeans(9, n_init=n, random_state=0).fit(X).inertia_ for n in (1, 10))
    assert ten <= one


def test_weights_count(loop):
    rng = np.random.default_rng(2)
    X, counts = rng.normal(size=(200, 2)), rng.integers(0, 4, size=200)
    start = X[:5]
    weighted = KMeans(5, init=start, n_init=1, tol=0).fit(X, sample_weight=counts)
    repeated = KMeans(5, init=start, n_init=1, tol=0).fit(np.repeat(X, counts, axis=0))
    assert np.allclose(weighted.cluster_centers_, repeated.cluster_centers_)
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)
    assert weighted.score(X, sample_weight=counts) == pytest.approx(-weighted.inertia_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("weights", ["negative", "few"])
def test_weights_that_kmeans_has_not_are_for_scikit_learn(weights, ours):
    X = blobs(200)
    given = np.ones(200)
    given[3:] = 0.0
    if weights == "negative":
        given[:] = 1.0
        given[0] = -0.1
    models = [
        kind(4, init=X[:4], n_init=1).fit(X, sample_weight=given) for kind in (KMeans, Theirs)
    ]
    assert not ours
    np.testing.assert_array_equal(models[0].cluster_centers_, models[1].cluster_centers_)
    assert models[0]._tol == models[1]._tol


def test_fewer_distinct_points_are_warned_of_as_scikit_learn_does(loop):
    X = np.repeat(np.eye(3), 30, axis=0)

    def warning(kind):
        with pytest.warns(ConvergenceWarning) as caught:
            model = kind(5, random_state=0).fit(X)
        assert len(caught) == 1
        assert model.inertia_ < 1e-20
        return str(caught[0].message), caught[0].filename

    assert warning(KMeans) == warning(Theirs)


@pytest.mark.parametrize("tol", [1e-2, 0, 1e-9])
@pytest.mark.parametrize("most", [2, 300])
@pytest.mark.parametrize("algorithm", ["lloyd", "elkan"])
def test_verbose_prints_the_lines_of_scikit_learn(algorithm, tol, most, ours, capsys):
    X = np.random.default_rng(0).normal(size=(1_000, 3))
    printed = []
    for kind in (KMeans, Theirs):
        model = kind(4, init=X[:4], n_init=1, tol=tol, max_iter=most, algorithm=algorithm)
        model.set_params(verbose=1).fit(X)
        lines = capsys.readouterr().out.splitlines()
        numbers = [[float(w.strip(".")) for w in line.split() if w[0].isdigit() and "e" not in w
                    and ":" not in w and "," not in w] for line in lines]  # fmt: skip
        words = [(line.split("inertia")[0][:40], line.endswith(".")) for line in lines]
        printed.append((words, numbers))
    (mine, my_numbers), (theirs, their_numbers) = printed
    assert mine == theirs
    for a, b in zip(my_numbers, their_numbers, strict=True):
        assert a == pytest.approx(b, rel=1e-6)


def test_verbose_prints_them_of_sparse_data_too(ours, monkeypatch, capsys):
    monkeypatch.setattr(costs, "sparse_assign_pays", lambda entries, k: True)
    X = scipy.sparse.random(300, 20, density=0.3, format="csr", random_state=0)
    printed = []
    for kind in (KMeans, Theirs):
        kind(4, init=X[:4].toarray(), n_init=1, max_iter=4, verbose=1).fit(X)
        lines = capsys.readouterr().out.splitlines()
        printed.append([line[:28] for line in lines])
    assert ours
    assert printed[0] == printed[1]
    assert len(printed[0]) == 5


def test_frames_pipelines_searches_clones_and_pickles(loop):
    frame = pd.DataFrame(blobs(300, 2), columns=["width", "height"])
    model = make_pipeline(StandardScaler(), KMeans(3, random_state=0)).set_output(
        transform="pandas"
    )
    found = model.fit_transform(frame)
    assert list(found.columns) == ["kmeans0", "kmeans1", "kmeans2"]
    assert list(KMeans(3).fit(frame).feature_names_in_) == ["width", "height"]
    twin = pickle.loads(pickle.dumps(model))
    assert np.array_equal(twin.predict(frame), model.predict(frame))
    assert clone(model)[-1].get_params() == model[-1].get_params()
    search = GridSearchCV(KMeans(random_state=0, init=Init(), n_init=1), {"n_clusters": [2, 3]})
    assert search.fit(frame).best_params_ == {"n_clusters": 3}


def test_transform_and_fit_predict(loop):
    X = blobs(300)
    model = KMeans(4, random_state=0)
    labels = model.fit_predict(X)
    distances = model.transform(X)
    assert np.array_equal(labels, model.labels_)
    assert np.array_equal(distances.argmin(axis=1), labels)
    assert np.allclose(clone(model).fit_transform(X), distances)


def test_what_is_not_fitted_says_so():
    for method in ("predict", "score", "transform"):
        with pytest.raises(NotFittedError):
            getattr(KMeans(), method)(blobs(10))


@pytest.mark.parametrize(
    "keywords", [{"n_clusters": 0}, {"init": "k-means"}, {"algorithm": "full"}, {"n_clusters": 999}]
)
def test_errors_are_those_of_scikit_learn(keywords, loop):
    messages = []
    for kind in (KMeans, Theirs):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - whichever it is
            kind(**keywords).fit(blobs(100))
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("container", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_little_sparse_data_is_seeded_by_us_and_iterated_by_scikit_learn(container, monkeypatch):
    data = container(scipy.sparse.random(3_000, 200, 0.05, format="csr", random_state=0))
    calls = []
    real = module.replacement.draw
    monkeypatch.setattr(module.replacement, "draw", lambda *a: calls.append(a) or real(*a))
    model = KMeans(64, random_state=0, max_iter=5).fit(data)
    assert len(calls) == 1
    again = KMeans(64, random_state=0, max_iter=5).fit(data)
    assert np.array_equal(model.cluster_centers_, again.cluster_centers_)
    calls.clear()
    assert np.array_equal(model.predict(data), model.labels_)
    monkeypatch.setattr(costs, "sparse_assign_pays", lambda entries, k: True)
    monkeypatch.setattr(assigning, "finish", lambda *a: calls.append(a) or finish(*a))
    assert np.array_equal(model.predict(data), model.labels_)
    assert model.score(data) == pytest.approx(-model.inertia_)
    assert len(calls) == 2


@pytest.mark.parametrize("container", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_much_sparse_data_is_fitted_by_us(container, dtype, monkeypatch):
    data = container(
        scipy.sparse.random(3_000, 200, 0.05, format="csr", random_state=0, dtype=dtype)
    )
    start = data[:40].toarray()
    theirs = sklearn.cluster.KMeans(40, init=start, n_init=1, max_iter=6, tol=0.0).fit(data)
    monkeypatch.setattr(costs, "sparse_assign_pays", lambda entries, k: True)
    ours = KMeans(40, init=start, n_init=1, max_iter=6, tol=0.0).fit(data)
    assert type(ours.cluster_centers_) is np.ndarray
    assert ours.cluster_centers_.dtype == dtype
    assert ours.n_iter_ == theirs.n_iter_
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-5)
    assert (ours.labels_ != theirs.labels_).mean() < 0.01  # ties
    for init in ("k-means++", "random", lambda X, k, random_state: X[:k].toarray()):
        model = KMeans(8, init=init, n_init=2, random_state=0).fit(
            data, sample_weight=np.ones(3_000)
        )
        assert np.array_equal(model.predict(data), model.labels_)


def test_any_number_of_threads_has_the_same_answer(monkeypatch, ours):
    X = np.random.default_rng(3).normal(size=(6_000, 6))
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(fitting, "_openmp_effective_n_threads", lambda n=threads: n)
        found.append(KMeans(50, init=X[:50], n_init=1, max_iter=8).fit(X))
    for model in found[1:]:
        assert np.array_equal(model.cluster_centers_, found[0].cluster_centers_)
        assert np.array_equal(model.labels_, found[0].labels_)
        assert model.inertia_ == found[0].inertia_
