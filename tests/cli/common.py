"""What the tests of the command line share."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from kseeds.cli.commands import app

X = np.random.default_rng(0).normal(size=(300, 3))


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def seed(*words: object) -> Any:
    """Run ``kseeds seed``, which must succeed."""
    done = run("seed", *words)
    assert done.exit_code == 0, (done.output, done.exception)
    return done


def refused(*words: object) -> str:
    """Run a command that must be refused, in one sentence, and return that."""
    done = run(*words)
    assert isinstance(done.exception, SystemExit), (done.output, done.exception)
    assert done.exit_code == 1, done.output
    line = done.stderr.removesuffix("\n")
    assert "\n" not in line
    assert line.startswith("kseeds: ")
    assert line.endswith(".")
    return line


@contextmanager
def started(code: str, *words: object) -> Iterator[subprocess.Popen[str]]:
    """Run the command line in a process of its own, after some code, for a minute at most."""
    script = f"import sys\n{code}\nfrom kseeds.cli import main\nmain()"
    process = subprocess.Popen(
        [sys.executable, "-c", script, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    try:
        yield process
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


def listing(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder, hidden ones too, and what is in it."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
