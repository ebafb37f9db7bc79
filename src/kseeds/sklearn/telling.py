"""What ``verbose=1`` prints: the lines of scikit-learn."""

from __future__ import annotations

import numpy as np

from kseeds.distances.sparse_rows import Points
from kseeds.inputs import Prepared, Weights
from kseeds.lloyd.base import Assigner, Labels
from kseeds.lloyd.iteration import Limits, squared_shift
from kseeds.lloyd.sums import ExactSums
from kseeds.nearest.state import Nearest


class Told:
    """An assigner that tells of every iteration what another one has found.

    See `kseeds.lloyd.base.Assigner`.

    Parameters
    ----------
    prepared : Prepared
        The rows.
    weights : Weights
        Their weights.
    assigner : Assigner
        Does the work.
    limits : Limits
        When the iteration stops.
    algorithm : {"lloyd", "elkan"}
        Whose lines are printed; after an inertia, Elkan's have no full stop.
    """

    def __init__(
        self,
        prepared: Prepared,
        weights: Weights,
        assigner: Assigner,
        limits: Limits,
        *,
        algorithm: str = "lloyd",
    ) -> None:
        self._assigner, self._weights, self._limits = assigner, weights.scaled, limits
        self.counts, self.skipped, self.name = assigner.counts, assigner.skipped, assigner.name
        self._unit = prepared.metric.scale**2
        self._mass = weights.scale
        self._stop = "" if algorithm == "elkan" else "."
        self._done, self._is_strict = 0, False
        self._before: Points | None = None

    def adopt(self, labels: Labels, sums: ExactSums) -> None:
        """Begin with labels that are known; nothing can be told of their inertia."""
        self._assigner.adopt(labels, sums)

    def assign(self, centers: Points, sums: ExactSums) -> int:
        """Assign all rows, and print what came of it."""
        is_last = self._is_over(centers)  # labels are made those of the last centres
        changed = self._assigner.assign(centers, sums)
        self.counts, self.skipped = self._assigner.counts, self._assigner.skipped
        if is_last:
            return changed
        squared = self._assigner.nearest(centers).squared.astype(np.float64)
        if self._weights is not None:
            squared *= self._weights
        inertia = float(squared.sum()) * self._mass * self._unit
        print(f"Iteration {self._done}, inertia {inertia}{self._stop}")
        if changed == 0:
            print(f"Converged at iteration {self._done}: strict convergence.")
        self._done += 1
        self._is_strict, self._before = changed == 0, centers
        return changed

    def _is_over(self, centers: Points) -> bool:
        """Tell whether the iteration has ended with these centres."""
        if self._before is None or self._is_strict:
            return self._is_strict
        shift = squared_shift(self._before, centers)
        if shift <= self._limits.tol:
            print(
                f"Converged at iteration {self._done - 1}: center shift {shift * self._unit} "
                f"within tolerance {self._limits.tol * self._unit}."
            )
        return shift <= self._limits.tol or self._done == self._limits.max_iter

    def nearest(self, centers: Points) -> Nearest:
        """Return labels and squared distances."""
        return self._assigner.nearest(centers)
