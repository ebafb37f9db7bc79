"""Whatever holds the rows: the right values, or one sentence that names the column."""

from __future__ import annotations

import collections
import decimal
import fractions

import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from kseeds import VPTree, assign, kmeans_parallel, kmeans_plusplus
from kseeds.inputs.containers import to_array

BIG = 2**60 + 1
DECIMALS = [decimal.Decimal("1.5"), decimal.Decimal("-2.25")]


class Duck:
    """Not a NumPy array, but turns into one."""

    def __init__(self, values):
        self._values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return self._values if dtype is None else self._values.astype(dtype)


class OnDevice:
    """An array elsewhere, whose library refuses to bring it here."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("not here;\nuse .get() to construct a NumPy array explicitly")


class Frame(pd.DataFrame):
    """A subclass of a known container, defined in another module."""


VALUES = [
    (pl.DataFrame({"a": DECIMALS, "b": [1, 2]}), [[1.5, 1], [-2.25, 2]]),
    (pl.DataFrame({"a": [True, False], "b": [0.5, 1.5]}), [[1, 0.5], [0, 1.5]]),
    (pl.DataFrame({"a": [BIG, 2], "b": [1, 2]}), [[float(BIG), 1], [2, 2]]),
    (pl.DataFrame({"a": [3, 4]}, schema={"a": pl.Int128}), [[3], [4]]),
    (pl.Series("w", [True, False]), [1, 0]),
    (pl.Series("w", DECIMALS), [1.5, -2.25]),
    (pa.table({"a": [True, False], "b": [BIG, 2]}), [[1, float(BIG)], [0, 2]]),
    (pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4])], ["a", "a"]), [[1, 3], [2, 4]]),
    (pa.chunked_array([[1, 2], [3]]), [1, 2, 3]),
    (pa.record_batch({"a": [1.5, 2.5]}), [[1.5], [2.5]]),
    (pd.DataFrame({"a": [True, False], "b": [0.5, 1.5]}), [[1, 0.5], [0, 1.5]]),
    (pd.DataFrame({"a": pd.array([1, 2], "Int64"), "b": [True, False]}), [[1, 1], [2, 0]]),
    (pd.DataFrame([[1, 2.5], [3, 4]], columns=["a", "a"]), [[1, 2.5], [3, 4]]),
    (pd.DataFrame({"a": pd.Series([1, 2.5], dtype=object), "b": [1, 2]}), [[1, 1], [2.5, 2]]),
    (pd.DataFrame({"a": pd.Series(DECIMALS, dtype=object)}), [[1.5], [-2.25]]),
    (pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 7.0]), "b": [1, 2]}), [[0, 1], [7, 2]]),
    (pd.DataFrame({"a": pd.arrays.SparseArray([0, 7])}), [[0], [7]]),
    (pd.DataFrame({"a": pd.Series([BIG, 2], dtype="int64[pyarrow]")}), [[float(BIG)], [2]]),
    (pd.array([1, 2], "Int64"), [1, 2]),
    (pd.Index([1, 2]), [1, 2]),
    (Frame({"a": pd.array([1, 2], "Int64")}), [[1], [2]]),
    (Duck([[1.0, 2.0]]), [[1, 2]]),
    (np.array([[1.0, 2.0]]).view(np.matrix), [[1, 2]]),
    ([np.array([1, 2]), np.array([0.5, 1.5], dtype=np.float32)], [[1, 2], [0.5, 1.5]]),
    (collections.deque([[1.0, 2.0]]), [[1, 2]]),
    (range(3), [0, 1, 2]),
    ([[fractions.Fraction(1, 2), 2**64]], [[0.5, 2.0**64]]),
    (np.array([[1.5, 2.5]], dtype=np.longdouble), [[1.5, 2.5]]),
    (np.longdouble(1.5), 1.5),
    (np.array([[1.5, 2.5]], dtype=">f8"), [[1.5, 2.5]]),
]


@pytest.mark.parametrize(("data", "wanted"), VALUES)
def test_values_are_read_as_they_are(data, wanted):
    found = to_array(data, "X")
    assert type(found) is np.ndarray
    assert found.dtype.kind in "biuf"
    assert found.shape == np.shape(wanted)
    np.testing.assert_array_equal(found, wanted)


def test_precision_does_not_depend_on_the_container():
    columns = {"a": np.array([1, 2], dtype=np.int16), "b": np.array([0.5, 1.5], dtype=np.float32)}
    flags = {**columns, "c": np.array([True, False])}
    for kind in (pd.DataFrame, pl.DataFrame, pa.table):
        for table in (columns, flags):
            assert kmeans_plusplus(kind(table), 1).centers.dtype == np.float32
        assert kmeans_plusplus(kind({"a": [1, 2]}), 1).centers.dtype == np.float64


NULLS = [
    pl.DataFrame({"p": [1.0, 2.0, 3.0, 4.0], "a": [BIG, None, 2, None]}),
    pl.DataFrame({"p": [1.0, 2.0, 3.0, 4.0], "a": [True, None, True, None]}),
    pl.DataFrame({"p": [1, 2, 3, 4], "a": [DECIMALS[0], None, DECIMALS[1], None]}),
    pa.table({"p": [1.0, 2.0, 3.0, 4.0], "a": [BIG, None, 2, None]}),
    pa.table({"p": [1.0, 2.0, 3.0, 4.0], "a": [True, None, True, None]}),
    pd.DataFrame({"p": [1.0, 2.0, 3.0, 4.0], "a": pd.array([BIG, None, 2, None], "Int64")}),
    pd.DataFrame({"p": [1.0, 2.0, 3.0, 4.0], "a": pd.array([True, None, True, None], "boolean")}),
    pd.DataFrame({"p": [1, 2, 3, 4], "a": pd.Series([BIG, None, 2, None], dtype="int64[pyarrow]")}),
    pd.DataFrame({"p": [1, 2, 3, 4], "a": [1.0, np.nan, 2.0, np.nan]}),
    Frame({"p": [1, 2, 3, 4], "a": pd.array([1, None, 2, None], "Int64")}),
    pd.DataFrame({"p": [1, 2, 3, 4], "a": pd.arrays.SparseArray([1.0, np.nan, 2.0, np.nan])}),
]


@pytest.mark.parametrize("data", NULLS)
def test_missing_values_are_counted_and_their_column_is_named(data):
    message = r"^X has nan in 2 rows, first at row 1, column 'a'; drop or fill such rows first\.$"
    for function in (kmeans_plusplus, kmeans_parallel):
        with pytest.raises(ValueError, match=message):
            function(data, 2)
    with pytest.raises(ValueError, match=message):
        assign(data, [[0.0, 0.0]])
    with pytest.raises(ValueError, match=message.replace("X", "centers")):
        assign(np.eye(2), data)
    with pytest.raises(ValueError, match=message.replace("X", "initial_centers")):
        kmeans_plusplus(np.eye(2), 1, initial_centers=data)
    with pytest.raises(ValueError, match=message.replace("X", "points")):
        VPTree(data)
    with pytest.raises(ValueError, match=message.replace("X", "queries")):
        VPTree(np.eye(2)).nearest_in_range(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([[1.0, np.inf], [np.nan, 1.0]], r"X has nan or infinite values in 2 rows, first inf at "),
        (pd.DataFrame([[1.0, np.nan]], columns=["a", "a"]), r"column 'a' \(position 1\)"),
        (pd.DataFrame([[1.0, np.nan]]), r"row 0, column 1;"),
        (pd.DataFrame([[1.0, np.nan]], columns=[7, 5]), r"row 0, column 5;"),
        (pd.DataFrame([[1.0, np.nan]], columns=pd.Index([7, 5])), r"row 0, column 5;"),
        (pd.DataFrame({"a": [1.0], ("b", 1): [np.nan]}), r"column \('b', 1\);"),
    ],
)
def test_bad_values_are_named_by_their_place(data, message):
    with pytest.raises(ValueError, match=message):
        kmeans_plusplus(data, 1)


def test_bad_values_far_down_are_named_by_their_place():
    data = np.zeros((10_000, 2))
    data[[5000, 9000], [1, 0]] = np.nan
    with pytest.raises(ValueError, match=r"X has nan in 2 rows, first at row 5000, column 1;"):
        assign(data, [[0.0, 0.0]])


DATES = ["2020-01-01", "2020-01-02"]
COLUMNS = [
    (pl.DataFrame({"a": [1, 2], "b": [[1], [2]]}), r"'b' of type List\(Int64\)"),
    (pl.DataFrame({"a": [1, 2], "b": [None, None]}), r"'b' of type Null"),
    (pl.DataFrame({"b": ["u", "v"]}, schema={"b": pl.Categorical}), r"'b' of type Categorical"),
    (pl.DataFrame({"b": DATES}).with_columns(pl.col("b").str.to_date()), r"'b' of type Date"),
    (pa.table({"b": pa.array([1.5, 2.5]).dictionary_encode()}), r"'b' of type dictionary<"),
    (pa.table({"a": [1], "b": pa.array([decimal.Decimal("1.5")])}), r"'b' of type decimal128\("),
    (pa.table({"b": [[1.0], [2.0]]}), r"'b' of type list<"),
    (pa.table({"b": [{"c": 1}]}), r"'b' of type struct<"),
    (pa.table({"b": pa.nulls(2)}), r"'b' of type null"),
    (pd.DataFrame({"b": pd.to_datetime(DATES)}), r"'b' of type datetime64\["),
    (
        pd.DataFrame({"b": pd.to_datetime(DATES).tz_localize("UTC")}),
        r"'b' of type datetime64\[.*UT",
    ),
    (pd.DataFrame({"b": pd.Categorical(["u", "v"])}), r"'b' of type category"),
    (pd.DataFrame({"b": pd.Categorical([1, 2])}), r"'b' of type category"),
    (pd.DataFrame({"b": [1 + 2j]}), r"'b' of type complex128"),
    (pd.DataFrame({"b": pd.Series([1.0, "x"], dtype=object)}), r"'b' of type object .*'x' .*row 1"),
    (
        pd.DataFrame({"b": pd.Series([1.0, None], dtype=object)}),
        r"'b' of type object .*None.*row 1",
    ),
    (pd.DataFrame([[1, "x"]], columns=["b", "b"]), r"column 'b' \(position 1\) of type"),
    (pd.DataFrame({"b": pd.arrays.SparseArray(["u"], fill_value="v")}), r"'b' of type Sparse\["),
]


@pytest.mark.parametrize(("data", "message"), COLUMNS)
def test_columns_that_are_not_numbers_are_named(data, message):
    with pytest.raises(TypeError, match=message) as caught:
        kmeans_plusplus(data, 1)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def named(module, name):
    """Return an object whose class pretends to come from a library."""
    return type(name, (), {"__module__": module})()


MASKED = np.ma.masked_array([1.0, 2.0], [False, True])
ARRAY = dask.array.ones((3, 2), chunks=2)
OTHERS = [
    (pl.LazyFrame({"a": [1.0]}), r"X is a polars LazyFrame; call \.collect\(\) first"),
    ([MASKED, MASKED], r"X holds masked entries; fill or drop them first"),
    ((MASKED, [1.0, 2.0]), r"X holds masked entries"),
    ([[1.0, np.ma.masked]], r"X holds masked entries"),
    (collections.deque([MASKED]), r"X holds masked entries"),
    ([[[1.0], [np.ma.masked]]], r"X holds masked entries"),
    (np.ma.masked, r"X is a masked array"),
    (ARRAY, r"X is a Dask Array; use the functions of kseeds\.dask, or call \.compute\(\) first"),
    ([ARRAY[0], ARRAY[1]], r"X is a Dask Array; use the functions of kseeds\.dask"),
    (
        dask.dataframe.from_pandas(pd.DataFrame({"a": [1.0]}), npartitions=1),
        r"X is a Dask DataFrame; use the functions of kseeds\.dask",
    ),
    (
        named("pyspark.sql.classic.dataframe", "DataFrame"),
        r"X is a Spark DataFrame; use the functions of kseeds\.spark, or call \.toPandas\(\) first",
    ),
    (iter([[1.0]]), r"X is a list_iterator, which .*; pass a list or an array of numbers"),
    ((row for row in [[1.0]]), r"X is a generator"),
    (map(float, [1]), r"X is a map"),
    ({1.0, 2.0}, r"X is a set"),
    ({"a": [1.0]}, r"X is a dict"),
    ({"a": [1.0]}.values(), r"X is a dict_values"),
    ("data.csv", r"X is a str"),
    (b"12", r"X is a bytes"),
    (None, r"X is None"),
    (object(), r"X is an object"),
    (pd.NA, r"X is a NAType"),
    (pa.RecordBatchReader.from_batches(pa.schema([]), []), r"X is a RecordBatchReader"),
    (OnDevice(), r"X is an OnDevice that cannot be made a NumPy array \(not here; use \.get"),
    ([sparse.csr_array(np.eye(2))[[0]]], r"X holds sparse matrices; .*scipy\.sparse\.vstack"),
    ([[1.0, None]], r"X has None at row 0, column 1, which is not a number"),
    ([[1.0, 2.0], [3.0, {"a": 1}]], r"X has \{'a': 1\} at row 1, column 1, which is not a number"),
    ([[1.0, "x"]], r"X has dtype <U32, which is not numeric"),
    (np.array([[b"1"]]), r"X has dtype \|S1, which is not numeric"),
    (np.zeros((2, 2), dtype="M8[D]"), r"X has dtype datetime64\[D\], which is not numeric"),
    (np.zeros((2, 2), dtype="m8[D]"), r"X has dtype timedelta64\[D\], which is not numeric"),
    (np.zeros(2, dtype=[("a", float), ("b", int)]), r"X is a structured array .*structured_to_uns"),
]


@pytest.mark.parametrize(("data", "message"), OTHERS)
def test_what_holds_no_rows_in_memory_is_refused(data, message):
    for function in (kmeans_plusplus, kmeans_parallel):
        with pytest.raises(TypeError, match=f"^{message}") as caught:
            function(data, 1)
        assert "\n" not in str(caught.value)
        assert str(caught.value).endswith(".")


COMPLETE = np.ma.masked_array([1.0, 2.0], [False, False])


@pytest.mark.parametrize(
    "data",
    [
        np.ma.masked_array(np.ones((2, 2))),
        np.ma.masked_array(np.ones((2, 2)), mask=np.zeros((2, 2), dtype=bool)),
        [COMPLETE, COMPLETE],
        (np.ma.masked_array([1.0, 2.0]), [1.0, 2.0]),
        collections.deque([COMPLETE]),
        [[COMPLETE[0], 2.0]],
    ],
)
def test_masks_that_hide_nothing_are_no_obstacle(data):
    """NumPy takes the values as they are; none of them is missing."""
    expected = assign(np.asarray(data), [[0.0, 0.0]])
    found = assign(data, [[0.0, 0.0]], sample_weight=np.ma.masked_array(np.ones(len(data))))
    np.testing.assert_array_equal(found.distances, expected.distances)
    assert found.potential == expected.potential


def test_records_with_masks_are_refused_as_records():
    records = np.ma.masked_array(np.zeros(2, dtype=[("a", float), ("b", int)]))
    with pytest.raises(TypeError, match=r"^X is a structured array with the fields a, b;"):
        kmeans_plusplus(records, 1)


def test_lazy_containers_elsewhere_are_to_be_loaded():
    with pytest.raises(
        TypeError, match=r"^sample_weight is a Dask Array; call \.compute\(\) first"
    ):
        kmeans_plusplus(np.eye(3), 2, sample_weight=ARRAY[:, 0])
    with pytest.raises(TypeError, match=r"^centers is a Dask Array; call \.compute\(\) first\.$"):
        assign(np.eye(2), ARRAY)
    with pytest.raises(
        TypeError, match=r"^queries is a Spark DataFrame; call \.toPandas\(\) first"
    ):
        VPTree(np.eye(2)).nearest_in_range(named("pyspark.sql", "DataFrame"))


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ([], ValueError, r"X is empty \(shape \(0,\)\)"),
        ([[]], ValueError, r"X is empty \(shape \(1, 0\)\)"),
        (np.array(3.0), ValueError, r"X has 0 dimensions, not 2; pass one row"),
        (7, ValueError, r"X has 0 dimensions, not 2"),
        ([[10**400]], ValueError, r"X has a number too large for float64; rescale it"),
    ],
)
def test_odd_shapes_are_refused(data, error, message):
    with pytest.raises(error, match=message):
        kmeans_plusplus(data, 1)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -1.0, 1.0], r"^sample_weight has -1\.0 at row 1; weights must be finite and 0 or"),
        ([1.0, -1.0, np.nan], r"^sample_weight has 2 bad rows, first -1\.0 at row 1"),
        (pl.Series([1.0, None, None]), r"2 bad rows, first nan at row 1"),
        (pa.array([1, None, None]), r"2 bad rows, first nan at row 1"),
        (pd.Series([1, None, None], dtype="Int64"), r"2 bad rows, first nan at row 1"),
    ],
)
def test_bad_weights_are_counted(weights, message):
    with pytest.raises(ValueError, match=message):
        kmeans_plusplus(np.eye(3), 1, sample_weight=weights)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (pd.Series(["a"] * 3), r"^sample_weight has type (str|object)"),
        (pd.Series(["a"] * 3, name="w"), r"^sample_weight has column 'w' of type"),
        (pl.Series(["a"] * 3), r"^sample_weight has type String"),
        (pa.array(["a"] * 3), r"^sample_weight has type string"),
        ([1.0, np.ma.masked, 1.0], r"^sample_weight holds masked entries"),
        ("w", r"^sample_weight is a str"),
    ],
)
def test_weights_that_are_not_numbers_are_refused(weights, message):
    with pytest.raises(TypeError, match=message):
        kmeans_plusplus(np.eye(3), 1, sample_weight=weights)
