"""Shared set-up: a fresh kernel cache, the size of what is tried, and no silent skips in CI."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any

import pytest

from tests.harness import profiles
from tests.harness.counts import COUNTS

# Every run compiles afresh: once, as all its processes share one cache. Set before anything imports
# the compiler. KSEEDS_TEST_CACHE names a folder to keep between runs; kernels are compiled again
# when a source of the package has changed.
_IS_WORKER = "PYTEST_XDIST_WORKER" in os.environ
_KEPT = os.environ.get("KSEEDS_TEST_CACHE")
if not _IS_WORKER:
    os.environ["NUMBA_CACHE_DIR"] = _KEPT or tempfile.mkdtemp(prefix="kseeds-test-cache-")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seed-offset",
        type=int,
        default=0,
        help="shift every random seed of the statistical tests, to try them on fresh draws",
    )

    parser.addoption(
        "--scale",
        type=float,
        default=1.0,
        help="multiply how much is tried: draws, generated cases, faults, repetitions",
    )


def pytest_configure(config: pytest.Config) -> None:
    profiles.SCALE = config.getoption("--scale")


_FIRST = (
    "tests/harness/test_golden.py",
    "tests/distributed/test_spark.py",
    "tests/methods/test_greedy.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with one file that compiles nearly every kernel, and beside it some that do not.

    Two processes that need the same kernel at the same time would both compile it; later ones find
    it in the cache.
    """
    order = {name: place for place, name in enumerate(_FIRST)}
    items.sort(key=lambda item: order.get(item.nodeid.partition("::")[0], len(order)))


@pytest.fixture(scope="session")
def seed_offset(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--seed-offset")) * 1_000_003


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    COUNTS.update(getattr(node, "workeroutput", {}).get("counts", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report what the harness tried."""
    if not COUNTS:
        return
    failures = sum(
        "tests/harness" in report.nodeid
        for outcome in ("failed", "error")
        for report in terminalreporter.stats.get(outcome, [])
    )
    tried = ", ".join(f"{count} {what}" for what, count in sorted(COUNTS.items()))
    terminalreporter.write_line(f"harness: {tried}, {failures} failed tests")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["counts"] = dict(COUNTS)
        return
    if not _KEPT:
        shutil.rmtree(os.environ["NUMBA_CACHE_DIR"], ignore_errors=True)
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = len(reporter.stats.get("skipped", [])) if reporter else 0
    if skipped and os.environ.get("CI") and exitstatus == 0:
        reporter.write_line(f"CI refuses {skipped} skipped tests", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
