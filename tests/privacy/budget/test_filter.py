"""What every filter promises: exact sums, refusals that change nothing, JSON; and why distributions are no filter."""

import json
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import pytest

from deniable.errors import BudgetExceededError, InvalidParameterError, UnprovedError
from deniable.privacy import AddRemove, DiscreteLaplaceLoss, GaussianLoss, PureLoss, Replace, of_count
from deniable.privacy.budget.additive import ApproximateFilter, ConcentratedFilter, GaussianFilter, PureFilter
from deniable.privacy.budget.advanced import AdvancedFilter
from deniable.privacy.budget.filter import Filter
from deniable.privacy.budget.renyi import RenyiFilter, RenyiGridFilter
from tests.privacy.budget.conversation import Mechanism, failing, response, worst_value

MAKERS: dict[str, Callable[[], Filter]] = {
    "pure": lambda: PureFilter(epsilon=1, relation=AddRemove),
    "approximate": lambda: ApproximateFilter(epsilon=1, delta="1e-6", relation=AddRemove),
    "concentrated": lambda: ConcentratedFilter(rho="0.1", failure="1e-9", relation=AddRemove),
    "gaussian": lambda: GaussianFilter(mu="1/2", relation=AddRemove),
    "renyi": lambda: RenyiFilter(order=8, limit="1/2", relation=AddRemove),
    "renyi_grid": lambda: RenyiGridFilter(epsilon=1, delta="1e-6", orders=[16, 32, 64], relation=AddRemove),
    "advanced": lambda: AdvancedFilter(epsilon=1, delta="1e-6", relation=AddRemove),
}
every = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
SMALL = PureLoss("1/20")


@every
def test_what_is_admitted_can_be_charged_until_it_cannot(make: Callable[[], Filter]) -> None:
    rule = make()
    count = 0
    while rule.admits(SMALL):
        rule.charge(SMALL)
        count += 1
        assert count < 1000
    before = rule.spent
    with pytest.raises(BudgetExceededError, match="Nothing was spent"):
        rule.charge(SMALL)
    assert rule.spent == before
    assert count >= 15
    assert rule.admits(SMALL * 0)


@every
def test_one_charge_of_many_is_many_charges(make: Callable[[], Filter]) -> None:
    once, often = make(), make()
    once.charge(SMALL * 7)
    for _ in range(7):
        often.charge(SMALL)
    assert once.spent == often.spent
    assert all(limit - (often.spent[name] or 0) == often.remaining[name] for name, limit in often.limits.items())


@every
def test_filters_survive_json_with_what_was_spent(make: Callable[[], Filter]) -> None:
    rule = make()
    rule.charge(SMALL)
    again = Filter.from_json(rule.to_json())
    assert type(again) is type(rule)
    assert again.to_json() == rule.to_json()
    assert again.spent == rule.spent
    assert again.limits == rule.limits


@every
def test_sums_above_the_limits_are_not_read(make: Callable[[], Filter]) -> None:
    data = make().to_data()
    data["spent"] = dict.fromkeys(make().limits, "1000")
    with pytest.raises(InvalidParameterError, match="above the limits"):
        Filter.from_data(data)


@every
def test_a_sampled_gaussian_has_no_filter_of_its_own(make: Callable[[], Filter]) -> None:
    """Its tight composition is a privacy-loss distribution; that theorem does not exist."""
    rule = make()
    if not isinstance(rule, RenyiFilter | RenyiGridFilter):
        with pytest.raises(UnprovedError, match=r"2602\.06756"):
            rule.charge(GaussianLoss(1).poisson_sampled(rate="0.01"))
        assert not any(rule.spent.values())


@every
def test_a_loss_for_the_other_relation_is_refused(make: Callable[[], Filter]) -> None:
    loss = DiscreteLaplaceLoss(1000, of_count(rows=1, groups=1, relation=Replace))
    with pytest.raises(UnprovedError, match="not proved for add/remove"):
        make().admits(loss)
    with pytest.raises(InvalidParameterError, match="privacy loss"):
        make().charge(0.1)  # type: ignore[arg-type]


@every
def test_the_guarantee_falls_and_inverts(make: Callable[[], Filter]) -> None:
    rule = make()
    values = [rule.delta(x).upper for x in (0, Fraction(1, 2), 1, 2, 4)]
    assert values == sorted(values, reverse=True)
    found = rule.epsilon("1e-3").upper
    assert 0 < found < 3
    assert rule.delta(found).upper <= 1e-3 * (1 + 1e-9)


@every
def test_the_state_is_shown(make: Callable[[], Filter]) -> None:
    rule = make()
    rule.charge(SMALL)
    assert repr(rule).startswith(f"{type(rule).__name__}(add/remove; spent ")


@pytest.mark.parametrize("kind", ["pld", "tradeoff", "PLD"])
def test_a_filter_over_distributions_cannot_be_made(kind: str) -> None:
    with pytest.raises(UnprovedError, match="theorem is missing"):
        Filter.from_json(json.dumps({"filter": kind, "relation": "ADD_REMOVE"}))


@pytest.mark.parametrize(
    "data",
    [
        *(
            3,
            {},
            {"filter": "unknown"},
            {"filter": "pure", "relation": "BOTH", "epsilon": "1", "spent": {"epsilon": "0"}},
        ),
        {"filter": "pure", "relation": "ADD_REMOVE", "epsilon": "1"},
        {"filter": "pure", "relation": "ADD_REMOVE", "epsilon": "1", "spent": {"rho": "0"}},
        {"filter": "pure", "relation": "ADD_REMOVE", "epsilon": "1", "spent": {"epsilon": "-1"}},
        {"filter": "pure", "relation": "ADD_REMOVE", "mu": "1", "spent": {"epsilon": "0"}},
    ],
)
def test_text_that_is_no_filter_is_refused(data: object) -> None:
    with pytest.raises(InvalidParameterError):
        Filter.from_data(data)


def test_a_relation_must_be_given() -> None:
    with pytest.raises(InvalidParameterError, match="relation must be"):
        PureFilter(epsilon=1, relation="add/remove")  # type: ignore[arg-type]


def fixed_delta(parts: tuple[Mechanism, ...], epsilon: float) -> float:
    """delta of mechanisms that were fixed in advance, by enumeration."""
    total = 0.0
    for outcome in product(*(part.outcomes for part in parts)):
        p, q = math.prod(a for a, _ in outcome), math.prod(b for _, b in outcome)
        total += max(p - math.exp(epsilon) * q, 0.0)
    return total


def test_stopping_by_the_composed_distribution_breaks_the_promise() -> None:
    """E95, and the twin: "go on while the distribution composed so far has delta at most the target" is no filter.

    After a large loss the analyst asks for one more response, after a small one for the mechanism that fails; each of
    the two conversations alone has delta 0.18, and the adaptive one 0.25.
    """
    menu = [response("1/2"), response("1"), failing("0", "0.179")]
    target = 0.1791

    def after(chosen: tuple[int, ...], index: int) -> tuple[int, ...] | None:
        then = (*chosen, index)
        return then if fixed_delta(tuple(menu[i] for i in then), 1.0) <= target else None

    nothing: tuple[int, ...] = ()
    assert worst_value(menu, nothing, after, 1.0, 2) > 0.24 > target
