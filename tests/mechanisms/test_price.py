from fractions import Fraction
from math import prod

import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Gaussian, Laplace
from deniable.mechanisms.price import Price
from deniable.privacy import AddRemove, Replace, compose, of_count
from deniable.privacy.sensitivity import of_spread_sum
from deniable.statistics.covariances import Covariance
from deniable.statistics.variances import Variance

REACH = of_count(rows=1, groups=1, relation=AddRemove)
MANY = of_count(rows=1, groups=40, relation=AddRemove)


@pytest.mark.parametrize(
    "wrong",
    [(None, 0, None), (1, 0, 1), (0, 0, None), (-1, 0, None), (float("nan"), 0, None), (1, 1, None), (None, 1e-6, 1)],
)
def test_a_price_is_one_of_three(wrong: tuple[object, object, object]) -> None:
    with pytest.raises(InvalidParameterError):
        Price.of(*wrong)


def test_parts_add_up_to_the_whole() -> None:
    for price in (Price.of(1, "1e-6", None), Price.of(None, 0, "1/2")):
        parts = price.split(1, 2, 4)
        assert sum((part.epsilon or part.rho or Fraction(0)) for part in parts) == (price.epsilon or price.rho)
        assert sum(part.delta for part in parts) == price.delta


@pytest.mark.parametrize("price", [Price.of("0.3", 0, None), Price.of("0.3", 1e-6, None), Price.of(None, 0, "0.01")])
@pytest.mark.parametrize("reaches", [[REACH], [MANY], [REACH, MANY, REACH]])
def test_noises_cost_no_more_than_the_price(price: Price, reaches: list[object]) -> None:
    noises = price.noises(reaches)  # type: ignore[arg-type]
    loss = price.stated(compose([noise.privacy_loss(reach) for noise, reach in zip(noises, reaches, strict=True)]))
    if price.rho is not None:
        assert loss.rho <= price.rho
    else:
        assert loss.charge().epsilon == price.epsilon
        assert loss.charge().delta == (0 if isinstance(noises[0], Laplace) else price.delta)
        assert loss.delta(price.epsilon).upper <= price.delta


def test_the_better_noise_is_chosen() -> None:
    assert isinstance(Price.of(1, 0, None).noise(MANY), Laplace)
    assert isinstance(Price.of(1, 1e-6, None).noise(MANY), Gaussian)
    assert isinstance(Price.of(1, 1e-6, None).noise(REACH), Laplace)
    assert isinstance(Price.of(None, 0, 1).noise(REACH), Gaussian)


def test_selection_costs_its_rho() -> None:
    assert Price.of("1/2", 0, None).selection() == Fraction(1, 2)
    epsilon = Price.of(None, 0, "1/50").selection()
    assert epsilon**2 / 8 <= Fraction(1, 50) < (epsilon * (1 + Fraction(1, 10**8))) ** 2 / 8


def test_a_price_says_what_it_is() -> None:
    assert str(Price.of("0.5", 1e-6, None)) == "epsilon=0.5, delta=1e-06"
    assert str(Price.of(None, 0, "1/4")) == "rho=0.25"


@pytest.mark.parametrize("price", [Price.of("0.3", 0, None), Price.of("0.3", 1e-6, None), Price.of(None, 0, "0.01")])
def test_the_loss_of_anything_that_costs_so_much(price: Price) -> None:
    charge = price.bound().charge()
    assert (charge.rho if price.rho is not None else charge.epsilon) == (price.rho or price.epsilon)
    assert price.rho is not None or charge.delta == price.delta


def test_noise_that_cannot_be_drawn_leaves_the_other_kind() -> None:
    """Gaussian noise for so small a delta has a deviation beyond what is drawn; Laplace noise has none of it."""
    wide = of_spread_sum(lower=0, upper=2**32, total_rows=3, relation=AddRemove)
    assert isinstance(Price.of("5/6000000", "1e-12", None).noise(wide), Laplace)
    assert Variance(bounds=(0, 1), epsilon="1e-6", delta="1e-12", rows=3).expected_error(10**9) > 0
    assert Covariance(bounds=[(0, 1)] * 2, epsilon="1e-6", delta="1e-12", rows=3, relation=Replace).mechanism


def test_a_price_that_buys_no_noise_says_why() -> None:
    with pytest.raises(InvalidParameterError, match=r"epsilon=.* buys no noise .* tens of millions of rows"):
        Variance(bounds=(0, 1), epsilon="1e-9", rows=3, relation=Replace)


def test_equal_shares_of_epsilon_alone_buy_laplace_noise() -> None:
    noises = Price.of(3, 0, None).noises([REACH, REACH, MANY])
    assert noises == tuple(Laplace(scale=scale) for scale in (1, 1, 40))  # type: ignore[arg-type]


def test_choices_are_ordered_by_the_product_of_their_deviations() -> None:
    for price in (Price.of(1, "1e-6", None), Price.of(None, 0, "0.01")):
        for reaches in ([REACH], [MANY], [REACH, MANY], [MANY] * 9):
            spreads = [prod(noise.standard_deviation() for noise in choice) for choice in price.choices(reaches)]
            assert len(spreads) > 1
            assert spreads == sorted(spreads)


def test_several_sums_at_epsilon_and_delta_share_the_larger_of_rho_and_mu() -> None:
    """Gaussian differential privacy composes without loss: sharing mu^2 leaves less noise than sharing rho."""
    (noise, *_), price = Price.of(1, "1e-6", None).noises([MANY] * 3), Price.of(1, "1e-6", None)
    assert noise.standard_deviation() < price.concentrated().noises([MANY] * 3)[0].standard_deviation()
    assert price.stated(compose([noise.privacy_loss(MANY)] * 3)).charge().delta == price.delta


def test_tiny_prices_are_calibrated_or_refused_but_never_rounded_to_nothing() -> None:
    rho = Price.of(None, 0, "1e-14").noise(REACH).privacy_loss(REACH).charge().rho
    assert rho is not None
    assert 0 < rho <= Fraction(1, 10**14)
    with pytest.raises(InvalidParameterError):
        Price.of(None, 0, "1e-200").noise(REACH)
