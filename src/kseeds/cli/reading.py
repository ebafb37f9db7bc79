"""Reading of .npy, .npz, .csv and .parquet files; nothing is ever unpickled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.cli import sparse_files
from kseeds.cli.csv_files import read_csv
from kseeds.cli.errors import reason, shortened

KINDS = (".npy", ".csv", ".parquet")
_ARCHIVE = "is an .npz archive, not a single array; save one of its arrays with np.save."


@dataclass(frozen=True)
class Rows:
    """The contents of a file.

    Attributes
    ----------
    values : ndarray, Arrow table or sparse matrix
        The coordinates: every column but the weights.
    weights : Arrow column or None
        The column of weights, if one was named.
    columns : list of str
        The names of the coordinates; a name may appear twice. None of a sparse matrix.
    notes : list of str
        Notes for the user on how the file was read.
    """

    values: Any
    weights: Any
    columns: list[str]
    notes: list[str]

    def leading(self, count: int) -> npt.NDArray[Any]:
        """Return the first columns as an array, or all if there are fewer; not of sparse rows."""
        if isinstance(self.values, np.ndarray):
            return self.values[:, :count]
        return np.column_stack([column.to_numpy() for column in self.values.columns[:count]])


def kind_of(path: Path, kinds: tuple[str, ...] = KINDS) -> str:
    """Return the ending of a path, if it is one of ``kinds``."""
    kind = path.suffix.lower()
    if kind not in kinds:
        known = kinds[0] if len(kinds) == 1 else f"one of {', '.join(kinds)}"
        raise ValueError(f"{path} has the ending {kind or 'none'!r}; use {known}.")
    return kind


def read_rows(path: Path, weights: str | None = None, header: bool | None = None) -> Rows:
    """Read a file.

    Parameters
    ----------
    path : Path
        A .npy, .npz, .csv or .parquet file, or a folder of .parquet files.
    weights : str, optional
        The name of the column that holds the weights.
    header : bool, optional
        Whether the first line of a .csv file is a header; by default decided by its contents.
    """
    kind = kind_of(path, (*KINDS, sparse_files.KIND))
    if header is not None and kind != ".csv":
        raise ValueError(f"--header and --no-header are for .csv files; leave them out for {path}.")
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise ValueError(f"{path} is not a regular file; save the rows to one first.")
        if kind in (".npy", sparse_files.KIND):
            _refuse_names(path, weights)
        if kind == sparse_files.KIND:
            matrix = sparse_files.read_sparse(path)
            return Rows(matrix, None, [], [])
        if kind == ".npy":
            return _read_npy(path)
        table, notes = read_csv(path, header) if kind == ".csv" else _read_parquet(path)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {reason(error)}.") from error
    column = None
    if weights is not None:
        at = _position(path, table, weights)
        column = table.column(at)
        _check_column(path, weights, column)
        table = table.remove_column(at)
    if table.num_columns == 0:
        raise ValueError(f"{path} has no columns besides the weights; add the coordinates.")
    for name, values in zip(table.column_names, table.columns, strict=True):
        _check_column(path, name, values)
    return Rows(table, column, list(table.column_names), notes)


def _refuse_names(path: Path, weights: str | None) -> None:
    if weights is not None:
        raise ValueError(
            f"--weights {weights} names a column, but {path} has none; use .csv or .parquet."
        )


def _read_npy(path: Path) -> Rows:
    """Memory-map an array; not with np.load, which also opens archives and pickles."""
    with open(path, "rb") as file:
        start = file.read(6)
    if not start:
        raise ValueError(f"{path} is empty; save an array with np.save.")
    if start.startswith(b"PK"):
        raise ValueError(f"{path} {_ARCHIVE}")
    if start != b"\x93NUMPY":
        raise ValueError(f"{path} is not in the .npy format; save an array with np.save.")
    try:
        values = np.lib.format.open_memmap(path, mode="r")
    except (OSError, MemoryError):
        raise
    except Exception as error:  # a damaged header fails in any part of NumPy's reader
        if "Python objects" in str(error):
            raise ValueError(
                f"{path} holds Python objects, which are never unpickled; save numbers instead."
            ) from error
        raise ValueError(
            f"{path} is damaged or cut off ({reason(error)}); save the array again."
        ) from error
    if values.ndim != 2:
        remedy = "; save X.reshape(-1, 1) if it is one column" if values.ndim == 1 else ""
        raise ValueError(
            f"{path} holds an array of shape {values.shape}, not of rows and columns{remedy}."
        )
    return Rows(values, None, [f"x{j}" for j in range(values.shape[1])], [])


def _read_parquet(path: Path) -> tuple[Any, list[str]]:
    from pyarrow import ArrowException, parquet

    if not path.exists():
        raise FileNotFoundError("No such file or directory")
    try:
        if path.is_dir():
            table = parquet.read_table(path)
        else:  # the only reader that accepts two columns of one name
            with parquet.ParquetFile(path) as file:
                table = file.read()
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path} cannot be read as .parquet: {reason(error)}.") from error
    if table.num_rows == 0:
        raise ValueError(f"{path} has no rows.")
    index = [name for name in table.column_names if name.startswith("__index_level_")]
    notes = [
        f"the column {name} of {path} is an index of pandas and is used as a coordinate; drop it "
        "if it only numbers the rows (pandas leaves it out with index=False)."
        for name in index
    ]
    return table, notes


def _position(path: Path, table: Any, weights: str) -> int:
    """Return the position of the column of weights."""
    found = [c for c, name in enumerate(table.column_names) if name == weights]
    if not found:
        names = shortened(", ".join(table.column_names))
        raise ValueError(f"--weights {weights} is not a column of {path}; it has {names}.")
    if len(found) > 1:
        raise ValueError(
            f"--weights {weights} names {len(found)} columns of {path}; give them different names."
        )
    return found[0]


def _check_column(path: Path, name: str, column: Any) -> None:
    """Reject text columns and empty columns, naming the column and the row.

    Other types (dates, lists) are rejected by the library.
    """
    from pyarrow import types

    of_text = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    if types.is_null(column.type):
        raise ValueError(f"{path} has nothing in column {name!r}; fill it or drop it.")
    if not any(is_text(column.type) for is_text in of_text):
        return
    for row, cell in enumerate(column):
        value = cell.as_py()
        if value is not None and not _reads_as_number(value):
            if isinstance(value, bytes):
                value = value.decode("utf-8", "replace")
            raise ValueError(
                f"{path} has {shortened(value, 40)!r} in column {name!r} at row {row}, which is "
                f"not a number; encode that column as numbers, drop it, or correct the row."
            )
    raise ValueError(
        f"{path} has its numbers in column {name!r} as text; convert that column to numbers."
    )


def _reads_as_number(value: str | bytes) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
