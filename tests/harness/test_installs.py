"""Installed in odd places, without what is optional, from the wheel and from the sdist."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import textwrap
import venv
import zipfile
from pathlib import Path

import pytest

from tests.harness import profiles
from tests.harness.isolation import ROOT, run
from tests.harness.profiles import sizes
from tests.harness.test_golden import check, each_once

_DEPENDENCIES = re.search(r"^dependencies = \[(.*?)\]", (ROOT / "pyproject.toml").read_text(), re.M)
LOWEST = [
    f"{name}=={version}.*" for name, version in re.findall(r'"(\w+)>=([\d.]+)"', _DEPENDENCIES[1])
]
"""The lowest versions that the project claims to work with."""
ODD = "site packages – größer, 空"

JOB = """
import numpy as np, kseeds
X = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
print([
    kseeds.kmeans_plusplus(X, 4, random_state=0, algorithm="naive").indices.tolist(),
    kseeds.kmeans_plusplus(X, 4, random_state=0, algorithm="paper").indices.tolist(),
    kseeds.kmeans_parallel(X, 4, random_state=0).indices.tolist(),
    kseeds.assign(X, X[:5]).labels.tolist(),
])
"""
QUICK = """
import numpy as np, kseeds
X = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
queue = kseeds.ClockQueue(X[:, 0])  # compiles little
print([
    kseeds.kmeans_plusplus(X, 4, random_state=0, algorithm="naive").indices.tolist(),
    kseeds.kmeans_plusplus(X, 4, algorithm="lazy", kernels="plain", random_state=0).labels.tolist(),
    [queue.pop() for _ in range(60)],
])
"""
WHERE = "import kseeds; print(kseeds.__file__)"


jobs = sizes("job", QUICK, JOB)


@functools.cache
def result_of(job: str) -> str:
    """Return what a job says in this tree."""
    return run(job).stdout


@pytest.fixture
def installed(tmp_path):
    """A copy of the package, in a folder whose name has spaces and other letters."""
    place = tmp_path / ODD
    shutil.copytree(
        ROOT / "src" / "kseeds", place / "kseeds", ignore=shutil.ignore_patterns("__pycache__")
    )
    assert str(place) in run(WHERE, paths=(str(place),), cwd=tmp_path).stdout
    return place


@jobs
def test_a_path_with_spaces_and_other_letters(job, installed, tmp_path):
    """Kernels are kept beside the package, as they are by default, and found again."""
    for _ in range(2):
        done = run(job, paths=(str(installed),), cwd=tmp_path, NUMBA_CACHE_DIR=None)
        assert done.stdout == result_of(job)
    assert list((installed / "kseeds").rglob("*.nbc"))


@jobs
def test_read_only_and_no_home(job, installed, tmp_path):
    """Nowhere to keep kernels: they are compiled again in every process."""
    home = tmp_path / "home"
    home.mkdir()
    folders = [home, *(path for path in [installed, *installed.rglob("*")] if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    nowhere = {"NUMBA_CACHE_DIR": None, "XDG_CACHE_HOME": None, "HOME": str(home)}
    try:
        done = run(job, paths=(str(installed),), cwd=home, obedient=True, seconds=180, **nowhere)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert done.stdout == result_of(job)
    assert done.stderr == ""
    assert not list(home.iterdir())
    assert not list(installed.rglob("*.nbc"))


@jobs
def test_without_assertions_and_docstrings(job):
    assert run(job, PYTHONOPTIMIZE="2").stdout == result_of(job)


@jobs
def test_warnings_as_errors(job):
    assert run(job, flags=("-W", "error", "-X", "dev")).stdout == result_of(job)


ABSENT = """
import importlib.abc, sys
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""


@pytest.mark.parametrize(
    ("absent", "code", "extra"),
    [
        ("dask", "import kseeds.dask", "dask"),
        ("pyspark", "import kseeds.spark", "spark"),
        ("pyarrow", "import kseeds.spark", "spark"),
        ("sklearn", "import kseeds.sklearn", "sklearn"),
        ("typer", "command()", "cli"),
        ("rich", "command()", "cli"),
        ("matplotlib", "command('demo', '-o', 'picture.png')", "cli"),
        ("pyarrow", "command('seed', 'rows.parquet', '-k', '2')", "cli"),
        ("pyarrow", "command('seed', 'rows.npy', '-k', '2', '-o', 'seeds.parquet')", "cli"),
    ],
)
def test_an_extra_that_is_absent_is_named(absent, code, extra, tmp_path):
    """In the last line of what is said, and nothing of a traceback from the command line."""
    command = """
    import numpy as np
    np.save("rows.npy", np.eye(5))
    open("rows.parquet", "wb").close()
    def command(*arguments):
        from kseeds.cli import main
        sys.argv = ["kseeds", *arguments]
        main()
    """
    whole = ABSENT.format(names={absent}) + textwrap.dedent(command) + code
    done = run(whole, check=False, cwd=tmp_path)
    assert done.returncode != 0
    said = (done.stdout + done.stderr).strip().splitlines()
    assert f"pip install 'kseeds[{extra}]'" in said[-1], said[-1]
    if extra == "cli":
        assert not any("Traceback" in line for line in said), "\n".join(said)


