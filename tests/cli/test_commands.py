"""The command line as a person uses it."""

from __future__ import annotations

import signal
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from kseeds import Seeding, greedy_kmeans_plusplus, kmeans_parallel, kmeans_plusplus
from kseeds.runtime import kernel_cache
from tests.cli.common import X, refused, run, seed, started
from tests.harness.isolation import run as run_python


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "x.npy", X)
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    csv.write_csv(table, tmp_path / "x.csv")
    parquet.write_table(table, tmp_path / "x.parquet")
    weighted = table.append_column("w", pa.array(np.arange(300.0) % 3))
    parquet.write_table(weighted, tmp_path / "weighted.parquet")
    return tmp_path


@pytest.mark.parametrize("source", ["x.npy", "x.csv", "x.parquet"])
@pytest.mark.parametrize("target", ["y.npy", "y.csv", "y.parquet"])
def test_seed_reads_and_writes(files, source, target):
    seed(files / source, "-k", 7, "-o", files / target, "--random-state", 3)
    plain = kmeans_plusplus(X, 7, random_state=3)
    if target == "y.npy":
        written = np.load(files / target)
    else:
        reader = csv.read_csv if target == "y.csv" else parquet.read_table
        table = reader(files / target)
        names = ["x0", "x1", "x2"] if source == "x.npy" else ["a", "b", "c"]
        assert table.column_names == ["row", *names]
        assert table["row"].to_pylist() == plain.indices.tolist()
        written = np.column_stack([table[name] for name in table.column_names[1:]])
    np.testing.assert_array_equal(written, plain.centers)


def test_a_folder_of_parquet_files_is_read(files):
    folder = files / "parts.parquet"
    folder.mkdir()
    for part in range(3):
        rows = X[part * 100 : (part + 1) * 100]
        table = pa.table({name: rows[:, c] for c, name in enumerate("abc")})
        parquet.write_table(table, folder / f"part-{part}.parquet")
    seed(folder, "-k", 7, "-o", files / "y.npy", "--random-state", 3)
    np.testing.assert_array_equal(
        np.load(files / "y.npy"), kmeans_plusplus(X, 7, random_state=3).centers
    )


def test_weights_come_from_a_column(files):
    out = files / "y.csv"
    words = ("-k", 5, "--weights", "w", "--random-state", 1, "-o", out)
    seed(files / "weighted.parquet", *words)
    plain = kmeans_plusplus(X, 5, sample_weight=np.arange(300) % 3, random_state=1)
    assert csv.read_csv(out)["row"].to_pylist() == plain.indices.tolist()


def test_the_method_can_be_chosen(files):
    done = seed(files / "x.npy", "-k", 5, "--method", "parallel")
    assert "kmeans_parallel" in done.output


def test_greedy_seeds_and_their_trials(files):
    words = ("-k", 5, "--method", "greedy", "--random-state", 2, "-o", files / "y.npy")
    for more, keywords in (((), {}), (("--trials", 9), {"n_local_trials": 9})):
        done = seed(files / "x.npy", *words, *more)
        assert "greedy_kmeans_plusplus" in done.output
        wanted = greedy_kmeans_plusplus(X, 5, random_state=2, **keywords).centers
        np.testing.assert_array_equal(np.load(files / "y.npy"), wanted)


def test_the_reduction_of_parallel_can_be_chosen(files):
    words = ("-k", 9, "--method", "parallel", "--random-state", 2, "-o", files / "y.npy")
    seed(files / "x.npy", *words, "--reduction", "greedy")
    wanted = kmeans_parallel(X, 9, random_state=2, reduction="greedy")
    np.testing.assert_array_equal(np.load(files / "y.npy"), wanted.centers)
    assert wanted.indices.tolist() != kmeans_parallel(X, 9, random_state=2).indices.tolist()


def test_rounds_and_oversampling_of_k_means_parallel(files, monkeypatch):
    words = ["-k", 9, "-o", files / "y.npy", "--method", "parallel", "--random-state", 2]
    seed(files / "x.npy", *words, "--rounds", 1, "--oversampling", 1.5)
    wanted = kmeans_parallel(X, 9, random_state=2, rounds=1, oversampling=1.5)
    np.testing.assert_array_equal(np.load(files / "y.npy"), wanted.centers)
    for options in ({"rounds": 1}, {"oversampling": 1.5}):
        other = kmeans_parallel(X, 9, random_state=2, **options)
        assert wanted.indices.tolist() != other.indices.tolist()
    for option, value in (("rounds", 0), ("oversampling", -1.0)):
        assert f"{option}={value} is" in refused(
            "seed", files / "x.npy", *words, f"--{option}", value
        )


