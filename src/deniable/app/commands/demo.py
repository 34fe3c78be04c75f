"""`deniable demo`: the whole story on real answers."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the report goes.")] = Path("demo-report.html"),
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", metavar="NUMBER", help="What each private question costs.")
    ] = None,
) -> None:
    """Show on a real survey how exact counts expose a person, and how private answers do not."""
    from deniable.app.demo import run

    run(output, epsilon)
