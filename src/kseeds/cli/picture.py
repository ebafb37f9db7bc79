"""The picture of `kseeds demo` and `kseeds kmeans`: points and centres."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kseeds.cli.reading import kind_of
from kseeds.cli.writing import check_target, replacing

_KINDS = (".png", ".jpg", ".pdf", ".svg")
_MOST_POINTS = 50_000


def check_picture(path: Path) -> None:
    """Raise before the seeding if the picture could not be written."""
    import matplotlib  # noqa: F401  (fails before the work if missing)

    check_target(path, kinds=_KINDS)


def draw(X: Any, labels: Any, centers: Any, name: str, path: Path) -> None:
    """Draw the first two columns of the points, coloured by nearest centre, and the centres.

    ``name`` is what the centres are called; points of one column are drawn on the diagonal.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    step = max(1, len(X) // _MOST_POINTS)
    figure, axes = plt.subplots(figsize=(8, 8), dpi=120)
    second = min(1, X.shape[1] - 1)
    axes.scatter(
        X[::step, 0], X[::step, second], c=labels[::step] % 20, s=2, cmap="tab20", alpha=0.5,
        linewidths=0,
    )  # fmt: skip
    axes.scatter(
        centers[:, 0], centers[:, second], s=60, c="white", edgecolors="black", linewidths=1.2,
        label=name,
    )  # fmt: skip
    axes.set_title(f"{len(centers)} {name} of {len(X):,} points, coloured by the nearest of them")
    axes.set_aspect("equal")
    axes.legend(loc="upper right")
    figure.tight_layout()
    with replacing(path) as file:
        figure.savefig(file, format=kind_of(path, _KINDS)[1:])
    plt.close(figure)
