"""Random draws keyed by (seed, purpose, round, row).

Every draw that belongs to a row is read from a counter-based generator at a position that
depends on these four numbers only. So results do not depend on the number of threads, on
chunks, or on the machine that holds a row, and a task that is run again draws the same numbers.

The generator is NumPy's Philox4x64-10 (Salmon, Moraes, Dror, Shaw, "Parallel random
numbers: as easy as 1, 2, 3", SC 2011), whose raw stream NumPy promises never to change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Float64Array: TypeAlias = npt.NDArray[np.float64]
Rows: TypeAlias = npt.NDArray[np.int64]

RandomState: TypeAlias = (
    int | np.integer | np.random.Generator | np.random.RandomState | np.random.SeedSequence | None
)

_ROWS_PER_COUNTER = 4
"""Philox4x64 generates four words per value of its counter."""

_TWO_TO_16 = 65_536.0
_BOUND_ROWS = 256
"""Rows that share a bound; few, so that one row of high mass raises the bound of few others."""


class Purpose(IntEnum):
    """What a stream is for; streams of different purposes never share a number."""

    CLOCK = 1
    """The exponential clock of a row (k-means++, and the first candidate of k-means||)."""
    CANDIDATE = 2
    """The first 16 bits of the Bernoulli trial of a row, in a round of k-means||."""
    TIE = 7
    """The remaining bits of such a trial, which are rarely needed."""
    REDUCTION = 3
    """The draws of the k-means++ that reduces the candidates to k."""
    COMPLETION = 4
    """The draws of the k-means++ over all rows, if there are fewer than k candidates."""
    PROPOSAL = 6
    """The proposals of lazy k-means++: batches of draws and of acceptance thresholds."""
    GREEDY = 9
    """The candidates of the steps of greedy k-means++."""
    SMALL = 8
    """The draws among rows whose mass w·α² is too small for ordinary arithmetic."""
    FILL = 5
    """Rows drawn by weight once every distinct point is a seed."""


@dataclass(frozen=True)
class Stream:
    """The random numbers of one call, given by a 128-bit key.

    Examples
    --------
    >>> from kseeds.sampling.streams import Purpose, Stream
    >>> stream = Stream.from_random_state(0)
    >>> whole = stream.uniforms(Purpose.CLOCK, 0, 0, 10)
    >>> part = stream.uniforms(Purpose.CLOCK, 0, 6, 10)
    >>> bool((whole[6:] == part).all())
    True
    """

    key: tuple[int, int]

    @classmethod
    def from_random_state(cls, random_state: RandomState) -> Stream:
        """Return the stream of an integer, generator, seed sequence, or None (fresh entropy).

        Generators are advanced, so two calls with the same generator differ, as usual in NumPy;
        the same integer or seed sequence always gives the same stream.
        """
        words: npt.NDArray[Any]
        if isinstance(random_state, np.random.Generator):
            words = random_state.integers(0, 2**64, size=2, dtype=np.uint64)
        elif isinstance(random_state, np.random.RandomState):
            words = random_state.randint(0, 2**64, size=2, dtype=np.uint64)
        elif isinstance(random_state, np.random.SeedSequence):
            words = random_state.generate_state(2, np.uint64)
        else:
            seed = None if random_state is None else int(random_state)
            words = np.random.SeedSequence(seed).generate_state(2, np.uint64)
        return cls((int(words[0]), int(words[1])))

    def uniforms(self, purpose: Purpose, round_: int, start: int, stop: int) -> Float64Array:
        """Uniform draws in the open interval (0, 1) for the rows ``start`` to ``stop``."""
        first = start // _ROWS_PER_COUNTER
        generator = self._generator(purpose, round_, first)
        skip = start - first * _ROWS_PER_COUNTER
        return _uniforms(generator, stop - start + skip)[skip:]

    def trials(
        self, round_: int, start: int, stop: int, most: Float64Array, share: Callable[[Rows], Any]
    ) -> Rows:
        """Return the rows from ``start`` to ``stop`` whose trial succeeds.

        Row i succeeds if its uniform number is less than its element of ``share(rows)``,
        independently of all others. The first 16 bits of the number decide that for almost all
        rows; only the others draw the remaining bits.

        Parameters
        ----------
        round_ : int
            The round; each has its own random numbers.
        start, stop : int
            The rows.
        most : ndarray
            Upper bounds of the shares, one per 256 rows; see `maxima_of`.
        share : callable
            Returns the probabilities of given rows; called with few of them only.
        """
        bits = self._random_bits(round_, start, stop)
        with np.errstate(over="ignore"):
            bounds = np.minimum(most * _TWO_TO_16, _TWO_TO_16 - 1.0).astype(np.uint16)
        few = np.flatnonzero(bits <= np.repeat(bounds, _BOUND_ROWS)[: len(bits)])
        with np.errstate(over="ignore"):  # an overflow means success
            scaled = np.asarray(share(start + few)) * _TWO_TO_16
        whole = np.floor(scaled)
        succeeds = bits[few] < whole
        for tie in np.flatnonzero(bits[few] == whole):
            row = start + int(few[tie])
            rest = self.uniforms(Purpose.TIE, round_, row, row + 1)[0]
            succeeds[tie] = rest < scaled[tie] - whole[tie]
        rows: Rows = start + few[succeeds]
        return rows

    def _random_bits(self, round_: int, start: int, stop: int) -> npt.NDArray[np.uint16]:
        """Return 16 random bits for each of the rows."""
        first = start // (4 * _ROWS_PER_COUNTER)
        skip = start - first * 4 * _ROWS_PER_COUNTER
        count = -(-(stop - start + skip) // 4)
        philox = self._philox(Purpose.CANDIDATE, round_, first)
        words: npt.NDArray[np.uint64] = philox.random_raw(count)
        return words.astype("<u8", copy=False).view("<u2")[skip : skip + stop - start]

    def source(self, purpose: Purpose, round_: int) -> Callable[[int], Float64Array]:
        """Return a function ``f(count)`` that returns the next ``count`` of the `uniforms`."""
        generator = self._generator(purpose, round_, 0)
        return lambda count: _uniforms(generator, count)

    def by_round(self, purpose: Purpose) -> Callable[..., Float64Array]:
        """Return a function ``f(round_, count, start=0)``: so many of the `uniforms` of a round.

        For many rounds of few draws: creating a generator per round would cost more than the draws.
        """
        philox = self._philox(purpose, 0, 0)
        generator, state = np.random.Generator(philox), philox.state

        def of_round(round_: int, count: int, start: int = 0) -> Float64Array:
            first, skip = divmod(start, _ROWS_PER_COUNTER)
            state["state"]["counter"][:2] = first, round_
            philox.state = state
            return _uniforms(generator, count + skip)[skip:]

        return of_round

    def _generator(self, purpose: Purpose, round_: int, block: int) -> np.random.Generator:
        return np.random.Generator(self._philox(purpose, round_, block))

    def _philox(self, purpose: Purpose, round_: int, block: int) -> np.random.Philox:
        return np.random.Philox(
            key=np.array(self.key, dtype=np.uint64),
            counter=np.array([block, round_, int(purpose), 0], dtype=np.uint64),
        )

    def exponentials(self, purpose: Purpose, round_: int, start: int, stop: int) -> Float64Array:
        """Exponential draws of rate 1, strictly positive, for the rows ``start`` to ``stop``."""
        draws = self.uniforms(purpose, round_, start, stop)
        np.log(draws, out=draws)
        return np.negative(draws, out=draws)


def maxima_of(values: npt.NDArray[np.floating]) -> Float64Array:
    """Return the maximum of every 256 values and of the rest, for `Stream.trials`."""
    whole = len(values) // _BOUND_ROWS * _BOUND_ROWS
    maxima = values[:whole].reshape(-1, _BOUND_ROWS).max(axis=1)
    return np.append(maxima, values[whole:].max(initial=0.0)).astype(np.float64)


def _uniforms(generator: np.random.Generator, count: int) -> Float64Array:
    """Return uniform draws in the open interval (0, 1)."""
    # 53 bits, plus half of the last one: never 0 and never 1, so that logarithms are finite and
    # not 0.
    uniforms = generator.random(count)
    uniforms += 2.0**-54
    return np.minimum(uniforms, 1.0 - 2.0**-53, out=uniforms)
