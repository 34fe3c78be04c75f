"""Groups under Poisson sampling: quadrature of the mixtures, the chain above them, and the formula for replace."""

import math
from fractions import Fraction

import mpmath
import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import AddRemove, GaussianLoss, PrivacyLoss, PureLoss, Relation, Replace, compose
from deniable.privacy.amplification.sampling.sampled_group import SampledGaussianGroupStatement
from deniable.privacy.composition.group import GroupStatement


def mixture_curve(mu: float, rate: float, first: int, second: int, epsilon: float) -> mpmath.mpf:
    """The hockey-stick divergence of the two mixtures, by quadrature in 15 digits."""
    with mpmath.workdps(15):

        def density(x: mpmath.mpf, units: int, side: int) -> mpmath.mpf:
            return mpmath.fsum(
                mpmath.binomial(units, i) * mpmath.mpf(rate) ** i * mpmath.mpf(1 - rate) ** (units - i)
                * mpmath.npdf(x, side * i * mu, 1) for i in range(units + 1)
            )  # fmt: skip

        def gap(x: mpmath.mpf) -> mpmath.mpf:
            return density(x, first, 1) - mpmath.exp(epsilon) * density(x, second, -1)

        low, high = mpmath.mpf(-10), mpmath.mpf(15)  # the ratio of the densities rises
        if gap(high) <= 0:
            return mpmath.mpf(0)
        for _ in range(45):
            middle = (low + high) / 2
            low, high = (low, middle) if gap(middle) > 0 else (middle, high)
        return mpmath.quad(gap, [high, high + 2, high + 6, 30 + first * mu])


@pytest.mark.parametrize(("mu", "rate", "size"), [(1.0, 0.25, 2), (0.5, 0.5, 3), (1.25, 0.125, 4)])
@pytest.mark.parametrize("epsilon", [0.25, 1.0])
def test_the_curve_is_the_greatest_over_all_splits(mu: float, rate: float, size: int, epsilon: float) -> None:
    splits = [(first, size - first) for first in range(size + 1)]
    truth = max(mixture_curve(mu, rate, *split, epsilon) for split in splits)
    found = PrivacyLoss(SampledGaussianGroupStatement(1 / Fraction(mu), rate=rate, size=size)).delta(epsilon)
    assert found.lower * (1 - 1e-9) <= truth <= found.upper * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.25, 1.0])
def test_a_group_that_is_added_or_removed_as_one_is_the_split_of_all(epsilon: float) -> None:
    base = GaussianLoss(1).poisson_sampled(rate="0.5")
    truth = max(mixture_curve(1.0, 0.5, 3, 0, epsilon), mixture_curve(1.0, 0.5, 0, 3, epsilon))
    found = base.group(3, one_direction=True).delta(epsilon)
    assert found.lower * (1 - 1e-9) <= truth <= found.upper * (1 + 1e-9)


def test_runs_of_a_group_that_moves_as_one_are_known_to_the_wished_width() -> None:
    run = GaussianLoss(1).poisson_sampled(rate="0.01").under(AddRemove) * 1000
    together, any_way = run.group(2, one_direction=True), run.group(2)
    found = together.epsilon("1e-5")
    assert not found.wide
    assert found == any_way.epsilon("1e-5")  # the split that reveals most; until 2026-11-28 any_way had 4.25783
    assert found.upper < 0.95 * (any_way + PureLoss("1/1000000000")).epsilon("1e-5").upper
    assert together.relations == {AddRemove}
    assert PrivacyLoss.from_json(together.to_json()) == together
    assert "one_direction=True" in repr(together)
    assert together.group(2) == run.group(4)
    assert together.group(2, one_direction=True) == run.group(4, one_direction=True)
    assert together.under_replace() == run.group(2).under_replace()
    assert GaussianLoss(1).group(2, one_direction=True) == GaussianLoss(1).group(2)


