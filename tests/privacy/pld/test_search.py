"""Stages, steps and refinement: a composition in stages against one in a single transform, and against closed forms."""

import math
from fractions import Fraction

import pytest

from deniable.privacy.gaussian_dp import gaussian_delta
from deniable.privacy.pld import search
from deniable.privacy.pld.laws import LaplaceLaw, NormalLaw, randomized_response_law
from deniable.privacy.pld.search import Aim, Part, Search, consistent
from deniable.privacy.sampling import SampledLaw


def steps_of(mu: float, count: int) -> list[Part]:
    return [Part(NormalLaw(mu / math.sqrt(count)), count)]


@pytest.mark.parametrize(("count", "epsilon"), [(10**4, 1), (9_973, 4), (10**6, 8)])
def test_stages_hold_the_closed_form(count: int, epsilon: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of equal parts and, for a prime count, a rest; 1e-14 a step is the rounding of mu."""
    monkeypatch.setattr(search, "_MOST_DIRECT", 0)
    truth = gaussian_delta(Fraction(1), Fraction(epsilon))
    found = Search(steps_of(1.0, count)).bounds(Aim(float(epsilon), truth.upper, 1e-4), 2e-4 if count < 10**6 else 2e-5)
    assert found is not None
    room = 1e-14 * count
    assert found.below(epsilon) <= truth.upper * (1 + room)
    assert found.above(epsilon) >= truth.lower * (1 - room)
    assert found.above(epsilon) - found.below(epsilon) < 1e-2 * truth.upper


def test_stages_agree_with_one_transform(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both brackets hold the truth, so they meet; a mixture of counts, with a rest."""
    parts = [Part(SampledLaw(NormalLaw(1.0), Fraction(1, 100)), 5_000), Part(LaplaceLaw(0.02), 777)]
    aim = Aim(4.0, 1e-5, 1e-3)
    plain = Search(parts).bounds(aim, 2e-4)
    monkeypatch.setattr(search, "_MOST_DIRECT", 0)
    staged = Search(parts).bounds(aim, 2e-4)
    assert plain is not None
    assert staged is not None
    for epsilon in (3.5, 4.0, 4.5):
        assert max(plain.below(epsilon), staged.below(epsilon)) <= min(plain.above(epsilon), staged.above(epsilon))
        assert staged.above(epsilon) < 1.02 * staged.below(epsilon)


def test_a_twin_that_ignores_the_rest_is_caught() -> None:
    """9,973 steps in 99 blocks of 100 are 73 too few."""
    truth = gaussian_delta(Fraction(1), Fraction(4))
    fewer = gaussian_delta(Fraction(9_900, 9_973), Fraction(4))
    assert fewer.upper < 0.98 * truth.lower


def test_a_step_puts_isolated_losses_on_the_grid() -> None:
    parts = [Part(randomized_response_law(0.02), 1), Part(LaplaceLaw(7.0), 1), Part(NormalLaw(1.0), 1)]
    step = Search(parts).fitted(0.013)
    assert 0.6 * 0.013 < step <= 0.013
    for length in (0.04, 14.0):
        assert abs(length / step - round(length / step)) < 0.02


def test_bounds_that_contradict_each_other_are_an_error_of_ours() -> None:
    assert consistent(1.0, 1.0).width == 0
    with pytest.raises(ArithmeticError, match="contradict"):
        consistent(1.0, 0.5)
