"""Shared set-up: a fresh kernel cache, the size of what is tried, and no silent skips in CI."""

from __future__ import annotations

import gc
import os
import random
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
    # The compiler makes so many objects that looking for cycles takes a tenth of its time.
    gc.set_threshold(100_000, 50, 100)


_FIRST = (
    "tests/harness/test_golden.py",
    # Beside it: these wait for others, compile little, or have a cache of their own.
    "tests/distributed/test_spark.py",
    "tests/sklearn/test_own_tests.py",
    "tests/runtime/test_kernel_cache.py",
    # Long ones, which would leave a process with nothing to do if they came last.
    "tests/methods/test_laws.py",
    "tests/harness/test_concurrency.py",
    "tests/methods/test_greedy.py",
    "tests/benchmarks/test_suites.py",
)


_LONG_TIMEOUT = 7200.0
"""Seconds after which a test of the long profile fails; that of others is in pyproject.toml."""


@pytest.hookimpl(trylast=True)  # when those that -m does not want are gone
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with one file that compiles most kernels, beside it some that do not, and long ones.

    Two processes that need the same kernel at the same time would both compile it; later ones find
    it in the cache.
    """
    left_out = _beyond_a_part(items, config.getoption("--seed-offset"))
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=list(left_out))
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.timeout(_LONG_TIMEOUT))
    order = {name: place for place, name in enumerate(_FIRST)}
    items.sort(key=lambda item: order.get(item.nodeid.partition("::")[0], len(order)))


def _beyond_a_part(items: list[pytest.Item], seed: int) -> set[pytest.Item]:
    """Return what a part of the long profile leaves out; other cases with another seed.

    Of the cases of a test, a fourth part of the profile takes a half, but not less than five.
    """
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if profiles.SCALE < 1.0 and item.get_closest_marker("long"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out: set[pytest.Item] = set()
    for found in cases.values():
        kept = max(5, round(len(found) * profiles.SCALE**0.5))
        left_out.update(random.Random(seed).sample(found, max(0, len(found) - kept)))
    return left_out


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
