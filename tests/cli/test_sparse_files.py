"""Sparse files on the command line: .npz in, .npz out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kseeds import kmeans, kmeans_plusplus
from tests.cli.common import refused, run, seed


@pytest.fixture
def matrix():
    return sparse.random(200, 500, density=0.02, format="csr", random_state=0)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
def test_a_sparse_file_is_seeded_and_written(tmp_path, matrix, form):
    sparse.save_npz(tmp_path / "x.npz", matrix.asformat(form))
    done = seed(
        tmp_path / "x.npz", "-k", 6, "-o", tmp_path / "y.npz", "--indices", tmp_path / "rows.npy",
        "--random-state", 1, "--potential",
    )  # fmt: skip
    wanted = kmeans_plusplus(matrix, 6, random_state=1)
    np.testing.assert_array_equal(np.load(tmp_path / "rows.npy"), wanted.indices)
    written = sparse.load_npz(tmp_path / "y.npz")
    np.testing.assert_array_equal(written.toarray(), wanted.centers.toarray())
    assert "200 of 500 columns" in done.stdout


def test_a_sparse_file_is_clustered(tmp_path, matrix):
    sparse.save_npz(tmp_path / "x.npz", matrix)
    done = run(
        "kmeans", tmp_path / "x.npz", "-k", 4, "-o", tmp_path / "c.npz", "--labels",
        tmp_path / "labels.npy", "--random-state", 1,
    )  # fmt: skip
    assert done.exit_code == 0, (done.output, done.exception)
    wanted = kmeans(matrix, 4, random_state=1)
    written = sparse.load_npz(tmp_path / "c.npz")
    np.testing.assert_array_equal(written.toarray(), wanted.centers.toarray())
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), wanted.labels)
    words = ("kmeans", tmp_path / "x.npz", "-k", 2)
    assert "tell nothing of sparse" in refused(*words, "--picture", tmp_path / "p.png")
    assert "use .npz" in refused(*words, "-o", tmp_path / "c.csv")


def test_the_arrays_of_csr_alone_will_do(tmp_path, matrix):
    np.savez(
        tmp_path / "x.npz", data=matrix.data, indices=matrix.indices, indptr=matrix.indptr,
        shape=np.array(matrix.shape),
    )  # fmt: skip
    done = seed(tmp_path / "x.npz", "-k", 3, "--method", "greedy", "--metric", "euclidean")
    assert "not saved; add -o seeds.npz" in done.stdout


def test_what_cannot_be_is_refused_in_a_sentence(tmp_path, matrix):
    sparse.save_npz(tmp_path / "x.npz", matrix)
    np.save(tmp_path / "d.npy", np.eye(4))
    (tmp_path / "garbage.npz").write_bytes(b"PK" + bytes(range(200)))
    (tmp_path / "text.npz").write_bytes(b"not an archive")
    np.savez(
        tmp_path / "outside.npz", data=np.ones(1), indices=np.array([9]), indptr=np.array([0, 1]),
        shape=np.array([1, 3]),
    )  # fmt: skip
    y = tmp_path / "y.csv"
    assert "use .npz" in refused("seed", tmp_path / "x.npz", "-k", 2, "-o", y)
    npz = tmp_path / "y.npz"
    assert "use one of .npy" in refused("seed", tmp_path / "d.npy", "-k", 2, "-o", npz)
    assert "names a column" in refused("seed", tmp_path / "x.npz", "-k", 2, "--weights", "w")
    assert "is damaged or no sparse" in refused("seed", tmp_path / "garbage.npz", "-k", 2)
    assert "is not in the .npz format" in refused("seed", tmp_path / "text.npz", "-k", 2)
    assert "sparse" in refused("seed", tmp_path / "outside.npz", "-k", 1)
    assert "for sparse X" in refused("seed", tmp_path / "x.npz", "-k", 2, "--metric", "manhattan")
