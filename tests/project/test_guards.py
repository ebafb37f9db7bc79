"""The guards of `tools/` fail on what they are there for: one breach at a time."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of the same units as kseeds, all of them empty, for the guards to look at."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    layers, guards = importlib.import_module("layers"), importlib.import_module("guards")
    source, page = tmp_path / "src" / "kseeds", tmp_path / "architecture.md"
    for unit in layers.RANK:
        is_folder = (ROOT / "src" / "kseeds" / unit).is_dir()
        path = source / unit / "module.py" if is_folder else source / f"{unit}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    for module in (layers, guards):
        monkeypatch.setattr(module, "ROOT", tmp_path)
        monkeypatch.setattr(module, "SOURCE", source)
    monkeypatch.setattr(layers, "PAGE", page)
    # The real one asks git, which knows nothing of this package.
    monkeypatch.setattr(guards, "tracked", lambda: sorted(source.rglob("*.py")))
    page.write_text(layers.picture())
    return source


def breaches(capsys) -> list[str]:
    """Run the guards as `.ci/run` does; return what they report, without the graph they redraw."""
    failed = importlib.import_module("guards").main()
    lines = capsys.readouterr().out.splitlines()
    assert failed == (lines != ["guards: nothing to report"])
    return [line for line in lines if failed and not line.startswith("docs/architecture.md")]


IMPORTS = {
    "upward": ("runtime/module.py", "import kseeds.nearest.update",
               "runtime: imports nearest, which is upward"),
    "upward, from the package": ("distances/module.py", "from kseeds import methods",
                                 "distances: imports methods, which is upward"),
    "upward, the package itself": ("inputs/module.py", "import kseeds",
                                   "inputs: imports __init__, which is upward"),
    "upward, within a function": ("sampling/module.py",
                                  "def late():\n    from kseeds.inputs.points import x",
                                  "sampling: imports inputs, which is upward"),
    "upward, by name": ("simd/module.py", "LATER = 'kseeds.distances.reference'",
                        "simd: imports distances, which is upward"),
    "sideways": ("dask.py", "from kseeds import spark", "dask: imports spark, which is sideways"),
    "sideways, faces": ("assignment.py", "from kseeds.api import kmeans_plusplus",
                        "assignment: imports api, which is sideways"),
    "of what is not there": ("runtime/module.py", "import kseeds.elsewhere.thing",
                             "runtime: imports kseeds.elsewhere, which has no layer"),
    "relative": ("runtime/module.py", "from ..nearest import update",
                 "src/kseeds/runtime/module.py: a relative import; write out the module"),
    "third-party": ("nearest/module.py", "import scipy.spatial",
                    "src/kseeds/nearest/module.py: imports scipy"),
    "third-party, within a function": ("inputs/module.py", "def late():\n    import pandas",
                                       "src/kseeds/inputs/module.py: imports pandas"),
    "the compiler, past its door": ("nearest/module.py", "from numba import njit",
                                    "src/kseeds/nearest/module.py: imports numba"),
    "Dask, in a method": ("methods/module.py", "import dask.array",
                          "src/kseeds/methods/module.py: imports dask"),
}  # fmt: skip


def test_without_a_breach_nothing_is_reported(package, capsys):
    assert breaches(capsys) == []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("cli/module.py", "import typer, kseeds"),
        ("methods/module.py", "import numpy, kseeds.nearest.module"),
        ("methods/module.py", "from kseeds.methods import other"),
        ("dask.py", "import dask, kseeds.distributed.module"),
        ("runtime/compiler.py", "import numba, kseeds.errors"),
    ],
)
def test_an_import_of_a_later_layer_is_not_reported(file, line, package, capsys):
    (package / file).write_text(f"{line}\n")
    assert breaches(capsys) == []


@pytest.mark.parametrize("name", IMPORTS)
def test_a_forbidden_import_is_reported(name, package, capsys):
    file, line, breach = IMPORTS[name]
    path = package / file
    path.write_text(f"{path.read_text()}\n\n{line}\n")
    assert breaches(capsys) == [breach]


def test_an_import_that_the_architecture_does_not_show_is_reported(package, capsys):
    path = package / "simd" / "module.py"
    path.write_text(f"{path.read_text()}\nimport kseeds.version\n")
    assert importlib.import_module("guards").main() == 1
    assert capsys.readouterr().out.splitlines() == [
        "docs/architecture.md: not the graph that python tools/layers.py draws"
    ]


def test_a_module_without_a_layer_is_reported(package, capsys):
    (package / "fresh").mkdir()
    (package / "fresh" / "__init__.py").write_text("")
    assert breaches(capsys) == ["src/kseeds/fresh: has no layer; give it one in tools/layers.py"]


UNDOCUMENTED = '''
def public(a, b):
    """Do it.

    Parameters
    ----------
    a
        The first.
    """
'''


@pytest.mark.parametrize(
    ("text", "breach"),
    [
        ("\n" * 500, "lines, more than"),
        ("PLACE = '/" + "home/me'", "a path of some machine"),
        ("njit(fastmath" + "=True)", "fastmath or parallel compilation"),
        (UNDOCUMENTED, "undocumented public(b)"),
        ("x = '" + "1" * 1_000_001 + "'", "over 1 MB"),
    ],
    ids=["too long", "machine path", "fastmath", "undocumented", "too large"],
)
def test_other_rules_of_the_house_are_held(text, breach, package, capsys):
    path = package / "errors.py"
    path.write_text(f"{path.read_text()}\n\n{text}\n")
    (found,) = breaches(capsys)
    assert found.startswith("src/kseeds/errors.py: ")
    assert breach in found


def test_too_many_modules_at_the_top_are_reported(package, capsys):
    for unit in ("cli", "methods", "nearest", "inputs", "simd"):
        (package / f"{unit}.py").write_text("")
    (found,) = breaches(capsys)
    assert found.startswith("src/kseeds: ")
    assert "modules, more than" in found
