"""Every data set of the benchmarks: where it is from, its shape, and how it is prepared.

With ``--data DIR`` sets are read from ``DIR/<name>.npz`` (key X) or ``DIR/<name>.npy``. Without,
they are fetched from their public source, and where that cannot be had replaced, clearly
labelled, by a synthetic stand-in of the same shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.data import clustered

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"


@dataclass(frozen=True)
class DataSet:
    """A data set.

    Attributes
    ----------
    rows, columns : int
        Its shape.
    source : str
        "openml:NAME" or "covtype" for scikit-learn's fetchers, a URL, or "local" where we know
        of no file that can be fetched without further steps.
    licence : str
        What is known about its terms.
    preparation : str
        What is done to the values.
    in_paper : bool
        Whether the paper used it.
    """

    rows: int
    columns: int
    source: str
    licence: str
    preparation: str = "float32, as published"
    in_paper: bool = True


SETS = {
    "phishing": DataSet(11_055, 68, f"{LIBSVM}/binary/phishing", "UCI, CC BY 4.0"),
    "cod-rna": DataSet(59_535, 8, "openml:codrna", "public, cite Uzilov et al. 2006"),
    "mnist": DataSet(60_000, 784, "openml:mnist_784", "CC BY-SA 3.0", "first 60000 rows, 0..255"),
    "aloi": DataSet(108_000, 128, "openml:aloi", "free for research"),
    "range-queries": DataSet(200_000, 8, "local", "UCI (Query Analytics Workloads), CC BY 4.0"),
    "skin": DataSet(245_057, 3, "openml:skin-segmentation", "UCI, CC BY 4.0"),
    "covtype": DataSet(581_012, 54, "covtype", "UCI, CC BY 4.0"),
    "susy": DataSet(5_000_000, 18, f"{UCI}/00279/SUSY.csv.gz", "UCI, CC BY 4.0"),
    "activity": DataSet(33_741_500, 5, "local", "UCI (Heterogeneity Activity Recognition)"),
    "higgs": DataSet(11_000_000, 28, f"{UCI}/00280/HIGGS.csv.gz", "UCI, CC BY 4.0"),
    "web": DataSet(45_811_883, 5, "local", "unknown; the paper names no source"),
    "sensor": DataSet(1_122_772, 6, "local", "see the source of the file", in_paper=False),
    "flights": DataSet(3_000_000, 4, "local", "public domain (US DOT)", in_paper=False),
    "cities": DataSet(0, 2, "local", "see the source of the file", in_paper=False),
}
FULL = ("phishing", "cod-rna", "skin", "covtype", "mnist", "sensor", "flights")
QUICK = ("phishing", "cod-rna", "skin")


def load(
    name: str, folder: Path | None, rows: int | None = None
) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
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
        raise ValueError(f"{name} is not in the registry, which has {', '.join(SETS)}.")
    else:
        fetched = _fetch(known)
        X, origin = (fetched, "fetched") if fetched is not None else (_stand_in(known), "synthetic")
    used = np.ascontiguousarray(X[:rows], dtype=np.float32)
    about = {"data": name, "origin": origin, "n": len(used), "d": used.shape[1]}
    if len(used) < len(X):
        about["of"] = len(X)
    return used, about


def _local(name: str, folder: Path | None) -> npt.NDArray[np.float32] | None:
    if folder is None:
        return None
    if (folder / f"{name}.npy").is_file():
        return np.load(folder / f"{name}.npy", mmap_mode="r")
    if (folder / f"{name}.npz").is_file():
        with np.load(folder / f"{name}.npz") as archive:
            return archive["X"]
    return None


def _fetch(known: DataSet) -> npt.NDArray[np.float32] | None:
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


def _stand_in(known: DataSet) -> npt.NDArray[np.float32]:
    return clustered(known.rows, known.columns, clusters=1000)
