"""``python -m kseeds.sklearn script.py``: a script, unchanged, with scikit-learn patched."""

from __future__ import annotations

import os
import pkgutil
import runpy
import sys
from importlib.util import find_spec
from types import ModuleType

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
    patches = patch_sklearn()  # first, since looking for a module imports the packages around it
    problem = _problem_of_module(target[0]) if is_module else _problem_of_path(target[0])
    if problem is not None:
        print(f"kseeds: {problem}", file=sys.stderr)
        return 1
    if not quiet:
        print(patches, file=sys.stderr)
    sys.argv[:] = target
    if is_module:
        runpy.run_module(target[0], run_name="__main__", alter_sys=True)
    else:
        if not getattr(sys.flags, "safe_path", False):
            # What a script imports lies beside it; Python has put the working folder there instead.
            sys.path[0] = os.path.dirname(os.path.realpath(target[0]))
        if os.path.isfile(target[0]) or os.path.isdir(target[0]):
            runpy.run_path(target[0], run_name="__main__")
        else:
            _run_stream(target[0])
    return 0


def _problem_of_module(name: str) -> str | None:
    """Return why a module cannot be run, or None; errors of the packages around it are theirs."""
    searched = name
    try:
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            searched = f"{name}.__main__"
            spec = find_spec(searched)
    except (ImportError, ValueError) as error:
        if not _is_of_import(error):
            raise
        spec = None
    if spec is not None:
        return None
    if searched == name:
        return f"there is no module {name!r}; check its name, and where Python looks for it."
    return f"the package {name!r} has no module __main__; name a module in it."


def _is_of_import(error: BaseException) -> bool:
    """Tell whether an error was raised by the import itself, and by no module that it ran."""
    trace = error.__traceback__
    while trace is not None:
        home = str(trace.tb_frame.f_globals.get("__name__"))
        if home != __name__ and home.partition(".")[0] not in ("importlib", "_frozen_importlib"):
            return False
        trace = trace.tb_next
    return True


def _problem_of_path(path: str) -> str | None:
    """Return why a folder or an archive cannot be run, or None."""
    finder = pkgutil.get_importer(path)  # None for any other file
    if finder is None or finder.find_spec("__main__", None) is not None:
        return None
    return f"there is no __main__.py in {path!r}; name a script in it."


def _run_stream(path: str) -> None:
    """Run a script from a pipe, which can be read only once, unlike those of `runpy.run_path`."""
    with open(path, "rb") as file:
        source = file.read()
    module = ModuleType("__main__")
    module.__file__ = path
    sys.modules["__main__"] = module
    # In brackets, so that no traceback reads the pipe again for the lines it shows.
    exec(compile(source, f"<{path}>", "exec"), module.__dict__)
