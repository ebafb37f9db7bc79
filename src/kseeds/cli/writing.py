"""Writing of results: paths are checked before the work, files are replaced atomically."""

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

from kseeds.cli import sparse_files
from kseeds.cli.errors import reason
from kseeds.cli.reading import KINDS, kind_of
from kseeds.results import Clustering, Seeding


def check_target(path: Path, *others: Path, kinds: tuple[str, ...] = KINDS) -> None:
    """Reject a path that cannot be written, or is one of the ``others``.

    Called before the seeding, so that no result is lost for want of a file.
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
        import pyarrow  # noqa: F401  (fails before the work if missing)


def kinds_for(source: Path) -> tuple[str, ...]:
    """Return the kinds of files that rows of a file can be written to: sparse ones to .npz."""
    return (sparse_files.KIND,) if source.suffix.lower() == sparse_files.KIND else KINDS


def check_names(path: Path, source: Path, columns: list[str]) -> None:
    """Reject column names that a file of this kind cannot have."""
    if not columns:  # sparse
        return
    twice = [name for name, count in Counter(columns).items() if count > 1]
    if twice and kind_of(path) == ".parquet":
        raise ValueError(
            f"{source} has the column {twice[0]!r} twice, which most readers of .parquet refuse; "
            f"write .csv instead of {path}, or give the columns different names."
        )


def row_column(taken: list[str]) -> str:
    """Return the name of the column of row numbers: "row", or another if that is taken."""
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
        The seeds.
    columns : list of str
        The names of the coordinates.
    output : Path or None
        The file of the coordinates; .csv and .parquet files have the row numbers, too.
    indices : Path or None
        The file of the row numbers only.
    """
    rows = seeding.indices
    with contextlib.ExitStack() as stack:
        if output is not None:
            file = stack.enter_context(replacing(output))
            kind = kind_of(output, (*KINDS, sparse_files.KIND))
            if kind == sparse_files.KIND:
                sparse_files.write_sparse(file, seeding.centers)
            elif kind == ".npy":
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


def write_clustering(
    clustering: Clustering, columns: list[str], output: Path | None, labels: Path | None
) -> None:
    """Write the centres, and the labels and distances of all rows, like `write_seeds`.

    Parameters
    ----------
    clustering : Clustering
        The result of k-means.
    columns : list of str
        The names of the coordinates.
    output : Path or None
        The file of the centres.
    labels : Path or None
        The file of the labels; .csv and .parquet files have the distances, too.
    """
    with contextlib.ExitStack() as stack:
        if output is not None:
            file = stack.enter_context(replacing(output))
            if output.suffix.lower() == sparse_files.KIND:
                sparse_files.write_sparse(file, clustering.centers)
            elif kind_of(output) == ".npy":
                np.save(file, clustering.centers, allow_pickle=False)
            else:
                coordinates = [clustering.centers[:, c] for c in range(len(columns))]
                _write_table(file, kind_of(output), coordinates, columns)
        if labels is not None:
            file = stack.enter_context(replacing(labels))
            if kind_of(labels) == ".npy":
                np.save(file, clustering.labels, allow_pickle=False)
            else:
                found = [clustering.labels, clustering.distances]
                _write_table(file, kind_of(labels), found, ["label", "distance"])


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
    """Open a temporary file that replaces ``path`` once it is complete.

    If anything fails before that, an older file at ``path`` is unchanged and the temporary file
    is removed.
    """
    real = Path(os.path.realpath(path))  # the target of a link is replaced, not the link
    try:
        with _terminable(), _beside(real) as (file, temporary):
            yield file
            file.flush()
            _sync(file)
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
        # Not tempfile, which would restrict the permissions.
        with open(temporary, "xb") as file:
            yield file, temporary
    finally:
        temporary.unlink(missing_ok=True)


def _sync(file: BinaryIO) -> None:
    """Flush the file to disk, so that a crash cannot leave an empty file under its final name."""
    try:
        os.fsync(file.fileno())
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not every file system supports it
            raise


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Make SIGTERM raise SystemExit, so that the temporary file is removed."""
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
