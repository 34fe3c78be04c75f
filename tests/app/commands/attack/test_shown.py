"""Outcomes as text, as JSON and as a picture."""

import json
from pathlib import Path

import numpy as np
import pytest

from deniable.app.commands.attack.shown import show_comparison
from deniable.attacks import Comparison, infer_membership
from deniable.errors import InvalidParameterError

RESULT = infer_membership(np.arange(300) + 500, np.arange(400))


def test_text_has_a_table_and_every_fact(capsys: pytest.CaptureFixture[str]) -> None:
    show_comparison(Comparison({"one": RESULT}), plot=None, as_json=False)
    told = capsys.readouterr().out
    assert told.startswith("release  attack succeeds")
    assert "area under the curve: 1.0000" in told


def test_json_and_a_picture_of_the_curve(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    place = tmp_path / "curve.svg"
    show_comparison(Comparison({"one": RESULT}), plot=place, as_json=True, drawn=RESULT)
    assert json.loads(capsys.readouterr().out)["one"]["share"] == 1
    assert "</svg>" in place.read_text(encoding="utf-8")


def test_the_data_are_not_overwritten(tmp_path: Path) -> None:
    place = tmp_path / "data.png"
    place.write_text("rows", encoding="utf-8")
    with pytest.raises(InvalidParameterError):
        show_comparison(Comparison({"one": RESULT}), plot=place, as_json=False, never=(place,))
    assert place.read_text(encoding="utf-8") == "rows"
