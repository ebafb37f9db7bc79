"""``kseeds kmeans``: the centres and labels of a file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from kseeds import kmeans
from tests.cli.common import X, listing, refused, run


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "x.npy", X)
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "w": np.arange(300.0) % 3})
    parquet.write_table(table, tmp_path / "weighted.parquet")
    return tmp_path


def clustered(*words):
    done = run("kmeans", *words)
    assert done.exit_code == 0, (done.output, done.exception)
    return done


@pytest.mark.parametrize("kind", ["npy", "csv", "parquet"])
def test_centres_and_labels_are_written(files, kind):
    out, labels = files / f"c.{kind}", files / f"l.{kind}"
    done = clustered(files / "x.npy", "-k", 6, "-o", out, "--labels", labels, "--random-state", 1)
    plain = kmeans(X, 6, random_state=1)
    if kind == "npy":
        centers, found = np.load(out), np.load(labels)
    else:
        reader = csv.read_csv if kind == "csv" else parquet.read_table
        table, rows = reader(out), reader(labels)
        assert table.column_names == ["x0", "x1", "x2"]
        assert rows.column_names == ["label", "distance"]
        np.testing.assert_allclose(rows["distance"], plain.distances)
        centers = np.column_stack([table[name] for name in table.column_names])
        found = np.array(rows["label"])
    np.testing.assert_array_equal(centers, plain.centers)
    np.testing.assert_array_equal(found, plain.labels)
    assert f"{plain.inertia:.6g}" in done.output
    assert f"{plain.n_iter}, converged" in done.output


def test_every_option_reaches_the_function(files):
    words = ("--init", "greedy", "--starts", 3, "--iterations", 4, "--tol", 0, "--metric", "cosine")
    words += ("--weights", "w", "--random-state", 7, "--algorithm", "naive", "--threads", 1)
    done = clustered(files / "weighted.parquet", "-k", 5, "-o", files / "c.npy", *words)
    plain = kmeans(
        X, 5, init="greedy", n_init=3, max_iter=4, tol=0, metric="cosine", random_state=7,
        sample_weight=np.arange(300) % 3,
    )  # fmt: skip
    np.testing.assert_array_equal(np.load(files / "c.npy"), plain.centers)
    assert "algorithm naive" in done.output
    assert ("not converged" in done.output) == (not plain.converged)
    assert "not saved; add --labels" in done.output


def test_a_picture_on_request(files):
    done = clustered(files / "x.npy", "-k", 4, "--picture", files / "p.png")
    assert (files / "p.png").read_bytes().startswith(b"\x89PNG")
    assert "not saved; add -o" in done.output
    for kind, words in (("csv", ()), ("parquet", ("--weights", "w"))):
        if kind == "csv":
            csv.write_csv(pa.table({"a": X[:, 0], "b": np.arange(300)}), files / "x.csv")
        rows = files / ("x.csv" if kind == "csv" else "weighted.parquet")
        done = clustered(rows, "-k", 4, "--picture", files / f"{kind}.png", *words)
        assert (files / f"{kind}.png").read_bytes().startswith(b"\x89PNG")
        assert "picture" in done.output
    np.save(files / "one.npy", X[:, :1])
    clustered(files / "one.npy", "-k", 4, "--picture", files / "p.svg")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-k", 500], "n_clusters=500 is more than the 300 rows"),
        (["-k", 5, "--init", "best"], "init='best' is unknown to kmeans"),
        (["-k", 5, "--metric", "manhattan"], "has no mean"),
        (["-k", 5, "-o", "x.npy"], "are the same file"),
        (["-k", 5, "-o", "y.npy", "--labels", "y.npy"], "are the same file"),
        (["-k", 5, "--labels", "nowhere/y.npy"], "there is no folder"),
        (["-k", 5, "--picture", "y.txt"], "y.txt"),
        (["-k", 5, "--tol", "-1"], "tol=-1.0 is out of range"),
    ],
)
def test_refusals_are_one_sentence_and_leave_nothing(files, monkeypatch, words, message):
    monkeypatch.chdir(files)
    before = listing(files)
    assert message in refused("kmeans", "x.npy", *words)
    assert listing(files) == before
