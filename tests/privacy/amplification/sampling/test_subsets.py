"""Samples of fixed size under replace: enumeration of whole mechanisms, quadrature of pairs, published values."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    ConcentratedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    FiniteLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    Replace,
    of_count,
)
from deniable.privacy.amplification.sampling.sampled_law import SampledLaw
from deniable.privacy.amplification.sampling.subsets import MirroredLaw, SubsetSampledStatement
from deniable.privacy.pld.accountant import RepeatedPair, composed_delta
from deniable.privacy.pld.law import FiniteLaw, ReversedLaw
from deniable.privacy.pld.laws import NormalLaw, randomized_response_law

replaced = of_count(rows=1, groups=1, cells=1, relation=Replace)
REACH = np.arange(-60, 64)


def noisy_sum_on_a_subset(values: tuple[int, ...], size: int, scale: float) -> np.ndarray:
    """The exact law of the sum over a random subset plus discrete Laplace noise, by writing all subsets out."""
    noise = np.exp(-np.abs(REACH) / scale) * math.tanh(1 / (2 * scale))
    total = np.zeros(REACH.size)
    subsets = list(itertools.combinations(values, size))
    for subset in subsets:
        total += np.roll(noise, sum(subset)) / len(subsets)
    return total


@pytest.mark.parametrize(("size", "population"), [(1, 3), (2, 5), (3, 4)])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.3])
def test_the_bound_is_the_worst_of_all_data(size: int, population: int, epsilon: float) -> None:
    """All data sets of zeros and ones and all their neighbours, each output law enumerated."""
    scale = 1.5
    worst = 0.0
    for rest in itertools.product((0, 1), repeat=population - 1):
        with_one = noisy_sum_on_a_subset((1, *rest), size, scale)
        with_zero = noisy_sum_on_a_subset((0, *rest), size, scale)
        for p, q in ((with_one, with_zero), (with_zero, with_one)):
            worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0)[4:].sum()))
    loss = DiscreteLaplaceLoss("1.5", replaced).sampled_without_replacement(size=size, population=population)
    found = loss.delta(epsilon)
    assert found.lower * (1 - 1e-9) - 1e-15 <= worst <= found.upper * (1 + 1e-9) + 1e-15


@given(st.integers(1, 99), st.floats(0.3, 4.0), st.floats(0.0, 3.0))
def test_gaussian_noise_has_the_curve_of_the_attained_pair(size: int, noise: float, epsilon: float) -> None:
    """All other vectors at one end of the ball: (1 - g) N(0) + g N(mu) against N(0), mu = 1/noise."""
    found = GaussianLoss(noise).sampled_without_replacement(size=size, population=100).delta(epsilon)
    with mpmath.workdps(40):
        g, mu, e = mpmath.mpf(size) / 100, 1 / mpmath.mpf(repr(noise)), mpmath.exp(mpmath.mpf(repr(epsilon)))
        x = mu / 2 + mpmath.log((e - 1 + g) / g) / mu
        truth = (1 - g) * mpmath.ncdf(-x) + g * mpmath.ncdf(mu - x) - e * mpmath.ncdf(-x)
    assert found.lower * (1 - 1e-12) <= truth <= found.upper * (1 + 1e-12)


def test_pure_and_approximate_losses_have_the_amplified_parameters() -> None:
    """Balle, Barthe, Gaboardi (2018): (ln(1 + g (e^epsilon - 1)), g delta); golden.md G37 for the number."""
    loss = PureLoss(1).sampled_without_replacement(size=1, population=100)
    assert loss.epsilon(0).upper == pytest.approx(0.017036863236176549786, rel=1e-9)
    loss = ApproximateLoss(1, "0.01").sampled_without_replacement(size=10, population=100)
    limit = math.log(1 + 0.1 * math.expm1(1))
    assert loss.delta(limit + 1e-9).upper == pytest.approx(0.001, rel=1e-6)
    assert loss.charge().epsilon == pytest.approx(limit, rel=1e-9)
    assert loss.charge().delta == Fraction(1, 1000)


def test_the_formula_of_the_notes_is_not_below_the_truth() -> None:
    """Erratum E10: (epsilon, delta) becomes (epsilon', q delta), and not epsilon' alone."""
    loss = ApproximateLoss(1, "0.01").sampled_without_replacement(size=10, population=100)
    limit = Fraction(math.log(1 + 0.1 * math.expm1(1)))
    assert loss.delta(limit + 1).lower >= 0.000999
    assert math.exp(float(limit)) == pytest.approx(0.9 * (1 + 0.1 * math.expm1(1)) + 0.1 * 1.1718281828, rel=1e-6)


@pytest.mark.parametrize(
    "base", [NormalLaw(1.3), randomized_response_law(1.0), randomized_response_law(1.0, failed=0.01)]
)
@pytest.mark.parametrize("epsilon", ["-0.4", "0", "0.3", "1"])
def test_the_mirrored_law_has_the_larger_curve_of_both_directions(base: NormalLaw, epsilon: str) -> None:
    """At every loss, negative ones included: the two mixtures are evaluated by their own tails."""
    at = np.array([float(epsilon)])
    mixture = SampledLaw(base, Fraction(1, 5))
    curves = []
    for law in (MirroredLaw(mixture), mixture, ReversedLaw(mixture)):
        found = law.above(at)
        curves.append(float((found.p + law.infinite - np.exp(at) * found.q)[0]))
    assert curves[0] == pytest.approx(max(curves[1:]), rel=1e-12)


def test_one_direction_does_not_bound_the_other() -> None:
    """A twin that keeps the first mixture alone is below the truth at negative losses."""
    mixture = SampledLaw(NormalLaw(1.3), Fraction(1, 5))
    at = np.array([-0.3])
    curves = [law.above(at) for law in (mixture, MirroredLaw(mixture))]
    wrong, right = (float((found.p - np.exp(at) * found.q)[0]) for found in curves)
    assert wrong < 0.99 * right


def test_the_tails_of_the_mirrored_law_add_to_one() -> None:
    law = MirroredLaw(SampledLaw(NormalLaw(2.0), Fraction(1, 10)))
    places = np.linspace(-2, 2, 41)
    above, below = law.above(places), law.below(places)
    assert np.allclose(above.p + below.p, 1, rtol=1e-14)
    assert np.allclose(above.q + below.q, 1, rtol=1e-14)
    assert np.allclose(above.p, law.below(-places).q, atol=0.9)
    assert law.above(np.array([0.0])).p < law.above(np.array([-1e-12])).p - 0.1  # the atom at 0


@pytest.mark.parametrize("count", [2, 7])
def test_compositions_of_pure_losses_lie_between_both_pairs(count: int) -> None:
    """Both pairs have few losses: their sums are written out."""
    g, high, low = 0.25, 1 / (1 + math.exp(-1)), 1 / (1 + math.exp(1))
    top = math.log(1 - g + g * math.e)
    rare = 1 / (math.e + 2)
    ends = rare, 1 - 2 * rare - rare * g * math.expm1(1), rare * math.exp(top)
    pairs = {
        "triangle": ([-top, 0.0, top], list(ends)),
        "attained": ([math.log(1 - g + g / math.e), top], [(1 - g) * high + g * low, (1 - g) * low + g * high]),
        "dominating": ([-top, 0.0, top], [low, 1 - low - (1 - g) * low - g * high, (1 - g) * low + g * high]),
    }
    curve = {}
    for name, (losses, p) in pairs.items():
        curve[name] = 0.0
        for place in itertools.product(range(len(losses)), repeat=count):
            loss = sum(losses[i] for i in place)
            curve[name] += math.prod(p[i] for i in place) * max(0.0, 1 - math.exp(0.3 - loss))
    loss = PureLoss(1).sampled_without_replacement(size=25, population=100) * count
    found = loss.delta("0.3")
    attained = max(curve["attained"], curve["triangle"])
    assert found.lower == pytest.approx(attained, rel=2e-3)
    assert found.upper == pytest.approx(curve["dominating"], rel=2e-3)
    assert found.lower <= attained * (1 + 1e-12)
    assert found.upper >= curve["dominating"] * (1 - 1e-12)


@pytest.mark.parametrize(
    "base",
    [GaussianLoss(1), LaplaceLoss(1), PureLoss(1), DiscreteGaussianLoss(3, replaced), ApproximateLoss(1, "0.001")],
)
def test_a_sample_costs_less_than_everything_and_composes(base: PrivacyLoss) -> None:
    sampled = base.sampled_without_replacement(size=10, population=100)
    larger = base.sampled_without_replacement(size=20, population=100)
    assert sampled.relations == {Replace}
    for loss, more in ((sampled, larger), (sampled * 5, larger * 5), (larger * 5, base * 5), (sampled, sampled * 2)):
        assert loss.delta("0.1").lower <= more.delta("0.1").upper
        assert loss.epsilon("0.01").lower <= more.epsilon("0.01").upper
    assert PrivacyLoss.from_json(sampled.to_json()) == sampled
    assert repr(sampled).endswith(".sampled_without_replacement(size=10, population=100)")


def test_a_step_of_sgd_on_fixed_batches_is_near_poisson_at_twice_the_sensitivity() -> None:
    """One step is exactly Poisson sampling of the same Gaussian; a run is bounded by a wider interval around it."""
    step = GaussianLoss("0.5").sampled_without_replacement(size=100, population=10_000)
    other = GaussianLoss("0.5").poisson_sampled(rate="0.01")
    assert step.epsilon("1e-5").upper == pytest.approx(other.epsilon("1e-5").upper, rel=1e-9)
    run, poisson = (step * 1000).epsilon("1e-5"), (other * 1000).epsilon("1e-5")
    assert run.lower <= poisson.upper
    assert run.upper >= poisson.lower
    assert run.width < 0.15 * run.upper


def test_unproved_uses_are_refused() -> None:
    with pytest.raises(UnprovedError, match="under replace"):
        DiscreteGaussianLoss(3, of_count(rows=1, groups=1, relation=AddRemove)).sampled_without_replacement(
            size=1, population=2
        )
    with pytest.raises(UnprovedError, match="known by a bound alone"):
        (ConcentratedLoss("0.1") * 2).sampled_without_replacement(size=1, population=2)
    with pytest.raises(InvalidParameterError, match="size must be below population=5"):
        GaussianLoss(1).sampled_without_replacement(size=6, population=5)
    with pytest.raises(InvalidParameterError, match="size must be"):
        GaussianLoss(1).sampled_without_replacement(size=0, population=5)
    with pytest.raises(InvalidParameterError, match="base must be"):
        PrivacyLoss(SubsetSampledStatement("x", 1, 2))  # type: ignore[arg-type]
    assert GaussianLoss(1).sampled_without_replacement(size=5, population=5) == GaussianLoss(1)


def test_losses_whose_directions_differ_are_refused() -> None:
    """One pair as it is, and a sample of a sample."""
    for base in (
        FiniteLoss(["1/2", "1/2"], ["1/4", "3/4"], relation=Replace),
        GaussianLoss(1).sampled_without_replacement(size=1, population=3),
    ):
        with pytest.raises(UnprovedError, match="whose two directions have one law"):
            base.sampled_without_replacement(size=1, population=2)


def test_a_law_without_room_for_its_mirror_image_is_refused() -> None:
    """P = (0.9, 0.1), Q = (0.5, 0.5): P and Q give the positive loss more than 1 together."""
    law = FiniteLaw(np.log([0.2, 1.8]), np.array([0.1, 0.9]), np.array([0.5, 0.5]))
    with pytest.raises(UnprovedError, match="leave room"):
        MirroredLaw(law)


def test_gaussians_together_are_sampled_as_one() -> None:
    """A composition of Gaussians is a Gaussian, so it may be sampled as a whole."""
    both = (GaussianLoss(2) * 4).sampled_without_replacement(size=1, population=10)
    one = GaussianLoss(1).sampled_without_replacement(size=1, population=10)
    assert both.delta(1).upper == pytest.approx(one.delta(1).upper, rel=1e-12)
    pair = composed_delta([[RepeatedPair(SampledLaw(NormalLaw(1.0), Fraction(1, 10)), 1)]], Fraction(1), 1e-6)
    assert both.delta(1).upper == pytest.approx(pair.upper, rel=1e-5)


def test_tails_of_a_mirrored_law_are_sums_of_its_atoms() -> None:
    """At, beside and between the atoms, on both sides of 0."""
    law = MirroredLaw(SampledLaw(PureLoss(1).statement.laws().upper[0], Fraction(1, 4)))
    atoms = law.atoms()
    assert atoms is not None
    places = np.sort(
        np.concatenate([atoms.losses, np.nextafter(atoms.losses, -9), np.nextafter(atoms.losses, 9), [-1, 1]])
    )
    above, below = law.above(places), law.below(places)
    for name in ("p", "q"):
        masses = getattr(atoms, name)
        tops = [masses[atoms.losses > place].sum() for place in places]
        assert getattr(above, name) == pytest.approx(tops, abs=1e-12)
        assert getattr(below, name) == pytest.approx([masses.sum() - top for top in tops], abs=1e-12)
