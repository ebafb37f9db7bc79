"""What the driver refuses, counts, reports and says; on partitions in a list."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import pairwise

import numpy as np
import pytest

import kseeds
from kseeds.distributed import driver as rounds
from kseeds.distributed.local_backend import LocalBackend
from kseeds.distributed.partition import Part
from kseeds.distributed.seeding import seed
from kseeds.methods.parallel.schedule import Schedule
from tests.distributed.common import whole_numbers


class Counting(LocalBackend):
    """Remembers which tasks it ran."""

    def __init__(self, parts):
        super().__init__(parts)
        self.tasks = []

    def run(self, task, message, keep):
        self.tasks.append(task.__name__)
        return super().run(task, message, keep)


def counting(X, weights=None, parts=2):
    borders = np.linspace(0, len(X), parts + 1).astype(int)
    return Counting(
        [
            Part.of(p, X[lo:hi], None if weights is None else weights[lo:hi])
            for p, (lo, hi) in enumerate(pairwise(borders))
        ]
    )


def seed_parts(X, k, weights=None, parts=2, backend=None, **options):
    backend = backend or counting(X, weights, parts)
    arguments = {"metric": "euclidean", "initial_centers": None, "random_state": 0}
    arguments |= {"progress": False, **options}
    return seed(lambda: nullcontext(backend), k, **arguments)


SCHEDULES = [None, Schedule(2.0, 3), Schedule(0.1, 2)]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("initial", "message"),
    [
        (
            [[0.0, 1e300, 0.0]],
            r"^initial_centers has 1e\+300 at row 0, column 1, which is more than the float32 of "
            r"the data holds; pass the data as float64\.$",
        ),
        ([[0.0, np.nan, 0.0]], "^initial_centers has nan at row 0, column 1; .*"),
        ([[0.0, 1.0]], "^initial_centers has 2 columns but the data has 3; .*"),
        ([[0.0, 1e30, 0.0]], r"^initial_centers reaches 1e\+30, too far from the data .*"),
        ([["a", "b", "c"]], "^initial_centers has dtype .*"),
        (
            [1.0, 2.0, 3.0],
            r"^.* has 1 dimensions, not 2; use initial_centers\.reshape\(1, -1\) for a.*",
        ),
    ],
)
def test_initial_centers_are_checked_before_anything_is_drawn(initial, message, schedule):
    X, _ = whole_numbers(100)
    backend = counting(X.astype(np.float32))
    with pytest.raises((ValueError, TypeError), match=message):
        seed_parts(X, 3, initial_centers=initial, schedule=schedule, backend=backend)
    assert set(backend.tasks) <= {"survey"}


def test_an_initial_center_that_the_cast_makes_zero_is_refused():
    X = whole_numbers(100)[0].astype(np.float32) + 1000
    with pytest.raises(ValueError, match="initial_centers has a zero vector at row 0"):
        seed_parts(X, 3, initial_centers=[[1e-60, 0.0, 0.0]], metric="angular")


def test_rows_of_huge_data_are_fine_initial_centers():
    for dtype, scale in ((np.float32, 2.0**60), (np.float64, 2.0**500), (np.float64, 2.0**-500)):
        X = (whole_numbers(100)[0] * scale).astype(dtype)
        plain = whole_numbers(100)[0].astype(dtype)
        found = seed_parts(X, 5, initial_centers=X[:2])
        expected = seed_parts(plain, 5, initial_centers=plain[:2])
        assert found.indices.tolist() == expected.indices.tolist()


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_refused_call_does_not_advance_a_generator(make, schedule):
    generator, same = make(3), make(3)
    X, _ = whole_numbers(100)
    for bad in ({"initial_centers": [[1.0]]}, {"metric": "nearest"}, {"progress": 3}):
        with pytest.raises((ValueError, TypeError)):
            seed_parts(X, 3, random_state=generator, schedule=schedule, **bad)
    X[60] = np.nan
    with pytest.raises(ValueError, match="partition 1 cannot be used"):
        seed_parts(X, 3, random_state=generator, schedule=schedule)
    assert generator.bytes(8) == same.bytes(8)


@pytest.mark.parametrize("parts", [1, 2, 3])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    "weights",
    [
        [1.0, 1e-310, 0.0],
        [1e300, 1e-100, 0.0],
        [1e308, 5e-324, 0.0],
        [5e-324, 5e-324, 0.0],
        [1.7e308, 1.7e308, 0.0],
    ],
)
@pytest.mark.filterwarnings("ignore::kseeds.FewerDistinctPointsWarning")
def test_weights_of_any_size_lose_no_row(weights, schedule, parts):
    found = seed_parts(np.zeros((3, 1)), 2, np.array(weights), parts, schedule=schedule)
    assert sorted(found.indices.tolist()) == [0, 1]
    assert found.centers.shape == (2, 1)


@pytest.mark.parametrize("scale", [2.0**-900, 2.0**900])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_scale_of_weights_changes_nothing(scale, schedule):
    X, weights = whole_numbers(300)
    plain = seed_parts(X, 20, weights, schedule=schedule)
    scaled = seed_parts(X, 20, weights * scale, schedule=schedule)
    assert scaled.indices.tolist() == plain.indices.tolist()


@pytest.mark.parametrize("parts", [2, 3, 7])
@pytest.mark.parametrize("random_state", range(5))
def test_partitions_of_very_different_weights_change_no_seed(parts, random_state):
    X, weights = whole_numbers(300)
    weights[150:] *= 2.0**20
    plain = seed_parts(X, 5, weights, 1, random_state=random_state)
    found = seed_parts(X, 5, weights, parts, random_state=random_state)
    assert found.indices.tolist() == plain.indices.tolist()


def test_rows_that_are_all_zero_are_seen_apart_from_a_near_centre():
    found = seed_parts(np.zeros((4, 1)), 1, initial_centers=[[1e-200]])  # without a warning
    assert found.indices.shape == (1,)


def test_the_warning_names_the_initial_centers():
    X = np.zeros((4, 1))
    with pytest.warns(kseeds.FewerDistinctPointsWarning, match="0 seeds drawn or the initial cen"):
        seed_parts(X, 2, initial_centers=X[:1])
    with pytest.warns(
        kseeds.FewerDistinctPointsWarning, match=r"of the 1 seeds drawn\. The other 1"
    ):
        seed_parts(X, 2)


@pytest.mark.filterwarnings("ignore::kseeds.FewerDistinctPointsWarning")
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("distinct", [4, 400])
def test_progress_only_goes_forward_and_ends_at_its_end(schedule, distinct):
    """Also where candidates are too few and the rest is drawn by k-means++."""
    X, _ = whole_numbers(400)
    X = X[np.arange(400) % distinct]
    seen = []
    seed_parts(X, 30, schedule=schedule, progress=lambda *step: seen.append(step))
    assert len({total for _, total in seen}) == 1
    assert seen == sorted(seen)
    assert all(0 <= done <= total for done, total in seen)
    assert seen[-1][0] == seen[-1][1]


def test_rounds_are_batches_of_proposals_or_as_asked(monkeypatch):
    X, _ = whole_numbers(400)
    backend = counting(X)
    assert seed_parts(X, 60, backend=backend).work.rounds == backend.tasks.count("draw") - 1
    monkeypatch.setattr(rounds, "_LEAST", 8)
    monkeypatch.setattr(rounds, "_MOST", 8)
    backend = counting(X)
    many = seed_parts(X, 60, backend=backend).work.rounds
    assert many == backend.tasks.count("draw") - 1
    assert many >= 60 / 8
    again = kseeds.kmeans_plusplus(X, 60, random_state=0, algorithm="rounds")
    assert again.work.rounds == many
    around = counting(X)
    found = seed_parts(X, 60, backend=around, initial_centers=X[:1])
    assert found.work.rounds == around.tasks.count("draw")
    for schedule in SCHEDULES[1:]:  # the last one is completed by k-means++
        assert seed_parts(X, 60, schedule=schedule).work.rounds == schedule.rounds


def test_the_result_says_which_law_drew_it():
    X, _ = whole_numbers(400)
    names = [seed_parts(X, 30, schedule=schedule).algorithm for schedule in SCHEDULES]
    assert names == ["k-means++", "k-means||", "k-means||"]


def test_a_result_is_shown_in_a_line():
    X, _ = whole_numbers(400)
    found = seed_parts(X.astype(np.float32), 200)
    shown = repr(found)
    assert "\n" not in shown
    assert len(shown) < 160
    assert shown.startswith("<DistributedSeeding: 200 seeds of 3 columns (float32) by k-means++, ")
    assigned = repr(kseeds.assign(X, X[:7]))
    assert "\n" not in assigned
    assert len(assigned) < 160
    assert assigned.startswith("<Assignment: 400 rows (float64 distances), potential=")
