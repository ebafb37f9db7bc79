"""The slack of pruning bounds covers what rounding adds to distances."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kseeds.distances.metrics import prune_limits
from kseeds.distances.reference import squared_distances
from kseeds.inputs import prepare_points
from tests.data import METRICS, NORMS, PLACES

SETTINGS = settings(max_examples=80, deadline=None, derandomize=True)


@SETTINGS
@given(
    st.sampled_from(METRICS),
    st.sampled_from([1, 2, 7, 40]),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 2**31),
)
def test_slack_covers_rounding_right_at_the_bound(metric, d, dtype, seed):
    """Points placed within a few ulps of half way: a pruned point must not have improved.

    Half way between two centres γ = 2α holds with equality; rounding decides the rest, and
    without slack the rule prunes points whose computed distance to the new centre is smaller.
    """
    rng = np.random.default_rng(seed)
    if metric in NORMS and seed % 2:
        # Exactly half way, give or take an ulp in a coordinate: less than what sums lose.
        a = np.zeros((300, d))
        b = rng.normal(size=(300, d)).astype(dtype)
        x = b / dtype(2.0)
        nudged = np.nextafter(x, b if seed % 4 == 1 else a.astype(dtype))
        x = np.where(rng.random(x.shape) < 0.2, nudged, x)
        b = b.astype(np.float64)
    elif metric not in NORMS:
        a = rng.uniform(0.2, 1.2, size=(300, 2 if metric in PLACES else d + 1))
    else:
        a = rng.normal(size=(300, d))
    if a.any():
        b = a + rng.normal(size=a.shape) * 1e-3
        x = (a + b) / 2
        x = np.nextafter(x.astype(dtype), rng.choice([-9, 9], size=x.shape).astype(dtype))
    everything = np.concatenate([a, b, x]).astype(dtype)
    prepared = prepare_points(everything, metric)
    a, b, x = prepared.points[:300], prepared.points[300:600], prepared.points[600:]
    family = prepared.metric.family

    def row_by_row(u, v):
        return np.concatenate([squared_distances(u[i : i + 1], v[i], family) for i in range(300)])

    alpha2 = row_by_row(x, a)
    pruned = alpha2 <= prune_limits(prepared.metric, row_by_row(a, b))
    assert not (row_by_row(x, b)[pruned] < alpha2[pruned]).any()
