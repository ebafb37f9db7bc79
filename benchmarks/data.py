"""The data of the benchmarks: every set and its source, the one loader, and labels in words.

With ``--data DIR`` sets are read from ``DIR/<name>.npz`` (key X) or ``DIR/<name>.npy``. Without,
they are fetched from their public source, and where that cannot be had replaced, clearly
labelled, by a synthetic stand-in of the same shape. What a result was measured on must show
wherever the result does: `label` and `caution` put it into words.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.float32]

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"


@dataclass(frozen=True)
class DataSet:
    """A data set.

    The source is "openml:NAME" or "covtype" for scikit-learn's fetchers, a URL, or "local" where
    we know of no file that can be fetched without further steps.
    """

    rows: int
    columns: int
    source: str
    licence: str


SETS = {
    "phishing": DataSet(11_055, 68, f"{LIBSVM}/binary/phishing", "UCI, CC BY 4.0"),
    "cod-rna": DataSet(59_535, 8, "openml:codrna", "public, cite Uzilov et al. 2006"),
    "mnist": DataSet(60_000, 784, "openml:mnist_784", "CC BY-SA 3.0"),
    "aloi": DataSet(108_000, 128, "openml:aloi", "free for research"),
    "range-queries": DataSet(200_000, 8, "local", "UCI (Query Analytics Workloads), CC BY 4.0"),
    "skin": DataSet(245_057, 3, "openml:skin-segmentation", "UCI, CC BY 4.0"),
    "covtype": DataSet(581_012, 54, "covtype", "UCI, CC BY 4.0"),
    "susy": DataSet(5_000_000, 18, f"{UCI}/00279/SUSY.csv.gz", "UCI, CC BY 4.0"),
    "activity": DataSet(33_741_500, 5, "local", "UCI (Heterogeneity Activity Recognition)"),
    "higgs": DataSet(11_000_000, 28, f"{UCI}/00280/HIGGS.csv.gz", "UCI, CC BY 4.0"),
    "web": DataSet(45_811_883, 5, "local", "unknown; the paper names no source"),
    "sensor": DataSet(1_122_772, 6, "local", "see the source of the file"),
    "flights": DataSet(3_000_000, 4, "local", "public domain (US DOT)"),
    "cities": DataSet(0, 2, "local", "see the source of the file"),
}
FULL = ("phishing", "cod-rna", "skin", "covtype", "mnist", "sensor", "flights")
QUICK = ("phishing", "cod-rna", "skin")


def load(name: str, folder: Path | None, rows: int | None = None) -> tuple[Rows, dict[str, Any]]:
    """Return the rows, and what a record must say about them.

    That is ``data`` (the name), ``origin`` ("local", "fetched", or "synthetic" for a stand-in),
    ``n`` and ``d``; and, where only the first rows are returned, ``of``: how many there are.
    """
    known = SETS.get(name)
    local = _local(name, folder)
    if local is not None:
        X, origin = local, "local"
        if known is not None and known.rows and X.shape[1] != known.columns:
            raise ValueError(f"{name} has {X.shape[1]} columns, not the {known.columns} expected.")
    elif known is None:
        raise ValueError(
            f"{name} is not a data set of the benchmarks; choose one of {', '.join(SETS)}."
        )
    else:
        fetched = _fetch(known)
        X, origin = fetched, "fetched"
        if X is None:
            X, origin = clustered(known.rows, known.columns, clusters=1000), "synthetic"
    used = np.ascontiguousarray(X[:rows], dtype=np.float32)
    about = {"data": name, "origin": origin, "n": len(used), "d": used.shape[1]}
    if len(used) < len(X):
        about["of"] = len(X)
    return used, about


def _local(name: str, folder: Path | None) -> Rows | None:
    if folder is None:
        return None
    if (folder / f"{name}.npy").is_file():
        return np.load(folder / f"{name}.npy", mmap_mode="r")
    if (folder / f"{name}.npz").is_file():
        with np.load(folder / f"{name}.npz") as archive:
            return archive["X"]
    return None


def _fetch(known: DataSet) -> Rows | None:
    """Fetch from scikit-learn's sources or with pooch; None where that fails."""
    try:
        if known.source == "covtype":
            from sklearn.datasets import fetch_covtype

            return fetch_covtype().data
        if known.source.startswith("openml:"):
            from sklearn.datasets import fetch_openml

            found = fetch_openml(known.source.partition(":")[2], as_frame=False, parser="auto")
            return np.asarray(found.data, dtype=np.float32)[: known.rows]
        if known.source.startswith("https:"):
            import pooch

            # No hash is published with these files; pooch reports the one it found.
            path = pooch.retrieve(known.source, known_hash=None)
            if known.source.startswith(LIBSVM):
                from sklearn.datasets import load_svmlight_file

                return load_svmlight_file(path, n_features=known.columns)[0].toarray()
            return np.loadtxt(path, delimiter=",", dtype=np.float32)[:, -known.columns :]
    except Exception as error:  # no network, no pooch, moved: all mean "not to be had"
        print(f"cannot fetch {known.source}: {type(error).__name__}; a stand-in is made")
    return None


