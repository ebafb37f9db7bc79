"""How messages call things: values, kinds of object, places in the data, columns."""

from __future__ import annotations

from typing import Any

import numpy as np

_LONGEST = 60


def shown(value: Any) -> str:
    """Return ``value`` as a message shows it: on one line, and short."""
    try:
        plain = value.item() if isinstance(value, np.generic) else value
        text = " ".join(repr(plain).split())
    except Exception:  # Python refuses to print integers of thousands of digits, for one
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def kind_of(value: Any) -> str:
    """Return what ``value`` is: "a list", "an object", "None"."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def column_labels(data: Any) -> list[Any] | None:
    """Return the names of the columns of a pandas, polars or Arrow table, None of others."""
    if getattr(data, "ndim", 2) == 1:
        return None
    if hasattr(data, "schema") and hasattr(data, "column_names"):  # Arrow
        return list(data.column_names)
    columns = getattr(data, "columns", None)
    if columns is None or not hasattr(data, "dtypes"):
        return None
    return list(columns)


def column_name(column: int, labels: list[Any] | None) -> str:
    """Return how to call a column: by its label, with its position if that is not enough."""
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
