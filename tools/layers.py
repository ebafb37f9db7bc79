"""The layers of the package, and who imports whom: python tools/layers.py draws the graph.

A unit is a folder or a module directly under ``src/kseeds``. It may import units of later layers
only: not of earlier ones, and not of its own.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "kseeds"
PAGE = ROOT / "docs" / "architecture.md"

LAYERS = (
    ("__main__",),
    ("cli",),
    ("__init__",),
    ("sklearn",),
    ("clustering",),
    ("api", "assignment", "structures", "warming", "dask", "spark"),
    ("laws",),
    ("distributed",),
    ("methods", "lloyd"),
    ("nearest",),
    ("inputs",),
    ("results",),
    ("sampling",),
    ("distances",),
    ("simd",),
    ("runtime",),
    ("errors", "version"),
)
BY_NAME = r"kseeds(\.\w+){2,}"
"""A module that is imported by its name later; messages speak of kseeds.dask, which is not."""
RANK = {unit: rank for rank, layer in enumerate(LAYERS) for unit in layer}


def unit_of(path: Path) -> str:
    """Return the folder, or the module, directly under the package that a file belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> set[str]:
    """Return the modules of the package that a file imports, at any depth, or names in a string."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= (
                {node.module}
                if node.module != "kseeds"
                else {f"kseeds.{alias.name}" for alias in node.names}
            )
        elif isinstance(node, ast.Constant) and re.fullmatch(BY_NAME, str(node.value)):
            found.add(node.value)
    return {name for name in found if name.partition(".")[0] == "kseeds"}


def graph() -> dict[str, set[str]]:
    """Return the units that each unit imports."""
    edges: dict[str, set[str]] = defaultdict(set)
    for path in sorted(SOURCE.rglob("*.py")):
        for name in imported(ast.parse(path.read_text())):
            edges[unit_of(path)].add([*name.split("."), "__init__"][1])
    return {unit: others - {unit} for unit, others in edges.items()}


def breaches() -> list[str]:
    """Return what breaks the order of the layers."""
    edges, found = graph(), []
    for unit in sorted({unit_of(path) for path in SOURCE.rglob("*.py")} - set(RANK)):
        found.append(f"src/kseeds/{unit}: has no layer; give it one in tools/layers.py")
    for unit, others in sorted(edges.items()):
        for other in sorted(others):
            if other not in RANK:
                found.append(f"{unit}: imports kseeds.{other}, which has no layer")
            elif unit in RANK and RANK[other] <= RANK[unit]:
                way = "sideways" if RANK[other] == RANK[unit] else "upward"
                found.append(f"{unit}: imports {other}, which is {way}")
    if picture() not in PAGE.read_text():
        found.append("docs/architecture.md: not the graph that python tools/layers.py draws")
    return found


def picture() -> str:
    """Return the graph as a table: one line a unit, in the order of the layers."""
    edges = graph()
    width = max(map(len, RANK))
    lines = []
    for layer in LAYERS:
        for unit in layer:
            others = sorted(edges.get(unit, set()), key=lambda other: (RANK.get(other, -1), other))
            lines.append(f"{unit:{width}} → {', '.join(others) or 'nothing of ours'}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(picture())
