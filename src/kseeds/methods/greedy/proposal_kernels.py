"""The compiled form of `kseeds.methods.greedy.proposals`: the same candidates."""

from __future__ import annotations

from typing import Any

import numpy as np

from kseeds.methods.greedy import rule
from kseeds.methods.greedy.proposals import Proposals
from kseeds.runtime.compiler import inlined, kernel
from kseeds.sampling.sum_tree import Masses
from kseeds.sampling.sum_tree_kernels import draw_rows

is_accepted = inlined(rule.is_accepted)
is_outdated = inlined(rule.is_outdated)


@kernel
def draw_candidates(
    frozen: Masses, numbers: Any, taken: Any, squared: Any, targets: Any, drawn: Any
) -> bool:
    """Write the candidates of a step, and take the proposals; or tell that numbers have run out.

    ``taken[0]`` is how many proposals were taken before; ``targets`` is a workspace.
    """
    at, found, trials = taken[0], 0, drawn.shape[0]
    while found < trials:
        missing = trials - found
        if at + missing > numbers.shape[2]:
            return False
        draw_rows(frozen, numbers, 0, at, targets, drawn[found:])
        for b in range(missing):
            i = drawn[trials - missing + b]
            if is_accepted(numbers[0, 1, at + b], frozen.bounds[i], squared[i]):
                drawn[found] = i
                found += 1
        at += missing
    taken[0] = at
    return True


def candidates_of_step(proposals: Proposals, masses: Masses) -> list[int]:
    """Do what `Proposals.of_step` does."""
    proposals.begin_step(masses)
    drawn, targets = np.empty(proposals.trials, dtype=np.int64), np.empty(proposals.trials)
    taken, most = np.array([proposals.taken]), proposals.taken + 2 * proposals.trials
    while not draw_candidates(
        proposals.frozen, proposals.numbers(most), taken, masses.bounds, targets, drawn
    ):
        most *= 2
    proposals.note(taken, is_stuck=False)
    found: list[int] = drawn.tolist()
    return found
