"""Dask: what is refused before any task runs, what is declared, and workers without kseeds."""

from __future__ import annotations

import numpy as np
import pytest

import kseeds
from tests.distributed.common import one_sentence, whole_numbers

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
kseeds_dask = pytest.importorskip("kseeds.dask")

SEEDERS = [kseeds_dask.kmeans_plusplus, kseeds_dask.kmeans_parallel]


def must_not_run(*_, **__):
    raise AssertionError("a task was run")


@pytest.fixture
def no_tasks():
    with dask.config.set(scheduler=must_not_run):
        yield


def frame_of(X, **more):
    columns = dict(zip("abc", X.T, strict=True)) | more
    return dd.from_pandas(pd.DataFrame(columns), npartitions=3)


CENTERS = [
    ([["a", "b", "c"]], "centers has dtype"),
    ([[0.0, np.nan, 1.0]], "centers has nan at row 0, column 1"),
    ([1.0, 2.0, 3.0], "centers has 1 dimensions, not 2; use "),
    (np.empty((0, 3)), "centers is empty"),
    ([[1.0, 2.0]], "centers has 2 columns but the data has 3"),
    ([[1e300, 0.0, 0.0]], "centers has 1e+300 at row 0, column 0, which is more than the float32"),
    ([1.0, 2.0], "centers has 1 dimensions, not 2; pass rows of 3 columns"),
]


@pytest.mark.parametrize(("centers", "message"), CENTERS)
@pytest.mark.parametrize("kind", ["array", "frame", "unknown"])
def test_centers_are_checked_when_assign_is_called(centers, message, kind, no_tasks):
    X = whole_numbers(100)[0].astype(np.float32)
    rows = frame_of(X) if kind == "frame" else da.from_array(X, chunks=40)
    if kind == "unknown":
        rows = rows[da.from_array(np.ones(100, dtype=bool), chunks=40)]
    with pytest.raises((TypeError, ValueError)) as caught:
        kseeds_dask.assign(rows, centers)
    assert one_sentence(caught).startswith(message)


@pytest.mark.parametrize("seeder", SEEDERS)
def test_initial_centers_are_checked_before_any_task(seeder, no_tasks):
    X = da.from_array(whole_numbers(100)[0].astype(np.float32), chunks=40)
    for centers, message in CENTERS[:3] + CENTERS[4:]:
        with pytest.raises((TypeError, ValueError)) as caught:
            seeder(X, 3, initial_centers=centers)
        assert one_sentence(caught).startswith(f"initial_{message}")


@pytest.mark.parametrize("seeder", SEEDERS)
@pytest.mark.parametrize(
    ("more", "options", "message"),
    [
        ({"s": ["x"] * 100}, {}, "X has column 's' of type "),
        ({"t": pd.date_range("2020", periods=100)}, {}, "X has column 't' of type datetime64"),
        ({}, {"sample_weight": "w"}, "sample_weight='w' is not a column of X, which has a, b, c;"),
        ({"w": ["x"] * 100}, {"sample_weight": "w"}, "sample_weight has column 'w' of type "),
    ],
)
def test_columns_are_checked_before_any_task(seeder, more, options, message, no_tasks):
    frame = frame_of(whole_numbers(100)[0], **more)
    with pytest.raises((TypeError, ValueError)) as caught:
        seeder(frame, 3, **options)
    assert one_sentence(caught).startswith(message)


@pytest.mark.parametrize("seeder", SEEDERS)
def test_dtypes_and_shapes_are_checked_before_any_task(seeder, no_tasks):
    X, weights = whole_numbers(100)
    chunked = da.from_array(X, chunks=40)
    frame = frame_of(X, w=weights)
    for rows, weight, message in [
        (da.from_array(X.astype(str), chunks=40), None, "X has dtype <U"),
        (chunked.astype(complex), None, "X has complex dtype"),
        (chunked, da.from_array(weights.astype(str), chunks=40), "sample_weight has dtype <U"),
        (chunked, chunked, "sample_weight has 2 dimensions, not 1"),
        (frame, frame[["w"]], "sample_weight has 2 dimensions, not 1"),
        (frame[["w"]], "w", "X has no column besides sample_weight='w'"),
    ]:
        with pytest.raises((TypeError, ValueError)) as caught:
            seeder(rows, 3, sample_weight=weight)
        assert one_sentence(caught).startswith(message)


