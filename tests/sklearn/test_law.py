"""Seeds under the patch follow the law of greedy k-means++, enumerated: small jobs and others."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.cluster import KMeans, kmeans_plusplus

import kseeds
from kseeds.sklearn import drawing, patched, replacement, small
from tests.harness.profiles import scaled, sizes
from tests.methods.laws import REJECT, chi_square_p, greedy_law, plusplus_law

POINTS = [[0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [3.5, 1.2], [7.0, 2.0], [1.0, 0.0]]
WEIGHTS = [1.0, 0.0, 2.0, 0.5, 1.0, 0.7]
PATHS = ("small", "ordinary")

TWINS = 150
"""Draws that must be the same to the last index."""

draws = sizes("draws", 1_000, 20_000)
every_weight = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])


@pytest.fixture
def path(request, monkeypatch):
    """Force one of the two ways to draw; tell if it was not taken."""
    taken = []
    if request.param == "ordinary":
        monkeypatch.setattr(small, "is_small", lambda *_: taken.append(1) and False)
    else:
        real = small.draw
        monkeypatch.setattr(small, "draw", lambda *a: taken.append(1) or real(*a))
        monkeypatch.setattr(drawing, "draw_rows", None)
    yield
    assert taken


def rows_of(centers, points=POINTS) -> tuple[int, ...]:
    """Return the first row that each centre equals."""
    return tuple(points.index(np.round(center, 6).tolist()) for center in centers)


@pytest.fixture
def as_it_is(monkeypatch):
    """Let sparse rows be sparse, however few they are."""
    monkeypatch.setattr(replacement, "dense_if_cheap", lambda X: X)
    monkeypatch.setattr(replacement, "theirs_is_faster", lambda X, n_clusters: False)


def drawn(data, weights, trials, draws, seed_offset):
    given = None if weights is None else np.array(weights)
    state = np.random.RandomState(seed_offset % 2**31)
    with patched():
        return [
            tuple(
                kmeans_plusplus(
                    data, 3, sample_weight=given, random_state=state, n_local_trials=trials
                )[1].tolist()
            )
            for _ in range(draws)
        ]


def drawn_by_ours(data, weights, trials, draws, seed_offset):
    """Return what the functions of kseeds draw, which `test_laws` holds to their laws."""
    state = np.random.RandomState(seed_offset % 2**31)
    same = {"sample_weight": weights, "random_state": state}
    if trials == 1:  # the same law, drawn faster
        found = (kseeds.kmeans_plusplus(data, 3, **same) for _ in range(draws))
    else:
        found = (
            kseeds.greedy_kmeans_plusplus(data, 3, n_local_trials=trials, **same)
            for _ in range(draws)
        )
    return [tuple(seeding.indices.tolist()) for seeding in found]


def check_law(data, weights, trials, draws, seed_offset):
    law = greedy_law(POINTS, weights or [1.0] * len(POINTS), 3, n_local_trials=trials)
    assert chi_square_p(law, drawn(data, weights, trials, draws, seed_offset)) > REJECT


@draws
@pytest.mark.parametrize("path", PATHS[:1], indirect=True)
@pytest.mark.parametrize("trials", [1, 3])
@every_weight
def test_the_function_follows_the_law(weights, trials, path, draws, seed_offset):
    check_law(np.array(POINTS), weights, trials, draws, seed_offset)


@pytest.mark.parametrize("path", PATHS, indirect=True)
@every_weight
def test_three_trials_are_the_default_for_three_seeds(weights, path, seed_offset):
    same = np.array(POINTS), weights
    default, three = (drawn(*same, trials, TWINS, seed_offset) for trials in (None, 3))
    assert default == three


@pytest.mark.parametrize("path", PATHS[1:], indirect=True)
@pytest.mark.parametrize("trials", [1, 3])
@every_weight
def test_whatever_is_not_small_is_drawn_as_by_kseeds(weights, trials, path, seed_offset):
    how = np.array(POINTS), weights, trials, TWINS, seed_offset
    assert drawn(*how) == drawn_by_ours(*how)


@pytest.mark.parametrize("trials", [None, 1])
@every_weight
def test_sparse_rows_are_drawn_as_by_kseeds(weights, trials, as_it_is, seed_offset):
    how = scipy.sparse.csr_array(np.array(POINTS)), weights, trials, TWINS, seed_offset
    assert drawn(*how) == drawn_by_ours(*how)


@pytest.mark.long
@pytest.mark.parametrize("path", PATHS[1:], indirect=True)
@pytest.mark.parametrize("trials", [None, 1, 3])
@every_weight
def test_whatever_is_not_small_follows_the_law(weights, trials, path, seed_offset):
    check_law(np.array(POINTS), weights, trials, scaled(20_000, least=1_000), seed_offset)


@pytest.mark.long
@pytest.mark.parametrize("trials", [None, 1])
@every_weight
def test_sparse_rows_follow_the_law(weights, trials, as_it_is, seed_offset):
    data = scipy.sparse.csr_array(np.array(POINTS))
    check_law(data, weights, trials, scaled(20_000, least=1_000), seed_offset)


@draws
@pytest.mark.parametrize("path", PATHS, indirect=True)
def test_an_estimator_follows_the_law_with_its_weights(path, draws, seed_offset):
    """What `fit` starts from: centred data, weights as they reach the private function."""
    distinct = POINTS[:5]
    weights = np.array(WEIGHTS[:5])
    law = greedy_law(distinct, weights.tolist(), 2)
    state = np.random.RandomState((seed_offset + 1) % 2**31)
    mean = np.mean(distinct, axis=0)
    starts = []

    class Stopped(Exception):  # noqa: N818 - nothing is wrong
        pass

    class Watched(KMeans):
        def _init_centroids(self, *args, **keywords):
            starts.append(super()._init_centroids(*args, **keywords))
            raise Stopped

    with patched():
        for _ in range(draws):
            with pytest.raises(Stopped):
                Watched(2, random_state=state).fit(np.array(distinct), sample_weight=weights)
    assert chi_square_p(law, [rows_of(start + mean, distinct) for start in starts]) > REJECT


def test_the_test_refuses_another_law(seed_offset):
    """k-means++ without trials is not greedy k-means++, and a thousand draws show it."""
    law = plusplus_law(POINTS, [1.0] * len(POINTS), 3)
    state = np.random.RandomState(seed_offset % 2**31)
    with patched():
        seen = [
            tuple(kmeans_plusplus(np.array(POINTS), 3, random_state=state)[1].tolist())
            for _ in range(1_000)
        ]
    assert chi_square_p(law, seen) < REJECT


@pytest.mark.parametrize("scale", [1e-180, 1e-9, 1.0, 1e9, 1e160])
def test_the_scale_of_the_data_does_not_matter(scale):
    """Squares of some of these overflow or underflow."""
    data = np.array([[0.0], [1.0], [2.0], [1e3], [1e3 + 1]]) * scale
    with patched():
        found = [set((kmeans_plusplus(data, 2, random_state=s)[1] > 2).tolist()) for s in range(40)]
    assert all(sides == {False, True} for sides in found)


def test_points_that_nearly_coincide_are_told_apart():
    """Their squared distances are 0 in double precision, but they are not the same."""
    data = np.array([[0.0], [1e-170], [1.0], [0.0]])
    with patched():
        for seed in range(20):
            indices = kmeans_plusplus(data, 3, random_state=seed)[1]
            assert len(set(data[indices, 0].tolist())) == 3