@pytest.mark.parametrize(
    ("words", "owner"),
    [
        (["--trials", 3], "greedy"),
        (["--method", "parallel", "--trials", 3], "greedy"),
        (["--method", "greedy", "--reduction", "greedy"], "parallel"),
        (["--rounds", 2], "parallel"),
        (["--method", "greedy", "--oversampling", 1.5], "parallel"),
    ],
)
def test_an_option_of_another_method_is_wrong_usage(files, words, owner):
    done = run("seed", files / "x.npy", "-k", 3, *words)
    assert done.exit_code == 2
    assert f"needs --method {owner}" in " ".join(done.stderr.replace("│", " ").split())


def unasked(self):
    raise AssertionError("paid for what nobody asked for")


def test_labels_and_potential_are_not_computed_unasked(files, monkeypatch):
    for name in ("labels", "distances", "potential"):
        monkeypatch.setattr(Seeding, name, property(unasked))
    done = seed(files / "x.npy", "-k", 5, "-o", files / "y.csv")
    assert "│ potential" not in done.output


def test_the_potential_on_request_with_its_own_seconds(files, monkeypatch):
    plain = kmeans_plusplus(X, 7, random_state=3)
    done = seed(files / "x.npy", "-k", 7, "--random-state", 3, "--potential")
    assert f"{plain.potential:.6g}, in another" in done.output
    monkeypatch.setattr(Seeding, "potential", property(lambda self: time.sleep(0.05) or 1.0))
    done = seed(files / "x.npy", "-k", 7, "--random-state", 3, "--potential")
    assert float(done.output.split("in another ")[1].split()[0]) >= 0.05


def test_a_file_that_changed_meanwhile_is_refused(files, monkeypatch):
    def changed(self):
        raise RuntimeError("X has changed since.")

    monkeypatch.setattr(Seeding, "potential", property(changed))
    done = run("seed", files / "x.npy", "-k", 7, "--potential")
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1] == "kseeds: X has changed since."


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x.txt", "-k", 3], "use one of .npy, .csv, .parquet"),
        (["x.npy", "-k", 301], "n_clusters=301 is more than the 300 rows of X"),
        (["x.npy", "-k", 3, "--metric", "odd"], "metric='odd' is unknown"),
        (["x.npy", "-k", 3, "--method", "greedy", "--trials", 0], "n_local_trials=0 is too small"),
        (
            ["x.npy", "-k", 3, "--method", "parallel", "--reduction", "odd"],
            "reduction='odd' is not possible",
        ),
        (["x.npy", "-k", 3, "--weights", "w"], "names a column, but"),
        (["x.csv", "-k", 3, "--weights", "w"], "it has a, b, c"),
        (["x.npy", "-k", 3, "--header"], "are for .csv files"),
        (["x.parquet", "-k", 3, "--no-header"], "are for .csv files"),
    ],
)
def test_refusals_are_one_line(files, monkeypatch, words, message):
    monkeypatch.chdir(files)
    assert message in refused("seed", *words)


@pytest.mark.parametrize(
    "words", [["--method", "random"], ["--no-such-option"], ["--threads", "many"]]
)
def test_wrong_usage_exits_with_2(files, words):
    assert run("seed", files / "x.npy", "-k", 3, *words).exit_code == 2


def test_warnings_are_lines_too(files):
    np.save(files / "same.npy", np.ones((20, 2)))
    done = seed(files / "same.npy", "-k", 3)
    notes = [line for line in done.stderr.splitlines() if "distinct" in line]
    assert len(notes) == 1
    assert notes[0].startswith("kseeds: X has fewer distinct points")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ((), ["naive", "lazy", "naive", "fast"]),
        (("--all",), ["naive", "paper", "lazy", "naive", "paper", "fast"]),
    ],
)
def test_demo_draws_a_picture(tmp_path, words, shown):
    done = run("demo", "--rows", 500, "-k", 8, "-o", tmp_path / "seeds.png", *words)
    assert done.exit_code == 0, done.output
    assert "DIFFERENT" not in done.output
    assert done.output.count("seconds") == 2  # of the seeding, and of the potential
    cells = [line.split("│") for line in done.output.splitlines() if "│" in line]
    assert [cell[2].strip() for cell in cells] == shown
    assert [path.name for path in tmp_path.iterdir()] == ["seeds.png"]
    assert (tmp_path / "seeds.png").read_bytes().startswith(b"\x89PNG")