DTYPES = ["bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_chunk_has_the_declared_dtype(dtype):
    """Also an empty one, and a result of nothing but empty ones."""
    X = np.abs(whole_numbers(90)[0]).astype(dtype)
    keep = np.arange(90) >= 30  # leaves the first chunk empty
    rows = da.from_array(X, chunks=30)[da.from_array(keep, chunks=30)]
    none = da.from_array(X, chunks=30)[da.from_array(keep & ~keep, chunks=30)]
    known = kseeds.assign(X[keep], [[0.0, 1.0, 2.0], [9.0, 9.0, 9.0]])
    for part in (rows, none):
        labels, distances = kseeds_dask.assign(part, [[0.0, 1.0, 2.0], [9.0, 9.0, 9.0]])
        blocks = dask.compute(*(distances.to_delayed()), *(labels.to_delayed()))
        assert distances.dtype == known.distances.dtype
        assert {block.dtype for block in blocks[:3]} == {distances.dtype}
        assert {block.dtype for block in blocks[3:]} == {labels.dtype}
    found = kseeds_dask.assign(rows, [[0.0, 1.0, 2.0], [9.0, 9.0, 9.0]])
    np.testing.assert_array_equal(found.distances.compute(), known.distances)
    np.testing.assert_array_equal(found.labels.compute(), known.labels)


@pytest.mark.parametrize(
    "dtypes",
    [
        ("uint16", "int16", "int8"),
        ("bool", "int8", "int8"),
        ("float16", "float32", "int16"),
        ("float32", "int32", "float32"),
        ("int64", "float32", "bool"),
        ("Int16", "float32", "Float32"),
        ("Int64", "Int64", "boolean"),
    ],
)
def test_mixed_frames_have_the_declared_dtype(dtypes):
    X = np.abs(whole_numbers(90)[0]) % 2 if "boolean" in dtypes else np.abs(whole_numbers(90)[0])
    local = pd.DataFrame(
        {
            c: pd.Series(X[:, j]).astype("int64").astype(t)
            for j, (c, t) in enumerate(zip("abc", dtypes, strict=True))
        }
    )
    frame = dd.from_pandas(local, npartitions=3, sort=False)
    frame = frame.map_partitions(lambda part: part[part.index >= 30])  # the first is empty
    _, distances = kseeds_dask.assign(frame, [[0.0, 1.0, 2.0], [9.0, 9.0, 9.0]])
    known = kseeds.assign(local[30:], [[0.0, 1.0, 2.0], [9.0, 9.0, 9.0]])
    assert distances.dtype == known.distances.dtype
    blocks = dask.compute(*(distances.to_delayed()))
    assert [len(block) for block in blocks] == [0, 30, 30]
    assert {block.dtype for block in blocks} == {distances.dtype}
    np.testing.assert_array_equal(np.concatenate(blocks), known.distances)


def test_a_bad_partition_is_named_by_assign():
    X, _ = whole_numbers(100)
    X[85, 1] = np.nan
    labels, _ = kseeds_dask.assign(da.from_array(X, chunks=40), [[0.0, 0.0, 0.0]])
    with pytest.raises(
        ValueError, match=r"^partition 2 cannot be used: X has nan at row 5"
    ) as found:
        labels.compute()
    one_sentence(found)


def in_memory(function, *data):
    with pytest.raises(ValueError, match="drop or fill") as caught:
        function(*data)
    return str(caught.value)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([(5, "b", np.nan)], "X has nan at row 5, column 'b'"),
        ([(5, "b", np.nan), (7, "a", np.nan)], "X has nan in 2 rows, first at row 5, column 'b'"),
        ([(5, "b", -np.inf), (7, "a", np.nan)], "X has nan or infinite values in 2 rows, first"),
    ],
)
def test_bad_values_are_counted_and_their_columns_named(bad, message):
    """As in memory, in the rows of the partition."""
    whole = pd.DataFrame(whole_numbers(90)[0], columns=list("abc")).assign(w=1.0)
    for row, column, value in bad:
        whole.loc[30 + row, column] = value
    frame = dd.from_pandas(whole, npartitions=3)
    part = whole[list("abc")][30:60]
    expected = f"partition 1 cannot be used: {in_memory(kseeds.assign, part, [[0.0] * 3])}"
    assert expected.startswith(f"partition 1 cannot be used: {message}")
    for seeder in SEEDERS:
        with pytest.raises(ValueError, match="cannot be used") as caught:
            seeder(frame, 3, sample_weight="w")
        assert one_sentence(caught) == expected
    labels, _ = kseeds_dask.assign(frame[list("abc")], [[0.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match="cannot be used") as caught:
        labels.compute()
    assert one_sentence(caught) == expected


def test_bad_partitions_are_counted():
    X, _ = whole_numbers(100)
    X[[45, 85, 90], 1] = np.nan
    with pytest.raises(ValueError, match=r"^2 partitions cannot be used, first partition 1: X has "
                       r"nan at row 5, column 1; ") as found:  # fmt: skip
        kseeds_dask.kmeans_plusplus(da.from_array(X, chunks=40), 3)
    one_sentence(found)


def test_an_assignment_is_shown_in_a_line():
    X, _ = whole_numbers(100)
    shown = repr(kseeds_dask.assign(da.from_array(X, chunks=40), X[:9]))
    assert shown == "<DaskAssignment: 100 rows in 3 chunks (float64 distances), not computed yet>"
    frame = repr(kseeds_dask.assign(frame_of(X), X[:9]))
    assert frame == "<DaskAssignment: rows in 3 chunks (float64 distances), not computed yet>"


@pytest.fixture(scope="module")
def without_kseeds():
    """Give a cluster whose worker cannot import kseeds."""
    distributed = pytest.importorskip("distributed")
    hide = "import sys\nsys.modules['kseeds'] = None\n"
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(n_workers=1, preload=hide, **options) as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


@pytest.mark.parametrize("call", ["kmeans_plusplus", "kmeans_parallel", "assign"])
def test_a_worker_without_kseeds_is_named(without_kseeds, call, monkeypatch):
    from kseeds.distributed.dask_backend import DaskBackend

    monkeypatch.setattr(DaskBackend, "run", must_not_run)  # it would never return
    X = da.from_array(whole_numbers(100)[0], chunks=40)
    address = next(iter(without_kseeds.scheduler_info()["workers"]))
    with pytest.raises(RuntimeError) as caught:
        getattr(kseeds_dask, call)(X, [[0.0, 0.0, 0.0]] if call == "assign" else 3)
    text = one_sentence(caught)
    assert text.startswith(f"kseeds cannot be imported on the Dask worker {address} (")
    assert "pip install" in text


def test_another_scheduler_than_the_client_needs_no_workers(without_kseeds):
    X = da.from_array(whole_numbers(100)[0], chunks=40)
    with dask.config.set(scheduler="synchronous"):
        assert len(kseeds_dask.kmeans_plusplus(X, 3).indices) == 3


def test_workers_of_another_version_are_named(monkeypatch):
    distributed = pytest.importorskip("distributed")
    X = da.from_array(whole_numbers(100)[0], chunks=40)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        monkeypatch.setattr("kseeds.distributed.preflight.__version__", "9.9.9")
        with pytest.raises(RuntimeError, match=r"kseeds is .* but 9\.9\.9 here; .*") as caught:
            kseeds_dask.kmeans_plusplus(X, 3)
        one_sentence(caught)
