"""Examples in docstrings and documents run as they stand, and show what they say they do."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import kseeds
from kseeds.laws import LAWS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(kseeds.__file__).parent
"""Where kseeds is installed: the tests also run where its sources are not."""
MODULES = [
    info.name
    for info in pkgutil.walk_packages(kseeds.__path__, "kseeds.")
    if not info.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module)
    assert failed == 0


def test_the_public_functions_have_examples():
    for name in (*LAWS, "VPTree", "ClockQueue"):
        assert ">>>" in getattr(kseeds, name).__doc__


def run_blocks(document):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, document, "exec"), {})


def test_python_blocks_of_the_readme_run(tmp_path, monkeypatch):
    from kseeds.sklearn import unpatch_sklearn

    monkeypatch.chdir(tmp_path)
    try:
        run_blocks("README.md")
    finally:
        unpatch_sklearn()


def test_recipes_for_scikit_learn_run_and_leave_it_as_it_was():
    from sklearn.cluster import _kmeans

    from kseeds.sklearn import unpatch_sklearn

    before = _kmeans._kmeans_plusplus
    try:
        run_blocks("docs/sklearn.md")
        assert _kmeans._kmeans_plusplus is not before  # by its first block
    finally:
        unpatch_sklearn()
    assert _kmeans._kmeans_plusplus is before


def test_the_examples_for_sparse_rows_run():
    run_blocks("docs/sparse.md")


def test_the_counter_example_convinces(capsys):
    """The law lies within the error of the clock keys, and ten errors off the printed ones."""
    run_blocks("docs/exactness.md")
    printed = re.findall(
        r"(\w+): ([\d.]+) ± ([\d.]+), the law says ([\d.]+)", capsys.readouterr().out
    )
    off = {keys: (float(law) - float(mean)) / float(error) for keys, mean, error, law in printed}
    assert off.keys() == {"clock", "printed"}
    assert abs(off["clock"]) < 4
    assert off["printed"] > 10


def test_links_between_documents_lead_somewhere():
    for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_files_named_by_the_map_of_the_paper_exist():
    text = (ROOT / "docs" / "paper.md").read_text()
    named = re.findall(r"`([\w/]+\.py)`", text)
    assert named
    for name in named:
        assert (PACKAGE / name).exists(), name
