"""The benchmarks run, resume, and draw a page that a browser shows without complaint."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.data import points_of

ROOT = Path(__file__).resolve().parents[2]
SUITES = ("paper", "peers", "scaling", "quality")


def run(*words):
    command = [sys.executable, "-m", "benchmarks", *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmarks")
    np.savez(folder / "cod-rna.npz", X=points_of("clustered", 1500, 8, 0).astype(np.float32))
    for suite in SUITES:
        words = ["--sets", "cod-rna"] if suite in ("paper", "peers") else ["--rows", 4000]
        run(suite, "--data", folder, "--out", folder / "out", "--profile", "quick", *words)
    run("report", folder / "out", "--assets", folder / "assets")
    return folder


def lines_of(out):
    return [json.loads(text) for text in (out / "out" / "results.jsonl").read_text().splitlines()]


def test_results_say_what_they_are(out):
    lines = lines_of(out)
    assert {line["cell"]["suite"] for line in lines} == {*SUITES, "bias"}
    assert all({"machine", "versions", "commit", "cores"} <= set(line["about"]) for line in lines)
    paper = [line for line in lines if line["cell"]["suite"] == "paper"]
    counted = {line["cell"]["way"]: line["result"]["distances"] for line in paper
               if line["cell"]["law"] == "k-means++" and line["cell"]["k"] == 128}  # fmt: skip
    assert counted["paper"] <= counted["naive"] == 1500 * 127


def test_a_run_that_was_cut_off_resumes(out):
    path = out / "out" / "results.jsonl"
    before = path.read_text()
    lines = before.splitlines(keepends=True)
    cut = next(i for i, line in enumerate(lines) if '"suite": "bias"' in line)
    # As after an interruption: a cell is missing, and the last line is half written.
    path.write_text("".join(lines[:cut] + lines[cut + 1 :]) + '{"cell": {"suite"')
    run("quality", "--data", out, "--out", out / "out", "--rows", 4000)
    after = path.read_text().splitlines()
    assert after[len(lines) - 1] == '{"cell": {"suite"'
    cells = [json.loads(text)["cell"] for text in after if text.endswith("}")]
    path.write_text(before)
    assert sorted(map(str, cells)) == sorted(str(line["cell"]) for line in lines_of(out))


def test_the_page_has_every_section_and_a_table_for_every_chart(out):
    page = (out / "out" / "report.html").read_text()
    for text in ("Fewer distances", "Less time", "The queue", "NearestInRange", "Peers",
                 "First call", "How it scales", "Quality", "bias of the printed keys"):  # fmt: skip
        assert text in page
    assert page.count("<figure>") == page.count("<svg") == page.count("<details>")
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert (out / "assets" / "plusplus-time.png").stat().st_size < 1_000_000
    assert (out / "assets" / "plusplus-time.svg").is_file()


def test_a_browser_shows_it(out):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium to look at the page with")
    picture = out / "page.png"
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=420,2000",
         f"--user-data-dir={out / 'profile'}", "--enable-logging=stderr",
         f"--screenshot={picture}", (out / "out" / "report.html").as_uri()],
        capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": str(out)},
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr
    assert picture.stat().st_size > 20_000
    from matplotlib.image import imread

    assert np.ptp(imread(picture)) > 0.5  # not a blank page
