"""Python in a process of its own, with a watchdog.

Whatever hangs ends: the process prints where every thread is and leaves, and if it cannot do even
that, it is killed.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import kseeds

ROOT = Path(__file__).resolve().parents[2]
PATHS = (str(ROOT), str(Path(kseeds.__file__).resolve().parents[1]))
"""The tests, and the kseeds they test: not another copy, whose kernels would be compiled anew."""
_BUSY = 4.0
"""How much longer anything may take: other processes of the run, and others, use the cores."""


def _obey() -> None:
    """Give up the right to write where the permissions forbid it, if there is one."""
    drop, override_permissions = 24, 1  # PR_CAPBSET_DROP and CAP_DAC_OVERRIDE of Linux
    ctypes.CDLL(None).prctl(drop, override_permissions, 0, 0, 0)


def run(
    code: str,
    *,
    seconds: float = 60.0,
    check: bool = True,
    python: str = sys.executable,
    flags: tuple[str, ...] = (),
    cwd: str | Path | None = None,
    paths: tuple[str, ...] = PATHS,
    obedient: bool = False,
    **environment: str | None,
) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in a fresh interpreter; refuse an exit code other than 0 if ``check``.

    Parameters
    ----------
    code : str
        What to run; it may import ``tests.harness``.
    seconds : float
        When the watchdog bites on a machine that does nothing else.
    check : bool
        Whether the code must succeed.
    python, flags, cwd
        The interpreter, its flags and the working folder.
    paths : tuple of str
        Where Python looks for modules first; by default where this process does.
    obedient : bool
        Whether even the superuser must obey the permissions of files.
    **environment
        Variables to set, or to take away with None.
    """
    seconds *= _BUSY
    watchdog = f"import faulthandler; faulthandler.dump_traceback_later({seconds}, exit=True)\n"
    inherited = [path for path in [os.environ.get("PYTHONPATH")] if path and paths == PATHS]
    variables: dict[str, str | None] = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*paths, *inherited]),
        **environment,
    }
    done = subprocess.run(
        [python, *flags, "-c", watchdog + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds + 30,
        cwd=cwd,
        preexec_fn=_obey if obedient else None,
        env={name: value for name, value in variables.items() if value is not None},
    )
    if check:
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done
