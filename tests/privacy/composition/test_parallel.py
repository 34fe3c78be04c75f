"""Parallel composition under both relations, against enumeration of the histograms that attain it."""

import math
from fractions import Fraction

import numpy as np
import pytest

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
    Relation,
    Replace,
    of_count,
    parallel,
)
from deniable.privacy.pld.accountant import RepeatedPair, composed_delta

REACH = of_count(rows=1, groups=1, relation=AddRemove)
WITHIN = of_count(rows=1, groups=1, cells=1, relation=Replace)
EPSILONS = ["0", "1/4", "1/2", "1", "3/2"]


def histogram_delta(scales: list[int], before: list[int], after: list[int], epsilon: float) -> float:
    """delta between two histograms with discrete Laplace noise in each cell, by summing over noisy counts."""
    outcomes = [(1.0, 1.0)]
    for scale, a, b in zip(scales, before, after, strict=True):
        r = math.exp(-1 / scale)
        law = [(1 - r) / (1 + r) * r ** abs(k) for k in range(-90, 91)]
        cell = [(law[k - a + 90], law[k - b + 90]) for k in range(-80, 81)] if a != b else [(1.0, 1.0)]
        outcomes = [(p * x, q * y) for p, q in outcomes for x, y in cell]
    return sum(max(p - math.exp(epsilon) * q, 0.0) for p, q in outcomes)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_adding_a_unit_touches_one_part(epsilon: str) -> None:
    found = parallel([DiscreteLaplaceLoss(s, REACH) for s in (2, 3, 3)], relation=AddRemove).delta(epsilon)
    tables = [([1, 0, 0], [0, 0, 0]), ([0, 1, 0], [0, 0, 0])]
    truth = max(histogram_delta([2, 3, 3], a, b, float(Fraction(epsilon))) for a, b in tables)
    assert found.lower - 1e-14 <= truth <= found.upper + 1e-14


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_unit_that_moves_touches_two(epsilon: str) -> None:
    """The count of a cell does not change inside it, so `inside` costs nothing; moving costs two of the largest."""
    losses = [DiscreteLaplaceLoss(s, REACH) for s in (2, 3, 4)]
    found = parallel(losses, relation=Replace, inside=[PureLoss(0)] * 3).delta(epsilon)
    moves = [([1, 0, 0], [0, 1, 0]), ([1, 0, 0], [0, 0, 1]), ([0, 1, 0], [0, 0, 1])]
    values = [histogram_delta([2, 3, 4], a, b, float(Fraction(epsilon))) for a, b in moves]
    assert found.lower - 1e-11 <= max(values) <= found.upper + 1e-11
    assert found.width <= 1e-3
    assert found.upper >= parallel(losses, relation=AddRemove).delta(epsilon).lower


def test_the_erratum_on_parallel_composition() -> None:
    """E62: two cells with Laplace(1/epsilon) noise under replace: loss 2 epsilon and delta(1) = 0.2418 at epsilon 1."""
    cells = [LaplaceLoss(1), LaplaceLoss(1)]
    replaced = parallel(cells, relation=Replace)
    assert replaced.pure_epsilon == 2
    assert replaced.epsilon(0).upper == pytest.approx(2)
    assert replaced.delta(1).contains(Fraction("0.2418")) or abs(replaced.delta(1).upper - 0.2418) < 3e-4
    assert parallel(cells, relation=AddRemove).epsilon(0).upper == 1
    assert parallel(cells, relation=Replace, fixed=True).epsilon(0).upper == 1
    assert replaced.charge().epsilon == 2


def test_inside_a_part_counts_too() -> None:
    one = parallel([PureLoss(1)], relation=Replace)
    assert one.pure_epsilon == 1  # there is no second part to move to
    laplace = DiscreteLaplaceLoss(2, REACH)
    assert parallel([laplace], relation=Replace).pure_epsilon == 1  # out and in again, 1/2 each
    uneven = parallel([LaplaceLoss(1), LaplaceLoss(4)], relation=Replace, inside=[LaplaceLoss(1), PureLoss(5)])
    assert uneven.pure_epsilon == 5
    with pytest.raises(UnprovedError, match="inside="):
        parallel([DiscreteGaussianLoss(4, REACH)] * 2, relation=Replace)
    counts = parallel([DiscreteGaussianLoss(4, REACH)] * 2, relation=Replace, inside=[PureLoss(0)] * 2)
    assert counts.rho == Fraction(1, 4)


def test_many_equal_parts_cost_what_two_cost() -> None:
    many = parallel([PureLoss("1/2")] * 1000, relation=Replace)
    assert many.delta("1/4") == (PureLoss("1/2") * 2).delta("1/4")
    assert many.rho == Fraction(1, 4)
    assert many.statement.laws() is not None
    distinct = parallel([GaussianLoss(s) for s in range(1, 200)], relation=Replace)
    assert distinct.mu_squared == 1 + Fraction(1, 4)
    cells = parallel([GaussianLoss(2)] * 9, relation=Replace)
    assert (cells * 2).delta(1).upper == pytest.approx((GaussianLoss(2) * 4).delta(1).upper, rel=2e-3)


