import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import PureLoss
from deniable.release import Release
from deniable.release.columns import Bounds, Estimate, Key, Measure
from tests.release.conftest import average


def test_a_measure_needs_a_base() -> None:
    with pytest.raises(InvalidParameterError, match="Make it a Key"):
        Measure(name="x", bases=())


def test_several_bases_need_an_expression() -> None:
    with pytest.raises(InvalidParameterError, match="Give evaluate"):
        Measure(name="x", bases=("a", "b"))


def test_a_count_stays_an_integer_when_it_is_clamped() -> None:
    values = Measure(name="n", bases=("n",), lower=0).values({"n": np.array([-5, 7])})
    assert values.dtype == np.int64
    assert values.tolist() == [0, 7]


def test_division_by_zero_is_undefined_and_silent() -> None:
    values = average(lower=0, upper=10).values({"total": np.array([5, 0, 30]), "n": np.array([0, 0, 2])})
    assert np.isnan(values[:2]).all()
    assert values[2] == 10


def test_rounding_comes_after_clamping() -> None:
    assert Measure(name="x", bases=("x",), upper=1.26, digits=1).values({"x": np.array([2.0, 0.44])}).tolist() == [
        1.3,
        0.4,
    ]


@pytest.mark.parametrize(
    ("post", "words"),
    [
        ({}, ""),
        ({"lower": 0}, "clamped to [0, inf]"),
        ({"lower": 0, "upper": 2.5, "digits": 2}, "clamped to [0, 2.5], rounded to 2 decimal places"),
    ],
)
def test_post_processing_is_stated(post: dict[str, float], words: str) -> None:
    assert Measure(name="x", bases=("x",), **post).post_processing == words  # type: ignore[arg-type]


def test_estimates_carry_their_own_intervals() -> None:
    estimate = Estimate(
        name="median",
        estimates=np.array([3.0, 5.0]),
        ends=lambda level: Bounds(np.array([2.0, 4.0]) - level, np.array([4.0, 6.0])),
    )
    answer = Release(parts=(Key(name="group", values=("a", "b")), estimate), cost=PureLoss(1))
    assert len(answer) == 2
    assert answer["median"].tolist() == [3.0, 5.0]
    assert answer.intervals(0.5)["median"].lower.tolist() == [1.5, 3.5]
    assert answer.take([1]).intervals(0.5)["median"].upper.tolist() == [6.0]
    assert answer.to_dicts()[0]["median_lower"] == pytest.approx(1.05)
    assert "5" in str(answer)


def test_an_estimate_without_interval_is_shown_alone() -> None:
    answer = Release(parts=(Estimate(name="p", estimates=np.array([0.25])),), cost=PureLoss(1))
    assert answer.scalar() == 0.25
    assert str(answer).splitlines() == ["   p", "----", "0.25", "cost epsilon=1"]  # no word of intervals
    assert answer.to_dicts() == [{"p": 0.25, "p_lower": None, "p_upper": None}]
    assert answer.take([0])["p"].tolist() == [0.25]
    estimate = Estimate(name="p", estimates=np.array([0.123]), digits=1)
    assert str(Release(parts=(estimate,), cost=PureLoss(1))).splitlines()[2] == "0.1"
