"""How messages name positions in the data: row numbers, and column names where there are any."""

from __future__ import annotations

from typing import Any

from kseeds.errors import shown


def column_labels(data: Any) -> list[Any] | None:
    """Return the column names of a pandas, polars or Arrow table; None for other data."""
    if getattr(data, "ndim", 2) == 1:
        return None
    if hasattr(data, "schema") and hasattr(data, "column_names"):  # Arrow
        return list(data.column_names)
    columns = getattr(data, "columns", None)
    if columns is None or not hasattr(data, "dtypes"):
        return None
    return list(columns)


def column_name(column: int, labels: list[Any] | None) -> str:
    """Return the name of a column for a message, with its position if the name is not unique."""
    if labels is None or column >= len(labels):
        return str(column)
    label = labels[column]
    text = str(label) if isinstance(label, int) or hasattr(label, "item") else shown(label)
    return f"{text} (position {column})" if labels.count(label) > 1 else text


def place_of(index: tuple[int, ...], labels: list[Any] | None = None) -> str:
    """Return "row 3, column 'a'" for an index of one or two numbers."""
    if len(index) == 2:
        return f"row {index[0]}, column {column_name(index[1], labels)}"
    return f"row {index[0]}" if len(index) == 1 else f"position {index}"
