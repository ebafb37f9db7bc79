"""scikit-learn's own tests, which come with it, stay green under the patch.

None is deselected, and none fails: they are as many as pytest collects without the patch. Its data
is small, so that the iteration is its own; those of k-means are run once more, and everything goes
through ours.
"""

from __future__ import annotations

import re

import pytest

from tests.harness.isolation import run

KMEANS = ["sklearn.cluster.tests.test_k_means", "sklearn.cluster.tests.test_bisect_k_means"]
SUITES = [
    *KMEANS,
    "sklearn.mixture.tests.test_gaussian_mixture",
    "sklearn.mixture.tests.test_bayesian_mixture",
]
PLUGIN = "tests.sklearn.patching_plugin"
FORCING = "tests.sklearn.forcing_plugin"


def run_suites(folder, *flags: str, suites=SUITES) -> str:
    """Run suites in a folder without settings of pytest; return what it reports."""
    arguments = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *flags, "--pyargs", *suites]
    # Threads that spin while they wait are slow where others use the cores, too; its tests set
    # their number, by this variable.
    done = run(
        f"import pytest, sys; sys.exit(pytest.main({arguments!r}))", seconds=120, check=False,
        cwd=folder, LOKY_MAX_CPU_COUNT="1", PYTEST_ADDOPTS=None, PYTEST_XDIST_WORKER=None,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    return done.stdout


def outcomes(report: str) -> dict[str, int]:
    """Return how many tests passed, were skipped, failed …, from the last line of a report."""
    last = report.strip().splitlines()[-1]
    counts = {word: int(count) for count, word in re.findall(r"(\d+) (\w+)", last.split(" in ")[0])}
    counts.pop("warnings", None)
    return counts


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("elsewhere")
    return run_suites(folder, "-p", PLUGIN), run_suites(folder, "-p", FORCING, suites=KMEANS)


def test_as_many_pass_as_without_the_patch(reports, tmp_path):
    for report, suites, least in zip(reports, (SUITES, KMEANS), (300, 200), strict=True):
        found = outcomes(report)
        assert set(found) <= {"passed", "skipped", "xfailed"}
        assert found["passed"] > least
        collected = run_suites(tmp_path, "--collect-only", suites=suites)
        assert sum(found.values()) == int(re.search(r"(\d+) tests collected", collected)[1])
    patched, forced = map(outcomes, reports)
    for left_out in ("skipped", "xfailed"):  # no more than without being forced
        assert forced.get(left_out, 0) <= patched.get(left_out, 0)


def test_the_work_was_done_by_kseeds(reports):
    for report, least in ((reports[0], 0), (reports[1], 200)):
        drawn, left, fitted, assigned = map(
            int,
            re.search(
                r"seeds drawn (\d+), left (\d+), fits (\d+), assignments (\d+)", report
            ).groups(),
        )
        assert drawn > 300
        assert left == 0
        assert fitted >= least
        assert assigned >= least // 2