def clustered(n: int, d: int, clusters: int, spread: float = 3.0) -> Rows:
    """Return rows around random centres, made in blocks so that they fit."""
    rng = np.random.default_rng(0)
    centers = spread * rng.normal(size=(clusters, d)).astype(np.float32)
    rows = np.empty((n, d), dtype=np.float32)
    for lo in range(0, n, 100_000):
        part = rows[lo : lo + 100_000]
        part[:] = centers[rng.integers(0, clusters, len(part))]
        part += rng.normal(size=part.shape).astype(np.float32)
    return rows


def load_sparse(
    name: str, folder: Path | None, rows: int | None = None
) -> tuple[Any, dict[str, Any]]:
    """Return a sparse corpus in float32, and what a record must say about it.

    With ``--data DIR`` it is read from ``DIR/<name>.npz``, as `scipy.sparse.save_npz` writes it or
    with the arrays data, indices, indptr and shape alone; else it is made.
    """
    from scipy import sparse

    path = None if folder is None else folder / f"{name}.npz"
    if path is None or not path.is_file():
        X, origin = zipf_text(rows or 67_260, 36_634, 28), "synthetic"
    else:
        with np.load(path) as archive:
            parts = tuple(archive[part] for part in ("data", "indices", "indptr"))
            X, origin = sparse.csr_matrix(parts, shape=tuple(archive["shape"])), "local"
    used = X[:rows].astype(np.float32)
    about = {"data": name, "origin": origin, "n": used.shape[0], "d": used.shape[1]}
    if used.shape[0] < X.shape[0]:
        about["of"] = X.shape[0]
    return used, about


def zipf_text(n: int, d: int, entries: int = 10) -> Any:
    """Return a sparse matrix whose columns are as frequent as words: by Zipf's law."""
    from scipy import sparse

    rng = np.random.default_rng(0)
    columns = np.empty((n, entries), dtype=np.int32)
    for lo in range(0, n, 1_000_000):
        part = columns[lo : lo + 1_000_000]
        part[:] = np.exp(rng.random(part.shape, dtype=np.float32) * np.log(d - entries))
        part.sort(axis=1)
        part += np.arange(entries, dtype=np.int32)  # no column twice
    weights = rng.random(n * entries, dtype=np.float32) + np.float32(0.1)
    pointers = np.arange(0, n * entries + 1, entries)
    return sparse.csr_matrix((weights, columns.reshape(-1), pointers), shape=(n, d))


def weighted_text(n: int, d: int, entries: int, dtype: str) -> Any:
    """Return such a matrix with entries weighted against frequent columns, in rows of norm 1."""
    X = zipf_text(n, d, entries).astype(dtype)
    counts = np.bincount(X.indices, minlength=d)
    X.data *= np.log(n / np.maximum(counts, 1))[X.indices].astype(dtype)
    norms = np.sqrt(np.add.reduceat(np.square(X.data), X.indptr[:-1]))
    X.data /= np.repeat(norms, entries)
    X.eliminate_zeros()  # of columns that all rows have
    return X


def is_stand_in(line: dict[str, Any]) -> bool:
    """Tell whether synthetic rows took the place of a data set."""
    return line.get("origin") == "synthetic"


def rows_in_all(line: dict[str, Any]) -> int | None:
    """Return how many rows the data set has if fewer were used, else None.

    A run that cut the rows recorded how many there were (``of``); a file that holds fewer rows
    than the registry says is a cut, too.
    """
    used = line.get("n")
    known = SETS[line["data"]].rows if line["data"] in SETS else 0
    whole = max(line.get("of", 0), known)
    return whole if used is not None and used < whole else None


def is_as_published(line: dict[str, Any]) -> bool:
    """Tell whether published figures may stand beside a result: same data, all of it."""
    return not is_stand_in(line) and rows_in_all(line) is None


def label(line: dict[str, Any]) -> str:
    """Return the name of the data set, and what is not as that name says."""
    notes = []
    if line["data"] == "mixture":
        notes.append("synthetic")
    if is_stand_in(line):
        notes.append("synthetic stand-in")
    whole = rows_in_all(line)
    if whole is not None:
        notes.append(f"{count(line['n'])} of {count(whole)} rows")
    return line["data"] + (f" ({', '.join(notes)})" if notes else "")


def caution(lines: list[dict[str, Any]]) -> str:
    """Say in a sentence how many of these results are of stand-ins or cuts; "" if none is."""
    stand_ins = sum(is_stand_in(line) for line in lines)
    cuts = sum(rows_in_all(line) is not None for line in lines)
    parts = []
    if stand_ins:
        parts.append(f"{_are(stand_ins)} of synthetic stand-ins, not of the data named")
    if cuts:
        parts.append(f"{_are(cuts)} of some of the rows only")
    return f"Of the results here, {len(lines)} in all, {' and '.join(parts)}." if parts else ""


def _are(number: int) -> str:
    return f"{number} {'is' if number == 1 else 'are'}"


def count(number: int) -> str:
    """Return a number with its thousands apart."""
    return f"{number:,}".replace(",", "\N{NO-BREAK SPACE}")
