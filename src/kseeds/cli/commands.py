"""What the commands take and print; they delegate to the library."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import kseeds
from kseeds.cli.files import read_table, write_seeds
from kseeds.cli.picture import draw_seeds
from kseeds.result import Seeding

app = typer.Typer(
    name="kseeds",
    help="Choose the starting centres of k-means: exact k-means++ and k-means||.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_out = Console()

METHODS = {"plusplus": kseeds.kmeans_plusplus, "parallel": kseeds.kmeans_parallel}


def _version(value: bool) -> None:
    if value:
        typer.echo(f"kseeds {kseeds.__version__}")
        raise typer.Exit()


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Choose the starting centres of k-means: exact k-means++ and k-means||."""


@app.command()
def demo(
    rows: Annotated[int, typer.Option(help="Points to make.", min=10)] = 20_000,
    k: Annotated[int, typer.Option("-k", "--clusters", help="Seeds to draw.", min=1)] = 50,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to put the picture.")] = (
        Path("kseeds-demo.png")
    ),
    random_state: Annotated[int, typer.Option(help="Seed of the randomness.", min=0)] = 0,
) -> None:
    """Make a data set, seed it, show what that cost against the plain algorithm, and draw it."""
    X = _blobs(rows, random_state)
    _out.print(f"{rows:,} points in two dimensions, {k} seeds\n")
    table = Table("function", "algorithm", "distances", "of naive", "seconds", "potential")
    drawn: Seeding | None = None
    for name, function in METHODS.items():
        algorithms = ("naive", "paper", "lazy" if name == "plusplus" else "fast")
        found = {}
        for algorithm in algorithms:
            # A first call loads the compiled kernels, so that the one shown is what the rest of
            # a session sees.
            _checked(function, X, k, random_state=random_state, algorithm=algorithm)
            seeding = _checked(function, X, k, random_state=random_state, algorithm=algorithm)
            found[algorithm] = seeding
            share = seeding.work.distances / max(found["naive"].work.distances, 1)
            table.add_row(
                function.__name__,
                algorithm,
                f"{seeding.work.distances:,}",
                f"{share:.1%}",
                f"{seeding.seconds:.4f}",
                f"{seeding.potential:.5g}",
            )
        same = bool((found["naive"].indices == found["paper"].indices).all())
        drawn = drawn or found["lazy"]
        _out.print(f"{name}: naive and paper drew {'the same' if same else 'DIFFERENT'} seeds")
    _out.print(table)
    assert drawn is not None
    draw_seeds(X, drawn, output)
    _out.print(f"picture: {output}")


@app.command()
def seed(
    file: Annotated[Path, typer.Argument(help="Rows to seed: .npy, .csv or .parquet.")],
    k: Annotated[int, typer.Option("-k", "--clusters", help="Seeds to draw.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Where to write the seeds: .npy, .csv or .parquet."),
    ] = None,
    method: Annotated[str, typer.Option(help="plusplus or parallel.")] = "plusplus",
    algorithm: Annotated[str, typer.Option(help="How to draw; auto takes the fastest.")] = "auto",
    metric: Annotated[str, typer.Option(help="The distance.")] = "euclidean",
    weights: Annotated[
        str | None, typer.Option(help="Name of the column that holds the weights.")
    ] = None,
    random_state: Annotated[
        int | None, typer.Option(help="Seed of the randomness; fresh when left out.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads; all cores by default.")] = None,
) -> None:
    """Draw seeds for the rows of a file and write them, with their row numbers."""
    if method not in METHODS:
        raise typer.BadParameter(f"{method!r} is unknown; use plusplus or parallel.")
    try:
        table = read_table(file, weights)
        if output is not None:
            write_seeds(output, None, table.columns)
    except (OSError, ValueError) as error:
        _fail(error)
    seeding = _checked(
        METHODS[method],
        table.values,
        k,
        sample_weight=table.weights,
        metric=metric,
        algorithm=algorithm,
        random_state=random_state,
        n_threads=threads,
        progress=True,
    )
    if output is not None:
        try:
            write_seeds(output, seeding, table.columns)
        except OSError as error:
            _fail(error)
    summary = Table(show_header=False)
    n, d = table.values.shape
    summary.add_row("rows", f"{n:,} of {d} columns")
    summary.add_row("seeds", f"{k:,} by {METHODS[method].__name__}, algorithm {seeding.algorithm}")
    summary.add_row("distances", f"{seeding.work.distances:,}")
    summary.add_row("seconds", f"{seeding.seconds:.3f}")
    summary.add_row("potential", f"{seeding.potential:.6g}")
    summary.add_row("written to", "nowhere; use -o" if output is None else str(output))
    _out.print(summary)


def _checked(function: Any, *arguments: Any, **keywords: Any) -> Seeding:
    """Call a function of the library; turn its refusals into one line and exit code 1."""
    try:
        seeding: Seeding = function(*arguments, **keywords)
    except (ValueError, TypeError) as error:
        _fail(error)
    return seeding


def _fail(error: Exception) -> Any:
    typer.echo(f"kseeds: {error}", err=True)
    raise typer.Exit(1) from error


def _blobs(rows: int, random_state: int) -> Any:
    """Return round clusters of different sizes on a plane."""
    rng = np.random.default_rng(random_state)
    centers = rng.uniform(-10, 10, size=(25, 2))
    spread = rng.uniform(0.1, 0.8, size=25)
    label = rng.choice(25, size=rows, p=rng.dirichlet(np.full(25, 2.0)))
    return centers[label] + rng.normal(size=(rows, 2)) * spread[label, None]
