"""When a job waits for compiled kernels, and that no result shows it."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from kseeds import assign, kmeans_parallel, kmeans_plusplus, warmup
from kseeds.inputs import prepare_points
from kseeds.nearest import update
from kseeds.nearest.choice import Job, seconds, without_structure
from kseeds.nearest.state import Nearest
from kseeds.nearest.update import NearestUpdater
from kseeds.runtime import compile_policy, kernel_cache
from kseeds.runtime.threads import Workers
from tests.harness.isolation import run

FLOAT = np.dtype(np.float32)


@pytest.fixture
def nothing_ready(monkeypatch):
    """A process that has compiled nothing, on a disk that keeps nothing."""
    monkeypatch.setattr(compile_policy, "_ready", set())
    monkeypatch.setattr(compile_policy, "_spent", {})
    monkeypatch.setattr(compile_policy, "_lost", {})
    monkeypatch.setattr(compile_policy, "_answers", {})
    monkeypatch.setattr(compile_policy, "is_loaded", lambda: False)
    monkeypatch.setattr(kernel_cache, "is_cached", lambda name: False)
    monkeypatch.setattr(kernel_cache, "note_cached", lambda name: None)


def test_a_job_waits_only_for_what_it_repays(nothing_ready):
    price = compile_policy.LOADING + compile_policy.COMPILING["tree"]
    assert not compile_policy.pays("tree", FLOAT, price, 0.1)
    assert compile_policy.pays("tree", FLOAT, price + 0.2, 0.1)


def test_what_is_kept_on_disk_costs_little(nothing_ready, monkeypatch):
    monkeypatch.setattr(kernel_cache, "is_cached", lambda name: name == "tree-float32")
    assert compile_policy.pays("tree", FLOAT, 1.0, 0.1)
    assert not compile_policy.pays("tree", np.dtype(np.float64), 1.0, 0.1)
    assert not compile_policy.pays("lazy", FLOAT, 1.0, 0.1)


MANY = """
import sys
import numpy as np
from kseeds import assign
from kseeds.runtime import compile_policy
compile_policy.LOADING, compile_policy.FROM_DISK = 0.02, 0.01
for name in compile_policy.COMPILING:
    compile_policy.COMPILING[name] = 0.02
X = np.random.default_rng(0).normal(size=(20_000, 8)).astype(np.float32)
for turn in range(2000):
    assign(X, X[:100])
    if compile_policy._ready:
        break
