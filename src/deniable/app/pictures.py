"""Pictures that a command draws into a file."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.app.output import whole_file
from deniable.app.terminal import hint
from deniable.errors import InvalidParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURES = (".png", ".svg", ".pdf")


def check_picture(place: Path | None) -> None:
    """Raise InvalidParameterError if the name does not end as a picture's does."""
    if place is not None and place.suffix.lower() not in PICTURES:
        raise InvalidParameterError(f"--plot takes a name that ends in {', '.join(PICTURES)}, got {str(place)!r}.")


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
