"""Comma-separated values that a spreadsheet takes for values."""

import csv
from pathlib import Path

import numpy as np
import pytest

from deniable.privacy import PureLoss
from deniable.release import Release
from deniable.release.columns import Key, Measure, Noisy
from tests.release.conftest import laplace


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "＝", " =", "\t="])
def test_no_cell_of_csv_begins_a_formula(sign: str, tmp_path: Path) -> None:
    noisy = (Noisy(name="n", values=np.array([-4, 1, 2]), law=laplace(1)),)
    parts = (Key(name=f"{sign}k", values=(f"{sign}1", "", None)), Measure(name="n", bases=("n",)))
    release = Release(parts=parts, noisy=noisy, cost=PureLoss(1))
    release.to_csv(tmp_path / "answer.csv", intervals=False)
    text = (tmp_path / "answer.csv").read_text(encoding="utf-8")
    assert text == release.to_csv(intervals=False)
    head, *rows = list(csv.reader(text.splitlines()))
    escaped = ascii(sign[0])[1:-1] + sign[1:] if sign[0] == "\t" else sign
    formula = sign != "\t="  # an escaped tab does not begin a cell with a sign
    assert head[0] == ("'" if formula else "") + escaped + "k"
    assert rows == [[("'" if formula else "") + escaped + "1", "-4"], ["", "1"], ["", "2"]]
    assert text.splitlines()[2:] == ['"",1', ",2"]
