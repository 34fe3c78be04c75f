"""Outcome of attacks: a table, sentences, JSON and a picture."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from deniable.app.pictures import write_picture
from deniable.app.terminal import say

if TYPE_CHECKING:
    from deniable.attacks import AttackResult, Comparison


def show_comparison(
    comparison: "Comparison",
    *,
    plot: Path | None,
    as_json: bool,
    never: Sequence[Path] = (),
    drawn: "AttackResult | None" = None,
) -> None:
    """Draw the comparison if asked, then print it with what each attack found.

    Args:
        plot: file of the picture; never: files that it must not overwrite.
        as_json: print JSON instead of text.
        drawn: result whose own curves are drawn instead of the comparison.
    """
    if plot is not None:
        write_picture((drawn or comparison).plot(), plot, never=tuple(never))
    if as_json:
        typer.echo(json.dumps({name: result.to_data() for name, result in comparison.items()}, indent=2))
        return
    say(str(comparison))
    for name, result in comparison.items():
        say(f"\n{name}: {result}")