print(turn, sorted(compile_policy._ready))
"""


def test_many_small_assignments_load_the_compiler_at_last(tmp_path):
    """None of them would repay it on its own."""
    done = run(MANY, seconds=120)
    turn, ready = done.stdout.strip().split(" ", 1)
    assert 0 < int(turn) < 1999
    assert "float32" in ready


def test_many_small_jobs_ask_the_disk_once(nothing_ready, monkeypatch):
    asked = []
    monkeypatch.setattr(kernel_cache, "is_cached", asked.append)
    for _ in range(100):
        assert not compile_policy.pays("tree", FLOAT, 1.0, 0.1)
    assert asked == ["tree-float32"]
    monkeypatch.setattr(compile_policy, "_ASK_AGAIN", 0.0)  # another process may have compiled it
    monkeypatch.setattr(kernel_cache, "is_cached", lambda name: True)
    assert compile_policy.pays("tree", FLOAT, 1.0, 0.1)


def test_a_set_that_is_ready_is_used_where_it_is_faster(nothing_ready):
    with compile_policy.using("gemm", FLOAT):
        pass
    assert compile_policy.waiting("gemm", FLOAT) == 0.0
    assert compile_policy.pays("gemm", FLOAT, 1e-3, 1e-4)
    assert not compile_policy.pays("gemm", FLOAT, 1e-4, 1e-3)


def test_a_set_that_failed_to_compile_is_not_ready(nothing_ready):
    with pytest.raises(KeyboardInterrupt), compile_policy.using("gemm", FLOAT):
        raise KeyboardInterrupt
    assert compile_policy.waiting("gemm", FLOAT) > 0.0


def test_many_small_jobs_repay_a_set_together(nothing_ready, monkeypatch):
    now = iter(np.arange(0.0, 1000.0, 1.0))
    monkeypatch.setattr(compile_policy.time, "perf_counter", lambda: next(now))
    assert not compile_policy.pays("lazy", FLOAT, 0.5, 0.1)
    for _ in range(4):  # of a second each, by that clock
        with compile_policy.in_place_of(["lazy"], FLOAT):
            pass
    assert compile_policy.pays("lazy", FLOAT, 0.5, 0.1)
    assert not compile_policy.pays("tree", FLOAT, 0.5, 0.1)


def test_many_small_jobs_get_the_fastest_set_at_last(nothing_ready, monkeypatch):
    """One that is ready is not used for ever, if a faster one could be loaded."""
    monkeypatch.setattr(kernel_cache, "is_cached", lambda name: True)
    monkeypatch.setattr(compile_policy, "is_loaded", lambda: True)
    with compile_policy.using("gemm", FLOAT):
        pass
    monkeypatch.setattr(compile_policy, "FROM_DISK", 0.1)
    needed, taken = {"tree": 0.01, "gemm": 0.04}, []
    for _ in range(8):
        taken.append(compile_policy.first_done(needed, FLOAT))
        assert compile_policy.pays(taken[-1], FLOAT, 0.05, needed[taken[-1]])
        compile_policy.note_loss("tree", FLOAT, needed[taken[-1]] - needed["tree"])
    assert taken == ["gemm"] * 3 + ["tree"] * 5


def test_batches_by_slower_kernels_count_for_faster_ones(nothing_ready, monkeypatch):
    """As much as was compared: whoever asks what is best, but compares little, has lost little."""
    monkeypatch.setattr(compile_policy, "is_loaded", lambda: True)
    monkeypatch.setattr(compile_policy, "_ready", {"gemm-float32", "brute-float32"})
    prepared = prepare_points(np.random.default_rng(0).random((60_000, 2)).astype("f"), "euclidean")
    job = Job(prepared.points, prepared.metric, Workers(1), 8000)
    assert job.fastest == "tree"
    NearestUpdater(job)
    NearestUpdater(job, "brute").update(Nearest.empty(job.points), job.points[:500], 0)
    assert compile_policy._lost == {}
    updater = NearestUpdater(job)
    updater.update(Nearest.empty(job.points), job.points[:500], 0)
    lost = seconds(job, updater.strategy) - seconds(job, "tree")
    assert compile_policy._lost == {"tree-float32": pytest.approx(lost / 16)}


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_a_batch_of_one_centre_is_worth_no_kernels_of_its_own(nothing_ready, metric):
    """k-means|| begins with one, whatever it has compiled for the batches after it."""
    prepared = prepare_points(np.zeros((2, 8), dtype=FLOAT), metric)
    with Workers(2) as workers:
        job = Job(np.empty((1_000_000, 8), dtype=FLOAT), prepared.metric, workers, 20_000, 5)
        assert without_structure(job, 1) == "plain"
        assert without_structure(job, 20_000) != "plain"
        with compile_policy.using("brute", FLOAT):
            pass
        assert without_structure(job, 1) == "brute"


def test_a_job_that_compiles_a_tree_compiles_nothing_else(nothing_ready, monkeypatch):
    X = np.random.default_rng(0).normal(size=(20_000, 4)).astype(FLOAT)
    prepared, built = prepare_points(X, "euclidean"), []
    monkeypatch.setattr(update, "choose", lambda job: "tree")
    with Workers(1) as workers:
        updater = NearestUpdater(Job(prepared.points, prepared.metric, workers, 2001, 2))
        builder = updater.built
        updater.built = lambda name: (built.append(name), builder(name))[1]
        nearest = Nearest.empty(prepared.points)
        updater.update(nearest, prepared.points[:1], 0)
        updater.update(nearest, prepared.points[1:2001], 1)
    assert built == ["plain", "tree"]
    np.testing.assert_array_equal(nearest.labels, assign(X, X[:2001]).labels)


def test_one_line_is_logged_before_a_long_wait(nothing_ready, caplog):
    with caplog.at_level(logging.INFO, logger="kseeds"):
        with compile_policy.using("brute", FLOAT):
            pass
        assert not caplog.records
        with compile_policy.using("lazy", FLOAT):
            pass
    assert len(caplog.records) == 1
    message = caplog.records[0].getMessage()
    assert "lazy kernels for float32" in message
    assert "kseeds.warmup('lazy')" in message


FIRST = """
import sys
import numpy as np
import kseeds
X = np.random.default_rng(0).normal(size=(30_000, 16)).astype(np.float32)
print({call}, "numba" in sys.modules)
"""


@pytest.mark.parametrize(
    "call",
    [
        "kseeds.kmeans_parallel(X, 32, random_state=0).indices.sum()",
        "kseeds.kmeans_plusplus(X, 100, random_state=0).labels.sum()",
        "kseeds.assign(X, X[:200]).labels.sum()",
        "kseeds.kmeans_plusplus(X, 50, random_state=0, metric='manhattan').indices.sum()",
    ],
)
def test_a_first_call_does_without_the_compiler_and_gives_the_same(call, tmp_path):
    """In a fresh process with nothing kept; here, with whatever is compiled by now."""
    alone = run(FIRST.format(call=call), NUMBA_CACHE_DIR=str(tmp_path)).stdout.split()
    X = np.random.default_rng(0).normal(size=(30_000, 16)).astype(np.float32)
    options = {"algorithm": "lazy", "kernels": "compiled"} if "plusplus" in call else {}
    if "parallel" in call:
        found = kmeans_parallel(X, 32, random_state=0, algorithm="fast", strategy="gemm").indices
    elif "assign" in call:
        found = assign(X, X[:200]).labels
    elif "manhattan" in call:
        found = kmeans_plusplus(X, 50, random_state=0, metric="manhattan", **options).indices
    else:
        found = kmeans_plusplus(X, 100, random_state=0, **options).labels
    assert alone == [str(found.sum()), "False"]


def test_warmup_tells_what_is_ready_and_where():
    done = []
    warmed = warmup("gemm", "fingerprint", dtype="float32", progress=lambda *at: done.append(at))
    assert [(one.kernel_set, one.dtype) for one in warmed] == [
        ("gemm", "float32"),
        ("fingerprint", "float32"),
    ]
    assert all(one.folder == str(kernel_cache.folder()) and one.seconds > 0 for one in warmed)
    assert done[-1] == (2, 2)
    assert kernel_cache.is_cached("gemm-float32")
    assert compile_policy.waiting("gemm", FLOAT) == 0.0


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((["gemm"],), {}, r"^kernel_sets=\['gemm'\] is a list; pass the names one by one, .*\.$"),
        (("trees",), {}, r"^kernel_sets='trees' is unknown to warmup; use some of .*tree.*\.$"),
        ((), {"dtype": "float16"}, r"^dtype='float16' is unknown to warmup; use some of .*\.$"),
    ],
)
def test_warmup_refuses(arguments, keywords, message):
    with pytest.raises((TypeError, ValueError), match=message):
        warmup(*arguments, **keywords)


WARM_ONE = """
import kseeds
from tests.harness.signatures import never_compiled
kseeds.warmup("{kernel_set}", dtype="float32")
print([name for name in never_compiled() if ".lazy." in name])
"""


@pytest.mark.long
@pytest.mark.parametrize("kernel_set", ["lazy", "sparse_lazy"])
def test_warmup_leaves_no_kernel_out(kernel_set, tmp_path):
    """Those for several threads and for refreshes, which a small job does without."""
    folder = {"NUMBA_CACHE_DIR": str(tmp_path)}
    for _ in ("compiled", "loaded"):
        found = run(WARM_ONE.format(kernel_set=kernel_set), seconds=200, **folder).stdout
    # What other kernels call is part of them on disk.
    called = {
        "lazy": [],
        "sparse_lazy": ["dots_with_seeds", "bounds_with_seeds"],
    }[kernel_set]
    assert [name.rpartition(".")[2] for name in eval(found)] == called


WARM = """
import kseeds, numpy as np
from numba.core import event
names = []
class Listener(event.Listener):
    def on_start(self, event): names.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event): pass
