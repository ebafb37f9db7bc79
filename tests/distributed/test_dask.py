"""Dask: every scheduler, every kind of collection, lost workers, bad data."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import kseeds
from tests.distributed.common import K, N, dying_at_update, whole_numbers

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
kseeds_dask = pytest.importorskip("kseeds.dask")


@pytest.fixture(scope="module")
def expected():
    X, weights = whole_numbers()
    return {
        "plusplus": kseeds.kmeans_plusplus(
            X, K, sample_weight=weights, random_state=5, algorithm="rounds"
        ).indices.tolist(),
        "parallel": kseeds.kmeans_parallel(
            X, K, sample_weight=weights, random_state=5
        ).indices.tolist(),
        "greedily reduced": kseeds.kmeans_parallel(
            X, K, sample_weight=weights, random_state=5, reduction="greedy"
        ).indices.tolist(),
    }


def seeds_of(X, weights, **options):
    return {
        "plusplus": kseeds_dask.kmeans_plusplus(
            X, K, sample_weight=weights, random_state=5, **options
        ).indices.tolist(),
        "parallel": kseeds_dask.kmeans_parallel(
            X, K, sample_weight=weights, random_state=5, **options
        ).indices.tolist(),
        "greedily reduced": kseeds_dask.kmeans_parallel(
            X, K, sample_weight=weights, random_state=5, reduction="greedy", **options
        ).indices.tolist(),
    }


@pytest.mark.parametrize("chunks", [N, 1000, 177])
@pytest.mark.parametrize("cache", [True, False])
def test_chunks_change_no_seed(chunks, cache, expected):
    X, weights = whole_numbers()
    arrays = da.from_array(X, chunks=(chunks, 2)), da.from_array(weights, chunks=500)
    assert seeds_of(*arrays, cache=cache) == expected


def test_unknown_chunk_sizes_change_no_seed(expected):
    X, weights = whole_numbers()
    keep = da.from_array(np.ones(N, dtype=bool), chunks=700)
    X, weights = (da.from_array(a, chunks=700)[keep] for a in (X, weights))
    assert np.isnan(X.shape[0])
    assert seeds_of(X, weights) == expected


@pytest.mark.parametrize("weight", ["column", "series"])
def test_dataframes_give_the_seeds_of_arrays(weight, expected):
    import pandas as pd

    X, weights = whole_numbers()
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")).assign(w=weights), npartitions=4)
    if weight == "column":
        assert seeds_of(frame, "w") == expected
    else:
        assert seeds_of(frame[list("abc")], frame["w"]) == expected


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # inside Dask
def test_a_parquet_directory_gives_the_seeds_of_arrays(tmp_path, expected):
    import pandas as pd

    X, weights = whole_numbers()
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")).assign(w=weights), npartitions=3)
    frame.to_parquet(tmp_path / "rows")
    assert seeds_of(dd.read_parquet(tmp_path / "rows"), "w", cache=False) == expected


@pytest.mark.parametrize("scheduler", ["synchronous", "threads", "processes"])
def test_schedulers_change_no_seed(scheduler, expected):
    X, weights = whole_numbers()
    options = {"scheduler": scheduler, "num_workers": 2}
    with contextlib.ExitStack() as stack:
        if scheduler == "processes":  # one pool for all rounds: Dask would start one for each
            spawning = multiprocessing.get_context("spawn")
            options["pool"] = stack.enter_context(ProcessPoolExecutor(2, spawning))
        stack.enter_context(dask.config.set(options))
        assert seeds_of(da.from_array(X, chunks=1000), da.from_array(weights, chunks=1000)) == (
            expected
        )


def test_assign_is_chunked_like_its_rows():
    X, _ = whole_numbers()
    centers = X[:9]
    labels, distances = kseeds_dask.assign(da.from_array(X, chunks=(800, 3)), centers)
    assert labels.chunks == ((800, 800, 800, 600),)
    known = kseeds.assign(X, centers)
    found = dask.compute(labels, distances)
    np.testing.assert_array_equal(found[0], known.labels)
    np.testing.assert_array_equal(found[1], known.distances)


def test_bad_arguments_are_named():
    X, weights = whole_numbers(100)
    chunked = da.from_array(X, chunks=40)
    with pytest.raises(TypeError, match=r"X is a ndarray; .*kseeds\.kmeans_plusplus for"):
        kseeds_dask.kmeans_plusplus(X, 3)
    with pytest.raises(TypeError, match=r"X is a ndarray; .*kseeds\.assign for data in memory"):
        kseeds_dask.assign(X, X[:3])
    for one, how in (
        (chunked[:, 0], "reshape(-1, 1)"),
        (dd.from_dask_array(chunked[:, 0]), "to_frame()"),
    ):
        message = re.escape(f"X has 1 dimensions, not 2; use X.{how} for one column of data.")
        with pytest.raises(ValueError, match=f"^{message}$"):
            kseeds_dask.kmeans(one, 3)
    with pytest.raises(ValueError, match=r"^X has 3 dimensions, not 2; pass one row per point"):
        kseeds_dask.kmeans_plusplus(chunked[None], 3)
    with pytest.raises(TypeError, match="sample_weight is a ndarray"):
        kseeds_dask.kmeans_plusplus(chunked, 3, sample_weight=weights)
    with pytest.raises(ValueError, match=r"sample_weight has shape \(50,\)"):
        kseeds_dask.kmeans_plusplus(chunked, 3, sample_weight=da.from_array(weights[:50]))
    with pytest.raises(ValueError, match="names a column but X is an array"):
        kseeds_dask.kmeans_plusplus(chunked, 3, sample_weight="w")
    with pytest.raises(ValueError, match="n_clusters=101 is more than the 100 rows"):
        kseeds_dask.kmeans_parallel(chunked, 101)
    with pytest.raises(ValueError, match="reduction='lazy' is not possible; use 'k-means"):
        kseeds_dask.kmeans_parallel(chunked, 3, reduction="lazy")
    with pytest.raises(ValueError, match="metric=<function"):
        kseeds_dask.kmeans_plusplus(chunked, 3, metric=lambda a, b: 0.0)
    bad = X.copy()
    bad[85, 1] = np.nan
    with pytest.raises(ValueError, match="partition 2 cannot be used: X has nan at row 5"):
        kseeds_dask.kmeans_parallel(da.from_array(bad, chunks=40), 3)


@pytest.mark.parametrize(("package", "extra"), [("dask", "dask"), ("pyspark", "spark")])
def test_without_the_extra_the_remedy_is_named(package, extra):
    code = f"import sys; sys.modules[{package!r}] = None; import kseeds.{extra}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"pip install 'kseeds[{extra}]'" in done.stderr.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        # So long after a worker was lost Dask looks whether it is there again, and else gives it
        # up. By then the tests may just have killed the next one in its place.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


def lose_a_worker(client):
    """Kill a worker, and wait until another one has taken its place; return the process killed."""
    worker = next(iter(client.scheduler_info()["workers"]))
    process = client.run(os.getpid, workers=[worker])[worker]
    os.kill(process, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while worker in client.scheduler_info()["workers"]:
        assert time.monotonic() < deadline, "the scheduler does not notice that a worker is lost"
        time.sleep(0.05)
    client.wait_for_workers(2, timeout=120)
    return process


@pytest.mark.filterwarnings("ignore")  # the cluster grumbles about its own workers dying
def test_lost_workers_change_no_seed(client, expected, monkeypatch):
    """A worker is killed after every few steps: between rounds, with states on it."""
    from kseeds.distributed.dask_backend import DaskBackend

    X, weights = whole_numbers()
    chunked = da.from_array(X, chunks=500), da.from_array(weights, chunks=500)
    assert seeds_of(*chunked) == expected
    run, steps, killed = DaskBackend.run, [], []

    def run_and_kill(self, task, message, keep):
        replies = run(self, task, message, keep)
        steps.append(task.__name__)
        if task.__name__ == "update" and len(killed) < 2:
            killed.append(lose_a_worker(client))
        return replies

    monkeypatch.setattr(DaskBackend, "run", run_and_kill)
    assert seeds_of(*chunked) == expected
    assert len(killed) == 2


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_dies_at_work_changes_no_seed(client, expected, monkeypatch, tmp_path):
    from kseeds.distributed.dask_backend import DaskBackend

    X, weights = whole_numbers()
    run, marker = DaskBackend.run, str(tmp_path / "died")

    monkeypatch.setattr(DaskBackend, "run", dying_at_update(run, marker))
    assert seeds_of(da.from_array(X, chunks=500), da.from_array(weights, chunks=500)) == expected
    assert os.path.exists(marker)


def test_progress_and_an_interrupt_leave_nothing_behind():
    X, _ = whole_numbers()
    seen = []

    def interrupt(done, total):
        seen.append((done, total))
        if len(seen) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kseeds_dask.kmeans_parallel(da.from_array(X, chunks=500), K, progress=interrupt)
    assert len(seen) == 4
    assert all(total == 12 for _, total in seen)


@pytest.mark.parametrize("call", ["kmeans_plusplus", "kmeans_parallel"])
def test_an_interrupt_frees_the_memory_of_the_cluster(client, call):
    X, _ = whole_numbers()
    seen = []

    def interrupt(done, total):
        seen.append(done)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):  # pytest.raises would hold on to the frames
        getattr(kseeds_dask, call)(da.from_array(X, chunks=500), K, progress=interrupt)
    assert len(seen) == 2
    deadline = time.monotonic() + 30
    while any(client.has_what().values()) and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.05)
    assert not any(client.has_what().values())


@pytest.mark.filterwarnings("ignore")
def test_lost_workers_change_no_cluster(client, monkeypatch, tmp_path):
    """One between two iterations, with labels on it, and one in the middle of an iteration."""
    from kseeds.distributed.dask_backend import DaskBackend

    X, weights = whole_numbers()
    start = X[:K] + 0.5
    wanted = kseeds.kmeans(X, K, init=start, sample_weight=weights, max_iter=8)
    run, killed, marker = DaskBackend.run, [], str(tmp_path / "died")
    dying = dying_at_update(run, marker, names=("assign",))

    def run_and_kill(self, task, message, keep):
        replies = (run if not killed else dying)(self, task, message, keep)
        if task.__name__ == "assign" and not killed:
            killed.append(lose_a_worker(client))
        return replies

    monkeypatch.setattr(DaskBackend, "run", run_and_kill)
    found = kseeds_dask.kmeans(
        da.from_array(X, chunks=500), K, init=start, max_iter=8,
        sample_weight=da.from_array(weights, chunks=500),
    )  # fmt: skip
    assert killed
    assert os.path.exists(marker)
    np.testing.assert_array_equal(found.centers, wanted.centers)
    client.wait_for_workers(2, timeout=120)
    lose_a_worker(client)  # with labels that are not read yet
    np.testing.assert_array_equal(found.labels.compute(), wanted.labels)
    np.testing.assert_array_equal(found.distances.compute(), wanted.distances)


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_fit_leaves_labels_in_the_memory_of_the_cluster_and_nothing_else(client, is_interrupted):
    X, _ = whole_numbers()

    def interrupt(done, total):
        if is_interrupted and done == 2:
            raise KeyboardInterrupt

    found = None
    with contextlib.suppress(KeyboardInterrupt):
        found = kseeds_dask.kmeans(da.from_array(X, chunks=500), K, max_iter=4, progress=interrupt)
    assert (found is None) == is_interrupted
    expected = 0 if is_interrupted else 6  # a chunk's labels and distances are one element
    deadline = time.monotonic() + 30

    def kept():
        return {key for keys in client.has_what().values() for key in keys}

    while len(kept()) > expected and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.05)
    assert len(kept()) == expected


@pytest.mark.long  # Dask-ML compiles when it is imported, for a quarter of a minute
def test_seeds_start_dask_ml():
    cluster = pytest.importorskip("dask_ml.cluster")
    X, _ = whole_numbers()
    chunked = da.from_array(X, chunks=1000)
    centers, _ = kseeds_dask.kmeans_parallel(chunked, 5, random_state=0)
    fitted = cluster.KMeans(5, init=centers, max_iter=5).fit(chunked)
    assert fitted.cluster_centers_.shape == (5, 3)
