"""Laws: points of the simplex, and what they are turned into."""

import math
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable.audit import measure_exactly
from deniable.audit.laws import clamp_noise, combine_laws, cut_noise, draw_outputs, read_law
from deniable.errors import InvalidParameterError
from deniable.mechanisms import Gaussian, Laplace
from deniable.numbers.interval import Interval
from deniable.privacy import AddRemove, GaussianLoss, LaplaceLoss, PrivacyLoss, of_count


def test_what_is_no_law_is_refused() -> None:
    for wrong in ({0: "1/2", 1: "1/3"}, {0: 1.5, 1: -0.5}, {0: math.nan}, {}, [0.5, 0.5], {0: Interval(0.1, 0.2)}):
        with pytest.raises(InvalidParameterError):
            read_law(wrong)


def test_outputs_that_are_no_number_are_one_output() -> None:
    assert read_law({float("nan"): "1/2", math.nan: "1/4", 0: "1/4"}) == {"NaN": F(3, 4), 0: F(1, 4)}


def test_the_sign_of_zero_is_part_of_the_output() -> None:
    assert math.isinf(measure_exactly(lambda sign: {sign * 0.0: 1}, [(1, -1)]).epsilon)


def test_intervals_are_added_outward() -> None:
    both = read_law({math.nan: Interval(0.1, 0.2), float("nan"): Interval(0.2, 0.3), 0: "0.6"})
    assert both["NaN"].contains(F(3, 10))  # type: ignore[union-attr]
    assert both["NaN"].contains(F(1, 2))  # type: ignore[union-attr]


def test_draws_follow_the_law() -> None:
    """A chi-squared test, wrong once in 10^6 seeds; the twin draws from another law."""
    law = {"a": "1/2", "b": "1/3", "c": "1/6"}
    drawn = draw_outputs(law, runs=6000, seed=1)
    counts = [drawn.count(output) for output in law]
    assert stats.chisquare(counts, [3000, 2000, 1000]).pvalue > 1e-6
    assert stats.chisquare(counts, [2000, 3000, 1000]).pvalue < 1e-6
    assert drawn == draw_outputs(law, runs=6000, seed=1)


@pytest.mark.parametrize("mechanism", [Laplace(scale=2), Gaussian(sigma_squared=4)], ids=["Laplace", "Gaussian"])
def test_integer_noise_is_audited_through_bounds(mechanism: Laplace | Gaussian) -> None:
    """The loss is reached and not passed; the twin claims 1% less."""
    loss = mechanism.privacy_loss(of_count(rows=1, groups=1, relation=AddRemove))
    noise = mechanism.law()
    for delta in ("0", "0.01") if isinstance(mechanism, Laplace) else ("0.01",):
        claimed = loss.epsilon(delta).upper
        for share, violated in ((1, False), (0.99, True)):
            found = measure_exactly(
                lambda count: clamp_noise(noise, count, bounds=(-40, 40)),
                [(0, 1)],
                epsilon=share * claimed,
                delta=delta,
            )
            assert found.violated is violated


def test_cells_of_a_histogram_are_combined() -> None:
    """E62: two cells with Laplace noise of scale 2 under replace; the products hold the true ones."""
    noise = Laplace(scale=2).law()

    def histogram(counts: tuple[int, ...]) -> object:
        return combine_laws(clamp_noise(noise, count, bounds=(-9, 9)) for count in counts)

    assert measure_exactly(histogram, [((1, 0), (0, 1))]).epsilon == pytest.approx(1.0, rel=1e-12)
    assert measure_exactly(histogram, [((1, 0), (0, 0))]).epsilon == pytest.approx(0.5, rel=1e-12)
    assert combine_laws([{0: "1/3", 1: "2/3"}] * 2)[1, 1] == F(4, 9)


@pytest.mark.parametrize(
    ("family", "loss", "delta"),
    [(stats.laplace, LaplaceLoss(noise_multiplier=1), "0"), (stats.norm, GaussianLoss(noise_multiplier=1), "0.01")],
    ids=["Laplace", "Gaussian"],
)
def test_continuous_noise_is_audited_by_its_cells(family: Any, loss: PrivacyLoss, delta: str) -> None:
    """Cells of width 0.01 lose less than 1%, and never pass the truth."""
    found = measure_exactly(
        lambda value: cut_noise(family(loc=value).cdf, np.linspace(-6, 6, 1201)), [(0, 1)], claim=loss, delta=delta
    )
    assert not found.violated
    assert found.epsilon > 0.99 * found.claimed


def test_what_is_no_distribution_function_is_refused() -> None:
    for below, edges in ((stats.norm.sf, [0, 1]), (stats.norm.cdf, [1, 0]), (lambda x: x + math.nan, [0, 1])):
        with pytest.raises(InvalidParameterError, match="increase"):
            cut_noise(below, edges)
