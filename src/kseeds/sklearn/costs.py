"""Where kseeds is faster than scikit-learn's own loops, by the shape of the data alone.

By nothing else, so that the same data and random state have the same answer, to the last bit, on
any number of threads and whatever ran before. In nanoseconds of one thread, as measured.
"""

from __future__ import annotations

_ITERATION = 100e3
"""What an iteration of kseeds costs, whatever the data."""
_ROW, _COLUMN, _CENTER, _PRODUCT = 4.0, 0.55, 0.85, 0.05
"""scikit-learn: a row, each of its columns, each centre it is compared with, and each pair."""
_OUR_ROW, _OUR_COLUMN, _OUR_CENTER, _OUR_PRODUCT = 18.0, 1.6, 0.1, 0.045
"""The same of kseeds, where the data has no structure that it could use."""
_FEW_COLUMNS, _FURTHER_COLUMN = 64, 0.8
"""From how many columns on a further one costs less, and what."""
_SPARSE_CENTERS, _SPARSE_PAIRS = 32, 1e7
"""Centres, and pairs of an entry of sparse data and a centre, from which on lists of columns are
several times as fast as scikit-learn."""
_LEAST = 1e6
"""Iterations of scikit-learn that take less than this are too short to be bettered."""


def theirs(shape: tuple[int, int], k: int) -> float:
    """Return what scikit-learn takes to assign rows to k centres."""
    n, d = shape
    return n * (_ROW + _COLUMN * d + k * (_CENTER + _PRODUCT * d))


def ours(shape: tuple[int, int], k: int) -> float:
    """Return what an iteration of kseeds takes, all in all."""
    n, d = shape
    few, more = min(d, _FEW_COLUMNS), max(d - _FEW_COLUMNS, 0)
    row = _OUR_ROW + _OUR_COLUMN * few + _FURTHER_COLUMN * more
    return _ITERATION + n * (row + k * (_OUR_CENTER + _OUR_PRODUCT * d))


def lloyd_pays(shape: tuple[int, int], k: int) -> bool:
    """Tell whether a fit is for the iteration of kseeds."""
    cost = theirs(shape, k)
    return cost >= max(_LEAST, ours(shape, k))


def assign_pays(shape: tuple[int, int], k: int) -> bool:
    """Tell whether rows are for `kseeds.assign`."""
    return lloyd_pays(shape, k)


def sparse_assign_pays(entries: int, k: int) -> bool:
    """Tell whether sparse rows of so many entries are."""
    return k >= _SPARSE_CENTERS and entries * k >= _SPARSE_PAIRS
