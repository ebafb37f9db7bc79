"""Reading of .csv files, and the decision whether the first line is a header."""

from __future__ import annotations

import csv as plain_csv
from pathlib import Path
from typing import Any

from kseeds.cli.errors import reason, shortened

_LONGEST_FIELD = 2**31 - 1
_BLOCK = 1 << 20


def read_csv(path: Path, header: bool | None) -> tuple[Any, list[str]]:
    """Return the rows as an Arrow table, and notes for the user about the first line.

    Parameters
    ----------
    path : Path
        The file.
    header : bool or None
        Whether the first line is a header; None to decide by its contents.
    """
    first = _first_line(path)
    notes = []
    if header is None:
        header, note = decide_header(first)
        if note:
            notes.append(f"the first line of {path}, {shortened(','.join(first), 60)}, {note}")
    if header and not first[0].strip():
        notes.append(
            f"the first column of {path} has no name and is used as a coordinate; drop it if it "
            "only numbers the rows (pandas leaves it out with index=False)."
        )
    table = _parse(path, None if header else [f"x{j}" for j in range(len(first))])
    if table is None or table.num_rows == 0:
        raise ValueError(f"{path} has a header but no rows; add rows, or use --no-header.")
    return table, notes


def decide_header(fields: list[str]) -> tuple[bool, str | None]:
    """Return whether a first line is a header, and a note for the user if that is ambiguous.

    Names are a header; values are a row. The numbers 0, 1, 2, … are a header, too: pandas writes
    them for columns without names. A wrong guess would silently lose or add a row, hence the note.
    """
    from pyarrow import csv

    counted = [str(j) for j in range(len(fields))]
    if fields == counted or fields == ["", *counted[:-1]] != [""]:
        return True, "is taken as the header that pandas writes; use --no-header if it is a row."
    known = csv.ConvertOptions()
    spelled = {*known.null_values, *known.true_values, *known.false_values}
    values = [_is_value(field, spelled) for field in fields]
    if all(values):
        return False, "has no names and is read as a row; use --header if it is a header."
    if any(value and field.strip() for value, field in zip(values, fields, strict=True)):
        return True, "is taken as the header; use --no-header if it is a row."
    return True, None


def _is_value(text: str, spelled: set[str]) -> bool:
    """Return whether a field is a number or one of the ``spelled`` values."""
    text = text.strip()
    if text in spelled:
        return True
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # Python accepts 1_000, .csv readers do not


def _first_line(path: Path) -> list[str]:
    """Return the fields of the first non-empty line."""
    before = plain_csv.field_size_limit(_LONGEST_FIELD)
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            first = next((fields for fields in plain_csv.reader(file) if fields), None)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8 text ({reason(error)}); save it as UTF-8."
        ) from error
    except plain_csv.Error as error:
        raise ValueError(f"{path} cannot be read as .csv: {reason(error)}.") from error
    finally:
        plain_csv.field_size_limit(before)
    if first is None:
        raise ValueError(f"{path} is empty; it should hold one line per row.")
    return first


def _parse(path: Path, names: list[str] | None) -> Any:
    """Return the table, or None if there are no lines after the header."""
    from pyarrow import ArrowInvalid, csv

    size = path.stat().st_size
    block = _BLOCK
    while True:
        options = {"column_names": names, "block_size": block}
        try:
            return csv.read_csv(path, read_options=csv.ReadOptions(**options))
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path} is not UTF-8 text ({reason(error)}); save it as UTF-8."
            ) from error
        except ArrowInvalid as error:
            # Either may be caused by a line longer than a block.
            small = "straddl" in str(error) or "Empty CSV" in str(error)
            if small and block < min(size, _LONGEST_FIELD):
                block = min(16 * block, _LONGEST_FIELD)
                continue
            if "Empty CSV" in str(error):
                return None
            why = _place_of_error(path, options) or error
            raise ValueError(
                f"{path} cannot be read as .csv: {reason(why)}; give every line as many fields "
                "as the first, separated by commas."
            ) from error


def _place_of_error(path: Path, options: dict[str, Any]) -> ValueError | None:
    """Return the error of reading with one thread, which includes the line number."""
    from pyarrow import csv

    try:
        csv.read_csv(path, read_options=csv.ReadOptions(**options, use_threads=False))
    except ValueError as error:
        return error
    return None
