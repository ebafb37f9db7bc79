"""What must be true of every call, whatever it is given."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from kseeds import FewerDistinctPointsWarning, Seeding
from tests.harness import oracle

ARGUMENTS = (
    "X", "n_clusters", "sample_weight", "metric", "initial_centers", "random_state",
    "algorithm", "n_threads", "progress", "oversampling", "rounds", "centers", "points",
    "queries", "radii", "keys", "leaf_size",
)  # fmt: skip


def quietly(
    function: Callable[[], Any], *watched: np.ndarray
) -> tuple[Any, list[warnings.WarningMessage]]:
    """Call; refuse changes of the caller's arrays and warnings that are not ours.

    Returns the result and the warnings that are ours.
    """
    before = [(array.tobytes(), str(array.flags), array.dtype, array.shape) for array in watched]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = function()
        finally:
            after = [(a.tobytes(), str(a.flags), a.dtype, a.shape) for a in watched]
            assert after == before, "an array of the caller was changed"
    strange = [w for w in seen if w.category is not FewerDistinctPointsWarning]
    assert not strange, f"a warning leaked: {strange[0].message!r} of {strange[0].filename}"
    return result, list(seen)


def is_clear(
    error: BaseException,
    kind: type[Exception] | tuple[type[Exception], ...] = (ValueError, TypeError),
    argument: str = "",
) -> None:
    """Refuse an error that is not one sentence about an argument, or not of this kind."""
    text = str(error)
    assert isinstance(error, kind), repr(error)
    assert argument in text, text
    assert "\n" not in text, text
    assert text.endswith("."), text
    named = text.replace("=", " ").replace("'", " ").split()
    assert any(argument in named for argument in ARGUMENTS), text


def refuses(function: Callable[[], Any], kind: type[Exception], *watched: np.ndarray) -> None:
    """Refuse a call that does not end in one clear error of this kind."""
    try:
        quietly(function, *watched)
    except (ValueError, TypeError) as error:
        is_clear(error, kind)
    else:
        raise AssertionError(f"should have raised {kind.__name__}")


def answers_or_refuses(function: Callable[[], Any], argument: str, *watched: np.ndarray) -> Any:
    """Return the answer, or None if the call refuses ``argument`` in one clear sentence."""
    try:
        return quietly(function, *watched)[0]
    except (ValueError, TypeError) as error:
        is_clear(error, argument=argument)
        return None


def seeding_of(
    call: Callable[[], Seeding], *watched: np.ndarray
) -> tuple[Seeding, list[warnings.WarningMessage]]:
    """Call a seeding function and have its labels computed, under the eyes of `quietly`."""

    def whole() -> Seeding:
        found = call()
        _ = found.labels, found.distances, found.potential, repr(found)
        return found

    return quietly(whole, *watched)


def check_seeding(
    found: Seeding,
    seen: list[warnings.WarningMessage],
    X: np.ndarray,
    k: int,
    weights: np.ndarray | None = None,
    metric: Any = "euclidean",
    initial: np.ndarray | None = None,
) -> None:
    """Refuse a seeding that is wrong in any way that one draw can show."""
    n, d = X.shape
    initial = np.empty((0, d), dtype=X.dtype) if initial is None else initial.astype(X.dtype)
    assert found.indices.dtype == np.int64
    assert found.indices.shape == (k,)
    assert len(set(found.indices.tolist())) == k, f"a row twice: {found.indices}"
    assert ((found.indices >= 0) & (found.indices < n)).all()
    if weights is not None:
        assert (weights[found.indices] > 0).all(), "a row of weight 0 was drawn"
    assert found.centers.dtype == X.dtype
    seeds = np.asarray(found)  # dense, whatever the data is
    np.testing.assert_array_equal(seeds, X[found.indices])
    centers = np.concatenate([initial, seeds])
    true = oracle.check_nearest(X, centers, metric, found.labels, found.distances)
    slack = oracle.slack(X, centers, metric)
    oracle.check_potential(found.potential, true, weights, slack)
    _check_warning(seen, found, X, k, weights, metric, initial)


def _check_warning(
    seen: list[warnings.WarningMessage],
    found: Seeding,
    X: np.ndarray,
    k: int,
    weights: np.ndarray | None,
    metric: Any,
    initial: np.ndarray,
) -> None:
    """Refuse a warning that is not true, a missing one, and seeds that repeat a point early."""
    assert len(seen) <= 1, "the warning came twice"
    possible = X if weights is None else X[weights > 0]
    known = oracle.distinct(initial)
    different = oracle.distinct(np.concatenate([initial, possible])) - known
    if oracle.is_on_a_sphere(metric):
        # Directions that are within rounding of each other may count as one or as two.
        assert bool(seen) or different >= k, "fewer distinct points than seeds, and no warning"
        return
    assert bool(seen) == (different < k), (
        f"{different} distinct points for {k} seeds, and {'a' if seen else 'no'} warning"
    )
    first = np.asarray(found)[: min(k, different)]
    spread = oracle.distinct(np.concatenate([initial, first])) - known
    assert spread == len(first), "a point was drawn again while others were left"


def check_assignment(
    found: Any, X: np.ndarray, centers: np.ndarray, weights: np.ndarray | None, metric: Any
) -> None:
    """Refuse an assignment that is wrong."""
    centers = centers.astype(X.dtype)
    true = oracle.check_nearest(X, centers, metric, found.labels, found.distances)
    oracle.check_potential(found.potential, true, weights, oracle.slack(X, centers, metric))
