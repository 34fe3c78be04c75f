"""Groups of units: exact closed forms, chains of small laws, errata, and what is attained."""

import math
from fractions import Fraction
from itertools import pairwise

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
    Sensitivity,
    of_count,
)
from deniable.privacy.composition.group import (
    GroupStatement,
    approximate_group_delta,
    group_failure,
)
from deniable.privacy.constructors import PermuteAndFlipLoss

ONE = of_count(rows=1, groups=1, relation=AddRemove)


@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_a_group_fails_as_often_as_the_chain_of_its_members(size: int) -> None:
    """d (1 + e^e + ... + e^((k - 1) e)): more than k d, in the failure, in what is booked, and in the curve."""
    base = ApproximateLoss("1/2", "1e-4")
    loss = PrivacyLoss(GroupStatement(base, size))
    truth = 1e-4 * sum(math.exp(member / 2) for member in range(size))
    for failed in (loss.failure, loss.charge().delta, loss.charge().failure):
        assert float(failed) == pytest.approx(truth, rel=1e-9)
        assert failed >= Fraction(truth) * (1 - Fraction(1, 10**12))
    assert loss.delta(Fraction(size, 2)).contains(truth) or loss.delta(Fraction(size, 2)).upper <= truth
    assert loss.proves(Fraction(size, 2), loss.failure)


def test_an_exchange_removes_and_adds_as_many() -> None:
    base = ApproximateLoss("1/2", "1e-6")
    assert GroupStatement(base, 3).replaced() == GroupStatement(base, 6, Replace)
    for size in (1, 3, 5):
        with pytest.raises(InvalidParameterError, match="even"):
            GroupStatement(PureLoss(1), size, Replace)


def test_two_units_reveal_no_less_than_one_is_said_to() -> None:
    """Of a loss that is known between bounds: what bounds a group from above is above what bounds a unit."""
    base = PermuteAndFlipLoss(1)
    assert PrivacyLoss(GroupStatement(base, 2)).renyi(2).upper > base.renyi(2).upper


@pytest.mark.parametrize("size", [2, 5, 20])
@pytest.mark.parametrize("epsilon", ["0", "0.5", "2", "5"])
def test_the_chain_of_a_gaussian_is_the_gaussian_of_the_sum(size: int, epsilon: str) -> None:
    """Two routes: the sum over a split of the curve of one unit, and k mu in closed form."""
    base, x = GaussianLoss(2), Fraction(epsilon)
    chain = PrivacyLoss(GroupStatement(base, size))
    found = min(chain.statement._split_delta(split) for split in chain.statement._splits(x))
    exact = base.group(size).delta(x)
    assert exact.lower <= found <= exact.upper * (1 + 1e-4)


@pytest.mark.parametrize("epsilon", ["0", "0.3", "1", "1.4"])
def test_the_chain_of_laplace_noise_is_laplace_noise(epsilon: str) -> None:
    chain, exact = PrivacyLoss(GroupStatement(LaplaceLoss(2), 3)).delta(epsilon), LaplaceLoss(2).group(3).delta(epsilon)
    assert exact.lower <= chain.upper <= exact.upper * (1 + 1e-3)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("epsilon", ["0", "0.25", "1", "2.9"])
def test_the_worst_pure_mechanism_for_groups_is_the_geometric_one(size: int, epsilon: str) -> None:
    """The formula of discrete Laplace noise of scale 2, moved by `size`, is another route to the same number."""
    moved = Sensitivity(l1=size, l2_squared=size**2, linf=size, relation=AddRemove)
    geometric = DiscreteLaplaceLoss(2, moved).delta(epsilon)
    found = approximate_group_delta(Fraction(1, 2), Fraction(0), size, Fraction(epsilon))
    assert found.lower == pytest.approx(geometric.lower, rel=1e-14)
    assert found.upper <= PureLoss(Fraction(size, 2)).delta(epsilon).upper + 1e-300


@given(
    st.fractions(Fraction(1, 20), 2, max_denominator=20),
    st.fractions(0, Fraction(1, 4), max_denominator=100),
    st.integers(1, 6),
    st.fractions(0, 6, max_denominator=10),
)
def test_the_polygon_of_an_approximate_loss_is_its_iterated_bound(
    limit: Fraction, failed: Fraction, size: int, epsilon: Fraction
) -> None:
    """Another route: apply the bound on probabilities `size` times at many starts, in floats."""
    starts = np.concatenate((np.linspace(0, 1, 4001), np.geomspace(1e-12, 1, 2001)))
    values, grown, d = starts.copy(), math.exp(limit), float(failed)
    for _ in range(size):
        values = np.minimum(np.minimum(1.0, d + grown * values), 1 - (1 - d - values) / grown)
    truth = float((values - math.exp(epsilon) * starts).max())
    found = approximate_group_delta(limit, failed, size, epsilon)
    assert found.upper >= truth * (1 - 1e-12)
    assert found.lower <= truth + 3e-3  # starts are 1/4000 apart and slopes are limited by e^12 only near 0


