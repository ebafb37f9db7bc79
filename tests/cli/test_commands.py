"""The command line as a person uses it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from typer.testing import CliRunner

from kseeds import kmeans_plusplus
from kseeds.cli.commands import app

X = np.random.default_rng(0).normal(size=(300, 3))


def run(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


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
    done = run("seed", files / source, "-k", 7, "-o", files / target, "--random-state", 3)
    assert done.exit_code == 0, done.output
    plain = kmeans_plusplus(X, 7, random_state=3)
    assert f"{plain.potential:.6g}" in done.output
    if target == "y.npy":
        written = np.load(files / target)
    else:
        reader = csv.read_csv if target == "y.csv" else parquet.read_table
        table = reader(files / target)
        assert table["row"].to_pylist() == plain.indices.tolist()
        written = np.column_stack([table[name] for name in table.column_names[1:]])
    np.testing.assert_allclose(written, plain.centers)


def test_a_csv_without_a_header_keeps_its_first_row(tmp_path):
    np.savetxt(tmp_path / "x.csv", X, delimiter=",")
    done = run("seed", tmp_path / "x.csv", "-k", 4, "-o", tmp_path / "y.csv")
    assert done.exit_code == 0, done.output
    assert "300 of 3 columns" in done.output
    assert csv.read_csv(tmp_path / "y.csv").column_names == ["row", "x0", "x1", "x2"]


def test_weights_come_from_a_column(files):
    out = files / "y.csv"
    words = ("-k", 5, "--weights", "w", "--random-state", 1, "-o", out)
    done = run("seed", files / "weighted.parquet", *words)
    assert done.exit_code == 0, done.output
    plain = kmeans_plusplus(X, 5, sample_weight=np.arange(300) % 3, random_state=1)
    assert csv.read_csv(out)["row"].to_pylist() == plain.indices.tolist()


def test_the_other_method(files):
    done = run("seed", files / "x.npy", "-k", 5, "--method", "parallel")
    assert done.exit_code == 0, done.output
    assert "kmeans_parallel" in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x.txt", "-k", 3], "use one of .npy, .csv, .parquet"),
        (["missing.npy", "-k", 3], "No such file"),
        (["x.npy", "-k", 301], "n_clusters=301 is more than the 300 rows of X"),
        (["x.npy", "-k", 3, "--metric", "odd"], "metric='odd' is unknown"),
        (["x.npy", "-k", 3, "--weights", "w"], "names a column, but"),
        (["x.csv", "-k", 3, "--weights", "w"], "it has a, b, c"),
        (["x.npy", "-k", 3, "-o", "no/such/y.npy"], "there is no folder"),
        (["x.npy", "-k", 3, "-o", "y.txt"], "y.txt has the ending '.txt'"),
    ],
)
def test_refusals_are_one_line(files, monkeypatch, words, message):
    monkeypatch.chdir(files)
    done = run("seed", *words)
    assert done.exit_code == 1
    assert message in done.stderr
    assert done.stderr.strip().count("\n") == 0


def test_unknown_method(files):
    done = run("seed", files / "x.npy", "-k", 3, "--method", "random")
    assert done.exit_code == 2
    assert "use plusplus or parallel" in done.stderr


def test_demo_draws_a_picture(tmp_path):
    done = run("demo", "--rows", 500, "-k", 8, "-o", tmp_path / "seeds.png")
    assert done.exit_code == 0, done.output
    assert "DIFFERENT" not in done.output
    assert (tmp_path / "seeds.png").read_bytes().startswith(b"\x89PNG")


def test_version():
    import kseeds

    assert run("--version").output.strip() == f"kseeds {kseeds.__version__}"
