"""The command ``kseeds kmeans``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

import kseeds
from kseeds.cli.console import out, printable
from kseeds.cli.errors import reporting_errors, say
from kseeds.cli.picture import check_picture, draw
from kseeds.cli.reading import KINDS, read_rows
from kseeds.cli.writing import check_names, check_target, kinds_for, write_clustering


def kmeans(
    file: Annotated[
        Path,
        typer.Argument(
            help="Rows to cluster: .npy, .csv (UTF-8, commas), .parquet, or .npz as "
            "scipy.sparse.save_npz writes it."
        ),
    ],
    k: Annotated[int, typer.Option("-k", "--clusters", help="Number of clusters.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="The file of the centres: .npy, .csv or .parquet, or .npz for sparse rows.",
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="The file of the labels, one per row, counted from 0: .npy, .csv or .parquet. "
            "The last two have the distances to the centres, too."
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="A picture of the first two columns: .png, .jpg, .pdf or .svg."),
    ] = None,
    init: Annotated[
        str, typer.Option(help="Where to start: k-means++, greedy, k-means|| or random.")
    ] = "k-means++",
    starts: Annotated[
        int, typer.Option(help="How often to start; the lowest inertia is kept.")
    ] = 1,
    iterations: Annotated[int, typer.Option(help="Iterations at most.")] = 300,
    tol: Annotated[
        float, typer.Option(help="Stop when centres move by less; 0: when no row changes.")
    ] = 1e-4,
    algorithm: Annotated[
        str, typer.Option(help="By default the fastest; see the README.")
    ] = "auto",
    metric: Annotated[str, typer.Option(help="euclidean or cosine.")] = "euclidean",
    weights: Annotated[
        str | None,
        typer.Option(help="Name of the column of weights; it is not written to the output."),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line of a .csv file is a header; see kseeds seed --help.",
            show_default=False,
        ),
    ] = None,
    random_state: Annotated[
        int | None, typer.Option(help="Random seed; by default a new one each time.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads; all cores by default.")] = None,
) -> None:
    """Cluster the rows of a file by k-means, and write the centres and the labels.

    Files are written completely or not at all, and never over the input. Exit codes: 0 success,
    1 error, 2 wrong usage, 130 interrupted.
    """
    with reporting_errors():
        targets = [file]
        for target, kinds in ((output, kinds_for(file)), (labels, KINDS)):
            if target is not None:
                check_target(target, *targets, kinds=kinds)
                targets.append(target)
        if picture is not None:
            check_picture(picture)
            if kinds_for(file) != KINDS:
                raise ValueError(
                    f"--picture {picture} draws the first two columns, which tell nothing of "
                    "sparse rows; leave it out."
                )
        table = read_rows(file, weights, header)
        if output is not None:
            check_names(output, file, table.columns)
        for note in table.notes:
            say(note)
        found = kseeds.kmeans(
            table.values,
            k,
            init=init,
            n_init=starts,
            sample_weight=table.weights,
            metric=metric,
            max_iter=iterations,
            tol=tol,
            random_state=random_state,
            n_threads=threads,
            progress=True,
            algorithm=algorithm,
        )
        write_clustering(found, table.columns, output, labels)
        if picture is not None:
            draw(table.leading(2), found.labels, found.centers, "centres", picture)
        out.print(_summary(table.values.shape, found, output, labels, picture))


def _summary(
    shape: tuple[int, ...],
    found: kseeds.Clustering,
    output: Path | None,
    labels: Path | None,
    picture: Path | None,
) -> Table:
    summary = Table(show_header=False)
    summary.add_row("rows", f"{shape[0]:,} of {shape[1]} columns")
    summary.add_row("clusters", f"{found.centers.shape[0]:,} by algorithm {found.algorithm}")
    end = "converged" if found.converged else "not converged; add --iterations"
    summary.add_row("iterations", f"{found.n_iter}, {end}")
    summary.add_row("inertia", f"{found.inertia:.6g}")
    summary.add_row("distances", f"{found.work.distances:,}")
    summary.add_row("seconds", f"{found.seconds:.3f}")
    saved = "not saved; add -o FILE" if output is None else printable(output)
    summary.add_row("centres", saved)
    saved = "not saved; add --labels labels.csv" if labels is None else printable(labels)
    summary.add_row("labels", saved)
    if picture is not None:
        summary.add_row("picture", printable(picture))
    return summary
