"""`deniable demo`: the whole story on real answers, and a table to begin with."""

from pathlib import Path
from typing import Annotated

import typer

from deniable.app.terminal import hint


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the report.")] = Path("demo-report.html"),
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", metavar="NUMBER", help="Cost of each private question.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", metavar="FILE", help="Write a made-up table of hospital visits, .csv or .parquet, and stop."
        ),
    ] = None,
) -> None:
    """Show on made-up data that exact counts expose people; private ones do not."""
    if data is not None:
        from deniable.app.output import whole_file
        from deniable.datasets import write

        with whole_file(data, option="--data"):
            write("visits", data)
        hint(f"{data} written")
        return
    from deniable.app.demo import run

    run(output, epsilon)
