"""Small rules of the house, checked: python tools/guards.py (exit code 1 on a breach)."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import layers

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "kseeds"
LONGEST = 420

MOST_AT_THE_TOP = 12

# Which third-party packages a folder or file may import, at any depth of its functions.
ALLOWED = {
    "distances/sparse_reference.py": {"numpy", "scipy"},
    "distances/sparse_rows.py": {"numpy", "scipy"},
    "inputs/sorting.py": {"numpy", "scipy"},
    "inputs/sparse.py": {"numpy", "scipy"},
    "runtime/compiler.py": {"numpy", "numba", "llvmlite"},
    "runtime/progress.py": {"rich"},
    "runtime/blas.py": {"threadpoolctl"},
    "cli": {"numpy", "typer", "rich", "pyarrow", "matplotlib", "scipy"},
    "distributed": {"numpy", "dask", "pyspark", "pyarrow"},
    "dask.py": {"numpy", "dask"},
    "spark.py": {"numpy", "pyspark", "pandas"},
    "sklearn": {"numpy", "sklearn"},
}
DEFAULT = {"numpy"}
MACHINE_PATH = re.compile(r"/(?:work|tmp|root|home|farm)/")


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [ROOT / name for name in listed.splitlines() if (ROOT / name).is_file()]


def imports_of(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found


def undocumented_arguments(tree: ast.AST) -> list[str]:
    """Return arguments of functions whose docstring has a Parameters section without them."""
    missing = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        text = ast.get_docstring(node) or ""
        # Kernels describe groups of arguments; public functions describe every one.
        if "Parameters\n" not in text or node.name.startswith("_"):
            continue
        arguments = [*node.args.args, *node.args.kwonlyargs]
        if any(isinstance(d, ast.Name) and d.id == "kernel" for d in node.decorator_list):
            continue
        section = text.split("Parameters\n----------\n")[1].split("\n---")[0]
        missing += [
            f"{node.name}({argument.arg})"
            for argument in arguments
            if argument.arg not in ("self", "cls")
            and not re.search(rf"\b{re.escape(argument.arg)}\b", section)
        ]
    return missing


def main() -> int:
    breaches = []
    for path in tracked():
        name = path.relative_to(ROOT).as_posix()
        if path.stat().st_size > 1_000_000:
            breaches.append(f"{name}: over 1 MB")
        if path.suffix not in {".py", ".toml", ".yml", ".cff"} and path.name != "run":
            continue
        text = path.read_text()
        if path.suffix == ".py" and text.count("\n") > LONGEST:
            breaches.append(f"{name}: {text.count(chr(10))} lines, more than {LONGEST}")
        if MACHINE_PATH.search(text) and path != Path(__file__).resolve():
            breaches.append(f"{name}: a path of some machine")
        if SOURCE not in path.parents:
            continue
        tree = ast.parse(text)
        inside = path.relative_to(SOURCE).parts
        own = ALLOWED.get("/".join(inside), ALLOWED.get(inside[0], DEFAULT))
        allowed = own | set(sys.stdlib_module_names) | {"kseeds"}
        breaches += [f"{name}: imports {x}" for x in sorted(imports_of(tree) - allowed)]
        if any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(tree)):
            breaches.append(f"{name}: a relative import; write out the module")
        breaches += [f"{name}: undocumented {x}" for x in undocumented_arguments(tree)]
        if re.search(r"fastmath\s*=\s*True|parallel\s*=\s*True", text):
            breaches.append(f"{name}: fastmath or parallel compilation")
    at_the_top = len(list(SOURCE.glob("*.py")))
    if at_the_top > MOST_AT_THE_TOP:
        breaches.append(f"src/kseeds: {at_the_top} modules, more than {MOST_AT_THE_TOP}")
    breaches += layers.breaches()
    print("\n".join(breaches) or "guards: nothing to report")
    return int(bool(breaches))


if __name__ == "__main__":
    sys.exit(main())
