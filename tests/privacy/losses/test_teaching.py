"""A loss that may be looked at and never be spent, by whatever way."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.ledger import Entry, Ledger
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    Budget,
    DiscreteLaplaceLoss,
    PrivacyLoss,
    PrivacyUnit,
    PureLoss,
    Replace,
    compose,
    mixture,
    of_count,
    parallel,
)
from deniable.privacy.budget import ConcentratedOdometer, Filter, RenyiOdometer
from deniable.privacy.composition.group import GroupStatement
from deniable.privacy.constructors import TeachingLoss

FAILING = TeachingLoss(ApproximateLoss(0, "0.01"))
HARMLESS = TeachingLoss(PureLoss("0.5"))
WITH_LAWS = TeachingLoss(DiscreteLaplaceLoss(10, of_count(rows=1, groups=1, relation=AddRemove)))

Way = Callable[[PrivacyLoss], PrivacyLoss]
WAYS: dict[str, Way] = {
    "alone": lambda loss: loss,
    "sum": lambda loss: loss + PureLoss(1),
    "sum from the other side": lambda loss: PureLoss(1) + loss,
    "repeated": lambda loss: loss * 3,
    "sum of sums": lambda loss: sum([loss, loss + PureLoss(1)]) * 2,
    "stated": lambda loss: loss.stated(epsilon="0.6", delta="0.1"),
    "restricted": lambda loss: loss.under(AddRemove),
    "group": lambda loss: loss.group(2),
    "group by hand": lambda loss: PrivacyLoss(GroupStatement(loss, 2)),
    "stated group by hand": lambda loss: PrivacyLoss(GroupStatement(loss, 2)).stated(epsilon="2", delta="0.9"),
    "under replace": lambda loss: loss.under_replace(),
    "exchanged group": lambda loss: PrivacyLoss(GroupStatement(loss, 2, "replace")),
    "public coin": lambda loss: mixture([("1/2", loss), ("1/2", PureLoss(1))]),
    "stated public coin": lambda loss: mixture([("1/2", loss), ("1/2", PureLoss(1))]).stated(epsilon=1, delta="0.1"),
    "Poisson sample": lambda loss: loss.poisson_sampled(rate="0.1"),
    "capped sample": lambda loss: loss.capped_poisson_sampled(rate="0.1", cap=3, population=10),
    "sample of fixed size": lambda loss: loss.sampled_without_replacement(size=1, population=10),
    "drawn sample": lambda loss: loss.sampled_with_replacement(draws=1, population=10),
    "allocated": lambda loss: loss.randomly_allocated(of=4),
    "parallel": lambda loss: parallel([loss, PureLoss(1)], relation=AddRemove),
    "inside parallel": lambda loss: parallel([PureLoss(1)], inside=[loss], relation=Replace),
    "read back": lambda loss: PrivacyLoss.from_json((loss + PureLoss(1)).to_json()),
    "twice": TeachingLoss,
}


@pytest.mark.parametrize("loss", [FAILING, HARMLESS, WITH_LAWS], ids=["failing", "harmless", "with laws"])
@pytest.mark.parametrize("way", WAYS)
def test_no_way_leads_to_a_charge(way: str, loss: PrivacyLoss) -> None:
    """Whatever is made of it is refused when it is made, or when any budget prices it."""
    for budget in (Budget(epsilon=9), Budget(epsilon=9, delta="0.9"), Budget(rho=9), Budget(renyi=9, order=2)):
        with pytest.raises(UnprovedError):
            budget.price(WAYS[way](loss))


@pytest.mark.parametrize("loss", [FAILING, HARMLESS, WITH_LAWS], ids=["failing", "harmless", "with laws"])
def test_every_filter_and_odometer_refuses_it(loss: PrivacyLoss) -> None:
    rest = {"relation": AddRemove}
    for budget in (
        *(Budget(epsilon=9), Budget(epsilon=9, delta="0.9"), Budget(epsilon=9, delta="0.9", failure="0.5")),
        *(Budget(rho=9), Budget(mu=9), Budget(renyi=9, order=2), Budget(renyi=9, order=2, failure="0.5")),
    ):
        one = Filter(budget, relation=AddRemove)
        for asked in (loss, loss + PureLoss("0.1")):
            with pytest.raises(UnprovedError):
                one.charge(asked)
    for other in (
        ConcentratedOdometer(sharpest_at=1, **rest),
        RenyiOdometer(orders=[2, 4], **rest),
    ):
        with pytest.raises(UnprovedError):
            other.add(loss)


def test_a_ledger_refuses_it_and_books_nothing() -> None:
    ledger = Ledger.open(
        None,
        budget=Budget(epsilon=9, delta="0.9"),
        relation=AddRemove,
        unit=PrivacyUnit(column="id", noun="person"),
        dataset="d",
    )
    for loss in (FAILING, FAILING + PureLoss(1), FAILING.stated(epsilon=1, delta="0.1")):
        with pytest.raises(UnprovedError, match="teaching"):
            ledger.reserve(Entry(question="0" * 64, text="show me", loss=loss))
    assert ledger.entries() == []
    assert ledger.spent().epsilon == 0


def test_its_curve_can_be_looked_at() -> None:
    assert FAILING.delta(3) == PrivacyLoss(FAILING.statement.loss).delta(3)
    assert FAILING.epsilon("0.001").lower == math.inf
    assert FAILING.epsilon("0.01").upper == 0
    assert FAILING.infinite_mass == Fraction(1, 100)
    assert FAILING.relations == FAILING.statement.loss.relations
    assert FAILING.advantage().contains(0.01)
    assert FAILING.tradeoff().advantage().contains(0.01)
    assert mixture([("1/2", FAILING), ("1/2", PureLoss(0))]).delta(0).contains(0.005)
    assert FAILING.group(3).delta(1) == ApproximateLoss(0, "0.01").group(3).delta(1)


def test_it_is_written_and_read() -> None:
    assert repr(FAILING) == "TeachingLoss(ApproximateLoss(epsilon=0, delta=0.01))"
    for loss in (FAILING, WITH_LAWS, compose(FAILING, 3)):
        assert PrivacyLoss.from_json(loss.to_json()) == loss
    with pytest.raises(InvalidParameterError, match="loss must be"):
        TeachingLoss("0.01")  # type: ignore[arg-type]
