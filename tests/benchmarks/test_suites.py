"""The suites run, resume and leave small records; nothing stale or unshown is kept."""

from __future__ import annotations

import re
import time
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from benchmarks.__main__ import app
from benchmarks.records import Records
from benchmarks.suites import SUITES, calibrate, greedy, paper, quality, scaling, sparse, startup
from benchmarks.suites.base import Run
from benchmarks.timing import Pace, interleaved
from typer.testing import CliRunner

from benchmarks import internals, timing
from kseeds import assign
from kseeds.runtime import compile_policy
from tests.data import points_of

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
ENGINES = ("dask", "spark")
"""Suites that start a cluster; what they have in common is run by "traffic"."""


def run(*words):
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Run every suite on next to nothing."""
    folder = tmp_path_factory.mktemp("benchmarks")
    for name, d in (("cod-rna", 8), ("covtype", 54)):
        np.savez(folder / f"{name}.npz", X=points_of("clustered", 400, d, 0).astype(np.float32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "_REST", 0.0)
        patch.setattr(scaling, "in_fresh_process", lambda task, n, d, k: 12 * n)
        patch.setattr(greedy, "in_fresh_process", lambda task, path, k: 12 * len(np.load(path)))
        patch.setattr(startup, "_fresh", lambda code, cache: [0.5, 0.25])
        patch.setattr(sparse, "in_fresh_process", lambda task, n, d, k: (
            12 * n if task is sparse.peak_growth else (1.0, 10 * n, 1.5)))  # fmt: skip
        patch.setattr(sparse, "KERNELS", ("fingerprint",))  # not worth compiling the others
        patch.setattr(quality, "MIXTURE", {1: quality.MIXTURE[1]})
        patch.setattr(internals, "nanoseconds", lambda task, before=lambda: None, turns=1: (
            task(before()), 1.0)[1])  # fmt: skip
        patch.setattr(calibrate, "SHARES", (0.1,))
        for suite in SUITES.keys() - set(ENGINES):
            words = ["--sets", "cod-rna", "--k", 8, "--data", folder, "--out", folder / "out"]
            rows = 1100 if suite == "calibrate" else 400
            assert "|" in run("run", suite, *words, "--rows", rows)
    return folder / "out"


def test_results_say_what_they_are(out):
    lines = Records(out).lines
    assert {line["cell"]["suite"] for line in lines} == SUITES.keys() - set(ENGINES)
    assert all({"machine", "versions", "commit", "cores"} <= set(line["about"]) for line in lines)
    counted = {line["law"]: line["distances"] for line in Records(out).of("paper")}
    assert counted["k-means++"]["paper"] <= counted["k-means++"]["naive"] == 400 * 7
    assert counted["k-means||"]["paper"] <= counted["k-means||"]["naive"]


def test_counts_and_prices_of_greedy_are_on_record(out):
    rows = next(line for line in Records(out).of("greedy") if line["data"] == "cod-rna")
    assert rows["bytes"] == 12 * 400
    assert 400 <= rows["distances"] <= 400 * (1 + 4 * 7)
    assert rows["drawn"] == rows["k"] == 8
    first = Records(out).of("startup")
    assert any("greedy" in line["what"] and line["target"] == 1.5 for line in first)
    priced = {line["kernels"]: line["model"] for line in first if "model" in line}
    assert priced["greedy_scan"] == compile_policy.COMPILING["greedy_scan"]


def test_a_run_that_was_cut_off_resumes(out, monkeypatch):
    monkeypatch.setattr(timing, "_REST", 0.0)
    path = out / "results.jsonl"
    before = path.read_text()
    lines = before.splitlines(keepends=True)
    cut = next(number for number, line in enumerate(lines) if '"suite":"traffic"' in line)
    # As after an interruption: a cell is missing, and the last line is half written.
    path.write_text("".join(lines[:cut] + lines[cut + 1 :]) + '{"cell":{"suite"')
    run("run", "traffic", "--k", 8, "--rows", 400, "--out", out)
    after = path.read_text().splitlines()
    path.write_text(before)
    assert after[len(lines) - 1] == '{"cell":{"suite"'
    assert after[-1] == lines[cut].rstrip("\n")  # counts, so they come out the same


def test_what_is_on_record_is_not_measured_again(out, monkeypatch):
    monkeypatch.setattr(timing, "timed", lambda *_: pytest.fail("measured again"))
    words = ["--sets", "cod-rna", "--k", 8, "--rows", 400, "--data", out.parent, "--out", out]
    assert run("run", "paper", *words) == run("show", "paper", "--out", out)


def test_the_report_has_a_section_for_every_suite(out):
    run("report", "--out", out, "--chart", out / "chart.svg")
    page = (out / "report.html").read_text()
    for suite in SUITES.keys() - set(ENGINES):
        sections = [
            section for section in SUITES[suite].sections(Records(out).of(suite)) if section
        ]
        assert sections
        assert all(section.title in page for section in sections)
    assert "time saved" in (out / "chart.svg").read_text()


def test_every_constant_of_the_cost_model_has_a_calibration():
    covered = chain.from_iterable(c.constants for c in calibrate.CALIBRATIONS.values())
    assert set(covered) == internals.cost_constants()


def test_every_calibration_is_measured_in_some_shape(out):
    measured = set().union(*Records(out).of("calibrate"))
    assert calibrate.CALIBRATIONS.keys() <= measured
    shapes = [d for _, d in calibrate.SHAPES]
    for calibration in calibrate.CALIBRATIONS.values():
        assert any(calibration.columns[0] <= d <= calibration.columns[1] for d in shapes)


def test_an_algorithm_that_takes_too_long_is_left_out_of_a_cell(monkeypatch, tmp_path):
    monkeypatch.setattr(timing, "_REST", 0.0)
    X = points_of("clustered", 60, 3, 0).astype(np.float32)
    np.save(tmp_path / "tiny.npy", X)
    tasks = paper._tasks(X, "k-means||", 4)
    result = paper._measure(X, "k-means||", 4, {"paper": tasks["paper"]}, 1)
    assert set(result["distances"]) == {"naive", "paper"}
    assert paper.sections([{"data": "x", "n": 60, "law": "k-means||", "k": 4, **result}])
    monkeypatch.setattr(Pace, "keep", lambda *_: {})
    assert list(paper.cells(Run(tmp_path, sets=("tiny",), ks=(4,)))) == []


@pytest.mark.parametrize("way", internals.FIRST)
def test_a_first_update_gives_the_same_in_every_way(way, monkeypatch):
    """Beside, the kernels are ready after the first block, so that both do a part."""
    X = points_of("clustered", 400, 8, 0).astype(np.float32)
    wanted = assign(X, X[:50])
    compiled, strategies = [], []
    built = internals.NearestUpdater.built

    def noted(updater, strategy):
        strategies.append(strategy)
        if way == "beside" and strategy == "plain":
            time.sleep(0.1)  # long enough for the other thread to say that it is done
        return built(updater, strategy)

    def warmup(kernel_set, dtype):
        compiled.append((kernel_set, dtype))
        while way == "beside" and not strategies:
            time.sleep(0.001)

    monkeypatch.setattr(internals.NearestUpdater, "built", noted)
    monkeypatch.setattr(internals.kseeds, "warmup", warmup)
    monkeypatch.setattr(internals, "_ROWS", 64)
    nearest = internals.first_update(way, "brute", X, 50)[1]
    np.testing.assert_array_equal(nearest.labels, wanted.labels)
    np.testing.assert_array_equal(np.sqrt(nearest.squared), wanted.distances)
    assert compiled == ([] if way == "plain" else [("brute", "float32")])
    first, last = {"plain": ("plain",) * 2, "waiting": ("brute",) * 2}.get(way, ("plain", "brute"))
    assert (strategies[0], strategies[-1]) == (first, last)


def test_methods_take_turns_and_slow_ones_fewer(monkeypatch):
    monkeypatch.setattr(timing, "_REST", 0.0)
    called = []
    tasks = {name: lambda turn, name=name: called.append((name, turn)) for name in "ab"}
    interleaved(tasks, turns=2)
    assert called == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    called.clear()
    interleaved(tasks, turns=9, long=-1.0)
    assert len(called) == 4
    pace = Pace(10.0)
    pace.learn({"a": 1.0, "b": 0.1}, 10)
    assert set(pace.keep(tasks, 100)) == {"a", "b"}
    assert set(pace.keep(tasks, 101)) == {"b"}


def test_kept_results_are_small_and_of_the_current_suites(out):
    """A record of fields that no suite writes any more is a record of older code."""
    assert (RESULTS / "results.jsonl").stat().st_size < 200_000
    made = {suite: {*chain.from_iterable(Records(out).of(suite))} for suite in SUITES}
    for line in Records(RESULTS).lines:
        suite = line["cell"]["suite"]
        unknown = {*line["cell"], *line["result"]} - made[suite] - {"suite", "of", "origin"}
        assert not unknown, (suite, unknown)
        assert re.fullmatch(r"[0-9a-f]{7,}", line["about"]["commit"])


def test_documentation_names_commands_that_are_there_and_shows_every_picture():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    text = "\n".join(page.read_text() for page in pages)
    assert not re.search(r"-m benchmarks\.", text)
    commands = re.findall(r"-m benchmarks (\S+?)[`\s](\S*)", text)
    assert {command for command, _ in commands} <= {"list", "run", "show", "report", "--help"}
    assert {suite.strip("`,;.:)") for command, suite in commands if command == "run"} <= {
        *SUITES, "SUITE",
    }  # fmt: skip
    pictures = {path.name for path in (ROOT / "docs" / "assets").iterdir()}
    assert pictures == set(re.findall(r"assets/([\w.-]+)\)", text))


def test_the_list_shows_every_suite():
    listed = [line.split()[0] for line in run("list").splitlines()]
    assert listed == list(SUITES)
    assert CliRunner().invoke(app, ["run", "nothing"]).exit_code == 2
