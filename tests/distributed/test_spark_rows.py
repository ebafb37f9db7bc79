"""Rows from Spark in several batches: places and counts are those of the partition."""

from __future__ import annotations

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyspark")
rows = pytest.importorskip("kseeds.distributed.spark_rows")
partition = pytest.importorskip("kseeds.distributed.partition")


def part_of(batches, names, as_array, weighted=False):
    """Return the part, and what its survey finds wrong."""
    columns = [f"x{j}" for j in range(len(batches[0]))]
    blocks = [
        rows.block_of(pa.RecordBatch.from_arrays(batch, columns), as_array, weighted)
        for batch in batches
    ]
    part = rows.part_of(4, blocks, names, as_array)
    return part, partition.survey(part, None, "euclidean")[1].error


@pytest.mark.parametrize(
    ("batches", "error"),
    [
        ([[[1.0, 2.0]], [[3.0, 4.0]]], None),
        (
            [[[1.0, 2.0]], [[3.0, 4.0], None], [None]],
            "X has null in 2 rows, first at row 2, column 'f'; drop or fill such rows first.",
        ),
        (
            [[[1.0], None, None]],
            "X has null in 2 rows, first at row 1, column 'f'; drop or fill such rows first.",
        ),
        ([[None], [[1.0]]], "X has null at row 0, column 'f'; drop or fill such rows first."),
        (
            [[[1.0, 2.0], [3.0, 4.0]], [[1.0]], [[1.0, 2.0, 3.0]]],
            "X has rows of different lengths (2 columns at row 0, others in 2 rows, first at row "
            "2); give every row the same number of columns.",
        ),
        (
            [[[1.0]], [[2.0, 1.0], [1.0]]],
            "X has rows of different lengths (1 columns at row 0, others at row 1); give every "
            "row the same number of columns.",
        ),
        (
            [[[1.0, 2.0]], [[3.0, None], [None, None]]],
            "X has nan in 2 rows, first at row 1, column 'f[1]'; drop or fill such rows first.",
        ),
        ([[[]], [[], []]], "X is empty (shape (3, 0)); pass at least one row and one column."),
    ],
)
def test_arrays_in_batches_are_joined_and_bad_ones_counted(batches, error):
    made = [[pa.array(batch, pa.list_(pa.float64()))] for batch in batches]
    none = [pa.array([], pa.list_(pa.float64()))]
    for given in (made, [none, *made, none]):
        part, found = part_of(given, ["f"], True)
        assert found == error
        if error is None:
            np.testing.assert_array_equal(part.values, [[1.0, 2.0], [3.0, 4.0]])


def test_a_slice_of_arrays_starts_where_it_should():
    whole = pa.array([None, [9.0], [1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float64()))
    part, found = part_of([[whole[2:]]], ["f"], True)
    assert found is None
    np.testing.assert_array_equal(part.values, [[1.0, 2.0], [3.0, 4.0]])


def test_numbers_that_are_null_are_named_and_counted():
    ints = [pa.array([1, 2], pa.int32()), pa.array([None, 4], pa.int32())]
    floats = [pa.array([1.0, 2.0], pa.float32()), pa.array([3.0, None], pa.float32())]
    weights = [pa.array([1.0, 0.0]), pa.array([1.0, 1.0])]
    batches = [list(batch) for batch in zip(ints, floats, weights, strict=True)]
    part, found = part_of(batches, ["i", "x"], False, weighted=True)
    assert found == "X has nan in 2 rows, first at row 2, column 'i'; drop or fill such rows first."
    np.testing.assert_array_equal(part.weights, [1.0, 0.0, 1.0, 1.0])
    part, found = part_of(batches[:1], ["i", "x"], False, weighted=True)
    assert found is None
    np.testing.assert_array_equal(part.values, [[1.0, 1.0], [2.0, 2.0]])


def test_no_batches_are_an_empty_part():
    part = rows.part_of(4, [], ["a"], False)
    assert (part.number, len(part.values), part.error) == (4, 0, None)


def test_nearest_of_a_batch_is_right_or_names_the_partition():
    series = pd.Series([np.array([1.0, 0.0]), np.array([5.0, 0.0])])
    centers = np.array([[0.0, 0.0], [4.0, 0.0]])
    labels, distances = rows.nearest_of(0, series, centers, "euclidean", ["f"], True)
    assert (labels.tolist(), distances.tolist()) == ([0, 1], [1.0, 1.0])
    labels, distances = rows.nearest_of(0, series[:0], centers, "euclidean", ["f"], True)
    assert len(labels) == len(distances) == 0
    nulls = pd.Series([np.array([1.0, 0.0]), np.array([None, None])])
    with pytest.raises(ValueError, match=r"^a batch of partition 3 cannot be used: X has nan at "
                       r"row 1, column 'a'; drop or fill such rows first\.$"):  # fmt: skip
        rows.nearest_of(3, nulls, centers, "euclidean", ["a", "b"], False)
