"""Reading rows from files and writing seeds to them, by pyarrow."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kseeds.result import Seeding

_KINDS = (".npy", ".csv", ".parquet")


@dataclass(frozen=True)
class Rows:
    """Rows of a file: their values, the weights if a column holds them, and column names."""

    values: Any
    weights: Any
    columns: list[str]


def read_table(path: Path, weights: str | None = None) -> Rows:
    """Read a .npy, .csv or .parquet file; ``weights`` names the column of the weights."""
    kind = _kind_of(path)
    if kind == ".npy":
        if weights is not None:
            raise ValueError(
                f"--weights {weights} names a column, but {path} has none; use .csv or .parquet."
            )
        values = np.load(path, mmap_mode="r", allow_pickle=False)
        return Rows(values, None, [f"x{j}" for j in range(values.shape[-1])])
    if kind == ".csv":
        table = _read_csv(path)
    else:
        from pyarrow import parquet

        table = parquet.read_table(path)
    column = None
    if weights is not None:
        if weights not in table.column_names:
            raise ValueError(
                f"--weights {weights} is no column of {path}; it has "
                f"{', '.join(table.column_names)}."
            )
        column = table[weights]
        table = table.drop_columns([weights])
    return Rows(table, column, list(table.column_names))


def _read_csv(path: Path) -> Any:
    """Read a .csv file; a first line that is all numbers is a row, not a header."""
    from pyarrow import csv

    table = csv.read_csv(path)
    if not all(_is_number(name) for name in table.column_names):
        return table
    names = [f"x{j}" for j in range(table.num_columns)]
    return csv.read_csv(path, read_options=csv.ReadOptions(column_names=names))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def write_seeds(path: Path, seeding: Seeding | None, columns: list[str]) -> None:
    """Write the row number and the coordinates of every seed.

    Without a seeding, only check that writing will be possible, so that no one waits for
    seeds that then cannot be kept.
    """
    kind = _kind_of(path)
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}.")
    if seeding is None:
        return
    if kind == ".npy":
        np.save(path, seeding.centers)
        return
    import pyarrow as pa

    data = {"row": seeding.indices}
    data.update({name: seeding.centers[:, c] for c, name in enumerate(columns)})
    table = pa.table(data)
    if kind == ".csv":
        from pyarrow import csv

        csv.write_csv(table, path)
    else:
        from pyarrow import parquet

        parquet.write_table(table, path)


def _kind_of(path: Path) -> str:
    kind = path.suffix.lower()
    if kind not in _KINDS:
        raise ValueError(
            f"{path} has the ending {kind or 'none'!r}; use one of {', '.join(_KINDS)}."
        )
    return kind
