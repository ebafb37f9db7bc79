"""All suites, in the order of the report; ``python -m benchmarks list`` shows them."""

from __future__ import annotations

from benchmarks.suites import (
    calibrate,
    distributed,
    fits,
    greedy,
    lloyd,
    paper,
    peers,
    quality,
    scaling,
    sparse,
    startup,
)  # fmt: skip
from benchmarks.suites.base import Suite

SUITES: dict[str, Suite] = {
    "paper": paper.SUITE,
    "peers": peers.SUITE,
    "assign": peers.ASSIGN,
    "greedy": greedy.SUITE,
    "fits": fits.SUITE,
    "lloyd": lloyd.SUITE,
    "sparse": sparse.SUITE,
    "scaling": scaling.SUITE,
    "startup": startup.SUITE,
    "quality": quality.SUITE,
    "dask": distributed.DASK,
    "spark": distributed.SPARK,
    "traffic": distributed.TRAFFIC,
    "calibrate": calibrate.SUITE,
}
