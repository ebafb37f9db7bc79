"""Writing seeds: checked before the work, and a whole file or none after it."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from kseeds.cli.reading import KINDS, kind_of
from kseeds.cli.refusals import reason
from kseeds.results import Seeding


def check_target(path: Path, *others: Path, kinds: tuple[str, ...] = KINDS) -> None:
    """Refuse a path that could not be written later, or is one of the ``others``.

    No one should wait for seeds that then cannot be kept.
    """
    kind = kind_of(path, kinds)
    real = Path(os.path.realpath(path))
    try:
        for other in others:
            if real == Path(os.path.realpath(other)) or (
                real.exists() and other.exists() and os.path.samefile(real, other)
            ):
                raise ValueError(f"{path} and {other} are the same file; write to another one.")
        if not real.parent.is_dir():
            raise ValueError(f"{path} cannot be written: there is no folder {real.parent}.")
        if real.exists() and not real.is_file():
            raise ValueError(f"{path} cannot be written: it is not a file; use another name.")
        if real.exists() and not os.access(real, os.W_OK):
            raise ValueError(f"{path} cannot be written: it is read-only; use another name.")
        with _beside(real):
            pass
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {reason(error)}.") from error
    if kind in (".csv", ".parquet"):
        import pyarrow  # noqa: F401  (missing it must show before the work)


def check_names(path: Path, source: Path, columns: list[str]) -> None:
    """Refuse names that a file of this kind cannot hold."""
    twice = [name for name, count in Counter(columns).items() if count > 1]
    if twice and kind_of(path) == ".parquet":
        raise ValueError(
            f"{source} has the column {twice[0]!r} twice, which most readers of .parquet refuse; "
            f"write .csv instead of {path}, or give the columns different names."
        )


def row_column(taken: list[str]) -> str:
    """Return the name of the column of row numbers: "row", or one that is free."""
    if "row" not in taken:
        return "row"
    name, number = "row_number", 1
    while name in taken:
        number += 1
        name = f"row_number_{number}"
    return name


def write_seeds(
    seeding: Seeding, columns: list[str], output: Path | None, indices: Path | None
) -> None:
    """Write the seeds and their row numbers; all files are complete before one is renamed.

    Parameters
    ----------
    seeding : Seeding
        What was drawn.
    columns : list of str
        The names of the coordinates.
    output : Path or None
        Where the coordinates go; .csv and .parquet files have the row numbers, too.
    indices : Path or None
        Where the row numbers go alone.
    """
    rows = seeding.indices
    with contextlib.ExitStack() as stack:
        if output is not None:
            file = stack.enter_context(replacing(output))
            if kind_of(output) == ".npy":
                np.save(file, seeding.centers, allow_pickle=False)
            else:
                coordinates = [seeding.centers[:, c] for c in range(len(columns))]
                names = [row_column(columns), *columns]
                _write_table(file, kind_of(output), [rows, *coordinates], names)
        if indices is not None:
            file = stack.enter_context(replacing(indices))
            if kind_of(indices) == ".npy":
                np.save(file, rows, allow_pickle=False)
            else:
                _write_table(file, kind_of(indices), [rows], ["row"])


def _write_table(file: BinaryIO, kind: str, arrays: list[Any], names: list[str]) -> None:
    import pyarrow as pa
    from pyarrow import csv, parquet

    table = pa.Table.from_arrays([pa.array(array) for array in arrays], names=names)
    if kind == ".csv":
        csv.write_csv(table, file)
    else:
        parquet.write_table(table, file)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` when it is complete, and only then.

    Whatever goes wrong before, an older file at ``path`` stays as it is and nothing else is
    left in the folder.
    """
    real = Path(os.path.realpath(path))  # a link keeps leading to what it led to
    try:
        with _terminable(), _beside(real) as (file, temporary):
            yield file
            file.flush()
            _settle(file)
            file.close()
            if real.exists():
                shutil.copymode(real, temporary)
            os.replace(temporary, real)
    except OSError as error:
        raise ValueError(f"{path} could not be written: {reason(error)}.") from error


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """Open a temporary file in the folder of ``path``; remove it unless it was renamed."""
    temporary = path.parent / f".kseeds-{secrets.token_hex(8)}.tmp"
    try:
        # Not tempfile, which would give the file its own, narrower rights.
        with open(temporary, "xb") as file:
            yield file, temporary
    finally:
        temporary.unlink(missing_ok=True)


def _settle(file: BinaryIO) -> None:
    """Wait until the file is on the disk, so that a crash cannot leave a name without content."""
    try:
        os.fsync(file.fileno())
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not every file system can
            raise


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM unwind while a file is written, so that nothing is left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
