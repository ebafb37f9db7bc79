"""What a result has cost, counted."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Work:
    """What a seeding cost, in counts that do not depend on the machine.

    Attributes
    ----------
    distances : int
        All distance computations.
    seed_distances : int
        Those of them that are between two seeds (γ in the paper).
    queue_examined : list of int
        Items of the priority queue examined in each round.
    tree_nodes : int
        Tree nodes visited, in trees over centres and in trees over points.
    rounds : int
        k-means++ and greedy k-means++: one per seed; with ``algorithm="rounds"``, Dask or Spark,
        one per batch of proposals. k-means||: the ``rounds`` that were asked for. `kmeans`: its
        iterations.
    candidates : int
        Candidates that k-means|| or greedy k-means++ drew.
    proposals, acceptances : int
        Rows that lazy k-means++ proposed, and how many of them became seeds.
    refreshes : int
        Partial and full refreshes of lazy k-means++: many bounds made exact at once.
    rows : int
        Rows of the data.
    rows_skipped : int
        Rows that `kmeans` did not have to look at, all iterations together.
    communications, bytes_out, bytes_back : int
        Dask and Spark: tasks sent to all partitions, the bytes of their messages (each is sent
        once to every worker), and the bytes of all replies.
    """

    distances: int = 0
    seed_distances: int = 0
    queue_examined: list[int] = field(default_factory=list)
    tree_nodes: int = 0
    rounds: int = 0
    candidates: int = 0
    proposals: int = 0
    acceptances: int = 0
    refreshes: int = 0
    rows: int = 0
    rows_skipped: int = 0
    communications: int = 0
    bytes_out: int = 0
    bytes_back: int = 0

    @property
    def passes(self) -> float:
        """Distance computations divided by rows: one centre against every row is one pass."""
        return self.distances / max(self.rows, 1)