event.register("numba:compile", Listener())
X = np.random.default_rng(0).normal(size=(20_000, {d})).astype(np.float32)
{call}
print(names)
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("kernel_set", "d", "call"),
    [
        ("lazy", 20, "kseeds.kmeans_plusplus(X, 300, algorithm='lazy', kernels='compiled')"),
        ("lazy", 20, "kseeds.kmeans_plusplus(X, 50, initial_centers=X[:9], algorithm='lazy', "
                     "kernels='compiled')"),
        *(
            (name, d, f"kseeds.kmeans_parallel(X, 40, algorithm='fast', strategy='{name}')")
            for name, d in [("tree", 4), ("projected_tree", 40), ("projected_scan", 40),
                            ("gemm", 40), ("quantized", 40), ("quantized_scan", 40),
                            ("brute", 40)]
        ),
        ("vantage", 4, "kseeds.assign(X, X[:3000], metric='manhattan')"),
    ],
)  # fmt: skip
def test_a_warm_process_compiles_nothing(kernel_set, d, call, tmp_path):
    folder = {"NUMBA_CACHE_DIR": str(tmp_path)}
    run(f"import kseeds; kseeds.warmup('{kernel_set}', dtype='float32')", **folder)
    assert run(WARM.format(d=d, call=call), **folder).stdout.strip() == "[]"