def test_curves_that_cross_are_both_kept() -> None:
    """(1/2, 1/50) is worse at large epsilon, Laplace noise at 1 is worse at small ones."""
    small, large = ApproximateLoss("1/5", "1/50"), PureLoss(1)
    both = parallel([small, large], relation=AddRemove)
    for epsilon in (0, "1/2", 1, 2):
        assert both.delta(epsilon).upper == max(small.delta(epsilon).upper, large.delta(epsilon).upper)
    assert both.infinite_mass == both.failure == Fraction(1, 50)
    assert (both + PureLoss("1/10")).delta(3).upper <= float(Fraction(1, 50)) * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_pair_above_crossing_curves_composes(epsilon: str) -> None:
    """Twice one of the two, or one of each: all lie below; the pair itself is the greatest of the curves."""
    small, large = ApproximateLoss("1/5", "1/50"), PureLoss(1)
    both = parallel([small, large], relation=AddRemove)
    found = (both * 2).delta(epsilon, tolerance=0.05)
    for loss in (small * 2, large * 2, small + large):
        assert found.upper >= loss.delta(epsilon).lower * (1 - 1e-12)
    assert found.lower >= (large * 2).delta(epsilon).lower * (1 - 1e-2) - 1e-12
    laws = both.statement.laws()
    assert laws is not None
    curve = composed_delta([[RepeatedPair(laws.upper[0], 1)]], Fraction(epsilon), 1e-3)
    assert curve.upper == pytest.approx(both.delta(epsilon).upper, rel=2e-3)
    assert curve.upper >= both.delta(epsilon).lower


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_moves_compose_as_what_they_are(epsilon: str) -> None:
    """Two histograms under replace are four responses, or four discrete Laplace counts, and no more."""
    cells = parallel([PureLoss("1/3")] * 8, relation=Replace)
    found, truth = (cells * 2).delta(epsilon, tolerance=0.01), (PureLoss("1/3") * 4).delta(epsilon)
    assert found.lower * (1 - 1e-12) <= truth.upper
    assert truth.lower <= found.upper <= truth.upper * 1.02
    noise = DiscreteLaplaceLoss(3, REACH)
    counts = parallel([noise] * 8, relation=Replace, inside=[PureLoss(0)] * 8)
    found, truth = (counts * 2).delta(epsilon, tolerance=0.01), (noise * 4).delta(epsilon)
    assert found.lower * (1 - 1e-12) <= truth.upper
    assert truth.lower <= found.upper <= truth.upper * 1.02
    failing = parallel([ApproximateLoss("1/3", "1/50")] * 8, relation=Replace)
    found, truth = (failing * 2).delta(epsilon, tolerance=0.01), (ApproximateLoss("1/3", "1/50") * 4).delta(epsilon)
    assert truth.lower <= found.upper <= truth.upper * 1.02


def test_sums_of_many_values_are_not_written_out() -> None:
    assert parallel([LaplaceLoss(1)] * 2, relation=Replace).statement.laws() is None
    wide = of_count(rows=100, groups=1, relation=AddRemove)
    assert (
        parallel([DiscreteLaplaceLoss(1, wide)] * 2, relation=Replace, inside=[PureLoss(0)] * 2).statement.laws()
        is None
    )
    long = parallel([PureLoss("1/9") * 10] * 2, relation=Replace)
    assert long.statement.laws() is None
    assert long.pure_epsilon == Fraction(20, 9)


def test_finite_pairs_of_two_directions_have_a_pair_above() -> None:
    losses = [
        FiniteLoss(["1/2", "1/2"], ["1/5", "4/5"], relation=AddRemove),
        FiniteLoss(["1/10", "9/10"], ["2/5", "3/5"], relation=AddRemove),
        FiniteLoss(["1/100", "99/100"], [0, 1], relation=AddRemove),
    ]
    both = parallel(losses, relation=AddRemove)
    laws = both.statement.laws()
    assert laws is not None
    assert laws.upper[0].infinite == pytest.approx(0.01, rel=1e-12)
    for way in (0, 1):
        exact = FiniteLoss.of_pairs([loss.statement.pairs[0] for loss in losses], relation=AddRemove).statement.laws()
        assert exact is not None
        for x in (-1.0, -0.3, 0.0, 0.4, 0.9):
            at = np.array([x])
            deltas = [
                float(law.infinite + law.above(at).p[0] - math.exp(x) * law.above(at).q[0])
                for law in (laws.upper[way], exact.upper[way])
            ]
            assert deltas[0] == pytest.approx(deltas[1], abs=1e-12)
    pair = (both * 2).delta("1/2", tolerance=0.05)
    for a in losses:
        for b in losses:
            assert pair.upper >= (a + b).delta("1/2", tolerance=0.05).lower * (1 - 1e-12)


