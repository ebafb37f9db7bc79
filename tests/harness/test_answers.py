"""A right answer or one clear error, for whatever a user may hold."""

from __future__ import annotations

import numpy as np
from hypothesis import note
from hypothesis import strategies as st

from kseeds import ClockQueue, VPTree, assign
from tests.data import METRICS, NORMS, fit_for
from tests.harness import oracle
from tests.harness.catalogue import VARIANTS
from tests.harness.checks import (
    answers_or_refuses,
    check_assignment,
    check_seeding,
    quietly,
    refuses,
    seeding_of,
)
from tests.harness.profiles import generated
from tests.harness.strategies import (
    SEEDS,
    SHARES,
    count_for,
    data,
    weight_kinds,
    weights_for,
)

THREADS = st.sampled_from([1, 2])


def hop(a, b):
    """A dissimilarity without a triangle inequality, whose squares neither overflow nor vanish."""
    return float((a != b).sum()) ** 1.5


@generated(
    220, 9000,
    case=data(), weighted=weight_kinds, variant=st.sampled_from(VARIANTS), share=SHARES,
    n_threads=THREADS,
)  # fmt: skip
def test_seedings_of_any_data(case, weighted, variant, share, n_threads):
    weights = weights_for(weighted, case)
    positive = len(case.values) if weights is None else np.count_nonzero(weights)
    k = count_for(share, positive)
    note(f"{variant} k={k} weights={weighted}")
    watched = [*case.held.watched, *([] if weights is None else [weights])]

    def call():
        return variant(
            case.given, k, sample_weight=weights, random_state=case.seed, n_threads=n_threads
        )

    if case.held.refused:
        refuses(call, case.held.refused, *watched)
        return
    found, seen = seeding_of(call, *watched)
    check_seeding(found, seen, case.values, k, weights)


@generated(
    80, 4000,
    case=data(containers=("C order",), dtypes=("float32", "float64")),
    weighted=weight_kinds,
    variant=st.sampled_from(VARIANTS),
    metric=st.sampled_from([*METRICS[1:], hop]),
    share=SHARES,
)  # fmt: skip
def test_seedings_by_any_metric(case, weighted, variant, metric, share):
    if not variant.takes(metric):
        refuses(lambda: variant(case.given, 1, metric=metric), ValueError, case.given)
        return
    X = fit_for(metric, case.values)
    weights = weights_for(weighted, case)
    positive = len(X) if weights is None else np.count_nonzero(weights)
    k = count_for(share, min(positive, 12))
    note(f"{variant} k={k} weights={weighted} metric={metric}")
    found, seen = seeding_of(
        lambda: variant(X, k, sample_weight=weights, metric=metric, random_state=case.seed), X
    )
    check_seeding(found, seen, X, k, weights, metric)


@generated(
    80, 4000,
    case=data(),
    weighted=weight_kinds,
    variant=st.sampled_from(VARIANTS),
    share=SHARES,
    m=st.integers(1, 8),
    offset=st.sampled_from([0.0, 0.0, 1.0]),
)  # fmt: skip
def test_seedings_around_centres(case, weighted, variant, share, m, offset):
    if case.held.refused:
        return
    X, rng = case.values, np.random.default_rng(case.seed)
    initial = X[rng.integers(0, len(X), size=m)].copy()
    with np.errstate(over="ignore"):
        moved = initial + X.dtype.type(offset)
    initial = np.where(np.isfinite(moved), moved, initial)
    weights = weights_for(weighted, case)
    positive = len(X) if weights is None else np.count_nonzero(weights)
    k = count_for(share, positive)
    note(f"{variant} k={k} weights={weighted} m={m}")

    def call():
        return variant(
            case.given, k, sample_weight=weights, initial_centers=initial, random_state=case.seed
        )

    if offset and answers_or_refuses(call, "initial_centers", initial) is None:
        return  # they may be too far from the data
    found, seen = seeding_of(call, *case.held.watched, initial)
    check_seeding(found, seen, X, k, weights, initial=initial)


