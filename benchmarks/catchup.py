"""Catch-up, k-means|| and assign against peers: python -m benchmarks.catchup COMMAND --data DIR.

parallel  kmeans_parallel (5 rounds, 2K candidates a round) against oneDAL's parallelPlusDense
assign    assign() against faiss IndexFlatL2 and scikit-learn's pairwise_distances_argmin_min
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks import data, peers
from benchmarks.seeding import timed
from kseeds import assign, kmeans_parallel, kmeans_plusplus


def fast(X: np.ndarray, k: int, way: str | None = None) -> object:
    """Run ours; brute force where asked."""
    options = {} if way is None else {"way": way}
    return kmeans_parallel(X, k, random_state=0, algorithm="fast", **options)


def parallel(folder: Path, sets: list[str], ks: list[int], repeats: int) -> None:
    """Print a row a cell."""
    onedal = peers.installed_parallel()["oneDAL"]
    ratios, gains = [], []
    for name in sets:
        X = data.load(folder, name)
        fast(X, 8)
        for k in ks:
            times = {"oneDAL": np.inf, "kseeds": np.inf, "brute": np.inf}
            for _ in range(repeats):
                times["kseeds"] = min(times["kseeds"], timed(fast, X, k))
                times["brute"] = min(times["brute"], timed(fast, X, k, "brute"))
                if times["oneDAL"] > 1e300 or times["oneDAL"] < 5.0:
                    times["oneDAL"] = min(times["oneDAL"], timed(onedal, X, k, 0))
            found = kmeans_parallel(X, k, random_state=0)
            naive = len(X) * (found.work.candidates + 1)
            ratios.append(times["oneDAL"] / times["kseeds"])
            gains.append(times["brute"] / times["kseeds"])
            print(
                f"{name:9s} K={k:5d}: kseeds {times['kseeds'] * 1e3:.4g} ms, oneDAL / kseeds "
                f"{ratios[-1]:.1f}, brute / kseeds {gains[-1]:.1f}, distances naive / kseeds "
                f"{naive / found.work.distances:.1f}",
                flush=True,
            )
    print(f"geometric means: oneDAL {np.exp(np.mean(np.log(ratios))):.1f}x")


def nearest(folder: Path, sets: list[str], ms: list[int], repeats: int) -> None:
    """Print a row a cell."""
    import faiss
    from sklearn.metrics import pairwise_distances_argmin_min

    for name in sets:
        X = data.load(folder, name)
        for m in ms:
            centers = kmeans_plusplus(X, m, random_state=0).centers
            index = faiss.IndexFlatL2(X.shape[1])
            index.add(centers)
            assign(np.tile(X, (8, 1))[:300_000], centers)  # loads the compiled kernels
            assign(X, centers)
            times = {"kseeds": np.inf, "faiss": np.inf, "scikit-learn": np.inf}
            for _ in range(repeats):
                times["kseeds"] = min(times["kseeds"], timed(assign, X, centers))
                times["faiss"] = min(times["faiss"], timed(index.search, X, 1))
                times["scikit-learn"] = min(
                    times["scikit-learn"], timed(pairwise_distances_argmin_min, X, centers)
                )
            best = min(times["faiss"], times["scikit-learn"])
            shown = ", ".join(f"{who} {t * 1e3:.4g} ms" for who, t in times.items())
            print(f"{name:9s} m={m}: {shown}; {best / times['kseeds']:.1f}x", flush=True)


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("command", choices=["parallel", "assign"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", default=list(data.SETS))
    parser.add_argument("--k", nargs="*", type=int, default=[64, 512, 2048])
    parser.add_argument("--repeats", type=int, default=2)
    words = parser.parse_args()
    run = parallel if words.command == "parallel" else nearest
    run(words.data, words.sets, words.k, words.repeats)


if __name__ == "__main__":
    main()
