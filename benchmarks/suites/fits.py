"""Whole fits of scikit-learn's KMeans, with its defaults: patched by kseeds, and as it is."""

from __future__ import annotations

import time
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

from benchmarks.charts import Table
from benchmarks.data import Rows, caution, label
from benchmarks.internals import warm_all
from benchmarks.suites.base import Cell, Cells, Lines, Result, Run, Section, Suite, times
from benchmarks.suites.greedy import SETS
from benchmarks.timing import timed

NAMES = ("scikit-learn", "patched")
LIMIT = 1800.0
"""Seconds after which a cell ends, with fewer seeds than it was to have, and at least three."""
_LEAST = 3


def cells(run: Run) -> Cells:
    """Fit every data set with several numbers of clusters."""
    seeds = run.either(_LEAST, 20)
    for X, about in run.data_sets(quick=SETS[:2], full=SETS):
        for k in run.counts([100], [100, 300, 1000]):
            if k <= len(X) // 4:
                yield Cell({**about, "k": k, "seeds": seeds}, partial(_measure, X, k, seeds))


def _measure(X: Rows, k: int, seeds: int) -> Result:
    """Fit with one random state after the other, both ways in turn."""
    from sklearn.cluster import KMeans

    from kseeds.sklearn import patched

    warm_all()
    ways = {"scikit-learn": nullcontext, "patched": patched}
    found: dict[str, dict[str, list[float]]] = {
        what: {name: [] for name in NAMES} for what in ("seconds", "inertia", "iterations")
    }
    started = time.perf_counter()
    for seed in range(seeds):
        if seed >= _LEAST and time.perf_counter() - started > LIMIT:
            break
        for name in NAMES:
            with ways[name]():
                seconds, model = timed(KMeans(k, random_state=seed).fit, X)
            found["seconds"][name].append(seconds)
            found["inertia"][name].append(float(model.inertia_))
            found["iterations"][name].append(int(model.n_iter_))
    return dict(found)


def sections(lines: Lines) -> list[Section]:
    """Show how much faster a fit is, and that it ends at the same inertia."""
    header = [
        "data", "K", "seeds", "scikit-learn, s", "patched, s", "faster",
        *(f"inertia, {name} (95 %)" for name in NAMES), "difference, % (95 %)",
        *(f"iterations, {name}" for name in NAMES),
    ]  # fmt: skip
    text = (
        "KMeans(K, random_state=seed).fit(X), otherwise with scikit-learn's defaults. Seconds, "
        "inertia and iterations are means over the seeds; where the interval of the difference "
        "holds 0, the inertia is the same as far as these seeds can tell. "
        f"{_summary(lines)} {caution(lines)}"
    )
    return [Section("Whole fits", text, [Table(header, [_row(line) for line in lines])])]


def _summary(lines: Lines) -> str:
    if not lines:
        return ""
    ratios = [_faster(line) for line in lines]
    mean = float(np.exp(np.mean(np.log(ratios))))
    unlike = [
        f"{label(line)} K = {line['k']}"
        for line in lines
        if abs(difference(line)[0]) > difference(line)[1]
    ]
    return (
        f"{times(mean)} in geometric mean, at least {times(min(ratios), 2)}. One interval in "
        f"twenty misses 0 by chance; here: {', '.join(unlike) or 'none'}."
    )


def _faster(line: dict[str, Any]) -> float:
    theirs, ours = (float(np.mean(line["seconds"][name])) for name in NAMES)
    return theirs / ours


def interval(variance: float, freedom: float) -> float:
    """Return half the width of a 95 % interval of a mean of this variance."""
    from scipy.stats import t

    return float(t.ppf(0.975, freedom) * np.sqrt(variance))


def difference(line: dict[str, Any]) -> tuple[float, float]:
    """Return by how much the mean inertia changes under the patch, and ± that, in per cent."""
    theirs, ours = (np.array(line["inertia"][name]) for name in NAMES)
    parts = [values.var(ddof=1) / len(values) for values in (theirs, ours)]
    variance = sum(parts)
    # Welch's degrees of freedom: the two need not spread alike.
    below = sum(part**2 / (len(theirs) - 1) for part in parts)
    half = interval(variance, variance**2 / below) if below > 0 else 0.0
    scale = 100.0 / theirs.mean()
    return float((ours.mean() - theirs.mean()) * scale), half * scale


def _row(line: dict[str, Any]) -> list[str]:
    inertia, (apart, half) = [], difference(line)
    for name in NAMES:
        values = np.array(line["inertia"][name])
        spread = interval(values.var(ddof=1) / len(values), len(values) - 1)
        inertia.append(f"{values.mean():.4g} ± {spread:.2g}")
    return [
        label(line), str(line["k"]), str(len(line["inertia"]["patched"])),
        *(f"{np.mean(line['seconds'][name]):.3g}" for name in NAMES), times(_faster(line)),
        *inertia, f"{apart:+.2f} ± {half:.2f}",
        *(f"{np.mean(line['iterations'][name]):.0f}" for name in NAMES),
    ]  # fmt: skip


SUITE = Suite("whole KMeans fits of scikit-learn, patched and not", cells, sections)
