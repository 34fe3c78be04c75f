"""Results that are text, JSON and a picture in a file."""

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import typer

from deniable.app.output import whole_file
from deniable.app.terminal import hint, say
from deniable.errors import InvalidParameterError, redacted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURES = (".png", ".svg", ".pdf")


class Result(Protocol):
    """The outcome of an attack or of an audit."""

    def plot(self) -> "Axes":
        """Draw it."""

    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON."""


def show_result(found: Result, *, as_json: bool, plot: Path | None = None, never: tuple[Path, ...] = ()) -> None:
    """Print an outcome, and draw it if a place for the picture is given, never in place of the files named."""
    if plot is not None:
        write_picture(found.plot(), plot, never=never)
    if as_json:
        typer.echo(json.dumps(found.to_data(), indent=2))
    else:
        say(str(found))


def check_picture(place: Path | None) -> None:
    """Raise InvalidParameterError if the name does not end as a picture's does."""
    if place is not None and place.suffix.lower() not in PICTURES:
        raise InvalidParameterError(f"--plot takes a name that ends in {', '.join(PICTURES)}, got {redacted(place)!r}.")


def write_picture(axes: "Axes", place: Path, *, never: tuple[Path, ...] = ()) -> None:
    """Write what was drawn, at once and whole.

    Args:
        never: files that must not be replaced, such as the private data.
    """
    with whole_file(place, never=never) as write:
        figure = axes.get_figure(root=True)
        assert figure is not None
        buffer = io.BytesIO()
        figure.savefig(buffer, format=place.suffix[1:].lower())
        write(buffer.getvalue())
    hint(f"{place} written")
