"""``python -m kseeds.sklearn``, and what importing kseeds imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from kseeds.sklearn.running import main
from tests.harness.isolation import PATHS, run

SCRIPT = """
import json, sys
from sklearn.cluster import KMeans, _kmeans
import beside
print(json.dumps({
    "name": __name__, "argv": sys.argv, "path": sys.path[0],
    "patched": _kmeans._kmeans_plusplus.__code__.co_filename.endswith("replacement.py"),
}))
sys.exit(beside.CODE)
"""


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "its folder"
    place.mkdir()
    (place / "script.py").write_text(SCRIPT)
    (place / "beside.py").write_text("CODE = 7\n")
    return place


def python(*arguments, cwd):
    paths = os.pathsep.join([*PATHS, os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "kseeds.sklearn", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": paths},
        timeout=120,
    )


def test_a_script_runs_as_it_would_but_patched(folder, tmp_path):
    script = folder / "script.py"
    done = python(script, "-q", "--flag", "a b", cwd=tmp_path)
    assert done.returncode == 7, done.stderr
    assert json.loads(done.stdout) == {
        "name": "__main__",
        "argv": [str(script), "-q", "--flag", "a b"],
        "path": str(folder),
        "patched": True,
    }
    assert done.stderr.startswith("kseeds draws the k-means++ seeds of sklearn.cluster")
    assert len(done.stderr.splitlines()) == 1


def test_a_module_runs_too_and_quietly(folder):
    done = python("-q", "-m", "script", "--flag", cwd=folder)
    assert done.returncode == 7, done.stderr
    said = json.loads(done.stdout)
    assert said["patched"]
    assert said["name"] == "__main__"
    assert said["argv"] == [str(folder / "script.py"), "--flag"]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "usage: python -m kseeds.sklearn"),
        (("-x",), 2, "usage: python -m kseeds.sklearn"),
        (("-m",), 2, "usage: python -m kseeds.sklearn"),
        (("absent.py",), 2, "kseeds: there is no file 'absent.py'; check its name."),
        (("--help",), 0, "usage: python -m kseeds.sklearn"),
    ],
)
def test_wrong_usage_is_explained(arguments, code, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(list(arguments)) == code
    said = capsys.readouterr()
    assert (said.out if code == 0 else said.err).startswith(message)
    assert not (said.err if code == 0 else said.out)


def test_its_exit_code_is_that_of_the_process(tmp_path):
    assert python("absent.py", cwd=tmp_path).returncode == 2


def test_errors_of_the_script_are_its_own(folder, tmp_path):
    (folder / "script.py").write_text("raise RuntimeError('of the script')")
    done = python(folder / "script.py", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "RuntimeError: of the script"


def test_kseeds_does_not_import_scikit_learn():
    done = run("import sys, kseeds\nkseeds.greedy_kmeans_plusplus\nprint('sklearn' in sys.modules)")
    assert done.stdout.strip() == "False"