def test_demo_names_the_option_that_asks_for_too_many_seeds(tmp_path):
    done = run("demo", "--rows", 10, "-o", tmp_path / "seeds.png")
    assert done.exit_code == 2
    said = " ".join(done.stderr.replace("│", " ").split())
    assert "-k 50 is more than --rows 10; add -k 10, or more rows." in said


def test_demo_compiles_nothing(tmp_path):
    """As it is first seen: a fresh process, nothing compiled before, and the sizes by default."""
    code = """
    import sys, types
    from kseeds.runtime import compile_policy
    # A busy machine must not make a difference here: no time passes between jobs.
    compile_policy.time = types.SimpleNamespace(perf_counter=lambda: 0.0)
    from kseeds.cli.commands import app
    app(["demo"], standalone_mode=False)
    print({"numba", "llvmlite"} & set(sys.modules))
    """
    cache = tmp_path / "cache"
    done = run_python(code, cwd=tmp_path, NUMBA_CACHE_DIR=str(cache))
    assert done.stdout.splitlines()[-1] == "set()", done.stdout
    assert (tmp_path / "kseeds-demo.png").exists()
    assert not cache.exists()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("no/such/seeds.png", "there is no folder"),
        ("seeds.xyz", "has the ending '.xyz'; use one of .png"),
        ("seeds", "has the ending 'none'"),
        (".", "has the ending 'none'"),
    ],
)
def test_demo_checks_where_the_picture_goes_before_the_work(tmp_path, monkeypatch, target, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kseeds.cli.commands._blobs", None)
    assert message in refused("demo", "-o", target)


@pytest.mark.parametrize(
    ("words", "module"),
    [
        (("demo",), "matplotlib"),
        (("seed", "x.csv", "-k", 2), "pyarrow"),
        (("seed", "x.npy", "-k", 2, "-o", "y.csv"), "pyarrow"),
    ],
)
def test_what_is_not_installed_is_named(files, monkeypatch, words, module):
    monkeypatch.chdir(files)
    monkeypatch.setattr("kseeds.cli.commands._blobs", None)  # it must show before the work
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    done = run(*words)
    assert done.exit_code == 1
    assert done.stderr == (
        f"kseeds: the command line needs {module}, which is not installed; "
        "run: pip install 'kseeds[cli]'\n"
    )


@pytest.mark.parametrize("moment", ["numpy", "read_rows", "kmeans_plusplus"])
def test_ctrl_c_is_one_line_and_130(files, moment):
    """While the program loads, while it reads and while it draws."""
    pause = "def pause(*_, **__):\n  import time; print('here', flush=True); time.sleep(60)\n"
    hook = {
        "numpy": "import builtins\nreal = builtins.__import__\n"
        "builtins.__import__ = lambda name, *rest: (\n"
        "  pause() if name == 'typer' else real(name, *rest))\n",
        "read_rows": "import kseeds.cli.commands as c\nc.read_rows = pause\n",
        "kmeans_plusplus": "import kseeds.cli.commands as c\nc.METHODS['plusplus'] = pause\n",
    }[moment]
    with started(pause + hook, "seed", files / "x.npy", "-k", 3, "-o", files / "y.csv") as process:
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert errors == "kseeds: interrupted.\n"
    assert not (files / "y.csv").exists()


def test_the_version_is_shown():
    import kseeds

    assert run("--version").output.strip() == f"kseeds {kseeds.__version__}"


def test_warmup_shows_what_is_ready_and_where_it_is_kept():
    done = run("warmup", "fingerprint", "--dtype", "float32")
    assert done.exit_code == 0, done.output
    assert "fingerprint" in done.output
    assert f"kept in {kernel_cache.folder()}" in done.output
    assert "'trees' is unknown to warmup" in refused("warmup", "trees")