def test_the_chain_lies_above() -> None:
    for rate, size in (("0.1", 2), ("0.01", 8)):
        base = GaussianLoss(1).poisson_sampled(rate=rate)
        exact, chain = base.group(size), PrivacyLoss(GroupStatement(base, size))
        assert isinstance(exact.statement, SampledGaussianGroupStatement)
        for epsilon in ("0", "0.5", "2"):
            assert base.delta(epsilon).lower <= exact.delta(epsilon).lower
            assert exact.delta(epsilon).upper <= chain.delta(epsilon).upper


def test_replace_is_one_removed_and_one_added() -> None:
    """Another route: the formula for Poisson sampling under replace."""
    base = GaussianLoss(1)
    ours = base.poisson_sampled(rate="0.1").under_replace()
    theirs = base.poisson_sampled(rate="0.1", relation=Replace)
    assert ours.relations == {Replace}
    for epsilon in ("0.1", "0.5", "1.5"):
        assert ours.delta(epsilon).upper == pytest.approx(theirs.delta(epsilon).upper, rel=1e-9)


def test_a_run_of_groups_composes() -> None:
    """Private training, as seen by two records of one person."""
    run = GaussianLoss(1).poisson_sampled(rate="0.1") * 20
    pair = run.group(2)
    found = pair.epsilon("1e-5")
    assert run.epsilon("1e-5").upper < found.lower
    assert found.width <= 0.003 * found.upper
    assert found.upper < 2.5 * run.epsilon("1e-5").upper
    pairs = SampledGaussianGroupStatement(1, rate="0.1", size=2).pairs
    splits = [PrivacyLoss(split) * 20 for split in pairs]
    assert found.upper == max(split.epsilon("1e-5").upper for split in splits)
    assert pair.delta("0.1").upper == max(split.delta("0.1").upper for split in splits)


def test_runs_of_a_group_are_split_alike_and_below_one_pair_above_all_splits() -> None:
    """Until 2026-11-28 a run was that of one pair above both splits; a run beside another loss still is."""
    group = GaussianLoss(1).poisson_sampled(rate="0.1").group(2)
    runs = group * 10
    assert runs == compose([group] * 10) == PrivacyLoss.from_json(runs.to_json())
    assert (group.under(AddRemove) * 10).epsilon("1e-5") == runs.epsilon("1e-5")
    above = (runs + PureLoss("1/1000000000")).epsilon("1e-5").upper
    assert runs.epsilon("1e-5").upper < above * 0.995
    assert runs.proves(Fraction("6.195"), Fraction("1e-5"))
    assert not runs.proves(Fraction("6.19"), Fraction("1e-5"))


def test_groups_of_groups_multiply() -> None:
    base = GaussianLoss(2).poisson_sampled(rate="0.3")
    assert base.group(2).group(3) == base.group(6)
    assert base.group(1) == base
    assert isinstance(base.group(65).statement, GroupStatement)
    assert base.under_replace().group(2) == PrivacyLoss(
        SampledGaussianGroupStatement(2, rate="0.3", size=4, relation=Replace)
    )


@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_json_round_trip(relation: Relation) -> None:
    loss = PrivacyLoss(SampledGaussianGroupStatement("0.7", rate="0.01", size=4, relation=relation))
    assert PrivacyLoss.from_json(loss.to_json()) == loss
    assert loss.relations == {relation}
    assert loss.mu_squared == (4 / Fraction("0.7")) ** 2


def test_bad_parameters_are_refused() -> None:
    for changes in (
        {"rate": 0},
        {"rate": 1},
        {"size": 0},
        {"size": 65},
        {"relation": Replace, "size": 3},
        {"one_direction": 2},
        {"relation": Replace, "one_direction": True},
    ):
        with pytest.raises(InvalidParameterError):
            PrivacyLoss(SampledGaussianGroupStatement(1, **({"rate": "0.1", "size": 2} | changes)))  # type: ignore[arg-type]
    assert math.isinf(PrivacyLoss(SampledGaussianGroupStatement(1, rate="0.1", size=2)).epsilon(0).upper)
