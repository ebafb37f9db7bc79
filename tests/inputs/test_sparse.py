"""Sparse data in every form: canonical without touching the user's, refused where damaged."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from kseeds import assign, greedy_kmeans_plusplus, kmeans_parallel, kmeans_plusplus
from kseeds.inputs.sparse import is_sparse_data, sparse_rows

FUNCTIONS = (kmeans_plusplus, greedy_kmeans_plusplus, kmeans_parallel)


def example(seed=0, n=80, d=30):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, size=(n, d)) * (rng.random((n, d)) < 0.15) * 1.0


@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_every_format_is_the_same_rows(form, kind):
    X = example()
    matrix = getattr(sparse, f"{form}_{kind}")(X)
    rows = sparse_rows(matrix, "X")
    np.testing.assert_array_equal(rows.toarray(), X)
    found = kmeans_plusplus(matrix, 9, random_state=1)
    assert found.indices.tolist() == kmeans_plusplus(X, 9, random_state=1).indices.tolist()
    assert type(found.centers).__name__ == f"csr_{kind}"


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        (np.float32, np.float32), (np.float64, np.float64), (np.int8, np.float32),
        (np.uint16, np.float32), (np.int64, np.float64), (bool, np.float32),
        (np.longdouble, np.float64),
    ],
)  # fmt: skip
def test_every_dtype_of_entries_and_indices(index, dtype, wanted):
    X = example().astype(dtype)
    matrix = sparse.csr_array(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    found = kmeans_plusplus(matrix, 5, random_state=0)
    assert found.centers.dtype == wanted
    np.testing.assert_array_equal(found.centers.toarray(), X[found.indices].astype(wanted))


def test_unsorted_entries_duplicates_and_zeros_are_tidied_in_a_copy():
    entries = np.array([2.0, 0.0, 1.0, 5.0, 1.0, 3.0, 3.0, 2.0, -2.0, 2.0])
    columns = np.array([1, 0, 0, 2, 2, 1, 0, 2, 1, 1])
    matrix = sparse.csr_array((entries, columns, [0, 2, 3, 4, 8, 10, 10]), shape=(6, 3))
    matrix.has_sorted_indices = matrix.has_canonical_format = True  # not true
    kept = [part.copy() for part in (matrix.data, matrix.indices, matrix.indptr)]
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    rows = sparse_rows(matrix, "X")
    wanted = [[0, 2, 0], [1, 0, 0], [0, 0, 5], [3, 3, 3], [0, 0, 0], [0, 0, 0]]
    np.testing.assert_array_equal(rows.toarray(), wanted)
    assert rows.size == 6
    for before, after in zip(kept, (matrix.data, matrix.indices, matrix.indptr), strict=True):
        np.testing.assert_array_equal(before, after)
    twice = sparse.csr_array((np.array([True, True]), [0, 0], [0, 2]), shape=(1, 2))
    assert sparse_rows(twice, "X").toarray().tolist() == [[1.0, 0.0]]
    small = sparse.csr_array((np.array([100, 100], dtype=np.int8), [0, 0], [0, 2]), shape=(1, 2))
    assert sparse_rows(small, "X").toarray().tolist() == [[200.0, 0.0]]


def test_what_is_tidy_is_not_copied():
    matrix = sparse.csr_array(example())
    rows = sparse_rows(matrix, "X")
    assert np.shares_memory(rows.data, matrix.data)
    assert np.shares_memory(rows.indices, matrix.indices)


def damaged(**changes):
    matrix = sparse.csr_array(np.eye(4))
    for name, value in changes.items():
        setattr(matrix, name, np.asarray(value))
    return matrix


@pytest.mark.parametrize(
    "matrix",
    [
        damaged(indices=[0, 1, 2, 9]),
        damaged(indices=[0, 1, -2, 3]),
        damaged(indptr=[0, 1, 2, 3, 40]),
        damaged(indptr=[0, 3, 2, 3, 4]),
        damaged(indptr=[1, 1, 2, 3, 4]),
        damaged(indptr=[0, 1, 2]),
        damaged(indices=[0, 1]),
    ],
)
def test_a_damaged_matrix_is_refused(matrix):
    for function in FUNCTIONS:
        with pytest.raises(
            ValueError, match=r"X is a damaged sparse matrix \(.*\); build it again"
        ):
            function(matrix, 2)
    with pytest.raises(ValueError, match="centers is a damaged sparse matrix"):
        assign(sparse.csr_array(np.eye(4)), matrix)


BAD = [
    (
        sparse.csr_array(np.array([[1.0, 0.0], [0.0, np.nan]])),
        r"X has nan at row 1, column 1; drop",
    ),
    (
        sparse.csr_array(np.array([[0, -np.inf], [0, np.inf]])),
        r"X has -inf in 2 rows, first at row 0",
    ),
    (sparse.csr_array((0, 3)), r"X is empty \(shape \(0, 3\)\)"),
    (sparse.csr_array((3, 0)), r"X is empty \(shape \(3, 0\)\)"),
    (sparse.csr_array(np.eye(3) * 1j), "X has complex dtype complex128"),
    (sparse.coo_array(np.ones(5)), r"X has 1 dimensions, not 2"),
]


@pytest.mark.parametrize(("matrix", "message"), BAD)
def test_bad_data_is_named(matrix, message):
    for function in FUNCTIONS:
        with pytest.raises((TypeError, ValueError), match=message):
            function(matrix, 1)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "haversine", lambda a, b: 0.0])
def test_other_metrics_are_refused_with_an_alternative(metric):
    X = sparse.csr_array(example())
    message = r"is not available for sparse X; use 'euclidean', 'cosine' or 'angular', or pass X\."
    for function in FUNCTIONS:
        with pytest.raises(ValueError, match=message):
            function(X, 2, metric=metric)
    with pytest.raises(ValueError, match=message):
        assign(X, X[:2], metric=metric)


def test_the_algorithm_of_the_paper_makes_it_dense_up_to_a_limit():
    X = example()
    for function in (kmeans_plusplus, kmeans_parallel):
        found = function(sparse.csr_array(X), 4, algorithm="paper", random_state=0)
        wanted = function(X, 4, algorithm="paper", random_state=0)
        assert found.indices.tolist() == wanted.indices.tolist()
        assert sparse.issparse(found.centers)
        with pytest.raises(ValueError, match=r"X is a sparse matrix of shape .* 74 GiB dense"):
            function(sparse.csr_matrix((10**5, 10**5)), 2, algorithm="paper")


def test_an_empty_row_has_no_direction():
    X = sparse.csr_array(np.array([[1.0, 2.0], [0.0, 0.0]]))
    for metric in ("cosine", "angular"):
        with pytest.raises(
            ValueError, match="X has a zero vector at row 1, which has no direction"
        ):
            kmeans_plusplus(X, 1, metric=metric)


def test_centres_may_be_dense_or_sparse_and_are_checked():
    X = example()
    matrix, centers = sparse.csr_array(X), X[:6]
    wanted = assign(X, centers)
    for given in (centers, centers.tolist(), sparse.csr_matrix(centers), sparse.coo_array(centers)):
        np.testing.assert_array_equal(assign(matrix, given).labels, wanted.labels)
        np.testing.assert_array_equal(assign(X, given).labels, wanted.labels)
    with pytest.raises(ValueError, match="centers has 29 columns but the data has 30"):
        assign(matrix, centers[:, 1:])
    with pytest.raises(ValueError, match="initial_centers has 29 columns but the data has 30"):
        kmeans_plusplus(matrix, 2, initial_centers=sparse.csr_array(centers[:, 1:]))
    with pytest.raises(ValueError, match="centers is empty; pass at least one centre"):
        assign(matrix, np.empty((0, 30)))
    far = sparse.csr_array(np.eye(1, 30, 4) * 1e300)
    with pytest.raises(ValueError, match=r"centers has 1e\+300 at row 0, column 4, which is more"):
        assign(matrix.astype(np.float32), far)


def test_a_frame_of_sparse_columns_stays_sparse():
    X = example()
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X))
    assert is_sparse_data(frame)
    found = kmeans_plusplus(frame, 7, random_state=3)
    assert sparse.issparse(found.centers)
    assert found.indices.tolist() == kmeans_plusplus(X, 7, random_state=3).indices.tolist()
    mixed = frame.assign(more=np.arange(80.0))
    assert not is_sparse_data(mixed)
    assert isinstance(kmeans_plusplus(mixed, 3, random_state=0).centers, np.ndarray)


def test_nothing_is_made_dense_as_a_whole():
    rng = np.random.default_rng(0)
    n, d, per_row = 20_000, 200_000, 10
    columns = np.sort(rng.integers(0, d, size=(n, per_row)), axis=1)
    columns += np.arange(per_row)
    data, pointers = rng.random(n * per_row), np.arange(0, n * per_row + 1, per_row)
    X = sparse.csr_matrix((data, columns.reshape(-1), pointers), shape=(n, d + per_row))
    stored = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    for function in FUNCTIONS:
        assert len(function(X, 8, random_state=0).labels) == n  # compiles
        tracemalloc.start()
        assert len(function(X, 8, random_state=0).labels) == n
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        # Twice the input beside it, 24 bytes a row, two numbers a column, and workspaces.
        assert peak < 2 * stored + 24 * n + 2 * 8 * d + (8 << 20), function


@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_whose_squares_overflow_are_labelled_without_a_warning(function):
    X = np.array([[1e300, 0.0], [-1e300, 0.0], [0.0, 4e299], [0.0, 0.0]])
    seeding = function(sparse.csr_array(X), 2, random_state=0)
    np.testing.assert_array_equal(seeding.labels, function(X, 2, random_state=0).labels)
    assert np.isfinite(seeding.distances).all()


def test_scipy_is_imported_for_sparse_data_only():
    import subprocess
    import sys

    code = (
        "import sys, numpy as np, kseeds; kseeds.kmeans_plusplus(np.eye(9), 3).labels; "
        "kseeds.assign(np.eye(9), np.eye(9)); "
        "sys.exit('scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_dense_centres_weigh_is_said_before(caplog):
    X = sparse.random(50, 4000, density=0.001, format="csr", random_state=0)
    with caplog.at_level("INFO", logger="kseeds"):
        assign(X, np.eye(5, 4000))
    assert "centers are dense and weigh 0 MiB, more than the 0 MiB of the sparse X" in caplog.text
    caplog.clear()
    with caplog.at_level("INFO", logger="kseeds"):
        assign(X, sparse.eye_array(5, 4000))
        assign(X.toarray(), np.eye(5, 4000))
    assert caplog.text == ""
