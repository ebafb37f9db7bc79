"""What importing costs, and what happens where things are missing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

HEAVY = {
    "numba",
    "llvmlite",
    "scipy",
    "sklearn",
    "pandas",
    "pyarrow",
    "matplotlib",
    "typer",
    "rich",
}


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def modules_after(code: str) -> set[str]:
    done = run(f"{code}\nimport sys\nprint(' '.join(sys.modules))")
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize(
    "code",
    [
        "import kseeds; dir(kseeds)",
        "from kseeds import kmeans_plusplus, kmeans_parallel, Seeding, VPTree, ClockQueue",
        "import numpy as np, kseeds; kseeds.kmeans_plusplus(np.eye(50), 4)",
        "import numpy as np, kseeds; kseeds.greedy_kmeans_plusplus(np.eye(50), 4)",
        "import numpy as np, kseeds; kseeds.kmeans_parallel(np.eye(50), 4)",
    ],
)
def test_import_and_small_jobs_are_light(code):
    assert not modules_after(code) & HEAVY


def test_public_names_are_there_and_others_are_not():
    import kseeds

    assert all(hasattr(kseeds, name) for name in kseeds.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = kseeds.nonsense


PAPER = (
    "import numpy as np, kseeds\n"
    "X = np.random.default_rng(0).normal(size=(50, 2))\n"
    "print(kseeds.kmeans_plusplus(X, 4, random_state=0, algorithm='paper').indices.tolist())"
)


def test_without_a_cache_seeds_are_the_same_and_nothing_is_left(tmp_path):
    """KSEEDS_CACHE=0 leaves nothing on disk; the seeds are the same."""
    compiled = {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    done = run(PAPER, **compiled, KSEEDS_CACHE="0")
    assert done.returncode == 0, done.stderr
    assert not any(tmp_path.iterdir())
    cached = run(PAPER, **compiled)
    assert any(tmp_path.iterdir())
    assert cached.stdout == done.stdout


def test_interpreted_kernels_agree_with_compiled_ones():
    done = run(PAPER, NUMBA_DISABLE_JIT="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout == run(PAPER).stdout


def test_the_command_line_without_its_extra_names_it():
    code = (
        "import sys\nsys.modules['typer'] = None\nfrom kseeds.cli import main\n"
        "sys.argv = ['kseeds']\nmain()"
    )
    done = run(code)
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "kseeds: the command line needs typer, which is not installed; "
        "run: pip install 'kseeds[cli]'"
    )
