"""What k-means on Spark is checked for; run by `test_spark`, as Spark is slow to start."""

from __future__ import annotations

import os

import numpy as np
import pytest

import kseeds
from kseeds.distributed import lloyd
from tests.distributed.common import dying_at_update, one_sentence, whole_numbers
from tests.distributed.spark_cases import frame_of, odd_frame

FEATURES = ["a", "b", "c"]


def fit(frame, n_clusters, **options):
    import kseeds.spark  # not before it is known that Spark is there

    return kseeds.spark.kmeans(frame, n_clusters, **{"features": FEATURES, **options})


def same(ours, theirs):
    np.testing.assert_array_equal(ours.centers, theirs.centers)
    assert ours.inertia == pytest.approx(theirs.inertia, rel=1e-12)
    assert (ours.n_iter, ours.converged) == (theirs.n_iter, theirs.converged)
    rows = ours.frame.collect()
    assert [row.label for row in rows] == theirs.labels.tolist()
    np.testing.assert_array_equal([row.distance for row in rows], theirs.distances)


def partitions(spark, monkeypatch):
    """Partitions, some of them empty, and steps that begin anew change nothing."""
    monkeypatch.setattr(lloyd, "_STEPS", 2)
    X, weights = whole_numbers()
    start = np.concatenate([X[:5] + 0.5, [[1e4] * 3]])  # the last is empty at first
    wanted = kseeds.kmeans(X, 6, init=start, sample_weight=weights, max_iter=3)
    frame = frame_of(spark, 2)
    kept = spark.sparkContext._jsc.getPersistentRDDs
    before = len(kept())
    for given, cache in ((frame, False), (frame.filter("a > 1e6").union(frame), True)):
        found = fit(given, 6, init=start, sample_weight="w", max_iter=3, cache=cache)
        same(found, wanted)
    assert len(kept()) == before
    centers, labelled = found
    assert centers is found.centers
    assert labelled.columns == [*frame.columns, "label", "distance"]
    assert repr(found).startswith("<SparkClustering: 6 centres of 3 columns (float64), inertia=")


def starts(spark, monkeypatch):
    """Seeds are drawn from the rows that the executors keep, as the seeding function draws them."""
    X, _ = whole_numbers()
    wanted = kseeds.kmeans(X, 5, init="random", random_state=2, n_init=2, max_iter=2)
    found = fit(frame_of(spark, 3), 5, init="random", random_state=2, n_init=2, max_iter=2)
    same(found, wanted)
    assert found.seeding.indices.tolist() == wanted.seeding.indices.tolist()


def interrupt(spark, monkeypatch):
    """An interrupted fit leaves nothing behind."""

    def stop(done, total):
        if done == 1:
            raise KeyboardInterrupt

    kept = spark.sparkContext._jsc.getPersistentRDDs
    frame = frame_of(spark, 2)
    before = len(kept())
    with pytest.raises(KeyboardInterrupt):
        fit(frame, 5, progress=stop)
    assert len(kept()) == before


def refusals(spark, monkeypatch):
    """Bad arguments are named before any job."""
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup(None))
    for options, message in [
        ({"features": ["z"]}, "features=['z'] has 'z', which is not in the frame"),
        ({"sample_weight": "s"}, "sample_weight='s' is a column of string"),
        ({}, "label='label' is already a column of the frame"),
        ({"label": "l", "init": [[1.0]]}, "init has 1 centres but n_clusters=2"),
        ({"label": "l", "init": np.eye(2)}, "init has 2 columns but the data has 1"),
        ({"label": "l", "metric": "haversine"}, "metric='haversine' has no mean"),
    ]:
        with pytest.raises((TypeError, ValueError)) as caught:
            fit(odd_frame(spark), 2, **{"features": ["a"], **options})
        assert one_sentence(caught).startswith(message)
    assert set(tracker.getJobIdsForGroup(None)) == before


CHECKS = [partitions, starts, interrupt, refusals]


def dying(spark, monkeypatch, marker):
    """The process of a task is lost in the middle of an iteration."""
    from kseeds.distributed.spark_backend import SparkBackend

    X, weights = whole_numbers()
    wanted = kseeds.kmeans(X, 5, init=X[:5], sample_weight=weights, max_iter=3)
    run = SparkBackend.run
    monkeypatch.setattr(SparkBackend, "run", dying_at_update(run, marker, names=("assign",)))
    found = fit(frame_of(spark, 4), 5, init=X[:5], sample_weight="w", max_iter=3)
    assert os.path.exists(marker)
    same(found, wanted)
