"""What is read from files that are in order: headers, names, and what the user is told."""

from __future__ import annotations

import csv as plain_csv
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import csv, parquet

from kseeds.cli.csv_files import decide_header
from kseeds.cli.reading import read_rows
from tests.cli.common import X, refused, run, seed


def written(path):
    return np.column_stack([np.asarray(column) for column in csv.read_csv(path).columns])


@pytest.mark.parametrize(
    ("line", "is_header", "told"),
    [
        ("a,b,c", True, False),
        ("# a,b", True, False),
        (",a,b", True, False),  # an index of pandas; what is told is about the column
        ("0,1,2", True, True),
        (",0,1", True, True),
        ("0", True, True),
        ("id,2019,2020", True, True),
        ("a,true", True, True),
        ("1,2,3", False, True),
        ("0.0,1.0", False, True),
        ("0,1,3", False, True),
        ("1,0", False, True),
        ("-1e5,.5,+3.", False, True),
        (" 1 , 2 ", False, True),
        ("nan,inf", False, True),
        ("1.5,,2.5", False, True),
        ("1.5,NA,2.5", False, True),
        ("true,FALSE", False, True),
        ("1_000,2_000", True, False),
    ],
)
def test_what_a_header_is(line, is_header, told):
    header, note = decide_header(line.split(","))
    assert header == is_header
    assert (note is not None) == told
    if note:
        assert ("--no-header" if header else "--header") in note
        assert note.endswith(".")


def test_the_header_of_pandas(tmp_path):
    """Columns without names come out of pandas as 0,1,2: no row may be made of them."""
    pd.DataFrame(X).to_csv(tmp_path / "x.csv", index=False)
    done = seed(tmp_path / "x.csv", "-k", 300, "-o", tmp_path / "y.csv")
    assert "300 of 3 columns" in done.output
    note = [line for line in done.stderr.splitlines() if line.startswith("kseeds: ")]
    assert len(note) == 1
    assert "0,1,2, is taken as the header" in note[0]
    assert csv.read_csv(tmp_path / "y.csv").column_names == ["row", "0", "1", "2"]


def test_the_index_of_pandas_is_pointed_out(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc"))
    frame.to_csv(tmp_path / "x.csv")
    done = seed(tmp_path / "x.csv", "-k", 3)
    assert "has no name and is used as a coordinate" in done.stderr
    frame.set_index(frame.index**2).to_parquet(tmp_path / "x.parquet")
    done = seed(tmp_path / "x.parquet", "-k", 3)
    assert "__index_level_0__" in done.stderr


def test_a_csv_without_a_header_keeps_its_first_row(tmp_path):
    np.savetxt(tmp_path / "x.csv", X, delimiter=",")
    done = seed(tmp_path / "x.csv", "-k", 300, "-o", tmp_path / "y.csv")
    assert "300 of 3 columns" in done.output
    assert "is read as a row" in done.stderr
    assert csv.read_csv(tmp_path / "y.csv").column_names == ["row", "x0", "x1", "x2"]
    found = written(tmp_path / "y.csv")
    np.testing.assert_array_equal(found[:, 1:], X[found[:, 0].astype(int)])


def test_the_user_has_the_last_word_on_the_header(tmp_path):
    (tmp_path / "x.csv").write_text("0,1\n2,3\n4,5\n")
    done = seed(tmp_path / "x.csv", "-k", 3, "-o", tmp_path / "y.csv", "--no-header")
    assert "kseeds: " not in done.stderr
    assert sorted(written(tmp_path / "y.csv").tolist()) == [[0, 0, 1], [1, 2, 3], [2, 4, 5]]
    (tmp_path / "x.csv").write_text("7,8\n2,3\n4,5\n")
    done = seed(tmp_path / "x.csv", "-k", 2, "-o", tmp_path / "y.csv", "--header")
    assert "kseeds: " not in done.stderr
    assert csv.read_csv(tmp_path / "y.csv").column_names == ["row", "7", "8"]


@pytest.mark.parametrize(
    "text",
    ["1,2", "1,2\n", "\n\n1,2\n", "\ufeff1,2\n", "1,2\r\n", '"1","2"\n', "1,2\r"],
)
def test_one_line_is_one_row(tmp_path, text):
    (tmp_path / "x.csv").write_bytes(text.encode())
    seed(tmp_path / "x.csv", "-k", 1, "-o", tmp_path / "y.csv")
    assert written(tmp_path / "y.csv").tolist() == [[0, 1, 2]]


def test_lines_longer_than_a_block(tmp_path):
    """A hundred thousand numbers in a line are legitimate; few long ones are quicker to test."""
    wide = np.random.default_rng(1).integers(0, 9, size=(3, 2_000))
    names = ["n" * 900 + str(j) for j in range(wide.shape[1])]
    lines = [names, *(["0" * 900 + str(value) for value in row] for row in wide)]
    (tmp_path / "x.csv").write_text("".join(",".join(line) + "\n" for line in lines))
    rows = read_rows(tmp_path / "x.csv")
    assert rows.columns == names
    np.testing.assert_array_equal(np.column_stack(rows.values.columns), wide)


def test_a_column_named_row_is_kept_beside_the_row_numbers(tmp_path):
    names = ["row", "b", "row_number"]
    table = pa.table(dict(zip(names, X.T, strict=True)))
    parquet.write_table(table, tmp_path / "x.parquet")
    for target in ("y.csv", "y.parquet"):
        done = seed(tmp_path / "x.parquet", "-k", 9, "-o", tmp_path / target)
        reader = csv.read_csv if target == "y.csv" else parquet.read_table
        found = reader(tmp_path / target)
        assert found.column_names == ["row_number_2", *names]
        assert "column row_number_2" in done.output
        rows = np.asarray(found["row_number_2"])
        np.testing.assert_array_equal(np.column_stack(found.columns[1:]), X[rows])
    parquet.write_table(table.drop_columns("row_number"), tmp_path / "x.parquet")
    seed(tmp_path / "x.parquet", "-k", 9, "-o", tmp_path / "y.csv")
    assert csv.read_csv(tmp_path / "y.csv").column_names == ["row_number", "row", "b"]


@pytest.mark.parametrize("source", ["x.csv", "x.parquet"])
def test_two_columns_of_one_name_both_come_out(tmp_path, source):
    table = pa.Table.from_arrays([pa.array(column) for column in X.T], names=["a", "a", "b"])
    writer = csv.write_csv if source == "x.csv" else parquet.write_table
    writer(table, tmp_path / source)
    seed(tmp_path / source, "-k", 9, "-o", tmp_path / "y.csv")
    assert csv.read_csv(tmp_path / "y.csv").column_names == ["row", "a", "a", "b"]
    found = written(tmp_path / "y.csv")
    np.testing.assert_array_equal(found[:, 1:], X[found[:, 0].astype(int)])
    seed(tmp_path / source, "-k", 9, "-o", tmp_path / "y.npy")
    assert np.load(tmp_path / "y.npy").shape == (9, 3)
    line = refused("seed", tmp_path / source, "-k", 9, "-o", tmp_path / "y.parquet")
    assert "has the column 'a' twice" in line
    line = refused("seed", tmp_path / source, "-k", 9, "--weights", "a")
    assert "--weights a names 2 columns" in line


def test_weights_may_be_called_row(tmp_path):
    names = ["row", "a", "b"]
    values = np.abs(X)
    csv.write_csv(pa.table(dict(zip(names, values.T, strict=True))), tmp_path / "x.csv")
    seed(tmp_path / "x.csv", "-k", 9, "--weights", "row", "-o", tmp_path / "y.csv")
    assert csv.read_csv(tmp_path / "y.csv").column_names == ["row", "a", "b"]
    found = written(tmp_path / "y.csv")
    np.testing.assert_array_equal(found[:, 1:], values[found[:, 0].astype(int), 1:])


@pytest.mark.parametrize("name", ["[/red].csv", ":smile:.csv", "größe.csv", "a b.csv"])
def test_any_file_name_is_shown_as_it_is(tmp_path, monkeypatch, name):
    np.save(tmp_path / "x.npy", X)
    (tmp_path / os.path.dirname(name)).mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path)
    assert name in seed("x.npy", "-k", 2, "-o", name).output


