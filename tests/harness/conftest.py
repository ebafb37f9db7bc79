"""Report what the harness tried."""

from __future__ import annotations

import pytest

from tests.harness.counts import COUNTS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not COUNTS:
        return
    failures = sum(
        "tests/harness" in report.nodeid
        for outcome in ("failed", "error")
        for report in terminalreporter.stats.get(outcome, [])
    )
    tried = ", ".join(f"{count} {what}" for what, count in sorted(COUNTS.items()))
    terminalreporter.write_line(f"harness: {tried}, {failures} failed tests")
