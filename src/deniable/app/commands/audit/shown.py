"""Outcome of an audit: sentences, JSON, a picture and the exit code.

The options of a claim stand here too.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.app.pictures import show_result

if TYPE_CHECKING:
    from deniable.audit import AuditResult

VIOLATED, INCONCLUSIVE = 4, 5

Epsilon = Annotated[
    str | None,
    typer.Option("--epsilon", metavar="NUMBER", help="The claimed epsilon; left out, epsilon is bounded alone."),
]
Delta = Annotated[str, typer.Option("--delta", metavar="NUMBER", help="The claimed delta.")]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw the error rates found: .png, .svg or .pdf.")
]


def show_audit(result: "AuditResult", *, plot: Path | None, as_json: bool, never: tuple[Path, ...] = ()) -> None:
    """Print and draw an outcome; end with code 4 if the claim is false.

    Code 5 if nothing could be measured.
    """
    show_result(result, as_json=as_json, plot=plot, never=never)
    if result.violated:
        raise typer.Exit(VIOLATED)
    if result.inconclusive:
        raise typer.Exit(INCONCLUSIVE)
