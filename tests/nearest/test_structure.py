"""The probe for structure, and that the choice heeds it."""

from __future__ import annotations

import numpy as np
import pytest

from kseeds.inputs import prepare_points
from kseeds.nearest.choice import Job, fastest
from kseeds.nearest.projection import principal_components
from kseeds.nearest.state import Nearest
from kseeds.nearest.structure import Sample
from kseeds.nearest.update import NearestUpdater
from kseeds.runtime import registers
from kseeds.runtime.threads import Workers


@pytest.mark.parametrize("filled", [1, 2, 4])
def test_dimension_is_that_of_the_subspace_that_is_filled(filled):
    rng = np.random.default_rng(filled)
    X = rng.random((20_000, filled)) @ rng.normal(size=(filled, 6))
    assert 0.7 * filled <= Sample(X).dimension() <= 1.3 * filled


@pytest.mark.parametrize("shape", [(1, 3), (2, 1), (5, 4)])
def test_tiny_or_constant_data_has_no_structure_to_speak_of(shape):
    assert Sample(np.ones(shape)).dimension() in (0.0, np.inf)


def test_projections_leave_little_open_where_the_data_is_flat_and_all_where_it_is_not():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(5000, 4)) @ rng.normal(size=(4, 60))
    noise = rng.normal(size=(5000, 60))
    for X, least, most in ((flat, 0.0, 0.01), (noise, 0.5, 1.0)):
        directions = principal_components(X).directions[:, :8]
        for share in (Sample(X).left_open(directions), Sample(X).left_open_in_steps(directions)):
            assert least <= share <= most


FLOOR = ("quantized", "gemm", "brute")
"""What needs no structure."""


def chosen(X, m):
    prepared = prepare_points(X, "euclidean")
    with Workers(1) as workers:
        return fastest(Job(prepared.points, prepared.metric, workers, m))


@pytest.mark.parametrize("has_bytes", [False, True])
def test_trees_and_projections_are_for_data_with_structure(has_bytes, monkeypatch):
    monkeypatch.setattr(registers, "MULTIPLY_BYTES", has_bytes)
    products = "quantized" if has_bytes else "gemm"
    rng = np.random.default_rng(0)
    assert chosen(rng.random((100_000, 2)), 8192) == "tree"
    assert chosen(rng.normal(size=(100_000, 8)), 512) == "gemm"
    assert chosen(rng.normal(size=(20_000, 100)), 2048) == products
    low = rng.normal(size=(20_000, 20)) @ rng.normal(size=(20, 300))
    assert chosen(low, 2048) == ("quantized_scan" if has_bytes else "projected_scan")
    assert chosen(rng.normal(size=(20_000, 3)) @ rng.normal(size=(3, 60)), 4096) == "projected_tree"
    skewed = np.exp(rng.normal(size=(20_000, 60)) * np.linspace(0.2, 2.5, 60))
    assert chosen(skewed, 4096) == products  # few components have the variance, but not the rest


def test_few_centres_are_compared_without_looking_at_the_data(monkeypatch):
    monkeypatch.setattr(Job, "sample", property(lambda _: pytest.fail("looked")))
    monkeypatch.setattr(Job, "components", property(lambda _: pytest.fail("looked")))
    for d in (2, 8, 60, 300):
        assert chosen(np.random.default_rng(0).normal(size=(10_000, d)), 16) in FLOOR


def test_a_scan_that_measures_one_centre_per_row_is_not_given_up():
    """With few centres that is a large share of all, though it could not be less."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(9000, 6)) @ rng.normal(size=(6, 200))).astype(np.float32)
    prepared = prepare_points(X, "euclidean")
    with Workers(1) as workers:
        job = Job(prepared.points, prepared.metric, workers, 18)
        updater = NearestUpdater(job, "quantized_scan")
        updater.update(Nearest.empty(prepared.points), prepared.points[:18].copy(), 0)
    assert updater._is_useful
