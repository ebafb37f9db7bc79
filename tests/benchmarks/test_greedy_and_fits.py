"""Peers of greedy k-means++ are timed whole or projected, and fits are compared with intervals."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.memory import growth
from benchmarks.suites import fits, greedy
from benchmarks.suites.base import Run

from benchmarks import timing
from tests.data import points_of


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(timing, "_REST", 0.0)
    monkeypatch.setattr(greedy, "warm_greedy", lambda: None)
    monkeypatch.setattr(fits, "warm_all", lambda: None)
    monkeypatch.setattr(greedy, "in_fresh_process", lambda *_: 4000)


def rows(n=400, d=3):
    return points_of("clustered", n, d, 0).astype(np.float32)


def line(n, k, drawn, **best):
    return {"data": "skin", "origin": "local", "n": n, "d": 3, "k": k, "best": best,
            "drawn": drawn, "distances": n, "bytes": 12 * n}  # fmt: skip


def test_a_projection_multiplies_steps_and_nothing_else():
    setup, step = 5.0, 0.25  # the first seed needs no step
    taken = {k: setup + (k - 1) * step for k in (2, 32, 1024)}
    assert greedy.projected(taken[32], taken[2], 32, 1024) == pytest.approx(taken[1024])
    assert greedy.projected(taken[32], 0.0, 32, 32) == taken[32]
    # Noise does not make further seeds take less than no time.
    assert greedy.projected(1.0, 1.5, 32, 1024) == 1.0


def test_peers_draw_all_seeds_unless_that_takes_long():
    assert greedy.seeds_timed(11_055, 68, 1024) == 1024
    assert greedy.seeds_timed(581_012, 54, 32) == 32
    assert greedy.seeds_timed(581_012, 54, 1024) == greedy.SLICE


@pytest.mark.parametrize("whole", [True, False])
def test_peers_draw_with_the_candidates_of_all_seeds(whole, monkeypatch):
    monkeypatch.setattr(greedy, "_WHOLE", 10**9 if whole else 0)
    monkeypatch.setattr(greedy, "SLICE", 5)
    called = set()
    peers = {"scikit-learn": lambda X, k, trials, seed: called.add((k, trials))}
    result = greedy._measure(rows(), 40, peers)
    assert called == ({(40, 5)} if whole else {(5, 5), (2, 5)})
    assert result["drawn"] == (40 if whole else 5)
    assert set(result["best"]) == {"kseeds", "scikit-learn"}
    shown = greedy.sections([{"data": "x", "n": 400, "k": 40, **result}])[0].tables[0].markdown()
    assert ("~" in shown) != whole
    assert "– |" in shown  # fastkmeanspp was not there


def test_fastkmeanspp_is_asked_for_its_seeds_alone(monkeypatch):
    asked = []

    class KMeans:
        def __init__(self, n_clusters, **options):
            asked.append((n_clusters, options))

        def _init_centroids(self, X):
            return X[: asked[-1][0]]

    monkeypatch.setitem(sys.modules, "fastkmeanspp", SimpleNamespace(KMeans=KMeans))
    seeds = greedy.PEERS["fastkmeanspp"]()(rows(), 7, 3, 1)
    assert len(seeds) == 7
    assert asked == [(7, {"n_local_trials": 3, "random_state": 1})]


def test_a_peer_that_is_missing_is_left_out(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "fastkmeanspp", None)
    np.save(tmp_path / "tiny.npy", rows())
    cells = list(greedy.cells(Run(tmp_path, sets=("tiny",), ks=(8, 200))))
    assert [cell.key["k"] for cell in cells] == [8, 8, 8]  # 200 of 400 rows are too many
    assert "fastkmeanspp is left out" in capsys.readouterr().err
    assert set(cells[0].measure()["best"]) == {"kseeds", "kseeds.sklearn", "scikit-learn"}


def test_cells_in_which_a_peer_is_faster_are_listed():
    lines = [line(245_057, 32, 32, kseeds=1.0, fastkmeanspp=0.5),
             line(245_057, 256, 256, kseeds=1.0, fastkmeanspp=8.0)]  # fmt: skip
    said = greedy.ahead(lines)
    assert "scikit-learn was not measured." in said
    assert "fastkmeanspp: 2.0× in geometric mean, at least 0.50×" in said
    assert "from 50\N{NO-BREAK SPACE}000 rows on" in said
    assert "faster than kseeds in skin K = 32." in said
    assert "in no cell" in greedy.ahead([line(300, 8, 8, kseeds=1.0, fastkmeanspp=2.0)])
    assert "rows on" not in greedy.ahead([line(300, 8, 8, kseeds=1.0, fastkmeanspp=2.0)])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_peak_is_that_of_the_call():
    kept = []
    # More than the allocator would take from what the process has been given before, and than the
    # system may take back from it meanwhile.
    assert growth(lambda: kept.append(np.ones(32_000_000))) >= 220_000_000
    assert growth(lambda: None) < 8_000_000


def fit(theirs, ours):
    inertia = {"scikit-learn": theirs, "patched": ours}
    seconds = {"scikit-learn": [4.0] * len(theirs), "patched": [2.0] * len(ours)}
    iterations = {name: [3] * len(theirs) for name in inertia}
    return {"data": "skin", "n": 245_057, "k": 100, "seconds": seconds, "inertia": inertia,
            "iterations": iterations}  # fmt: skip


def test_an_inertia_is_unlike_if_the_interval_of_the_difference_misses_zero():
    rng = np.random.default_rng(0)
    theirs, ours = rng.normal(100.0, 1.0, size=(2, 20)).tolist()
    alike, unlike = fit(theirs, ours), fit(theirs, [value + 5.0 for value in ours])
    apart, half = fits.difference(alike)
    assert abs(apart) < half < 1.0
    apart, half = fits.difference(unlike)
    assert apart == pytest.approx(5.0, abs=1.0)
    assert half < 1.0
    assert "here: none" in fits.sections([alike])[0].text
    assert "here: skin K = 100" in fits.sections([alike, unlike])[0].text
    assert "2.0× in geometric mean" in fits.sections([alike])[0].text
    assert fits.difference(fit([1.0] * 3, [1.0] * 3)) == (0.0, 0.0)


def test_the_interval_is_that_of_students_distribution():
    values = np.array([1.0, 2.0, 3.0])
    assert fits.interval(values.var(ddof=1) / 3, 2) == pytest.approx(4.3027 / np.sqrt(3), rel=1e-4)


@pytest.mark.parametrize(("limit", "seeds"), [(1e9, 5), (-1.0, 3)])
def test_a_cell_that_takes_long_has_fewer_seeds(limit, seeds, monkeypatch):
    from sklearn.cluster import _kmeans

    monkeypatch.setattr(fits, "LIMIT", limit)
    before, patched = _kmeans._kmeans_plusplus, []
    real = fits.timed

    def noted(task, X):
        patched.append(_kmeans._kmeans_plusplus is not before)
        return real(task, X)

    monkeypatch.setattr(fits, "timed", noted)
    result = fits._measure(rows(200), 4, 5)
    assert {len(values) for of in result.values() for values in of.values()} == {seeds}
    assert patched == [False, True] * seeds
    assert _kmeans._kmeans_plusplus is before
