"""Columns that products may leave out: what they would add is bounded by norms.

The columns that most rows have take most of the time and often hold little of the rows' squares:
in text, words that are everywhere and so tell nothing. What two rows have in common in the columns
left out is at most the product of their norms there (Cauchy and Schwarz). So the bound needs none
of their lists, and only few rows have to be looked at closer for it. It is the better the fewer
columns have a norm together, so they form *groups*; a *cut* leaves out the first few. Which cut
costs least depends on the data and on how many centres there are, so it is found by counting while
steps are taken.

References
----------
Bounds on what frequent terms can add are an idea of information retrieval: H. Turtle, J. Flood,
"Query evaluation: strategies and optimizations", Information Processing & Management 31(6), 1995.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_MOST_GROUPS = 20
"""More would make the bounds a little better, and cost as much to compute."""
_SHARE = 0.06
"""Of all squares, what the columns of all groups hold together."""
_PARTS = np.array([0.25, 0.4, 0.55, 0.75, 1.0])
"""Of the groups, what each cut leaves out."""
EXACT = -1
"""The size of a cut that leaves out nothing and rounds nothing: no row is looked at closer.

While there are few centres, a candidate would be nearer to most rows.
"""
_OFTEN, _RARELY = 2, 64
"""Steps after which a cut is tried again, if it cost about as much as the best, and at most."""
_FIRST_TRY = 12
"""Steps after which other cuts than the exact one are tried."""
_NEW = 0.25
"""How much the last count weighs against that of the step before."""


def groups_of(
    counts: npt.NDArray[np.int64], squares: npt.NDArray[np.float64], n_groups: int
) -> npt.NDArray[np.int16]:
    """Return the group of each column, in the order in which cuts leave them out.

    ``counts`` are the entries of each column and ``squares`` the sums of their squares. Columns go
    in the order of how many pairs of entries they spare for what they hold. Those that no cut
    leaves out have the group ``n_groups``.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.methods.greedy.cuts import groups_of
    >>> groups_of(np.array([50, 1, 1, 40]), np.array([0.5, 60.0, 35.0, 0.3]), 8).tolist()
    [2, 8, 8, 1]
    """
    groups = np.full(len(counts), n_groups, dtype=np.int16)
    used = np.flatnonzero(counts)
    total = float(squares.sum())
    if total > 0.0 and n_groups:
        with np.errstate(divide="ignore"):
            spared = np.square(counts[used], dtype=np.float64) / squares[used]
        order = used[np.argsort(-spared, kind="stable")]
        ends = _SHARE * np.square(np.arange(1, n_groups + 1) / n_groups)
        groups[order] = np.searchsorted(ends, np.cumsum(squares[order]) / total)
    return groups


def number_of_groups(per_row: float) -> int:
    """Return how many groups to make of rows of so many entries: a norm weighs half an entry."""
    return min(_MOST_GROUPS, int(per_row / 2.0))


class Choice:
    """Which cut to take, by what those taken before have cost.

    Examples
    --------
    >>> from kseeds.methods.greedy.cuts import Choice
    >>> choice = Choice(8)
    >>> for _ in range(40):
    ...     cuts = choice.of_step(4)
    ...     choice.learn(cuts, [1.0 + abs(cut - 4.0) for cut in cuts])
    >>> choice.best, int(choice.sizes[choice.best])
    (4, 6)
    """

    def __init__(self, n_groups: int) -> None:
        self.sizes = np.append(EXACT, np.rint(n_groups * _PARTS).astype(np.int64))
        """How many groups each cut leaves out."""
        self.best = 0
        """The cut that has cost least."""
        self._costs = np.full(len(self.sizes), np.nan)
        # Tried when there are some centres: before, most rows would have to be looked at.
        self._next = _FIRST_TRY + 2 * np.arange(len(self.sizes))
        self._last = np.zeros(len(self.sizes), dtype=np.int64)
        self._steps = 0

    def of_step(self, n_candidates: int) -> npt.NDArray[np.int64]:
        """Return a cut for each candidate: the best, but for one that tries another."""
        cuts = np.full(n_candidates, self.best)
        tried = int(np.argmin(self._next))
        if n_candidates > 1 and self._next[tried] <= self._steps:
            cuts[0] = tried
        self._steps += 1
        return cuts

    def learn(self, cuts: npt.NDArray[np.int64], costs: Sequence[float]) -> None:
        """Count what candidates have cost by their cuts."""
        for cut in set(cuts.tolist()):
            found = [cost for cost, its in zip(costs, cuts.tolist(), strict=True) if its == cut]
            new, old = sum(found) / len(found), self._costs[cut]
            weight = 1.0 - (1.0 - _NEW) ** (self._steps - self._last[cut])
            self._costs[cut] = new if math.isnan(old) else old + weight * (new - old)
            self._last[cut] = self._steps
        self.best = int(np.nanargmin(self._costs))
        for cut in set(cuts.tolist()):
            # Of one that is far worse than the best, trying it costs most.
            wait = _OFTEN * (self._costs[cut] / self._costs[self.best]) ** 2
            self._next[cut] = self._steps + min(_RARELY, wait)
