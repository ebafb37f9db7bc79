"""When a refresh of bounds pays: its cost, against that of the rejections to be expected."""

from __future__ import annotations

import math
from typing import NamedTuple

from kseeds.inputs.problem import Problem
from kseeds.nearest import costs
from kseeds.nearest.choice import tree_is_possible

_TREE_FOR = 64
"""Rows a seed from which on a tree has to pay at its first refresh; with fewer rows to a seed
there will be several."""
_NEVER, _AT_ONCE = (math.inf, 0.0), (0.0, 0.0)


class Forecast(NamedTuple):
    """What is dear and what is cheap in a seeding at this moment.

    ``proposal`` and ``pair`` are the costs of a rejected proposal: itself, and each of its
    distances. A refresh costs ``partial`` and ``partial_pair`` for each pending centre, or ``full``
    and ``full_pair``.
    """

    proposal: float
    pair: float
    partial: float
    partial_pair: float
    full: float
    full_pair: float

    def full_is_cheaper(self, pending: int) -> bool:
        """Tell whether to refresh all rows."""
        full = self.full + self.full_pair * pending
        return full < self.partial + self.partial_pair * pending

    def refresh_is_due(
        self, spent: float, proposals: int, known: int, wanted: int, refreshed: int
    ) -> bool:
        """See `refresh_is_due`."""
        return refresh_is_due(self, spent, proposals, known, wanted, refreshed)


def refresh_is_due(
    forecast: Forecast, spent: float, proposals: float, known: int, wanted: int, refreshed: int
) -> bool:
    """Tell whether a refresh now is cheaper than the rejections to be expected without one.

    Proposals per seed grow like a power of the number of seeds since the last refresh (Σα²
    falls like one); the power is read off what was seen since then. A refresh pays at the
    latest when rejected proposals have cost as much as it: never more than twice the cost
    of the best schedule in hindsight. Compiled, too: only what Python and Numba both know.
    """
    pending = known - refreshed
    accepted = pending if pending > 0 else 0.5
    partial = forecast.partial + forecast.partial_pair * pending
    full = forecast.full + forecast.full_pair * pending
    least = partial if partial < full else full
    if spent >= least:
        return True
    rate = proposals / accepted
    rate = rate if rate > 1.0 else 1.0
    grown = known / refreshed
    # The rate seen is an average over the interval; 1.5 makes it the rate at its end.
    # `math`, because NumPy's logarithm may differ from the compiled one in the last bit.
    power = 1.5 * math.log(rate) / math.log(grown if grown > 1.1 else 1.1)
    power = power if power < 2.0 else 2.0
    seeds = known / (power + 1.0) * ((wanted / known) ** (power + 1.0) - 1.0)
    expected: float = spent / accepted * seeds * (1.0 - 1.0 / rate)
    return expected >= least


class Forecaster:
    """Makes the forecasts of one problem: costs that do not change, and those that do."""

    def __init__(self, problem: Problem, refresh: str) -> None:
        points, metric = problem.points, problem.metric
        self._refresh, self._n = refresh, len(points)
        self._proposal = costs.proposal(points, metric)
        self._pair = costs.proposal_pair(points, metric)
        self._gather, self._row_pair = costs.gather(points, metric), costs.pair(points, metric)
        self._build, self._tree_pair = math.inf, 0.0
        if tree_is_possible(points, metric):
            self._build, self._tree_pair = costs.tree_build(points), costs.tree_pair(points)

    def now(self, share: float, has_tree: bool, wanted: int) -> Forecast:
        """Return the forecast.

        ``share`` is the part of all (row, centre) pairs that the last partial refresh computed. A
        tree is paid for at the first of the refreshes that there will be.
        """
        fixed = self._n * (costs.SCAN + share * self._gather)
        partial = (fixed, self._n * share * self._row_pair)
        full = _NEVER
        if self._build < math.inf:
            of_building = 0.0 if has_tree else min(1.0, self._n / (wanted * _TREE_FOR))
            fixed = self._n * (costs.TREE_BATCH + of_building * self._build)
            full = (fixed, self._n * self._tree_pair)
        chosen = {
            "auto": (*partial, *full),
            "never": (*_NEVER, *_NEVER),
            "partial": (*_AT_ONCE, *_NEVER),
            "full": (*_NEVER, *_AT_ONCE),
        }
        return Forecast(self._proposal, self._pair, *chosen[self._refresh])
