"""Local randomizers: their probabilities, their local epsilon, and what is refused."""

import math
from fractions import Fraction

import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy.amplification.shuffling.randomizers import AnyRandomizer, Channel, KaryResponse, Randomizer

CHANNEL = Channel([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/8", "1/8", "3/4"]])


@pytest.mark.parametrize(
    "randomizer",
    [
        KaryResponse(epsilon=1, categories=2),
        KaryResponse(epsilon="0.3", categories=9),
        AnyRandomizer(epsilon=2),
        CHANNEL,
    ],
)
def test_reports_are_laws_and_blankets_are_parts_of_one(randomizer: Randomizer) -> None:
    for case in randomizer.blankets():
        for side in ("first", "second"):
            assert float(sum(getattr(report, side) * report.copies for report in case())) == pytest.approx(1)
        assert float(sum(report.hidden * report.copies for report in case())) <= 1
    for case in randomizer.populations():
        assert float(sum(report.hidden * report.copies for report in case())) == pytest.approx(1)


def test_the_blanket_of_kary_response_is_even() -> None:
    """shuffle.md: gamma = k / (E + k - 1)."""
    (case,) = KaryResponse(epsilon=1, categories=5).blankets()
    share = float(sum(report.hidden * report.copies for report in case()))
    assert share == pytest.approx(5 / (math.e + 4))
    assert sum(report.copies for report in case()) == 5


def test_a_channel_tries_every_two_values_in_both_orders() -> None:
    uneven = Channel([["0.5", "0.3", "0.2"], ["0.2", "0.5", "0.3"], ["0.1", "0.2", "0.7"]])
    assert len(uneven.blankets()) == 6
    assert len(uneven.populations()) == 6 * 4
    assert len(CHANNEL.blankets()) == 3
    symmetric = Channel([["2/3", "1/3"], ["1/3", "2/3"]])
    assert len(symmetric.blankets()) == 1  # both orders look the same


def test_the_local_epsilon_of_a_channel() -> None:
    assert CHANNEL.largest_loss.contains(Fraction(math.log(4))) or CHANNEL.largest_loss.upper == math.log(4)
    assert float(CHANNEL.pure_epsilon or 0) == pytest.approx(math.log(4), rel=1e-11)
    assert CHANNEL.pure_epsilon is not None
    assert float(CHANNEL.pure_epsilon) >= CHANNEL.largest_loss.upper
    assert CHANNEL.infinite_mass == 0
    assert Channel([[1, 0], ["1/2", "1/2"]]).infinite_mass == Fraction(1, 2)


@pytest.mark.parametrize("rows", [[["1/2", "1/2"]], [["1/2", "1/2"], [1]], [["1/2", "0.4"], [1, 0]], [[2, -1], [1, 0]]])
def test_what_is_no_channel_is_refused(rows: list[list[object]]) -> None:
    with pytest.raises(InvalidParameterError):
        Channel(rows)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="categories"):
        KaryResponse(epsilon=1, categories=1)
    with pytest.raises(InvalidParameterError, match="epsilon"):
        AnyRandomizer(epsilon=0)
    with pytest.raises(InvalidParameterError, match="too large"):
        Channel([[Fraction(1, 100)] * 100] * 100)