def test_a_file_name_that_no_terminal_can_show(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", X)
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"gr\xf6.csv")
    assert "gr\\udcf6.csv" in seed("x.npy", "-k", 2, "-o", name).output
    assert os.path.exists(name)


def test_columns_of_whole_numbers_and_truth_values(tmp_path):
    text = "a,b,c\n" + "".join(f"{i},{'true' if i % 2 else 'false'},{i / 4}\n" for i in range(20))
    (tmp_path / "x.csv").write_text(text)
    seed(tmp_path / "x.csv", "-k", 20, "-o", tmp_path / "y.csv")
    rows = written(tmp_path / "y.csv")
    np.testing.assert_array_equal(rows[:, 1:], [[i, i % 2, i / 4] for i in rows[:, 0].astype(int)])


NAMES = st.sampled_from(
    ["row", "row_number", "row_number_2", "a", "A", "0", "1", "2", "", " ", "1.5", "nan", "NA",
     "true", "größe", "a,b", 'a"b', "'", "#", "x0", "1_0", "=1+1", "\\", "\u2028", "a b "]
)  # fmt: skip
VALUES = st.floats(-1e9, 1e9) | st.integers(-9, 9)


@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_no_name_and_no_row_is_ever_lost(tmp_path, data):
    """Whatever the first line looks like: every line is a row, or a header and said to be one."""
    names = data.draw(st.lists(NAMES, min_size=1, max_size=4))
    row = st.lists(VALUES, min_size=len(names), max_size=len(names))
    rows = data.draw(st.lists(row, min_size=1, max_size=6))
    header = data.draw(st.sampled_from(["--header", "--no-header", None]))
    lines = [names, *rows] if header == "--header" else rows
    if header is None and data.draw(st.booleans()):
        lines = [names, *rows]
    with open(tmp_path / "x.csv", "w", newline="") as file:
        plain_csv.writer(file, quoting=data.draw(st.sampled_from([0, 1]))).writerows(lines)
    done = run(
        "seed", tmp_path / "x.csv", "-k", 1, "-o", tmp_path / "y.csv", *filter(None, [header])
    )
    first = [str(field) for field in lines[0]]
    is_header, note = decide_header(first) if header is None else (header == "--header", None)
    said = [line for line in done.stderr.splitlines() if "the first line of" in line]
    if done.exit_code:
        # No rows, or a first line of missing values or words that is read as a row.
        assert isinstance(done.exception, SystemExit), done.exception
        assert len(lines) == 1 or not is_header
        return
    assert len(said) == (note is not None)
    count = len(lines) - is_header
    seed(tmp_path / "x.csv", "-k", count, "-o", tmp_path / "y.csv", *filter(None, [header]))
    found = csv.read_csv(tmp_path / "y.csv")
    kept = first if is_header else [f"x{j}" for j in range(len(first))]
    assert found.column_names[1:] == kept
    assert found.column_names[0] not in kept
    numbers = found.column(0).to_pylist()
    assert sorted(numbers) == list(range(count))
    for number, *values in zip(*(column.to_pylist() for column in found.columns), strict=True):
        expected = [float(value) for value in lines[number + is_header]]
        assert [float(value) for value in values] == expected
