"""The public functions: they check what they are given, delegate, and wrap the answer."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.distances.sparse_rows import is_sparse, stacked
from kseeds.errors import FewerDistinctPointsWarning
from kseeds.inputs import (
    Prepared,
    Problem,
    Weights,
    check_algorithm,
    check_choice,
    check_count,
    check_options,
    check_positive,
    prepare_problem,
    restored_on_error,
)
from kseeds.inputs.containers import to_array
from kseeds.inputs.fingerprint import Fingerprint, fingerprint_of
from kseeds.inputs.problem import UncheckedValuesError
from kseeds.inputs.sparse import form_of, from_dense, is_sparse_data, to_scipy
from kseeds.laws import GREEDY, PARALLEL, PLUSPLUS, Law
from kseeds.methods.base import Draw
from kseeds.methods.completion import complete
from kseeds.methods.parallel.schedule import REDUCTIONS, Schedule
from kseeds.nearest.finish import exact_centers, finish
from kseeds.results import Finished, Origin, Seeding
from kseeds.runtime.threads import Workers


def kmeans_plusplus(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    metric: Any = "euclidean",
    initial_centers: Any = None,
    random_state: Any = None,
    algorithm: str = "auto",
    n_threads: int | None = None,
    progress: Any = False,
    **options: Any,
) -> Seeding:
    """Draw the starting centres of k-means by k-means++.

    The first seed is row i with probability w_i / Σw, every further one with probability
    w_i·α_i² / Σ w·α², α_i being the distance of row i to its nearest seed so far.

    Parameters
    ----------
    X : array-like, shape (n, d)
        One row per point: NumPy array, memory map, list, pandas or polars frame, Arrow table; or a
        sparse matrix of SciPy, which is not made dense (the centers are then CSR).
        float32 and float64 are computed in their own precision; float16, booleans and
        integers of at most 16 bits in float32; everything else in float64.
    n_clusters : int
        How many seeds to draw.
    sample_weight : array-like, shape (n,), optional
        Non-negative weights of the rows. A row of weight 0 is never drawn.
    metric : str or callable, default "euclidean"
        The distance: a name from the table of metrics in the README, or a function of two rows
        (plain, or compiled with Numba, which is faster), which may be any dissimilarity.
    initial_centers : array-like, shape (m, d), optional
        Centres that exist already. Seeds are drawn around them; only new rows are returned.
    random_state : int, Generator, RandomState, SeedSequence or None
        Same state, same seeds, on any number of threads and for any memory order.
    algorithm : {"auto", "lazy", "naive", "paper", "rounds"}
        How to draw; never changes the law. See the README for which to use when.
    n_threads : int, optional
        Threads to use; all cores by default.
    progress : bool or callable, default False
        True shows a bar on stderr; a function is called with (done, total).
    **options
        Of ``algorithm="paper"``: ``keys`` ("clock", or "printed" for the paper's own biased
        rule) and ``queue`` (False for the ablation without the priority queue). Of
        ``algorithm="lazy"``: ``kernels`` ("auto", "plain" or "compiled", the same seeds),
        ``refresh`` ("auto", "never", "partial" or "full") and ``batch`` (64, 8 or 1).

    Returns
    -------
    Seeding
        Unpacks as ``centers, indices``; also has work, and labels, distances and potential,
        which are computed when first asked for.

    Warns
    -----
    FewerDistinctPointsWarning
        If fewer distinct points than seeds exist. The rest are distinct rows drawn by weight.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds import kmeans_plusplus
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    >>> centers, indices = kmeans_plusplus(X, 3, random_state=0)
    >>> centers.shape
    (3, 1)
    """
    with restored_on_error(random_state):
        return seed(
            PLUSPLUS, X, n_clusters, algorithm, options, (),
            sample_weight=sample_weight, metric=metric, initial_centers=initial_centers,
            random_state=random_state, n_threads=n_threads, progress=progress,
        )  # fmt: skip


def greedy_kmeans_plusplus(
    X: Any,
    n_clusters: int,
    *,
    n_local_trials: int | None = None,
    sample_weight: Any = None,
    metric: Any = "euclidean",
    initial_centers: Any = None,
    random_state: Any = None,
    algorithm: str = "auto",
    n_threads: int | None = None,
    progress: Any = False,
    **options: Any,
) -> Seeding:
    """Draw the starting centres of k-means by greedy k-means++, the default of scikit-learn.

    The first seed is drawn by weight. Every further step draws several candidates as k-means++
    would, independently of each other, and keeps the one that lowers the potential most. Seeds
    are better than those of `kmeans_plusplus` on well separated clusters, and cost more.

    Parameters
    ----------
    X : array-like, shape (n, d)
        One row per point, as for `kmeans_plusplus`.
    n_clusters : int
        How many seeds to draw.
    n_local_trials : int, optional
        Candidates drawn per step; 2 + ⌊ln n_clusters⌋ by default. With 1, this is k-means++.
        Of candidates whose gains differ by less than a share of 2e-6, the first drawn is kept.
    sample_weight, metric, initial_centers, random_state, n_threads, progress
        As for `kmeans_plusplus`.
    algorithm : {"auto", "fast", "naive"}
        How to draw; never changes the law. Both draw the same seeds.
    **options
        Of ``algorithm="fast"``: ``strategy`` ("plain", "columns", "pool", "tree" or
        "projected_tree"), how rows are compared with candidates.

    Returns
    -------
    Seeding
        Unpacks as ``centers, indices``; also has work, labels, distances and potential. The
        last three come with the seeds at no further cost.

    Warns
    -----
    FewerDistinctPointsWarning
        If fewer distinct points than seeds exist. The rest are distinct rows drawn by weight.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds import greedy_kmeans_plusplus
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    >>> seeding = greedy_kmeans_plusplus(X, 3, random_state=0)
    >>> sorted(np.round(seeding.centers[:, 0]).tolist())
    [0.0, 5.0, 9.0]
    """
    trials = None if n_local_trials is None else check_count("n_local_trials", n_local_trials)
    with restored_on_error(random_state):
        return seed(
            GREEDY, X, n_clusters, algorithm, options, (trials,),
            sample_weight=sample_weight, metric=metric, initial_centers=initial_centers,
            random_state=random_state, n_threads=n_threads, progress=progress,
        )  # fmt: skip


def kmeans_parallel(
    X: Any,
    n_clusters: int,
    *,
    oversampling: float = 2.0,
    rounds: int = 5,
    reduction: str = "k-means++",
    sample_weight: Any = None,
    metric: Any = "euclidean",
    initial_centers: Any = None,
    random_state: Any = None,
    algorithm: str = "auto",
    n_threads: int | None = None,
    progress: Any = False,
    **options: Any,
) -> Seeding:
    """Draw the starting centres of k-means by k-means||.

    In each of a few rounds every row becomes a candidate, independently, with probability
    min(1, ℓ·w_i·α_i² / Σ w·α²), ℓ = oversampling·k. The candidates, weighted by the rows
    nearest to them, are reduced to exactly k by weighted k-means++.

    Parameters
    ----------
    X : array-like, shape (n, d)
        One row per point, as for `kmeans_plusplus`.
    n_clusters : int
        How many seeds to draw.
    oversampling : float, default 2.0
        Expected candidates of a round, as a multiple of ``n_clusters``.
    rounds : int, default 5
        Rounds of drawing candidates.
    reduction : {"k-means++", "greedy"}
        The law by which the candidates are reduced to k: one draw a step, or the best of several
        as in `greedy_kmeans_plusplus`.
    sample_weight, metric, initial_centers, random_state, n_threads, progress
        As for `kmeans_plusplus`.
    algorithm : {"auto", "fast", "naive", "paper"}
        How to draw; never changes the law. All draw the same candidates.
    **options
        Of ``algorithm="paper"``: ``in_range`` (False for the ablation that searches the
        tree without a radius). Of ``algorithm="fast"``: ``strategy`` ("plain", "brute",
        "tree", "projected_tree", "projected_scan", "gemm", "quantized", "quantized_scan" or
        "vantage"), how rows are compared with candidates.

    Returns
    -------
    Seeding
        Unpacks as ``centers, indices``; also has work, and labels, distances and potential,
        which are computed when first asked for.

    Warns
    -----
    FewerDistinctPointsWarning
        If fewer distinct points than seeds exist. The rest are distinct rows drawn by weight.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds import kmeans_parallel
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> seeding = kmeans_parallel(X, 4, random_state=0)
    >>> len(set(seeding.indices.tolist()))
    4
    """
    schedule = Schedule(
        check_positive("oversampling", oversampling),
        check_count("rounds", rounds),
        check_choice("reduction", reduction, REDUCTIONS),
    )
    with restored_on_error(random_state):
        return seed(
            PARALLEL, X, n_clusters, algorithm, options, (schedule,),
            sample_weight=sample_weight, metric=metric, initial_centers=initial_centers,
            random_state=random_state, n_threads=n_threads, progress=progress,
        )  # fmt: skip


def seed(
    law: Law,
    X: Any,
    n_clusters: Any,
    algorithm: str,
    options: dict[str, Any],
    parameters: tuple[Any, ...],
    depth: int = 0,
    keeps_bounds: bool = True,
    **arguments: Any,
) -> Seeding:
    """Draw rows from a law, and wrap them.

    ``depth`` counts the calls between a public function and this one, beyond the first: warnings
    point to whoever called the former. Without ``keeps_bounds``, what a method knows of some
    distances only is let go: labels then take a little longer, and nothing a row is held for them.
    """
    started = time.perf_counter()

    def warn(problem: Problem, found: int) -> None:
        _warn(problem, found, depth)

    problem, prepared, weights, drawn, indices = draw_rows(
        law, X, n_clusters, algorithm, options, parameters, warn, **arguments
    )
    is_complete = drawn.nearest is not None and drawn.nearest.oldest == len(indices)
    if not (is_complete or keeps_bounds):
        drawn.nearest = None
    before = drawn.fingerprint
    if before is None or not np.may_share_memory(problem.points, prepared.values):
        before = _fingerprint(problem, prepared)
    return Seeding(
        centers=_rows_of(X, prepared, indices),
        indices=indices.copy(),  # the caller's to sort, say
        algorithm=law.named(algorithm),
        work=drawn.work,
        seconds=time.perf_counter() - started,
        finish=lambda: _finish(problem, prepared, drawn, indices, weights, before),
        origin=None if len(problem.initial) else Origin(prepared.metric.given, before, indices),
        is_complete=is_complete,
    )


def draw_rows(
    law: Law,
    X: Any,
    n_clusters: Any,
    algorithm: str,
    options: dict[str, Any],
    parameters: tuple[Any, ...],
    warn: Callable[[Problem, int], None],
    **arguments: Any,
) -> tuple[Problem, Prepared, Weights, Draw, npt.NDArray[np.int64]]:
    """Prepare, draw from a law with its parameters, and complete the draw.

    Parameters
    ----------
    law, algorithm, options, parameters
        The law, how to draw from it, and what it depends on.
    X, n_clusters
        As for `kmeans_plusplus`.
    warn : callable
        Is called with the problem and the number of seeds if the distinct points run out.
    **arguments
        All that `prepare_problem` needs else.
    """
    check_algorithm(law.function, algorithm, law.algorithms)
    check_options(law.function, algorithm, options, law.algorithms, law.options_of)
    method = law.method(algorithm)
    if not method.takes_sparse and is_sparse_data(X):
        X = to_array(X, "X")  # which refuses what would be too large
    problem, prepared, weights = prepare_problem(
        X, n_clusters, **arguments, check_values=not method.checks_values
    )
    if problem.metric.function is not None and not method.any_dissimilarity:
        raise ValueError(
            f"metric={problem.metric.name} is a function, which may break the triangle inequality "
            f"that algorithm={algorithm!r} relies on; use algorithm='auto' or 'naive'."
        )
    try:
        try:
            drawn = method.draw(problem, *parameters, **options)
        except UncheckedValuesError:
            stream = problem.stream  # a generator must not be drawn from twice
            again = {**arguments, "random_state": 0}
            problem, prepared, weights = prepare_problem(X, n_clusters, **again)
            problem = replace(problem, stream=stream)
            drawn = method.draw(problem, *parameters, **options)
        drawn.work.rows = len(problem.points)
        return problem, prepared, weights, drawn, complete(problem, prepared, drawn, weights, warn)
    finally:
        problem.progress.close()


def _rows_of(X: Any, prepared: Prepared, indices: npt.NDArray[np.int64]) -> Any:
    """Return rows of the data as the user holds it: sparse if it is."""
    rows = prepared.values[indices]
    if not is_sparse_data(X):
        return rows
    return to_scipy(rows if is_sparse(rows) else from_dense(rows), form_of(X))


def _warn(problem: Problem, found: int, depth: int) -> None:
    warnings.warn(
        f"X has fewer distinct points than n_clusters={problem.n_clusters}: every row "
        f"coincides with one of the {found} seeds drawn"
        + (" or the initial centers" if len(problem.initial) else "")
        + f". The other {problem.n_clusters - found} are further rows drawn by weight; "
        "ask for fewer seeds to avoid repeated points.",
        FewerDistinctPointsWarning,
        stacklevel=7 + depth,
    )


def _fingerprint(problem: Problem, prepared: Prepared) -> Fingerprint:
    with Workers(problem.n_threads) as workers:
        return fingerprint_of(prepared.values, workers)


def _finish(
    problem: Problem,
    prepared: Prepared,
    drawn: Draw,
    indices: npt.NDArray[np.int64],
    weights: Weights,
    before: Fingerprint,
) -> Finished:
    """Return labels, distances and potential in the user's units."""
    _refuse_changes(problem, prepared, before)
    centers = stacked([problem.initial, problem.points[indices]])
    with Workers(problem.n_threads) as workers:
        exact = exact_centers(prepared, problem.initial, indices)
        finished = finish(prepared, weights, drawn.nearest, centers, exact, workers)
    _refuse_changes(problem, prepared, before)  # also while this was going on
    return finished


def _refuse_changes(problem: Problem, prepared: Prepared, before: Fingerprint) -> None:
    if not np.array_equal(_fingerprint(problem, prepared), before):
        raise RuntimeError(
            "X has changed since it was seeded, so labels, distances and potential can no longer "
            "be computed; ask for them before changing X, or use kseeds.assign(X, seeding.centers)."
        )