@jobs
def test_only_what_is_needed_is_needed(job):
    """NumPy, Numba and threadpoolctl suffice for everything in memory."""
    optional = {
        "dask", "pyspark", "pandas", "pyarrow", "polars", "scipy", "sklearn", "typer", "rich",
        "matplotlib", "pytest", "hypothesis",
    }  # fmt: skip
    assert run(ABSENT.format(names=optional) + job).stdout == result_of(job)


def python_of(folder: Path) -> str:
    return str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")


def pip(*arguments: str, python: str | None = None) -> None:
    """Run our own pip; with ``python``, for that environment, which needs no pip of its own."""
    where = [] if python is None else ["--python", python]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", *where, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the sdist, built as anybody would build them."""
    place = tmp_path_factory.mktemp("built")
    pip("install", "--target", str(place / "builder"), "hatchling")
    tree = place / "tree"
    ignored = shutil.ignore_patterns("__pycache__", ".git", ".*_cache", ".hypothesis", "out")
    shutil.copytree(ROOT, tree, ignore=ignored)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(place / "dist")],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(place / "builder")},
        check=True,
        capture_output=True,
        timeout=300,
    )
    return place / "dist"


def borrowing(folder: Path, wheel: Path) -> str:
    """Return the Python of an environment that has the wheel and borrows our other packages."""
    venv.create(folder)
    python = python_of(folder)
    # First: a kseeds that is borrowed would do.
    pip("install", "--no-deps", str(wheel), python=python)
    found = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    # A plain path: our own editable install, a .pth file in there, is not read again.
    Path(found.stdout.strip(), "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def package_in(wheel: Path) -> dict[str, bytes]:
    """Return the files of kseeds in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {
            name: archive.read(name) for name in archive.namelist() if name.startswith("kseeds/")
        }


@pytest.mark.long
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_what_is_built_is_the_package_byte_for_byte(built, kind, tmp_path):
    """So that what passes in the tree passes for whoever installs either."""
    (wheel,) = built.glob("*.whl")
    if kind == "sdist":
        (sdist,) = built.glob("*.tar.gz")
        pip("wheel", "--no-deps", "-w", str(tmp_path), str(sdist))
        (wheel,) = tmp_path.glob("*.whl")
    source = ROOT / "src"
    assert package_in(wheel) == {
        path.relative_to(source).as_posix(): path.read_bytes()
        for path in (source / "kseeds").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


TESTED = ["tests/project/test_documents.py", "tests/project/test_imports.py"]
"""Every module, from where it is installed. Seeds are compared by the test of lowest versions."""
MORE = [
    "tests/inputs", "tests/distances", "tests/methods", "tests/results",
    "tests/test_structures.py",
]  # fmt: skip
"""Where the long profile is run in full. They compile for long."""


@pytest.mark.long
def test_the_wheel_passes_the_tests_of_the_sdist_outside_the_tree(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    python = borrowing(tmp_path / "environment", wheel)
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (tree,) = (tmp_path / "unpacked").iterdir()
    shutil.rmtree(tree / "src")  # only what was installed is left
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "CI") and not name.startswith("PYTEST_")
    }
    located = subprocess.run(
        [python, "-c", WHERE], capture_output=True, text=True, check=True, cwd=tree,
        env=environment,
    )  # fmt: skip
    assert str(tmp_path) in located.stdout
    chosen = TESTED + MORE if profiles.SCALE >= 1.0 else TESTED
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen],
        capture_output=True,
        text=True,
        check=False,
        cwd=tree,
        env=environment,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr


@pytest.mark.long
def test_lowest_versions(built, tmp_path, seed_offset):
    """The lowest versions we claim to work with, and nothing else."""
    venv.create(tmp_path / "lowest")
    python = python_of(tmp_path / "lowest")
    (wheel,) = built.glob("*.whl")
    pip("install", "--no-compile", str(wheel), *LOWEST, python=python)
    lowest = {"python": python, "cwd": tmp_path, "NUMBA_CACHE_DIR": None}
    done = run(JOB, paths=(), seconds=300, **lowest)
    assert done.stdout == result_of(JOB)
    check(["C"], [1], seconds=900, chosen=each_once(seed_offset), paths=(str(ROOT),), **lowest)


def test_the_lowest_versions_are_read_from_the_project():
    assert [pinned.partition("==")[0] for pinned in LOWEST] == ["numpy", "numba", "threadpoolctl"]
