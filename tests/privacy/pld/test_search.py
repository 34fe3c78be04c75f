"""Bins, smoothing and refinement: the same composition by different routes, and against closed forms."""

import math
from fractions import Fraction

import pytest

from deniable.numbers.arrays import Floats
from deniable.privacy.amplification.sampling.sampled_law import SampledLaw
from deniable.privacy.notions.gaussian_dp import gaussian_delta
from deniable.privacy.pld import search
from deniable.privacy.pld.law import LossLaw, Tails
from deniable.privacy.pld.laws import DiscreteLaplaceLaw, LaplaceLaw, NormalLaw, randomized_response_law
from deniable.privacy.pld.search import Aim, RepeatedPair, Search, _Effort, consistent


@pytest.mark.parametrize(("count", "epsilon"), [(10**4, 1), (9_973, 4), (10**6, 8)])
def test_steps_hold_the_closed_form(count: int, epsilon: int) -> None:
    """1e-14 a step is the rounding of mu."""
    truth = gaussian_delta(Fraction(1), Fraction(epsilon))
    steps = [RepeatedPair(NormalLaw(1 / math.sqrt(count)), count)]
    found = Search(steps).bounds(Aim(float(epsilon), truth.upper, 1e-4), _Effort.of(1e-4))
    assert found is not None
    room = 1e-14 * count
    assert found.below(epsilon) <= truth.upper * (1 + room)
    assert found.above(epsilon) >= truth.lower * (1 - room)
    assert found.above(epsilon) - found.below(epsilon) < 5e-4 * truth.upper


def test_noise_that_is_merged_agrees_with_noise_that_is_not() -> None:
    """One Gaussian is never put on bins; two halves of it are. Both brackets hold the truth, so they meet."""
    rest = [RepeatedPair(SampledLaw(NormalLaw(1.0), Fraction(1, 100)), 500), RepeatedPair(LaplaceLaw(0.2), 7)]
    aim, effort = Aim(2.0, 1e-3, 1e-3), _Effort.of(1e-3)
    merged = Search([*rest, RepeatedPair(NormalLaw(0.5), 1)]).bounds(aim, effort)
    split = Search([*rest, RepeatedPair(NormalLaw(0.5 / math.sqrt(2)), 2)]).bounds(aim, effort)
    assert merged is not None
    assert split is not None
    assert merged.smoothed(2.0) < 1e-12 < split.smoothed(2.0)
    for epsilon in (1.8, 2.0, 2.2):
        assert max(merged.below(epsilon), split.below(epsilon)) <= min(merged.above(epsilon), split.above(epsilon))
        assert merged.above(epsilon) < 1.02 * merged.below(epsilon)


class Unspaced(LossLaw):
    """A law that does not tell that it lies on a lattice."""

    def __init__(self, base: LossLaw, spacing: float | None = None) -> None:
        self.base, self.lowest, self.highest, self.spacing = base, base.lowest, base.highest, spacing

    def above(self, losses: Floats) -> Tails:
        return self.base.above(losses)

    def below(self, losses: Floats) -> Tails:
        return self.base.below(losses)

    def slack(self, reach: float) -> float:
        return self.base.slack(reach)


def test_a_lattice_agrees_with_smoothing_and_is_narrower() -> None:
    law = DiscreteLaplaceLaw(20.0, 3)
    aim, effort = Aim(3.0, 1e-4, 1e-3), _Effort.of(1e-3)
    exact, smooth = (Search([RepeatedPair(one, 400)]).bounds(aim, effort) for one in (law, Unspaced(law)))
    assert exact is not None
    assert smooth is not None
    assert exact.smoothed(3.0) == 0
    for epsilon in (2.9, 3.0, 3.1):
        assert smooth.below(epsilon) <= exact.below(epsilon) <= exact.above(epsilon) <= smooth.above(epsilon)
        assert exact.above(epsilon) - exact.below(epsilon) < 1e-6 * exact.above(epsilon)


def test_a_lattice_that_is_none_is_seen() -> None:
    """A law that states a wrong spacing is put on bins."""
    law = Unspaced(LaplaceLaw(0.5), spacing=0.5)
    found = Search([RepeatedPair(law, 9)])
    bounds = found.bounds(Aim(1.0, 1e-2, 1e-3), _Effort.of(1e-3))
    assert found.lattice == 0
    assert bounds is not None
    assert bounds.above(1.0) < 1.01 * bounds.below(1.0)


def test_a_budget_that_is_too_small_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAX_PRODUCTS", 100)
    assert Search([RepeatedPair(LaplaceLaw(0.5), 9)]).bounds(Aim(1.0, 1e-2, 1e-3), _Effort.of(1e-3)) is None


def test_spacings_are_multiples_of_a_piece_of_the_least() -> None:
    assert search._lattice([0.4, 0.2, 1.0]) == 0.2
    assert search._lattice([0.4, None]) == 0
    assert search._lattice([0.4, 0.3]) == pytest.approx(0.1, rel=1e-14)  # one that holds both
    assert search._lattice([0.4, 0.4 * math.sqrt(2)]) == 0
    assert search._lattice([0.4, 0.4 * 66 / 65]) == 0
    assert search._lattice([1.0, 8 / 7, 10 / 9, 12 / 11]) == 0  # 693 pieces of the least
    assert search._lattice([]) == 0
    assert Search([RepeatedPair(randomized_response_law(0.3), 4), RepeatedPair(NormalLaw(1.0), 1)]).lattice == 0


def test_bounds_that_contradict_each_other_are_an_error_of_ours() -> None:
    assert consistent(1.0, 1.0).width == 0
    with pytest.raises(ArithmeticError, match="contradict"):
        consistent(1.0, 0.5)
