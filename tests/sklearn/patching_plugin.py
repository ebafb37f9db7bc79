"""A plugin of pytest: scikit-learn is patched before any of its tests is collected.

It counts how often seeds are drawn by kseeds, and how often they are left to scikit-learn, and
how often kseeds iterates and assigns, and writes it below the results: a suite that passes without
calling us would prove nothing.
"""

from __future__ import annotations

from collections import Counter

import pytest

from kseeds.sklearn import assigning, fitting, patch_sklearn, replacement

CALLS: Counter[str] = Counter()


def counted(name, function):
    def call(*args, **keywords):
        CALLS[name] += 1
        return function(*args, **keywords)

    return call


def pytest_configure() -> None:
    replacement.draw = fitting.draw = counted("drawn", replacement.draw)
    fitting._by_ours = counted("fits", fitting._by_ours)
    assigning.finish = counted("assignments", assigning.finish)
    replacement.say_once = counted("left", replacement.say_once)
    assert patch_sklearn()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(
        f"seeds drawn {CALLS['drawn']}, left {CALLS['left']}, fits {CALLS['fits']}, "
        f"assignments {CALLS['assignments']}"
    )
