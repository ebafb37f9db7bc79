"""``python -m kseeds.sklearn script.py``: a script, unchanged, with scikit-learn patched."""

from __future__ import annotations

import os
import runpy
import sys

from kseeds.sklearn.patching import patch_sklearn

_USAGE = """\
usage: python -m kseeds.sklearn [-q] script.py [arguments]
       python -m kseeds.sklearn [-q] -m module [arguments]

Runs a script or a module as Python does, after kseeds.sklearn.patch_sklearn().
One line on stderr says what was patched; -q leaves it out."""


def main(arguments: list[str]) -> int:
    """Run what the arguments name as ``__main__``; return the exit code if there is nothing to run.

    Parameters
    ----------
    arguments : list of str
        What stands after ``python -m kseeds.sklearn``.
    """
    quiet = arguments[:1] == ["-q"]
    rest = arguments[1:] if quiet else arguments
    if rest[:1] in (["-h"], ["--help"]):
        print(_USAGE)
        return 0
    is_module = rest[:1] == ["-m"]
    target = rest[1:] if is_module else rest
    if not target or (not is_module and target[0].startswith("-")):
        print(_USAGE, file=sys.stderr)
        return 2
    if not is_module and not os.path.exists(target[0]):
        print(f"kseeds: there is no file {target[0]!r}; check its name.", file=sys.stderr)
        return 2
    patches = patch_sklearn()
    if not quiet:
        print(patches, file=sys.stderr)
    sys.argv[:] = target
    if is_module:
        runpy.run_module(target[0], run_name="__main__", alter_sys=True)
    else:
        if not getattr(sys.flags, "safe_path", False):
            # What a script imports lies beside it; Python has put the working folder there instead.
            sys.path[0] = os.path.dirname(os.path.realpath(target[0]))
        runpy.run_path(target[0], run_name="__main__")
    return 0
