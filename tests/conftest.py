"""Shared set-up: a fresh kernel cache, and no silent skips in CI."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest

# Numba does not notice when a callee in another file changes (numba #1833), so every run
# compiles afresh. Set before anything imports the compiler. KSEEDS_TEST_CACHE names a folder to
# keep between runs, for work that leaves the kernels alone.
_KEPT = os.environ.get("KSEEDS_TEST_CACHE")
_CACHE = _KEPT or tempfile.mkdtemp(prefix="kseeds-test-cache-")
os.environ["NUMBA_CACHE_DIR"] = _CACHE


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seed-offset",
        type=int,
        default=0,
        help="shift every random seed of the statistical tests, to try them on fresh draws",
    )

    parser.addoption(
        "--draws",
        type=float,
        default=0.4,
        help="multiply the number of draws of the statistical tests",
    )


@pytest.fixture(scope="session")
def draws_factor(request: pytest.FixtureRequest) -> float:
    return float(request.config.getoption("--draws"))


@pytest.fixture(scope="session")
def seed_offset(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--seed-offset")) * 1_000_003


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if not _KEPT:
        shutil.rmtree(_CACHE, ignore_errors=True)
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = len(reporter.stats.get("skipped", [])) if reporter else 0
    if skipped and os.environ.get("CI") and exitstatus == 0:
        reporter.write_line(f"CI refuses {skipped} skipped tests", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
