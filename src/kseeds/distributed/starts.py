"""Where k-means over partitions starts: seeds drawn by a law, on the partitions of the fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kseeds.distances.sparse_rows import stacked
from kseeds.distributed.driver import Driver, Seeds, kmeans_parallel, kmeans_plusplus
from kseeds.methods.greedy.rule import trials_for
from kseeds.methods.parallel.schedule import Schedule
from kseeds.sampling.streams import Purpose


def draw(driver: Driver, start: str) -> tuple[Seeds, int]:
    """Draw seeds by the law of this name; return with how many of them rows were compared."""
    if start == "k-means++":
        return kmeans_plusplus(driver), driver.n_compared
    if start == "greedy":
        return _greedy(driver), driver.n_compared
    # What rows know after k-means|| is their nearest candidate.
    return (kmeans_parallel(driver, Schedule()) if start == "k-means||" else _by_weight(driver)), 0


def _greedy(driver: Driver) -> Seeds:
    """Draw seeds by greedy k-means++: the first by weight, further ones the best of several."""
    k = driver.request.n_clusters
    first = driver.first_by_weight(Purpose.CLOCK, 1)
    driver.add(first.values)
    found = kmeans_plusplus(driver, Purpose.GREEDY, k - 1, first.rows, trials_for(k, None))
    return replace(
        found,
        indices=np.concatenate([first.rows, found.indices]),
        values=stacked([driver.values[:1], found.values]),
        distinct=1 + found.distinct,
    )


def _by_weight(driver: Driver) -> Seeds:
    """Draw distinct rows by weight, whatever their places."""
    k = driver.request.n_clusters
    drawn = driver.first_by_weight(Purpose.CLOCK, k)
    driver.work.rounds = k
    return Seeds(drawn.rows, drawn.values.astype(driver.values.dtype), k, driver.work)
