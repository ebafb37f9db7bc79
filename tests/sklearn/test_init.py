"""`Init`: every law, in estimators, pipelines, searches, clones and pickles."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.cluster import BisectingKMeans, KMeans, MiniBatchKMeans
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kseeds.sklearn
from kseeds import api
from kseeds.laws import LAWS
from kseeds.sklearn import Init
from tests.sklearn.common import blobs

X = blobs()
NAMES = {name: law.function for law in LAWS.values() for name in (law.name, law.function)}


@pytest.mark.parametrize("name", [*NAMES, "greedy"])
def test_every_law_draws_what_its_function_draws(name):
    function = getattr(kseeds, NAMES.get(name, "greedy_kmeans_plusplus"))
    assert np.array_equal(Init(name)(X, 5, random_state=1), function(X, 5, random_state=1).centers)


def test_the_default_is_that_of_scikit_learn():
    assert Init().law == "greedy k-means++"


def test_parameters_reach_the_function(monkeypatch):
    seen = {}

    def watch(X, n_clusters, **keywords):
        seen.update(keywords)
        return real(X, n_clusters, **keywords)

    real = api.kmeans_parallel
    monkeypatch.setattr(api, "kmeans_parallel", watch)
    init = Init("k-means||", rounds=3, oversampling=1.5, algorithm="fast", strategy="brute")
    KMeans(4, init=init, n_init=1, random_state=0).fit(X)
    expected = {"rounds": 3, "oversampling": 1.5, "algorithm": "fast", "strategy": "brute"}
    assert isinstance(seen.pop("random_state"), np.random.RandomState)
    assert seen == expected


@pytest.mark.parametrize("kind", [KMeans, MiniBatchKMeans, BisectingKMeans])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_estimators_take_it(kind, dtype):
    models = [
        kind(4, init=Init("k-means||", rounds=2), n_init=1, random_state=0).fit(X.astype(dtype))
        for _ in range(2)
    ]
    assert models[0].cluster_centers_.shape == (4, 3)
    assert models[0].cluster_centers_.dtype == dtype
    assert np.array_equal(models[0].cluster_centers_, models[1].cluster_centers_)


@pytest.mark.parametrize("law", ["k-means++", "greedy", "k-means||"])
@pytest.mark.parametrize("kind", [KMeans, kseeds.sklearn.KMeans, MiniBatchKMeans, BisectingKMeans])
def test_estimators_of_sparse_data_take_it(kind, law):
    data = scipy.sparse.random(200, 30, density=0.2, format="csr", random_state=0)
    model = kind(4, init=Init(law), n_init=1, random_state=0).fit(data)
    assert model.cluster_centers_.shape == (4, 30)


@pytest.mark.parametrize(("kind", "runs"), [(KMeans, 10), (MiniBatchKMeans, 3)])
def test_n_init_auto_is_several_runs_as_documented(kind, runs):
    calls = []

    class Counted(Init):
        def __call__(self, *args, **keywords):
            calls.append(1)
            return super().__call__(*args, **keywords)

    kind(3, init=Counted(), random_state=0).fit(X)
    assert len(calls) == runs


def test_clones_and_pickles_are_the_same_and_of_their_own():
    init = Init("k-means||", rounds=3)
    for twin in (clone(init), pickle.loads(pickle.dumps(init)), clone(KMeans(2, init=init)).init):
        assert twin is not init
        assert twin.get_params() == init.get_params() == {"law": "k-means||", "rounds": 3}
        twin.set_params(rounds=4)
    assert init.parameters == {"rounds": 3}


def test_its_repr_is_the_call_that_makes_it():
    init = Init("k-means||", rounds=3, oversampling=0.5)
    assert repr(init) == "Init('k-means||', rounds=3, oversampling=0.5)"
    assert "rounds=3" in repr(KMeans(init=init))
    assert "Init" in KMeans(init=init)._repr_html_()


def test_parameters_are_set_through_pipelines():
    model = make_pipeline(StandardScaler(), KMeans(3, init=Init("k-means||"), n_init=1))
    model.set_params(kmeans__init__rounds=2).fit(X)
    assert model[-1].init.parameters == {"rounds": 2}
    assert model.get_params()["kmeans__init__rounds"] == 2
    model.set_params(kmeans__init__law="k-means++", kmeans__init=Init())
    assert model[-1].init.law == "k-means++"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_searches_try_laws_and_parameters(n_jobs):
    model = make_pipeline(StandardScaler(), KMeans(3, init=Init("k-means||"), n_init=1))
    grid = [
        {"kmeans__init__rounds": [1, 2]},
        {"kmeans__init": [Init("greedy"), Init("k-means++", n_threads=1)]},
    ]
    search = GridSearchCV(model, grid, cv=2, n_jobs=n_jobs, error_score="raise").fit(X)
    assert len(search.cv_results_["params"]) == 4


@pytest.mark.parametrize(
    ("law", "parameters", "kind", "message"),
    [
        ("kmeans", {}, ValueError, r"law='kmeans' is unknown; use one of 'k-means\+\+'"),
        (None, {}, ValueError, "law=None is unknown"),
        ("k-means++", {"rounds": 3}, TypeError, "rounds is unknown to kmeans_plusplus; it is a"),
        ("k-means||", {"n_jobs": 3}, TypeError, "n_jobs is unknown to .*; use n_threads"),
        ("k-means||", {"queue": False}, TypeError, "queue is unknown to kmeans_parallel"),
        ("k-means++", {"queue": False}, TypeError, "queue=False is an option of algorithm='paper'"),
        ("k-means++", {"random_state": 3}, TypeError, "random_state .* pass it to the estimator"),
        ("k-means++", {"sample_weight": [1]}, TypeError, "sample_weight .*patch_sklearn"),
        ("k-means++", {"initial_centers": X}, TypeError, "initial_centers .* subtracts the mean"),
        ("k-means++", {"n_clusters": 3}, TypeError, "n_clusters .* the estimator passes"),
        ("k-means++", {"metric": "cosine"}, ValueError, "metric='cosine' depends on the origin"),
        ("k-means++", {"metric": "nonsense"}, ValueError, "metric='nonsense' is unknown"),
    ],
)
def test_wrong_names_are_errors_at_once(law, parameters, kind, message):
    with pytest.raises(kind, match=message):
        Init(law, **parameters)


def test_what_cannot_be_set_changes_nothing():
    init = Init("k-means||", rounds=3)
    with pytest.raises(TypeError, match="rounds is unknown to kmeans_plusplus"):
        init.set_params(law="k-means++")
    assert repr(init) == "Init('k-means||', rounds=3)"


def test_wrong_values_are_errors_of_the_fit():
    with pytest.raises(ValueError, match="rounds=0 is too small"):
        KMeans(3, init=Init("k-means||", rounds=0), n_init=1).fit(X)
