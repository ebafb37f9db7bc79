"""What an algorithm is, what it is given and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kseeds.inputs.fingerprint import Fingerprint
from kseeds.nearest.state import Nearest
from kseeds.results import Work

Options: TypeAlias = Mapping[str, Collection[Any]]
"""The keywords that only one algorithm has, with their possible values."""


@dataclass
class Draw:
    """What a method returns: the rows it drew, its work, and what it knows of the others.

    Fewer rows than were asked for are what a method draws while Σ w·α² is large enough for its
    arithmetic; `kseeds.methods.completion` draws the rest, with so many ``trials`` per step:
    one for k-means++, several for greedy k-means++.
    """

    indices: npt.NDArray[np.int64]
    work: Work
    nearest: Nearest | None = None
    fingerprint: Fingerprint | None = None
    trials: int = 1


@dataclass(frozen=True)
class Method:
    """An algorithm that draws from a law.

    Attributes
    ----------
    draw : callable
        Is given a `kseeds.inputs.problem.Problem`, what else the law depends on, and options;
        returns a `Draw`.
    options : mapping
        Its keywords with their possible values. None of them changes the law.
    any_dissimilarity : bool
        Whether the metric may be a function, which may break the triangle inequality.
    checks_values : bool
        Whether it can be given unchecked values, and raises
        `kseeds.inputs.problem.UncheckedValuesError` where they look bad.
    takes_sparse : bool
        Whether the points may be `kseeds.distances.sparse_rows.SparseRows`.
    """

    draw: Callable[..., Draw]
    options: Options = field(default_factory=dict)
    any_dissimilarity: bool = True
    checks_values: bool = False
    takes_sparse: bool = False
