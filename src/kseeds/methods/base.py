"""What a method is given and what it returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kseeds.inputs.fingerprint import Fingerprint
from kseeds.nearest.state import Nearest
from kseeds.results import Work


@dataclass
class Draw:
    """What a method returns: the rows it drew, its work, and what it knows of the others.

    Fewer rows than were asked for are what a method draws while Σ w·α² is large enough for its
    arithmetic; `kseeds.methods.completion` draws the rest.
    """

    indices: npt.NDArray[np.int64]
    work: Work
    nearest: Nearest | None = None
    fingerprint: Fingerprint | None = None
