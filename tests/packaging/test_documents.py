"""Examples in docstrings and in the README run as they stand."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import kseeds

ROOT = Path(__file__).resolve().parents[2]
MODULES = [
    info.name
    for info in pkgutil.walk_packages(kseeds.__path__, "kseeds.")
    if not info.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module)
    assert failed == 0


def test_the_public_functions_have_examples():
    for name in ("kmeans_plusplus", "kmeans_parallel", "VPTree", "ClockQueue"):
        assert ">>>" in getattr(kseeds, name).__doc__


@pytest.mark.parametrize("document", ["README.md", "docs/exactness.md"])
def test_python_blocks_run(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, document, "exec"), {})


def test_links_between_documents_lead_somewhere():
    for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