def test_a_continuous_law_has_no_such_pair_here() -> None:
    both = parallel([GaussianLoss(1), ApproximateLoss("1/5", "1/50")], relation=AddRemove)
    assert both.statement.laws() is None
    assert (both * 2).delta(8).upper < 0.1  # sums of failures and rho


def test_what_dominates_stands_for_all() -> None:
    strongest = {
        PureLoss(1): [PureLoss(1), LaplaceLoss(1), PureLoss("1/2"), DiscreteLaplaceLoss(1, REACH)],
        LaplaceLoss(1): [LaplaceLoss(1), LaplaceLoss(2)],
        GaussianLoss(1): [GaussianLoss(1), GaussianLoss(2), PureLoss("1/100")],
        ApproximateLoss(1, "1/10"): [ApproximateLoss(1, "1/10"), ApproximateLoss("1/2", "1/20"), PureLoss(1)],
    }
    for top, losses in strongest.items():
        for order in (losses, losses[::-1]):
            assert parallel(order, relation=AddRemove).statement.alternatives == (top.statement,)
        grid = [Fraction(k, 10) for k in range(12)]
        assert all(top.delta(x).upper >= loss.delta(x).lower for loss in losses for x in grid)


def test_a_loss_with_two_faces_may_not_move() -> None:
    sampled = PureLoss(1).poisson_sampled(rate="1/10")
    assert parallel([sampled] * 2, relation=AddRemove).delta("1/20") == sampled.delta("1/20")
    with pytest.raises(UnprovedError, match="two directions"):
        parallel([sampled] * 2, relation=Replace)


def test_the_relation_stays_with_the_loss() -> None:
    """PureLoss alone is stated for both relations; a histogram of it is not."""
    cells = parallel([PureLoss(1)] * 2, relation=AddRemove)
    assert cells.relations == frozenset({AddRemove})
    with pytest.raises(UnprovedError, match="not proved for add/remove"):
        parallel([DiscreteLaplaceLoss(1, WITHIN)] * 2, relation=AddRemove)
    with pytest.raises(UnprovedError, match="not proved for add/remove"):
        parallel([DiscreteLaplaceLoss(1, WITHIN)] * 2, relation=Replace)
    assert parallel([DiscreteLaplaceLoss(1, WITHIN)] * 2, relation=Replace, fixed=True).pure_epsilon == 1


@pytest.mark.parametrize(
    "loss",
    [
        parallel([PureLoss(1), GaussianLoss(1)], relation=AddRemove),
        parallel([PureLoss(1), LaplaceLoss(2)], relation=Replace),
        parallel([PureLoss(1), LaplaceLoss(2)], relation=Replace, fixed=True),
        parallel([DiscreteGaussianLoss(4, REACH)], relation=Replace, inside=[ConcentratedLoss("1/2")]),
    ],
    ids=str,
)
def test_json_round_trip(loss: PrivacyLoss) -> None:
    assert PrivacyLoss.from_json(loss.to_json()) == loss
    assert hash(PrivacyLoss.from_json(loss.to_json())) == hash(loss)


def test_a_stated_pair_is_booked() -> None:
    cells = [GaussianLoss(4).stated(epsilon=1, delta="1e-3"), PureLoss(2)]
    charge = parallel(cells, relation=AddRemove).charge()
    assert (charge.epsilon, charge.delta) == (2, Fraction(1, 1000))


@pytest.mark.parametrize(
    ("losses", "relation", "more"),
    [
        ([], AddRemove, {}),
        ([3], AddRemove, {}),
        ([PureLoss(1)], "add", {}),
        ([PureLoss(1)], AddRemove, {"inside": [PureLoss(1)]}),
        ([PureLoss(1)], AddRemove, {"fixed": True}),
        ([PureLoss(1)], Replace, {"inside": [PureLoss(1)] * 2}),
        ([PureLoss(1)], Replace, {"inside": [PureLoss(1)], "fixed": True}),
    ],
)
def test_bad_partitions_are_refused(losses: list[PrivacyLoss], relation: Relation, more: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        parallel(losses, relation=relation, **more)  # type: ignore[arg-type]


def test_the_relation_is_read_as_older_ledgers_write_it() -> None:
    loss = parallel([LaplaceLoss(3), LaplaceLoss(4)], relation=Replace, inside=[LaplaceLoss(2)] * 2)
    text = loss.to_json()
    assert '"replace"' in text
    assert PrivacyLoss.from_json(text.replace('"replace"', '"REPLACE"')) == PrivacyLoss.from_json(text) == loss
