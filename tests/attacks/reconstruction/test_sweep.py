"""Success against noise, beside the curve of the proof."""

from typing import get_args

import numpy as np
import pytest
from scipy import stats

from deniable.attacks import sweep_noise
from deniable.attacks.reconstruction.sweep import NoiseLaw
from deniable.errors import InvalidParameterError


@pytest.mark.parametrize("law", get_args(NoiseLaw))
def test_the_measured_curve_is_the_predicted_one(law: NoiseLaw) -> None:
    """4 * 2,048 bits at each of 5 noises: five standard errors, false alarm below 1e-5."""
    found = sweep_noise(people=(2048,), noises=(0.1, 0.25, 0.5, 1, 3), noise=law)
    measured, predicted = found.curves
    assert predicted.y == pytest.approx(stats.norm.cdf(1 / (4 * measured.x)))
    assert np.abs(measured.y - predicted.y).max() < 5 * 0.5 / np.sqrt(4 * 2048)
    assert np.abs(measured.y - stats.norm.cdf(1 / (4 * 1.3 * measured.x))).max() > 5 * 0.5 / np.sqrt(4 * 2048)


def test_the_threshold_is_the_root_of_the_people() -> None:
    found = sweep_noise(people=(64, 1024), noises=(4, 1 / 16))
    for curve in found.curves:
        assert curve.y[0] > 0.98
        assert curve.y[-1] < 0.6
    assert found.succeeded
    assert found.success.attempts == 4 * (64 + 1024)


def test_the_picture_has_a_line_for_each_number_of_people() -> None:
    pytest.importorskip("matplotlib")
    drawn = sweep_noise(people=(16, 32), noises=(0.1, 1), repeats=1).plot()
    assert [line.get_label() for line in drawn.lines] == ["16 people", "32 people", "predicted"]
    assert "sqrt(people)" in drawn.get_xlabel()


@pytest.mark.parametrize(
    "wrong", [{"people": ()}, {"noises": ()}, {"noises": (0,)}, {"noises": (np.nan,)}, {"repeats": 0}, {"noise": "no"}]
)
def test_an_empty_sweep_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        sweep_noise(**wrong)  # type: ignore[arg-type]
