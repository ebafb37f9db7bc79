"""The public function `kmeans`: seeds, then Lloyd's iteration, once or several times."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.api import seed
from kseeds.clustering.fitting import Fitting, Run
from kseeds.distances.sparse_rows import Points, is_sparse
from kseeds.inputs import (
    Prepared,
    Weights,
    check_algorithm,
    check_count,
    check_threads,
    check_weights,
    prepare_like,
    prepare_together,
    restored_on_error,
    with_hints,
)
from kseeds.inputs.arguments import known_random_state
from kseeds.inputs.clustering import (
    check_mean_metric,
    check_rows,
    check_start,
    check_tolerance,
    state_of_run,
)
from kseeds.inputs.fingerprint import fingerprint_of
from kseeds.inputs.problem import check_enough
from kseeds.inputs.sparse import form_of, to_scipy
from kseeds.laws import GREEDY, PARALLEL, PLUSPLUS, RANDOM, Law
from kseeds.lloyd.choice import ALGORITHMS
from kseeds.lloyd.iteration import Limits, are_equal
from kseeds.methods.parallel.schedule import Schedule
from kseeds.results import Clustering, Seeding
from kseeds.runtime.progress import progress_for
from kseeds.runtime.threads import Workers

_STARTS: dict[str, tuple[Law, tuple[Any, ...]]] = {
    "k-means++": (PLUSPLUS, ()),
    "greedy": (GREEDY, (None,)),
    "k-means||": (PARALLEL, (Schedule(),)),
    "random": (RANDOM, ()),
}
"""The law of what ``init`` may be called, and its parameters."""


@with_hints
def kmeans(
    X: Any,
    n_clusters: int,
    *,
    init: Any = "k-means++",
    n_init: int = 1,
    sample_weight: Any = None,
    metric: Any = "euclidean",
    max_iter: int = 300,
    tol: float = 1e-4,
    random_state: Any = None,
    n_threads: int | None = None,
    progress: Any = False,
    algorithm: str = "auto",
) -> Clustering:
    """Cluster rows by k-means: seeds, then Lloyd's iteration.

    Every row is assigned to its nearest centre and every centre moved to the mean of its rows,
    until no row changes its cluster or the centres hardly move. The sums of clusters are exact, so
    centres, labels and the number of iterations are the same on any number of threads, for any
    order of the memory, and by any algorithm.

    Parameters
    ----------
    X : array-like, shape (n, d)
        One row per point, as for `kmeans_plusplus`. Of sparse rows, the centers are CSR, too.
    n_clusters : int
        How many clusters to find.
    init : {"k-means++", "greedy", "k-means||", "random"}, array-like or Seeding
        Where to start: seeds drawn by `kmeans_plusplus`, `greedy_kmeans_plusplus` or
        `kmeans_parallel`, or distinct rows drawn by weight; or centres, one row per cluster; or a
        seeding, whose labels are not computed again where it has them already.
    n_init : int, default 1
        How often to start, each time from other seeds; the result of the lowest inertia is
        returned. Centres and seedings that are given are started from once.
    sample_weight : array-like, shape (n,), optional
        Non-negative weights of the rows. Rows of weight 0 get labels, and change nothing else.
    metric : {"euclidean", "cosine"}
        "cosine" is spherical k-means: rows count as unit vectors, and so do centres.
    max_iter : int, default 300
        How often the centres may be moved.
    tol : float, default 1e-4
        Stop when the squared movements of the centres sum up to at most this multiple of the mean
        variance of the columns. With 0, when no row changes its cluster.
    random_state : int, Generator, RandomState, SeedSequence or None
        Same state, same result. With ``n_init=1``, the seeds are those that the seeding function
        draws from it.
    n_threads : int, optional
        Threads to use; all cores by default.
    progress : bool or callable, default False
        True shows a bar on stderr; a function is called with (done, total) iterations, where total
        is ``max_iter`` until it ends, and then as many as there were.
    algorithm : {"auto", "naive", "tree", "bounds", "gemm"}
        How nearest centres are found; never changes the result. "tree" is for few columns,
        "bounds" for tens or hundreds, "gemm" compares all rows with all centres by matrix
        products, and "naive" is the plain oracle.

    Returns
    -------
    Clustering
        Unpacks as ``centers, labels``; also has distances, inertia, n_iter, converged, seeding
        and work. The labels are those of the centres, always.

    Warns
    -----
    FewerDistinctPointsWarning
        If there are fewer distinct points than seeds to draw; some clusters are then empty.

    Examples
    --------
    >>> from kseeds import kmeans
    >>> centers, labels = kmeans([[0.0], [0.2], [7.0], [7.4]], 2, random_state=0)
    >>> sorted(centers[:, 0].round(6).tolist())
    [0.1, 7.2]
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    started = time.perf_counter()
    k = check_count("n_clusters", n_clusters)
    runs, most = check_count("n_init", n_init), check_count("max_iter", max_iter)
    known, limit = check_mean_metric(metric), check_tolerance(tol)
    start = check_start(init, k)
    check_algorithm("kmeans", algorithm, ALGORITHMS)
    state, threads = known_random_state(random_state), check_threads(n_threads)
    shown = progress_for(progress)
    is_drawn = isinstance(start, str)
    rows = None if is_drawn else getattr(start, "centers", start)
    with Workers(threads) as workers:
        prepared, given = prepare_together(
            X, rows, known, names=("X", "init"), same_units=True, workers=workers
        )
    n = len(prepared.points)
    check_enough(k, n, n, "clusters")
    if not is_drawn:
        check_rows(len(given), k)
    weights = check_weights(sample_weight, n)
    check_enough(k, n, weights.positive, "clusters")
    with Workers(threads) as workers, restored_on_error(random_state), closing(shown):
        fitting = Fitting(prepared, weights, workers, k, algorithm, Limits(most, limit), shown)
        best: tuple[Run, Seeding | None] | None = None
        for number in range(runs if is_drawn else 1):
            seeding = start if isinstance(start, Seeding) else None
            if is_drawn:
                # Sparse rows as they were given: those of the seeding are in the same form.
                given_rows = X if is_sparse(prepared.values) else prepared.values
                seeding = _seeds(
                    start,
                    given_rows,
                    prepared,
                    k,
                    weights,
                    state_of_run(state, number),
                    threads,
                    progress,
                )
                given, _ = prepare_like(prepared, seeding.centers, name="init")
            run = fitting.run(given, _known(seeding, given, prepared, workers))
            if best is None or run.is_better_than(best[0]):
                best = run, seeding
        assert best is not None  # at least one run
        return _wrapped(X, fitting, *best, time.perf_counter() - started)