@st.composite
def chains(draw: st.DrawFn) -> list[list[Fraction]]:
    length, outcomes = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    masses = st.lists(st.integers(1, 9), min_size=outcomes, max_size=outcomes)
    return [[Fraction(mass, sum(row)) for mass in row] for row in (draw(masses) for _ in range(length + 1))]


@given(chains(), st.fractions(0, 2, max_denominator=10))
def test_no_chain_of_laws_exceeds_the_group_bound(chain: list[list[Fraction]], epsilon: Fraction) -> None:
    base = FiniteLoss.of_pairs(list(pairwise(chain)), relation=AddRemove)
    ends = FiniteLoss(chain[0], chain[-1], relation=AddRemove)
    found = base.group(len(chain) - 1).delta(epsilon)
    assert ends.delta(epsilon).lower <= found.upper
    assert found.upper <= PureLoss(base.pure_epsilon * (len(chain) - 1)).delta(epsilon).upper * (1 + 1e-6) + 1e-12


def test_errata_e08_delta_grows_faster_than_the_group() -> None:
    """The stated (t epsilon, t delta) is wrong, by exact counterexamples."""
    assert ApproximateLoss("0.5", "1e-6").group(5).delta("2.5").upper == pytest.approx(1.724e-5, rel=5e-4)
    assert ApproximateLoss(1, "1e-5").group(10).delta(10).upper == pytest.approx(0.12818, rel=5e-5)
    assert ApproximateLoss(1, "0.01").group(2).delta(2).lower == pytest.approx(0.03718, rel=5e-4)
    e, d = math.e, 0.01
    steps = (d * (1 + e), d, 0.0)  # chances of a bit along a chain: each step is (1, 0.01)-DP
    assert all(high <= e * low + d + 1e-15 for high, low in pairwise(steps))
    assert steps[0] - e**2 * steps[2] == pytest.approx(ApproximateLoss(1, "0.01").group(2).delta(2).upper, rel=1e-14)
    assert steps[0] - e**2 * steps[2] > 2 * d


@pytest.mark.parametrize(
    ("epsilon", "delta", "size", "attained"), [("0.5", "1e-6", 5, 1.303e-5), ("1", "1e-5", 10, 4.055e-3)]
)
def test_errata_e08_even_a_gaussian_breaks_the_stated_bound(
    epsilon: str, delta: str, size: int, attained: float
) -> None:
    from deniable.privacy.notions.gaussian_dp import largest_mu_squared

    mu_squared = largest_mu_squared(Fraction(epsilon), Fraction(delta))
    noise = 1 / Fraction(math.sqrt(mu_squared))
    found = GaussianLoss(noise).group(size).delta(size * Fraction(epsilon))
    assert found.lower == pytest.approx(attained, rel=5e-4)
    assert found.lower > size * float(delta)
    assert found.upper <= ApproximateLoss(epsilon, delta).group(size).delta(size * Fraction(epsilon)).upper


@pytest.mark.parametrize("size", [1, 2, 10])
def test_errata_e09_the_loose_bound_of_the_notes_is_above(size: int) -> None:
    tight = group_failure(Fraction(1), Fraction(1, 10**5), size)
    loose = size * math.exp(size - 1) * 1e-5
    assert tight <= Fraction(loose) * (1 + Fraction(1, 10**10))
    if size == 10:
        assert float(tight) == pytest.approx(0.128, abs=5e-4)
        assert loose == pytest.approx(0.810, abs=5e-4)


def test_errata_e62_a_histogram_doubles_under_replace() -> None:
    """Two cells with Laplace noise: one falls and one rises; delta(1) = 0.2418 and the greatest loss is 2."""
    cell = LaplaceLoss(1)
    assert (cell * 2).delta(1).contains(0.2418) or (cell * 2).delta(1).lower == pytest.approx(0.2418, abs=5e-5)
    assert (cell * 2).delta(1).upper <= cell.group(2).delta(1).upper
    assert DiscreteLaplaceLoss(1, ONE).under_replace().pure_epsilon == 2


def test_noise_is_scaled() -> None:
    assert GaussianLoss(3).group(3) == GaussianLoss(1)
    assert LaplaceLoss(3).group(2) == LaplaceLoss("1.5")
    assert ConcentratedLoss("0.1").group(3) == ConcentratedLoss("0.9")
    assert PureLoss(1).group(3).pure_epsilon == 3
    assert PureLoss(1).group(3).rho == Fraction(9, 2)
    assert GaussianLoss(1).group(1) == GaussianLoss(1)
    assert PureLoss(1).group(2).group(3) == PureLoss(1).group(6)
    assert GaussianLoss(10).stated(epsilon=1, delta="1e-5").group(2) == GaussianLoss(5)


def test_discrete_noise_moves_by_whole_steps() -> None:
    two = Sensitivity(l1="1.9", l2_squared="3.61", linf="1.9", relation=AddRemove, coordinates=1).of_group(2)
    assert (two.l1, two.linf, two.coordinates) == (2, 2, 2)
    assert DiscreteGaussianLoss(5, ONE).group(3).rho == 9 * DiscreteGaussianLoss(5, ONE).rho