@generated(
    120, 5000,
    case=data(), other=data(containers=("C order", "F order", "byte-swapped")),
    weighted=weight_kinds, m=st.integers(1, 70), own=st.booleans(), n_threads=THREADS,
)  # fmt: skip
def test_assignments_of_any_data(case, other, weighted, m, own, n_threads):
    """The centres are rows of the data, or are far from it in every way."""
    X, rng = case.values, np.random.default_rng(case.seed)
    source = X if own else other.values
    centers = np.resize(source[rng.integers(0, len(source), size=m)], (m, X.shape[1]))
    weights = weights_for(weighted, case)
    note(f"m={m} weights={weighted}")
    watched = [*case.held.watched, centers, *([] if weights is None else [weights])]

    def call():
        return assign(case.given, centers, sample_weight=weights, n_threads=n_threads)

    if case.held.refused:
        refuses(call, case.held.refused, *watched)
        return
    with np.errstate(over="ignore", under="ignore"):
        seen_by_kseeds = centers.astype(X.dtype)
    if not np.isfinite(seen_by_kseeds).all():
        refuses(call, ValueError, *watched)
        return
    if own:
        found, _ = quietly(call, *watched)
    else:
        found = answers_or_refuses(call, "centers", *watched)
        if found is None:
            return  # they may be too far from the data
    check_assignment(found, X, seen_by_kseeds, weights, "euclidean")


@generated(
    50, 2000,
    case=data(containers=("C order",), dtypes=("float32", "float64")),
    metric=st.sampled_from([*METRICS, hop]), m=st.integers(1, 70),
)  # fmt: skip
def test_assignments_by_any_metric(case, metric, m):
    X = fit_for(metric, case.values)
    centers = X[np.random.default_rng(case.seed).integers(0, len(X), size=m)]
    found, _ = quietly(lambda: assign(X, centers, metric=metric), X, centers)
    check_assignment(found, X, centers, None, metric)


@generated(
    80, 4000,
    case=data(), metric=st.sampled_from(NORMS), leaf_size=st.sampled_from([1, 2, 16]),
    asked=st.sampled_from(["everywhere", "at the radius", "inside", "nowhere"]),
)  # fmt: skip
def test_trees_of_any_data(case, metric, leaf_size, asked):
    """Items exactly at the radius are in range; so a radius that was returned finds them again."""
    if case.held.refused:
        refuses(lambda: VPTree(case.given), case.held.refused, *case.held.watched)
        return
    X, rng = case.values, np.random.default_rng(case.seed)
    tree, _ = quietly(
        lambda: VPTree(case.given, metric=metric, leaf_size=leaf_size), *case.held.watched
    )
    assert len(tree) == len(X)
    queries = X[rng.integers(0, len(X), size=(2, 20))].mean(axis=0, dtype=X.dtype)
    queries[::3] = X[rng.integers(0, len(X), size=len(queries[::3]))]
    if not np.isfinite(queries).all():
        queries = X
    (indices, found), _ = quietly(lambda: tree.nearest_in_range(queries), queries)
    oracle.check_nearest(queries, X, metric, indices, found)
    if asked == "everywhere" or not np.isfinite(found).all():
        return
    factor = {"at the radius": 1.0, "inside": 2.0, "nowhere": 0.5}[asked]
    with np.errstate(over="ignore"):
        radii = found.astype(np.float64) * factor
    if not np.isfinite(radii).all():
        return
    (again, distances), _ = quietly(lambda: tree.nearest_in_range(queries, radii), queries, radii)
    if asked == "nowhere":
        out = found > 0
        # Halves of the smallest numbers are rounded: those are found again, rightly.
        out &= radii < found * (1 - 1e-3)
        np.testing.assert_array_equal(again[out], -1)
        assert np.isinf(distances[out]).all()
    else:
        np.testing.assert_array_equal(again, indices)
        np.testing.assert_array_equal(distances, found)


@generated(
    40, 2000,
    seed=SEEDS, n=st.integers(1, 60),
    kind=st.sampled_from(["few values", "random", "infinite", "integers", "strided", "read-only"]),
)  # fmt: skip
def test_queues_of_any_keys(seed, n, kind):
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 5, size=n) * 1.0 if kind == "few values" else rng.normal(size=n)
    if kind == "infinite":
        keys[rng.random(n) < 0.5] = rng.choice([np.inf, -np.inf])
    if kind == "integers":
        keys = rng.integers(-9, 10, size=n)
    if kind == "strided":
        keys = np.repeat(keys, 3)[::3]
    if kind == "read-only":
        keys.flags.writeable = False
    queue, _ = quietly(lambda: ClockQueue(keys), keys)
    waiting = list(range(n))
    while waiting:
        if queue.keys.flags.writeable:
            grown = rng.integers(0, n, size=2)
            queue.keys[grown] += rng.integers(0, 2, size=2)
        wanted = min(waiting, key=lambda item: (queue.keys[item], item))
        assert queue.pop() == wanted
        waiting.remove(wanted)
    assert len(queue) == 0