def _seeds(
    start: str,
    rows: Any,
    prepared: Prepared,
    k: int,
    weights: Weights,
    state: Any,
    threads: int,
    progress: Any,
) -> Seeding:
    law, parameters = _STARTS[start]
    return seed(
        law, rows, k, "auto", {}, parameters, 2, keeps_bounds=False,
        sample_weight=weights.exact, metric=prepared.metric.given, initial_centers=None,
        random_state=state, n_threads=threads, progress=progress is True,
    )  # fmt: skip


def _known(
    seeding: Seeding | None, centers: Points, prepared: Prepared, workers: Workers
) -> npt.NDArray[np.int32] | None:
    """Return the labels that a seeding has, if it is one of these rows and its centres are."""
    if seeding is None:
        return None
    return seeding.known_labels(
        prepared.metric.given,
        lambda: fingerprint_of(prepared.values, workers),
        lambda drawn: are_equal(prepared.points[drawn], centers),
    )


def _wrapped(
    X: Any, fitting: Fitting, run: Run, seeding: Seeding | None, seconds: float
) -> Clustering:
    centers = run.centers
    return Clustering(
        centers=to_scipy(centers, form_of(X)) if is_sparse(centers) else centers,
        labels=run.labels,
        distances=run.distances,
        inertia=run.inertia,
        n_iter=run.n_iter,
        converged=run.converged,
        seeding=seeding,
        algorithm=run.algorithm,
        work=fitting.work,
        seconds=seconds,
    )
