"""Under the patch, `KMeans` is fitted, and predicts, by kseeds, unless weights are negative."""

from __future__ import annotations

import inspect
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.cluster import KMeans, k_means
from sklearn.cluster import kmeans_plusplus as imported_before

import kseeds.sklearn
from kseeds.sklearn import assigning, costs, fitting, patched
from tests.sklearn.common import blobs, draws, said

__all__ = ["draws", "said"]

X = blobs()


@pytest.fixture
def forced(monkeypatch):
    """Nothing dense is too small for kseeds; tells of fits and assignments."""
    calls = []

    def counted(name, function):
        return lambda *a: calls.append(name) or function(*a)

    monkeypatch.setattr(costs, "lloyd_pays", lambda shape, k: True)
    monkeypatch.setattr(costs, "assign_pays", lambda shape, k: True)
    monkeypatch.setattr(fitting, "_by_ours", counted("fit", fitting._by_ours))
    monkeypatch.setattr(assigning, "finish", counted("assign", assigning.finish))
    return calls


def test_fits_predictions_and_scores_are_those_of_kseeds_under_the_patch_only(forced):
    method = KMeans.fit
    models = []
    for keep in (patched, nullcontext):
        with keep():
            model = KMeans(4, init=X[:4], n_init=1).fit(X)
            labels, score = model.predict(X), model.score(X)
            k_means(X, 4, init=X[:4], n_init=1)
        models.append((model.inertia_, model.n_iter_, score, labels.tolist()))
        assert forced == ["fit", "assign", "assign", "fit"]
    assert models[0][:3] == pytest.approx(models[1][:3])
    assert models[0][3] == models[1][3]
    assert KMeans.fit is method


def test_the_patched_class_is_ours_to_the_bit(forced):
    ours = kseeds.sklearn.KMeans(5, random_state=0).fit(X)
    with patched():
        theirs = KMeans(5, random_state=0).fit(X)
    assert np.array_equal(ours.cluster_centers_, theirs.cluster_centers_)
    assert type(theirs) is KMeans


def test_subclasses_and_instances_from_before_the_patch_are_fitted_by_it(forced):
    class Other(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            return super().fit(X, y, sample_weight=sample_weight)

    before = Other(3, random_state=0)
    with patched():
        before.fit(X)
    assert forced == ["fit"]


def test_the_method_looks_like_theirs():
    before = KMeans.fit
    with patched():
        now = KMeans.fit
        assert now is not before
        assert inspect.signature(now) == inspect.signature(before)
        assert (now.__name__, now.__qualname__, now.__doc__) == (
            before.__name__, before.__qualname__, before.__doc__,
        )  # fmt: skip
        assert "sample_weight" in KMeans().get_metadata_routing().fit.requests


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("negative", [1, len(X)])
def test_negative_weights_are_left_to_scikit_learn(negative, draws, said):
    weights = np.where(np.arange(len(X)) < negative, -1.0, 1.0)

    def answers():
        for function in (
            lambda: imported_before(X, 4, sample_weight=weights, random_state=0)[1].tolist(),
            lambda: KMeans(4, random_state=0).fit(X, sample_weight=weights).labels_.tolist(),
        ):
            try:
                yield function()
            except ValueError as error:
                yield str(error)

    plain = list(answers())
    with patched():
        assert list(answers()) == plain
    assert not draws
    assert sum("leaves negative weights to" in line for line in said()) == 1
