"""Hypothesis strategies: data with every kind of trouble, in every container.

Hypothesis draws the few choices that make up a case (and can shrink them); the numbers are made
from them by a seeded generator, so that twenty thousand cases take minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.harness.containers import CONTAINERS, Held, fits, hold
from tests.harness.contents import DTYPES, KINDS, WEIGHTS, computed_in, contents, weights_of

# Sampled from lists, which Hypothesis does evenly: of ranges it prefers the ends.
ROWS = st.sampled_from([*range(1, 61), 63, 64, 65, 130, 700])
COLUMNS = st.sampled_from([*range(1, 41), 1, 1, 2, 2, 3, 3, 15, 16, 17, 33, 64])
SHARES = st.sampled_from([i / 100 for i in range(101)])
SEEDS = st.integers(0, 2**32 - 1)


@dataclass
class Data:
    """Data as a user holds it, and what kseeds should make of it.

    Attributes
    ----------
    story : str
        How it was made.
    held : Held
        The container.
    values : ndarray
        The numbers in the precision in which kseeds computes.
    seed : int
        For whatever else is to be drawn.
    """

    story: str
    held: Held
    values: np.ndarray
    seed: int

    @property
    def given(self) -> Any:
        """What to pass."""
        return self.held.given

    def __repr__(self) -> str:
        return f"make_data({self.story})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))  # Hypothesis would print all fields


def make_data(kind: str, n: int, d: int, dtype: str, container: str, seed: int) -> Data:
    """Return data made of these choices."""
    if not fits(container, dtype):
        container = "C order"
    values = contents(kind, n, d, dtype, seed)
    if container == "broadcast":
        values = np.tile(values[:1], (n, 1))
    held = hold(container, values, seed)
    if container == "list" and values.dtype.kind == "b":
        precision = np.dtype(np.float32)
    elif container == "list":
        precision = np.dtype(np.float64)  # Python has one float, and one int
    else:
        precision = computed_in(values)
    story = f"{kind!r}, {n}, {d}, {dtype!r}, {container!r}, {seed}"
    with np.errstate(under="ignore"):
        return Data(story, held, np.ascontiguousarray(values, dtype=precision), seed)


@st.composite
def data(
    draw: st.DrawFn,
    kinds: tuple[str, ...] = tuple(KINDS),
    dtypes: tuple[str, ...] = DTYPES,
    containers: tuple[str, ...] = tuple(CONTAINERS),
    rows: st.SearchStrategy[int] = ROWS,
    columns: st.SearchStrategy[int] = COLUMNS,
) -> Data:
    """Data of any kind in any container."""
    return make_data(
        draw(st.sampled_from(kinds)),
        draw(rows),
        draw(columns),
        draw(st.sampled_from(dtypes)),
        draw(st.sampled_from(containers)),
        draw(SEEDS),
    )


weight_kinds = st.sampled_from(WEIGHTS)


def count_for(share: float, most: int) -> int:
    """Return a number of seeds from 1 to ``most``."""
    return 1 + min(most - 1, int(share * most))


def weights_for(kind: str, case: Data) -> np.ndarray | None:
    """Return weights for the rows of a case."""
    return weights_of(kind, len(case.values), case.seed)
