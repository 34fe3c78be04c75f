"""Pictures of commands: whole files, never in place of the data."""

from pathlib import Path

import pytest

from deniable.app.pictures import check_picture, write_picture
from deniable.errors import InvalidParameterError


def test_a_picture_has_the_ending_of_one() -> None:
    check_picture(None)
    check_picture(Path("out.SVG"))
    with pytest.raises(InvalidParameterError, match=r"ends in .png, .svg, .pdf"):
        check_picture(Path("out.txt"))


def test_a_picture_never_replaces_the_data(tmp_path: Path) -> None:
    axes = pytest.importorskip("matplotlib.pyplot").subplots()[1]
    write_picture(axes, tmp_path / "out.png")
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidParameterError, match="would replace"):
        write_picture(axes, tmp_path / "out.png", never=(tmp_path / "out.png",))
