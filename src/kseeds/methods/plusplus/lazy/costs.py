"""What things cost, in nanoseconds of the machine the constants were measured on.

Only ratios matter: they decide when a sweep pays. They are constants and not measured at run
time, so that the same random state gives the same seeds. ``python -m benchmarks.calibrate``
prints the table they come from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kseeds.distances.metrics import Family
from kseeds.inputs.problem import Problem
from kseeds.nearest.update import tree_is_possible


@dataclass(frozen=True)
class Costs:
    """The price of a proposal, of a distance, and of sweeping.

    Attributes
    ----------
    draw : float
        A proposal, without its distances.
    pair : float
        A distance of a proposal.
    scan, gather, row_pair : float
        A row that a sweep looks at, a row that it takes, and a distance of such a row.
    n_rows : int
        Rows in all.
    plant, refresh, refresh_pair : float
        Building a tree over the points, refreshing all rows by it, and what that costs more
        for each pending centre, all per row; infinite where there can be no tree.
    """

    draw: float
    pair: float
    scan: float
    gather: float
    row_pair: float
    n_rows: int
    plant: float = np.inf
    refresh: float = np.inf
    refresh_pair: float = 0.0

    def sweep(self, share: float) -> tuple[float, float]:
        """Return the fixed price of a sweep and its price per pending centre.

        ``share`` is the part of all (row, centre) pairs that the last sweep computed.
        """
        fixed = self.n_rows * (self.scan + share * self.gather)
        return fixed, self.n_rows * share * self.row_pair

    def whole(self, planting: float) -> tuple[float, float]:
        """Return the same for a refresh of all rows by a tree, and a share of building it."""
        fixed = self.refresh + (planting * self.plant if planting else 0.0)
        return self.n_rows * fixed, self.n_rows * self.refresh_pair


def costs_of(problem: Problem) -> Costs:
    """Return the costs for the shape, precision and metric of a problem."""
    n, d = problem.points.shape
    width = problem.points.itemsize / 4
    if problem.metric.family is Family.EUCLIDEAN:
        pair = width * (0.2 + 0.038 * d)
        row_pair = width * (0.07 + 0.035 * d)
        gather = 5.0 + 0.65 * d
    else:
        pair = row_pair = width * (10.0 + 0.1 * d)
        gather = 0.0
    # A proposal meets a group of 64 centres even if only a few of them are pending.
    draw = 250.0 + 40.0 * pair
    costs = Costs(draw=draw, pair=pair, scan=1.2, gather=gather, row_pair=row_pair, n_rows=n)
    if not tree_is_possible(problem.points, problem.metric):
        return costs
    return replace(
        costs, plant=width * (35.0 + d), refresh=10.0, refresh_pair=width * (0.003 + 0.001 * d)
    )


def sweep_is_due(
    spent: float, proposals: float, known: int, wanted: int, swept: int, price: Any
) -> bool:
    """Tell whether a sweep now is cheaper than the rejections to be expected without one.

    Proposals per seed grow like a power of the number of seeds since the last sweep (Σα²
    falls like one); the power is read off what was seen since then. A sweep pays at the
    latest when rejected proposals have cost as much as it: never more than twice the cost
    of the best schedule in hindsight. ``price`` holds what is fixed and what a pending centre
    adds, first of a sweep and then of a refresh by the tree.
    """
    accepted = max(known - swept, 0.5)
    least = min(price[0] + price[1] * (known - swept), price[2] + price[3] * (known - swept))
    if spent >= least:
        return True
    rate = max(proposals / accepted, 1.0)
    # The rate seen is an average over the interval; 1.5 makes it the rate at its end.
    # `math`, because NumPy's logarithm may differ from the compiled one in the last bit.
    power = min(2.0, 1.5 * math.log(rate) / math.log(max(known / swept, 1.1)))
    seeds = known / (power + 1.0) * ((wanted / known) ** (power + 1.0) - 1.0)
    return bool(spent / accepted * seeds * (1.0 - 1.0 / rate) >= least)
