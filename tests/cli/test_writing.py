"""Output: checked before the work, whole or not there, and never in place of the input."""

from __future__ import annotations

import errno
import os
import signal
import stat

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from kseeds import kmeans_plusplus
from tests.cli.common import X, listing, refused, run, seed, started

KINDS = ("npy", "csv", "parquet")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", X)
    csv.write_csv(pa.table({"a": X[:, 0], "b": X[:, 1]}), tmp_path / "x.csv")
    parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), tmp_path / "x.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def no_work(monkeypatch):
    """Fail if anything is read or drawn."""
    monkeypatch.setattr("kseeds.cli.commands.read_rows", None)


@pytest.mark.parametrize("kind", KINDS)
def test_row_numbers_alone(folder, kind):
    done = seed("x.npy", "-k", 7, "--random-state", 3, "--indices", f"rows.{kind}")
    assert f"rows.{kind}" in done.output
    if kind == "npy":
        rows = np.load("rows.npy")
        assert rows.dtype == np.int64
    else:
        table = (csv.read_csv if kind == "csv" else parquet.read_table)(f"rows.{kind}")
        assert table.column_names == ["row"]
        rows = np.asarray(table["row"])
    np.testing.assert_array_equal(rows, kmeans_plusplus(X, 7, random_state=3).indices)


def test_npy_output_says_that_it_lacks_row_numbers(folder):
    done = seed("x.npy", "-k", 7, "-o", "y.npy")
    assert "add --indices" in done.output
    done = seed("x.npy", "-k", 7, "-o", "y.npy", "--indices", "rows.npy")
    assert "add --indices" not in done.output
    np.testing.assert_array_equal(np.load("y.npy"), X[np.load("rows.npy")])


@pytest.mark.parametrize("option", ["-o", "--indices"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["same", "dotted", "symlink", "hard link"])
@pytest.mark.usefixtures("no_work")
def test_the_input_is_never_overwritten(folder, option, kind, way):
    source, target = f"x.{kind}", f"x.{kind}"
    if way == "dotted":
        target = f"../{folder.name}/x.{kind}"
    elif way == "symlink":
        target = f"link.{kind}"
        os.symlink(source, target)
    elif way == "hard link":
        target = f"link.{kind}"
        os.link(source, target)
    before = listing(folder)
    assert "are the same file" in refused("seed", source, "-k", 3, option, target)
    assert "are the same file" in refused("seed", target, "-k", 3, option, source)
    assert listing(folder) == before


@pytest.mark.usefixtures("no_work")
def test_two_outputs_are_two_files(folder):
    line = refused("seed", "x.npy", "-k", 3, "-o", "y.csv", "--indices", "./y.csv")
    assert "are the same file" in line


@pytest.mark.parametrize("option", ["-o", "--indices"])
@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("no/such/y.npy", "there is no folder"),
        ("y.txt", "y.txt has the ending '.txt'"),
        ("y.npz", "y.npz has the ending '.npz'"),
        ("y", "has the ending 'none'"),
        ("folder.csv", "it is not a file"),
        ("pipe.csv", "it is not a file"),
        ("x.npy/y.csv", "there is no folder"),
        ("n" * 300 + ".csv", "File name too long"),
        ("dangling.csv", "there is no folder"),
    ],
)
@pytest.mark.usefixtures("no_work")
def test_the_output_is_checked_before_the_work(folder, option, target, message):
    (folder / "folder.csv").mkdir()
    os.mkfifo("pipe.csv")
    os.symlink("no/such/file.csv", "dangling.csv")
    before = sorted(os.listdir())
    assert message in refused("seed", "x.npy", "-k", 3, option, target)
    assert sorted(os.listdir()) == before


@pytest.mark.usefixtures("no_work")
def test_a_folder_that_takes_no_files(folder, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("kseeds.cli.writing.open", full, raising=False)
    line = refused("seed", "x.npy", "-k", 3, "-o", "y.csv")
    assert line == "kseeds: y.csv cannot be written: Read-only file system."


@pytest.mark.usefixtures("no_work")
def test_a_read_only_file_is_kept(folder, monkeypatch):
    (folder / "y.csv").write_text("older")
    monkeypatch.setattr("kseeds.cli.writing.os.access", lambda path, mode: mode != os.W_OK)
    assert "it is read-only" in refused("seed", "x.npy", "-k", 3, "-o", "y.csv")
    assert (folder / "y.csv").read_text() == "older"


def test_what_was_there_is_replaced_with_its_rights(folder):
    (folder / "y.csv").write_text("older")
    os.chmod("y.csv", 0o640)
    os.symlink("y.csv", "link.csv")
    seed("x.npy", "-k", 3, "-o", "link.csv")
    assert os.path.islink("link.csv")
    assert csv.read_csv("y.csv").num_rows == 3
    assert stat.S_IMODE(os.stat("y.csv").st_mode) == 0o640
    before = os.umask(0o027)
    try:
        seed("x.npy", "-k", 3, "-o", "new.csv")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat("new.csv").st_mode) == 0o640


WRITERS = {
    "npy": "numpy.save",
    "csv": "pyarrow.csv.write_csv",
    "parquet": "pyarrow.parquet.write_table",
}
FAULTS = {
    "full": (OSError(errno.ENOSPC, "No space left on device"), 1),
    "interrupted": (KeyboardInterrupt(), 130),
    "memory": (MemoryError(), 1),
    "unexpected": (ZeroDivisionError(), 1),
}


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", ["write", "second file", "fsync", "replace"])
def test_an_interrupted_write_leaves_things_as_they_were(
    folder, monkeypatch, kind, fault, step, older
):
    error, code = FAULTS[fault]
    if older:
        (folder / f"y.{kind}").write_text("older")
        (folder / f"rows.{kind}").write_text("older rows")
    before = listing(folder)
    calls = []

    def fail(*arguments, **_):
        calls.append(arguments)
        if step == "second file" and len(calls) == 1:
            return
        for argument in arguments:
            if hasattr(argument, "write"):
                argument.write(b"half a file")
        raise error

    places = {"fsync": "os.fsync", "replace": "os.replace"}
    monkeypatch.setattr(places.get(step, WRITERS[kind]), fail)
    done = run("seed", "x.npy", "-k", 3, "-o", f"y.{kind}", "--indices", f"rows.{kind}")
    monkeypatch.undo()
    assert calls
    assert done.exit_code == code
    assert listing(folder) == before
    said = {"full": "No space left on device", "memory": "not enough memory"}
    assert said.get(fault, "") in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_in_the_middle_of_a_write(folder, number, code):
    (folder / "y.npy").write_text("older")
    before = listing(folder)
    hook = (
        "import numpy, time\n"
        "def save(file, *_, **__):\n"
        "    file.write(b'half'); file.flush(); print('here', flush=True); time.sleep(60)\n"
        "numpy.save = save\n"
    )
    with started(hook, "seed", "x.npy", "-k", 3, "-o", "y.npy") as process:
        assert process.stdout.readline() == "here\n"
        assert len(listing(folder)) == len(before) + 1
        process.send_signal(number)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == code
    assert "Traceback" not in errors
    assert listing(folder) == before


def test_a_large_mapped_input_survives(folder):
    """Rows are read from the map while seeds are drawn; nothing may be written into it."""
    before = listing(folder)
    refused("seed", "x.npy", "-k", 3, "-o", "x.npy")
    seed("x.npy", "-k", 3, "-o", "y.npy")
    assert listing(folder)["x.npy"] == before["x.npy"]
