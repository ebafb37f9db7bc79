"""The candidates of greedy k-means++, by rejection from masses of the past.

An epoch begins with the masses w·q frozen, q being α² at that time, and has one stream of
proposals. Proposal e is row i with probability w_i·q_i / Σ w·q, and is accepted if its second
uniform number u has u·q_i < α_i² now. A step takes proposals in their order until it has as many
accepted ones as it has trials. Whatever happened before, one proposal is row i and accepted with
probability w_i·α_i² / Σ w·q, so that each accepted one is an independent draw in proportion to
w·α². What comes of proposals is known from the beginning of an epoch, but for their acceptance;
since α² only falls, a proposal that would be rejected now will not be accepted later.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kseeds.methods.greedy.rule import is_accepted, is_outdated
from kseeds.sampling import sum_tree
from kseeds.sampling.sum_tree import Masses

Float64Array = npt.NDArray[np.float64]

_FEWEST = 64
"""Proposals whose uniform numbers are generated at a time, at least."""


class Proposals:
    """The stream of proposals, and how far steps have come in it.

    Parameters
    ----------
    uniforms : callable
        Returns the first so many uniform numbers of a round; see `Stream.by_round`.
    trials : int
        Candidates of a step.

    Attributes
    ----------
    frozen : Masses
        The masses that rows are proposed from.
    taken : int
        Proposals of the epoch that steps have taken.
    trials : int
        Candidates of a step.
    """

    frozen: Masses

    def __init__(self, uniforms: Callable[[int, int], Float64Array], trials: int) -> None:
        self._uniforms, self.trials = uniforms, trials
        self._epoch, self.taken = 0, 0
        self._numbers = np.empty((1, 2, 0))

    def begin_step(self, masses: Masses) -> None:
        """Begin a new epoch if the frozen masses are out of date; ``masses`` are those of now."""
        if self._epoch == 0:
            self.frozen = Masses(masses.bounds.copy(), masses.weights, masses.sums.copy())
        elif is_outdated(masses.sums.item(1), self.frozen.sums.item(1)):
            np.copyto(self.frozen.bounds, masses.bounds)
            np.copyto(self.frozen.sums, masses.sums)
        else:
            return
        # An epoch is a round of the stream; round 0 may have drawn the first seed.
        self._epoch, self.taken = self._epoch + 1, 0
        self._numbers = np.empty((1, 2, 0))

    def numbers(self, up_to: int) -> Float64Array:
        """Return the numbers of the proposals of this epoch, at least the first ``up_to``.

        Those that propose rows are ``numbers[0, 0]``, those that decide ``numbers[0, 1]``.
        """
        if self._numbers.shape[2] < up_to:
            count = max(up_to, 2 * self._numbers.shape[2], _FEWEST)
            pairs = self._uniforms(self._epoch, 2 * count).reshape(count, 2)
            self._numbers = np.ascontiguousarray(pairs.T)[None]
        return self._numbers

    def note(self, taken: npt.NDArray[np.int64], is_stuck: bool) -> None:
        """Note what kernels have taken; if numbers ran out before a step, have more next time."""
        self.taken = int(taken[0])
        if is_stuck:
            self.numbers(2 * self._numbers.shape[2])

    def of_step(self, masses: Masses) -> list[int]:
        """Return the candidates of the next step, in the order in which they were drawn."""
        self.begin_step(masses)
        found: list[int] = []
        while len(found) < self.trials:
            at, missing = self.taken, self.trials - len(found)
            numbers = self.numbers(at + missing)[0, :, at : at + missing]
            rows = sum_tree.draw_rows(self.frozen, numbers[0])
            then, now = self.frozen.bounds[rows].tolist(), masses.bounds[rows].tolist()
            tried = zip(rows.tolist(), numbers[1].tolist(), then, now, strict=True)
            found += [row for row, *numbers_ in tried if is_accepted(*numbers_)]
            self.taken += missing
        return found
