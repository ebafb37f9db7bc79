"""A call that raises leaves the caller's random generator in the state it had before."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from kseeds.sampling.streams import Stream


@contextmanager
def restored_on_error(random_state: Any) -> Iterator[None]:
    """Restore the state of a Generator or RandomState if the body raises anything.

    Some errors are found after the generator was drawn from: lazy k-means++ finds a NaN in its
    first pass, or a metric function returns something else than a number. If others have drawn
    from the generator since, it is left alone: they would get the same numbers again.
    """
    before = _state_of(random_state)
    try:
        yield
    except BaseException:
        if before is not None:
            drawn_once = copy.deepcopy(random_state)
            _set_state(drawn_once, before)
            Stream.from_random_state(drawn_once)
            if _same(_state_of(random_state), _state_of(drawn_once)):
                _set_state(random_state, before)
        raise


def _state_of(random_state: Any) -> Any:
    if isinstance(random_state, np.random.Generator):
        return random_state.bit_generator.state
    if isinstance(random_state, np.random.RandomState):
        return random_state.get_state(legacy=False)
    return None


def _set_state(random_state: Any, state: Any) -> None:
    if isinstance(random_state, np.random.Generator):
        random_state.bit_generator.state = state
    else:
        random_state.set_state(state)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return bool(np.array_equal(one, other))
