from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.ledger import Ledger
from deniable.mechanisms.price import Price
from deniable.noise.bits import DeterministicBits
from deniable.privacy import (
    AddRemove,
    Budget,
    ExponentialMechanismLoss,
    PrivacyLoss,
    PrivacyUnit,
    Relation,
    Replace,
    of_count,
)
from deniable.statistics.vectors.base import VectorStatistic, part_of
from deniable.statistics.vectors.covariance import VectorCovariance
from deniable.statistics.vectors.mean import VectorMean

KINDS = [VectorMean, VectorCovariance]
PRICES = [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"rho": "0.5"}]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("price", PRICES)
def test_the_loss_is_the_price_for_one_relation(
    kind: type[VectorStatistic], relation: Relation, price: dict[str, object]
) -> None:
    plan = kind(bounds=[(0, 1)], deviations=1, relation=relation, **price)  # type: ignore[arg-type]
    assert plan.privacy_loss.relations == {relation}
    charge = plan.privacy_loss.charge()
    if "rho" in price:
        assert plan.privacy_loss.rho == Fraction(1, 2)
    else:
        assert (charge.epsilon, charge.delta) == (1, plan.price.delta)


@pytest.mark.parametrize("size", [1, 100, 10_000])
@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("price", PRICES)
def test_the_steps_of_a_mean_cost_what_is_stated(size: int, relation: Relation, price: dict[str, object]) -> None:
    plan = VectorMean(bounds=[(-9, 9)] * 3, deviations=1, relation=relation, rows=2, **price)  # type: ignore[arg-type]
    steps = plan._schedule(size, plan.columns)
    shares = [share for share, _ in steps.rough] + [steps.last]
    losses: list[PrivacyLoss] = [plan.mechanism(share).privacy_loss(plan._sensitivity) for share in shares]
    if steps.search:  # two draws of bounded range 2 rows rate each
        losses += [ExponentialMechanismLoss(4 * plan.search(steps.search, size=size).rate)] * 2
    once = of_count(rows=2, groups=1, relation=relation, cells=1)
    losses.append(plan._count_mechanism.privacy_loss(once))
    if steps.count:
        losses.append(plan.counter.privacy_loss(once))
    assert bool(steps.search) != bool(steps.count)
    assert_costs(plan, losses)


@pytest.mark.parametrize("size", [1, 100, 10_000])
@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("price", PRICES)
def test_the_steps_of_a_covariance_cost_what_is_stated(
    size: int, relation: Relation, price: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = VectorCovariance(bounds=[(-9, 9)] * 3, deviations=9, relation=relation, **price)  # type: ignore[arg-type]
    shares: list[Fraction] = []
    step = VectorCovariance._step

    def logged(self: VectorCovariance, search: object, rows: object, share: Fraction, *rest: object) -> float:
        shares.append(share)
        return step(self, search, rows, share, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(VectorCovariance, "_step", logged)
    plan(np.random.default_rng(1).normal(size=(size, 3)), bits=DeterministicBits(1))
    assert sum(shares) == 1
    assert_costs(plan, [plan.mechanism(share).privacy_loss(plan._sensitivity) for share in shares])


def assert_costs(plan: VectorStatistic, losses: list[PrivacyLoss]) -> None:
    """The charges of the steps add up to what the statistic states, and use nearly all of it."""
    stated = plan.privacy_loss.rho if plan.price.rho or plan.price.delta else plan.privacy_loss.pure_epsilon
    spent = [loss.rho if plan.price.rho or plan.price.delta else loss.pure_epsilon for loss in losses]
    assert stated is not None
    assert 0.999 * stated < sum(Fraction(each or 0) for each in spent) <= stated


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_number_of_columns_costs_nothing(kind: type[VectorStatistic]) -> None:
    ledger = Ledger.open(None, budget=Budget(epsilon=1), relation=AddRemove, unit=PrivacyUnit(), dataset="test")
    with pytest.raises(InvalidParameterError, match="2 columns"):
        kind(bounds=[(0, 1)] * 2, deviations=1, epsilon=1)(np.ones((3, 3)), ledger=ledger)
    assert ledger.spent().epsilon == 0


def test_the_number_of_rows_is_public_under_replace_alone() -> None:
    options = {"bounds": [(0, 1)], "deviations": 1, "epsilon": 1}
    assert VectorMean(relation=Replace, **options).size_is_public  # type: ignore[arg-type]
    assert not VectorMean(relation=Replace, rows=2, **options).size_is_public  # type: ignore[arg-type]
    assert not VectorMean(**options).size_is_public  # type: ignore[arg-type]


def test_a_part_of_a_price_is_of_its_kind() -> None:
    assert part_of(Price.of(None, 0, 3), Fraction(1, 3)).rho == 1
    assert part_of(Price.of(3, 0, None), Fraction(1)).epsilon == 3
