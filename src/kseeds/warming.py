"""Compiling kernels ahead: for images, executors and workers whose first call must not wait."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kseeds.distances.sparse_rows import SparseRows
from kseeds.errors import shown
from kseeds.inputs import prepare_points
from kseeds.inputs.fingerprint import fingerprint_by_kernels
from kseeds.inputs.problem import prepare_problem
from kseeds.inputs.sorting import sort_compiled
from kseeds.inputs.sparse import from_dense
from kseeds.laws import GREEDY, PLUSPLUS
from kseeds.lloyd.choice import Job as LloydJob
from kseeds.lloyd.choice import build
from kseeds.lloyd.columns import columns_by_kernels
from kseeds.lloyd.short import Short
from kseeds.lloyd.sparse_means import SparseMeans, SparseSums
from kseeds.lloyd.sums import ExactSums
from kseeds.nearest.choice import Job
from kseeds.nearest.state import Nearest
from kseeds.nearest.update import NearestUpdater
from kseeds.runtime import compile_policy, kernel_cache
from kseeds.runtime.aligned import read_only
from kseeds.runtime.progress import progress_for
from kseeds.runtime.threads import Workers

_PRECISIONS = ("float32", "float64")
_ROWS = 4096


@dataclass(frozen=True)
class Warmed:
    """A set of kernels that is ready.

    Attributes
    ----------
    kernel_set, dtype : str
        Which kernels, and for which precision.
    seconds : float
        What it took: compiling, or loading from disk.
    folder : str or None
        Where they are kept; None if they are not, and have to be compiled in every process.
    """

    kernel_set: str
    dtype: str
    seconds: float
    folder: str | None


def warmup(*kernel_sets: str, dtype: Any = _PRECISIONS, progress: Any = False) -> list[Warmed]:
    """Compile kernels ahead, and keep them on disk for later processes.

    Parameters
    ----------
    *kernel_sets : str
        Which: "lazy" for `kmeans_plusplus` and the reduction of `kmeans_parallel`;
        "greedy_columns", "greedy_pool", "greedy_tree" and "greedy_projected_tree" for
        `greedy_kmeans_plusplus` and patched scikit-learn, "greedy_scan" for other metrics than the
        Euclidean; "brute", "tree", "projected_tree", "projected_scan", "gemm", "vantage", and on
        machines with AVX-512 VNNI "quantized" and "quantized_scan" for `assign`, labels and
        `kmeans_parallel`; "fingerprint" for labels of large data; "sparse_lazy",
        "greedy_postings", "inverted" and "sparse_means" for sparse data, instead of the others, and
        "sparse_sorting" if it is not sorted; "lloyd_tree", "lloyd_bounds", "lloyd_short" and
        "lloyd_sums" for `kmeans`, beside those of `assign`. All, if none is named.
    dtype : str or tuple of str, default ("float32", "float64")
        For which precisions.
    progress : bool or callable, default False
        True shows a bar on stderr; a function is called with (done, total).

    Returns
    -------
    list of Warmed
        What is ready now, what it took, and where it is kept.

    Examples
    --------
    >>> from kseeds import warmup
    >>> [one.kernel_set for one in warmup("fingerprint", dtype="float32")]
    ['fingerprint']
    """
    precisions = _known("dtype", (dtype,) if isinstance(dtype, str) else tuple(dtype), _PRECISIONS)
    sets = _known("kernel_sets", kernel_sets, tuple(compile_policy.COMPILING))
    chosen = sets or tuple(compile_policy.COMPILING)
    bar = progress_for(progress)
    done: list[Warmed] = []
    folder = kernel_cache.folder()
    try:
        for kernel_set in chosen:
            for precision in precisions:
                bar.update(len(done), len(chosen) * len(precisions), f"{kernel_set} {precision}")
                started = time.perf_counter()
                _warm(kernel_set, np.dtype(precision))
                seconds = time.perf_counter() - started
                kept = None if folder is None else str(folder)
                done.append(Warmed(kernel_set, precision, seconds, kept))
        bar.update(len(done), len(done), "kernel sets")
    finally:
        bar.close()
    return done


def _known(argument: str, given: tuple[Any, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    for one in given:
        if isinstance(one, (list, tuple, set)):
            raise TypeError(
                f"{argument}={shown(one)} is a {type(one).__name__}; pass the names one by one, as "
                'in warmup("lazy", "gemm").'
            )
        if one not in known:
            raise ValueError(
                f"{argument}={shown(one)} is unknown to warmup; use some of {', '.join(known)}."
            )
    return given


def _warm(kernel_set: str, dtype: np.dtype[Any]) -> None:
    """Run small jobs that use every kernel of a set."""
    # Some dimensions are for kernels of few columns only, others for all.
    columns = 4 if kernel_set in ("tree", "greedy_tree", "lloyd_tree") else 40
    X = np.random.default_rng(0).normal(size=(_ROWS, columns)).astype(dtype)
    with compile_policy.using(kernel_set, dtype), Workers(1) as workers:
        if kernel_set == "fingerprint":
            fingerprint_by_kernels(X, workers)
        elif kernel_set.startswith("lloyd_"):
            _warm_lloyd(X, kernel_set.removeprefix("lloyd_"), workers)
        elif kernel_set == "sparse_means":
            points = _sparse(X)
            means = SparseMeans(SparseSums(_ROWS, 1), points, None, False, workers)
            means.totals_compiled(np.arange(_ROWS), np.array([0, _ROWS]))
        elif kernel_set == "sparse_sorting":
            points = _sparse(X)
            sort_compiled(points.data, points.indices, points.indptr, points.shape[1])
        elif kernel_set in ("lazy", "sparse_lazy"):
            _warm_lazy(X, is_sparse=kernel_set == "sparse_lazy")
        elif kernel_set.startswith("greedy_"):
            _warm_greedy(X, kernel_set.removeprefix("greedy_"))
        else:
            prepared = prepare_points(X, "manhattan" if kernel_set == "vantage" else "euclidean")
            points = _sparse(X) if kernel_set == "inverted" else prepared.points
            updater = NearestUpdater(Job(points, prepared.metric, workers, 32), kernel_set)
            updater.update(Nearest.empty(points), points[np.arange(32)], 0)


def _warm_lloyd(X: np.ndarray[Any, Any], algorithm: str, workers: Workers) -> None:
    prepared = prepare_points(X, "euclidean")
    points, metric = prepared.points, prepared.metric
    sums = ExactSums.of_all(points, None, np.full(X.shape[1], 16.0), 24, workers)
    none, labels = np.full(_ROWS, -1, dtype=np.int32), np.arange(_ROWS, dtype=np.int32) % 24
    if algorithm == "sums":
        columns_by_kernels(points, workers)
        sums.move_compiled(np.arange(_ROWS), none, labels)
        return
    job = LloydJob(points, metric, workers, 24, 2)
    assigner = Short(points) if algorithm == "short" else build(job, algorithm)
    assigner.adopt(labels, sums)
    assigner.assign(points[:24].copy(), sums)
    assigner.nearest(points[:24].copy())


def _sparse(X: np.ndarray[Any, Any]) -> SparseRows:
    """Return rows with one entry in three, some of them in all of the rows."""
    return from_dense(np.where((X > 0.5) | (np.arange(X.shape[1]) < 2), X, X.dtype.type(0.0)))


def _warm_lazy(X: np.ndarray[Any, Any], *, is_sparse: bool) -> None:
    # Rows are refreshed for several initial centres at once.
    problem, _, _ = prepare_problem(
        X, 24, sample_weight=None, metric="euclidean", initial_centers=X[:2], random_state=0,
        n_threads=1, progress=False,
    )  # fmt: skip
    if is_sparse:
        problem = replace(problem, points=_sparse(X), initial=_sparse(X[:2]))
    draw = PLUSPLUS.method("lazy").draw
    draw(problem, kernels="compiled", refresh="partial")
    # Batches on several threads, too: of dense rows for so many distances only.
    if not is_sparse:
        wide = read_only(np.tile(problem.points, (1, 16)))
        problem = replace(problem, points=wide, initial=wide[:1], n_clusters=1000)
    draw(replace(problem, n_threads=2), kernels="compiled", refresh="never")


def _warm_greedy(X: np.ndarray[Any, Any], strategy: str) -> None:
    # Every row twice: candidates that coincide are too close to call, and computed exactly.
    problem, _, _ = prepare_problem(
        np.repeat(X[: _ROWS // 2], 2, axis=0), 24, sample_weight=None,
        metric="manhattan" if strategy == "scan" else "euclidean", initial_centers=None,
        random_state=0, n_threads=1, progress=False,
    )  # fmt: skip
    if strategy == "postings":
        problem = replace(problem, points=_sparse(problem.points), initial=_sparse(X[:0]))
    GREEDY.method("fast").draw(problem, strategy=strategy)
