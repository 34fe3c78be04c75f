"""Results that are text, JSON and a picture in a file."""

import io
import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import typer

from deniable.app.output import whole_file
from deniable.app.terminal import hint, say
from deniable.errors import InvalidParameterError, MissingExtraError, redacted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURES = (".png", ".svg", ".pdf")


class Result(Protocol):
    """The outcome of an attack or of an audit."""

    def plot(self) -> "Axes":
        """Draw it."""

    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON."""


def show_result(result: Result, *, as_json: bool, plot: Path | None = None, never: tuple[Path, ...] = ()) -> None:
    """Print an outcome, and draw it if a file for the picture is given.

    It never replaces the input files.
    """
    if plot is not None:
        write_picture(result.plot(), plot, never=never)
    if as_json:
        typer.echo(json.dumps(result.to_data(), indent=2))
    else:
        say(str(result))


def check_picture(file: Path | None) -> None:
    """Refuse a picture that could not be written, before anything is computed or paid.

    Raises: InvalidParameterError if the name does not end as a picture's does; MissingExtraError without matplotlib.
    """
    if file is not None and file.suffix.lower() not in PICTURES:
        raise InvalidParameterError(f"--plot takes a name that ends in {', '.join(PICTURES)}, got {redacted(file)!r}.")
    if file is not None and find_spec("matplotlib") is None:
        raise MissingExtraError.of("plot", "--plot needs matplotlib")


def write_picture(axes: "Axes", file: Path, *, never: tuple[Path, ...] = ()) -> None:
    """Write what was drawn, at once and whole.

    Args:
        never: files that must not be replaced, such as the private data.
    """
    with whole_file(file, option="--plot", never=never) as write:
        figure = axes.get_figure(root=True)
        assert figure is not None
        buffer = io.BytesIO()
        figure.savefig(buffer, format=file.suffix[1:].lower())
        write(buffer.getvalue())
    hint(f"{file} written")
