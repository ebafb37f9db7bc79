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


def python(*arguments, cwd, standard_input=None):
    paths = os.pathsep.join([*PATHS, os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "kseeds.sklearn", *map(str, arguments)],
        capture_output=True,
        text=True,
        input=standard_input,
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-m", "nosuch"), "there is no module 'nosuch'; check its name"),
        (("-m", "no.such"), "there is no module 'no.such'; check its name"),
        (("-m", "json.no.such"), "there is no module 'json.no.such'; check its name"),
        (("-m", "json"), "the package 'json' has no module __main__; name a module in it"),
        ((".",), "there is no __main__.py in '.'; name a script in it"),
    ],
)
def test_what_cannot_be_run_is_one_line_and_the_code_of_python(arguments, message, tmp_path):
    done = python(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"kseeds: {message}")
    assert len(done.stderr.splitlines()) == 1


def test_a_package_that_cannot_be_imported_shows_its_own_error(tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "__init__.py").write_text("import nosuch")
    (tmp_path / "broken" / "part.py").write_text("")
    done = python("-m", "broken.part", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'nosuch'"


def test_a_folder_with_a_main_runs(folder):
    (folder / "script.py").rename(folder / "__main__.py")
    done = python("-q", folder, cwd=folder.parent)
    assert done.returncode == 7, done.stderr
    assert json.loads(done.stdout)["path"] == str(folder)


@pytest.mark.skipif(not os.path.exists("/dev/stdin"), reason="there are no names of streams")
def test_a_script_from_a_pipe_runs(tmp_path):
    script = "import sys\nprint(__name__, sys.argv[1:])\nraise RuntimeError('of the script')"
    done = python("-q", "/dev/stdin", "a", cwd=tmp_path, standard_input=script)
    assert (done.returncode, done.stdout) == (1, "__main__ ['a']\n")
    assert done.stderr.splitlines()[-1] == "RuntimeError: of the script"


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
