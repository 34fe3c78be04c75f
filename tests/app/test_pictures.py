"""Results of commands, and pictures: whole files, never in place of the data."""

import json
from pathlib import Path

import numpy as np
import pytest

from deniable.app.pictures import check_picture, show_result, write_picture
from deniable.attacks import infer_membership
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


def test_one_outcome_is_shown_in_the_form_that_is_asked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = infer_membership(np.arange(300) + 500, np.arange(400))
    show_result(found, as_json=False, plot=tmp_path / "out.svg")
    assert capsys.readouterr().out == f"{found}\n"
    assert "</svg>" in (tmp_path / "out.svg").read_text(encoding="utf-8")
    show_result(found, as_json=True)
    assert json.loads(capsys.readouterr().out)["share"] == 1
