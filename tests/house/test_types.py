"""What a type checker tells a user: wrong calls of public functions are found before they run."""

import os
import re
from pathlib import Path

import pytest

import deniable

SCRIPT = """\
import numpy as np

from deniable.privacy import GaussianLoss, Interval, PureLoss
from deniable.statistics import mean

mean([31, 45, 28], bounds=(0, 100), epsilon=1)
mean(np.array([1.0, 2.0]), bounds=("1/2", 3), epsilon="0.1", units=["a", "b"])
found: Interval = GaussianLoss("1.1").poisson_sampled(rate="0.01").epsilon("1e-6")
ends = PureLoss(epsilon=1).delta(np.array([0.5, 1.0])).upper
mean(5, bounds=(0, 1), epsilon=1)  # wrong
mean([5], bounds=3, epsilon=1)  # wrong
mean([5], bounds=(0, 1), epsilon=[1])  # wrong
several: Interval = PureLoss(epsilon=1).epsilon(["1e-6"])  # wrong
GaussianLoss(noise_multiplier=None)  # wrong
PureLoss(epsilon=1).delta(found)  # wrong
float(found)  # wrong
"""


def test_a_type_checker_finds_wrong_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api = pytest.importorskip("mypy.api")
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "mypy.ini").write_text("[mypy]\nfollow_imports = silent\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MYPYPATH", os.fspath(Path(deniable.__file__).parents[1]))
    told, _, _ = api.run(["--strict", "--config-file=mypy.ini", "script.py"])
    found = {int(line) for line in re.findall(r"^script\.py:(\d+): error", told, re.MULTILINE)}
    assert found == {place for place, line in enumerate(SCRIPT.splitlines(), 1) if line.endswith("# wrong")}, told
