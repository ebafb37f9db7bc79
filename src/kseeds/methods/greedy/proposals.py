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
_KEPT = 1 << 20
"""Proposals of an epoch whose numbers are kept; those of later ones are generated for each step."""
_AT_ONCE = 1 << 16
"""Proposals that are tried at once, so that memory does not grow with the trials."""


class Proposals:
    """The stream of proposals, and how far steps have come in it.

    Parameters
    ----------
    uniforms : callable
        Returns uniform numbers of a round; see `Stream.by_round`.
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

    def __init__(self, uniforms: Callable[..., Float64Array], trials: int) -> None:
        self._uniforms, self.trials = uniforms, trials
        self._epoch, self.taken = 0, 0
        self._numbers = np.empty((1, 2, 0))
        self._reached: dict[int, list[float]] = {}

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
        self._reached = {}

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
        """Return the candidates of the next step, in the order in which they were drawn.

        Of very many, those that were drawn before may be left out. If they are all the rows that
        can be drawn, no more proposals are taken: no other would be another candidate, and those
        that follow are as independent of the past as ever.
        """
        self.begin_step(masses)
        found: list[int] = []
        missing, room = self.trials, _AT_ONCE
        while missing > 0:
            accepted = self._next(min(missing, _AT_ONCE), masses)
            found += accepted
            missing -= len(accepted)
            if len(found) > room:
                found = list(dict.fromkeys(found))
                room = max(_AT_ONCE, 2 * len(found))
                if len(found) == self._possible(masses):
                    break
        return found

    def _next(self, count: int, masses: Masses) -> list[int]:
        """Take so many proposals; return the accepted ones."""
        at = self.taken
        if at + count <= _KEPT:
            deciding = self.numbers(at + count)[0, :, at : at + count]
        else:
            deciding = self._uniforms(self._epoch, 2 * count, 2 * at).reshape(count, 2).T
        self.taken += count
        if count <= sum_tree.FEW:
            few = sum_tree.draw_few(self.frozen, deciding[0].tolist(), self._reached)
            then, now = self.frozen.bounds.item, masses.bounds.item
            return [
                row
                for row, uniform in zip(few, deciding[1].tolist(), strict=True)
                if is_accepted(uniform, then(row), now(row))
            ]
        rows = sum_tree.draw_rows(self.frozen, deciding[0])
        tried = zip(
            rows.tolist(), deciding[1].tolist(), self.frozen.bounds[rows].tolist(),
            masses.bounds[rows].tolist(), strict=True,
        )  # fmt: skip
        return [row for row, *numbers in tried if is_accepted(*numbers)]

    def _possible(self, masses: Masses) -> int:
        """Return how many rows can be proposed and accepted."""
        frozen = sum_tree.mass_of(self.frozen, slice(None))
        return int(np.count_nonzero((frozen > 0.0) & (masses.bounds > 0.0)))