def test_a_composition_is_grouped_part_by_part() -> None:
    run = GaussianLoss(2) * 3 + LaplaceLoss(4)
    assert run.group(2) == GaussianLoss(1) * 3 + LaplaceLoss(2)


def test_replace_is_a_group_of_two() -> None:
    assert DiscreteLaplaceLoss(4, ONE).under_replace().relations == {Replace}
    sampled = GaussianLoss(1).poisson_sampled(rate="0.1")
    replaced = sampled.under_replace()
    assert replaced.relations == {Replace}
    assert replaced.delta(1).upper >= sampled.delta(1).lower
    assert replaced.delta(1).upper <= PrivacyLoss(GroupStatement(sampled, 2)).delta(1).upper
    with pytest.raises(UnprovedError, match="replace from add/remove"):
        PrivacyLoss(GroupStatement(DiscreteLaplaceLoss(1, of_count(rows=1, groups=1, relation=Replace)), 2, Replace))


def counts(epsilon: float, delta: float) -> np.ndarray:
    """Laws of "is a group of 0, 1 or 2 units there?" whose successive members attain (epsilon, delta)."""
    shares, grown = [0.0], math.exp(epsilon)
    for _ in range(2):
        shares.append(min(delta + grown * shares[-1], 1.0))
    return np.array([[1 - share, share] for share in shares])


@pytest.mark.parametrize(
    "loss", [PureLoss(1), ApproximateLoss(1, "1e-3"), GaussianLoss(1), LaplaceLoss(1), ConcentratedLoss(1)]
)
def test_a_loss_without_a_relation_counts_twice_when_it_becomes_one_under_replace(loss: PrivacyLoss) -> None:
    """Erratum E05: (2 epsilon, (1 + e^epsilon) delta); a second call changes nothing; nothing leads back."""
    twice = loss.under_replace()
    assert twice.relations == {Replace}
    assert twice.under_replace() == twice
    assert twice.delta("0.5").upper == pytest.approx(loss.group(2).delta("0.5").upper, rel=1e-9)
    assert twice.delta("0.5").lower > loss.delta("0.5").upper
    assert loss.under(AddRemove).under_replace() == twice
    assert loss.under(Replace).under_replace() == loss.under(Replace)
    assert PrivacyLoss.from_json(twice.to_json()) == twice


def test_the_pair_of_the_erratum_is_attained() -> None:
    """(1, 1e-3) for each of two steps: at epsilon 2 the ends differ by (1 + e) 1e-3, by three laws written out."""
    none, _, two = counts(1.0, 1e-3)
    attained = float(np.maximum(two - math.exp(2) * none, 0).sum())
    found = ApproximateLoss(1, "1e-3").under_replace().delta(2)
    assert attained == pytest.approx((1 + math.e) * 1e-3, rel=1e-12)
    assert found.lower == pytest.approx(attained, rel=1e-9)
    assert ApproximateLoss(1, "1e-3").delta(2).upper < attained


def test_larger_groups_learn_more() -> None:
    for base in (PureLoss("0.3"), GaussianLoss(1).poisson_sampled(rate="0.1"), ApproximateLoss("0.3", "0.001")):
        deltas = [base.group(size).delta("0.5").upper for size in (1, 2, 4, 8)]
        assert deltas == sorted(deltas)
        assert base.group(4).delta("0.5").lower <= base.group(4).delta("0.5").upper


def test_epsilon_of_a_group_is_proved_by_its_curve() -> None:
    loss = GaussianLoss(1).poisson_sampled(rate="0.1").group(3)
    found = loss.epsilon("1e-4")
    assert loss.delta(found.upper).upper <= 1e-4
    assert ApproximateLoss(1, "0.01").group(3).epsilon("0.01").upper == math.inf


@pytest.mark.parametrize("base", [PureLoss(1), GaussianLoss(1).poisson_sampled(rate="0.1")])
def test_json_round_trip(base: PrivacyLoss) -> None:
    for loss in (base.group(3), base.under_replace()):
        assert PrivacyLoss.from_json(loss.to_json()) == loss


@pytest.mark.parametrize("size", [0, -1, 1.5, True, 10**6])
def test_bad_sizes_are_refused(size: object) -> None:
    with pytest.raises(InvalidParameterError, match="size"):
        PureLoss(1).group(size)


def test_groups_of_sampled_units_are_answered_near_the_greatest_loss() -> None:
    """There the digits of delta are lost to rounding, which the search for an epsilon has to pass by."""
    unit = LaplaceLoss(2).poisson_sampled(rate="0.1", relation=Replace)
    pair = unit.group(2)
    limit = pair.pure_epsilon
    assert limit is not None
    assert pair.delta(limit * Fraction(999, 1000)).upper < 1e-4
    found = pair.epsilon("1e-5")
    assert unit.epsilon("1e-5").lower <= found.upper <= float(limit)
