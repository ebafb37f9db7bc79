"""Files that are not what their name says: one sentence, never a traceback, never a pickle."""

from __future__ import annotations

import os
import pickle
from io import BytesIO

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import csv, parquet

from tests.cli.common import X, listing, refused, run, started


def saved(array, **options) -> bytes:
    file = BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def archive(**options) -> bytes:
    file = BytesIO()
    np.savez(file, a=X, **options)
    return file.getvalue()


def as_parquet(**columns) -> bytes:
    file = BytesIO()
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def as_csv() -> bytes:
    file = BytesIO()
    csv.write_csv(pa.table({"a": X[:30, 0], "b": X[:30, 1]}), file)
    return file.getvalue()


class Unpickled:
    """Leaves a file behind when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("unpickled",)


GOOD = saved(X)

CASES = {
    "empty.npy": (b"", "is empty"),
    "short.npy": (b"\x93NU", "is not in the .npy format"),
    "text.npy": (b"1,2\n3,4\n", "is not in the .npy format"),
    "pickle.npy": (pickle.dumps(Unpickled()), "is not in the .npy format"),
    "renamed.npy": (archive(), "is an .npz archive"),
    "archive.npz": (archive(), "is an .npz archive without a sparse matrix"),
    "objects.npy": (saved(np.array([[Unpickled()]])), "which are never unpickled"),
    "scalar.npy": (saved(np.float64(3)), "holds an array of shape (), not of rows and columns"),
    "line.npy": (saved(X[0]), "save X.reshape(-1, 1)"),
    "cube.npy": (saved(X[None]), "holds an array of shape (1, 300, 3)"),
    "rowless.npy": (saved(X[:0]), "is empty (shape (0, 3))"),
    "columnless.npy": (saved(X[:, :0]), "is empty (shape (300, 0))"),
    "text_array.npy": (saved(np.array([["a"]])), "is not numeric"),
    "complex.npy": (saved(X + 1j), "has complex dtype"),
    "dates.npy": (saved(np.zeros((3, 2), "M8[s]")), "is not numeric"),
    "records.npy": (saved(np.zeros((3, 2), "f4,f4")), "structured array"),
    "nan.npy": (saved(np.where(X > 2, np.nan, X)), "nan"),
    "cut.npy": (GOOD[:-8], "is damaged or cut off"),
    "cut_header.npy": (GOOD[:60], "is damaged or cut off"),
    "magic.npy": (GOOD[:6], "is damaged or cut off"),
    "version.npy": (GOOD[:6] + b"\x09\x00" + GOOD[8:], "is damaged or cut off"),
    "negative.npy": (GOOD.replace(b"(300, 3)", b"(-30,-3)"), "is damaged or cut off"),
    "vast.npy": (GOOD.replace(b"(300, 3), }", b"(3" + b"0" * 30 + b",3)}"), "is damaged"),
    "tokens.npy": (GOOD.replace(b"(300, 3), }", b"(((((((((("), "is damaged or cut off"),
    "empty.csv": (b"", "is empty"),
    "blank.csv": (b"\n\n\r\n", "is empty"),
    "header.csv": (b"a,b\n", "has a header but no rows"),
    "header_only.csv": (b"a,b", "has a header but no rows"),
    "pandas_header.csv": (b"0,1\n", "has a header but no rows"),
    "ragged.csv": (b"a,b\n1,2\n3\n", "Row #3: Expected 2 columns, got 1"),
    "long.csv": (b"a,b\n1,2\n3,4,5\n", "Row #3: Expected 2 columns, got 3"),
    "word.csv": (b"a,b\n1,2\n3,x\n", "has 'x' in column 'b' at row 1, which is not a number"),
    "quote.csv": (b'a,b\n1,2\n"3,4\n5,6\n', "cannot be read as .csv"),
    "semicolons.csv": (b"a;b\n1;2\n", "in column 'a;b' at row 0"),
    "spaces.csv": (b"1 2\n3 4\n", "in column '1 2' at row 0"),
    "nothing.csv": (b"a,b\n1,\n2,\n", "has nothing in column 'b'"),
    "latin.csv": ("größe,b\n1,2\n".encode("latin-1"), "is not UTF-8 text"),
    "latin_late.csv": (b"a,b\n" + b"1,2\n" * 50_000 + b"\xf6,2\n", "'\ufffd' in column 'a' at row"),
    "utf16.csv": ("a,b\n1,2\n".encode("utf-16"), "is not UTF-8 text"),
    "binary.csv": (bytes(range(256)) * 20, "is not UTF-8 text"),
    "array.csv": (GOOD, "is not UTF-8 text"),
    "huge.csv": (b"a,b\n" + b"x" * 5_000_000 + b",1\n", "xxx…' in column 'a' at row 0"),
    "huge_header.csv": (b"x" * 5_000_000 + b",b\n1\n", "Expected 2 columns, got 1"),
    "huge_word.csv": (b"a" * 3_000_000, "has a header but no rows"),
    "nul.csv": (b"a,b\n1,\x002\n", "which is not a number"),
    "date.csv": (b"a,b\n1,2024-01-01\n", "is not numeric"),
    "gap.csv": (b"a,b\n1,\n2,3\n", "nan"),
    "weights.csv": (b"w\n1\n2\n", "has no columns besides the weights"),
    "word_weights.csv": (b"a,w\n1,x\n", "has 'x' in column 'w' at row 0"),
    "empty.parquet": (b"", "cannot be read as .parquet"),
    "text.parquet": (b"a,b\n1,2\n3,4\n", "cannot be read as .parquet"),
    "cut.parquet": (as_parquet(a=X[:, 0])[:-9], "cannot be read as .parquet"),
    "head.parquet": (as_parquet(a=X[:, 0])[:40], "cannot be read as .parquet"),
    "rowless.parquet": (as_parquet(a=X[:0, 0]), "has no rows"),
    "word.parquet": (as_parquet(a=["x", "y"]), "has 'x' in column 'a' at row 0"),
    "as_text.parquet": (as_parquet(a=["1", "2"]), "numbers in column 'a' as text"),
    "lists.parquet": (as_parquet(a=[[1.0], [2.0]]), "is not numeric"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path, monkeypatch, name):
    content, message = CASES[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(content)
    (tmp_path / "y.csv").write_text("older")
    words = ("--weights", "w") if "weights" in name else ()
    target = "y.npz" if name.endswith(".npz") else "y.csv"
    done = run("seed", name, "-k", 1, "-o", target, *words)
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 1
    *notes, line = done.stderr.splitlines()
    assert all(note.startswith(f"kseeds: the first line of {name}") for note in notes)
    assert line.startswith("kseeds: ")
    assert line.endswith(".")
    assert message in line
    assert len(line) < 400
    assert "pickle=True" not in line
    assert listing(tmp_path) == {name: content, "y.csv": b"older"}
    assert not (tmp_path / "unpickled").exists()


@pytest.mark.parametrize("name", ["x.npy", "x.csv", "x.parquet"])
def test_a_file_that_is_not_there(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    line = refused("seed", name, "-k", 3)
    assert line == f"kseeds: {name} cannot be read: No such file or directory."


@pytest.mark.parametrize("name", ["x.npy", "x.csv"])
def test_a_folder_in_place_of_a_file(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir()
    assert refused("seed", name, "-k", 3) == f"kseeds: {name} cannot be read: Is a directory."


@pytest.mark.parametrize("name", ["x.npy", "x.csv", "x.parquet"])
def test_a_pipe_is_not_waited_for(tmp_path, name):
    """Files are read more than once, which would lose what a pipe gave the first time."""
    os.mkfifo(tmp_path / name)
    with started("", "seed", tmp_path / name, "-k", 3) as process:
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "is not a regular file" in errors


def test_an_empty_folder_of_parquet_files(tmp_path):
    (tmp_path / "x.parquet").mkdir()
    refused("seed", tmp_path / "x.parquet", "-k", 3)


def test_a_file_name_of_two_lines(tmp_path):
    refused("seed", tmp_path / "two\nlines.npy", "-k", 3)


@st.composite
def damaged(draw, content: bytes) -> bytes:
    """Return a good file with a few bytes changed, taken out or put in, or cut off."""
    found = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(found) - 1, 0)))
        change = draw(st.sampled_from(["set", "cut", "out", "in", "repeat"]))
        if change == "set" and found:
            found[at] = draw(st.integers(0, 255))
        elif change == "cut":
            del found[at:]
        elif change == "out":
            del found[at : at + draw(st.integers(1, 40))]
        elif change == "in":
            found[at:at] = draw(st.binary(min_size=1, max_size=20))
        else:
            found[at:at] = found[at : at + draw(st.integers(1, 40))]
    return bytes(found)


FILES = {
    "x.npy": saved(X[:30]),
    "x.csv": as_csv(),
    "x.parquet": as_parquet(a=X[:30, 0], b=np.arange(30)),
}


@pytest.mark.parametrize("name", FILES)
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_damaged_files_give_seeds_or_one_sentence(tmp_path, name, data):
    (tmp_path / name).write_bytes(data.draw(damaged(FILES[name])))
    target = tmp_path / "y.npy"
    target.unlink(missing_ok=True)
    done = run("seed", tmp_path / name, "-k", 2, "-o", target)
    assert not (tmp_path / "unpickled").exists()
    assert sorted(listing(tmp_path)) == sorted(
        {name} | ({"y.npy"} if done.exit_code == 0 else set())
    )
    if done.exit_code == 0:
        assert len(np.load(target)) == 2
        return
    assert done.exit_code == 1, done.exception
    assert isinstance(done.exception, SystemExit), done.exception
    lines = done.stderr.splitlines()
    assert all(line.startswith("kseeds") for line in lines)
    assert lines[-1].startswith("kseeds: ")
    assert lines[-1].endswith(".")
