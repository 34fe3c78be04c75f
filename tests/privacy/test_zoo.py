"""Every loss under every operation: nothing that is stated falls below what a mechanism that satisfies it reveals."""

import copy
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.errors import BudgetExceededError, DeniableError, InvalidParameterError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    Budget,
    ExponentialMechanismLoss,
    GaussianLoss,
    Interval,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    Relation,
    Replace,
    ShuffledLoss,
    compose,
)
from deniable.privacy.amplification.shuffling.randomizers import AnyRandomizer, KaryResponse
from deniable.privacy.budget import ConcentratedOdometer, Filter, Odometer, RenyiOdometer
from deniable.privacy.charge import Charge
from deniable.privacy.composition.compose import Composed
from deniable.privacy.composition.group import GroupStatement
from deniable.privacy.losses.approximate import mixed_with_failure
from deniable.privacy.losses.pure import pure_delta
from deniable.privacy.notions.concentrated import concentrated_delta, largest_rho
from deniable.privacy.notions.gaussian_dp import gaussian_delta
from tests.privacy.zoo import ANIMALS, FEW, OPERATIONS, SLOW, Mechanism, divergence, runs, truth

EPSILONS = ("0", "1/3", "3/2")
ORDERS = ("1", "3/2", "3")
UNPROVED = (UnprovedError, InvalidParameterError)


def below(attained: float, stated: float | Fraction) -> bool:
    """Up to the rounding of the sums that say what is attained."""
    return attained <= float(stated) * (1 + 1e-9) + 1e-12


def check(one: Mechanism) -> None:
    loss = one.loss
    assert PrivacyLoss.from_json(loss.to_json()) == loss
    charge = loss.charge()
    assert Charge.from_json(charge.to_json()) == charge
    for text in EPSILONS:
        epsilon, attained = Fraction(text), truth(one, float(Fraction(text)))
        known = loss.delta(epsilon)
        assert below(attained, known.upper), (epsilon, known, attained)
        if attained > 1e-6:
            assert not loss.proves(epsilon, Fraction(attained) * Fraction(999, 1000))
        for bound in curves_of(loss, charge, epsilon):
            assert below(attained, bound), (epsilon, bound, attained)
        if loss.statement.kind == "finite":
            assert below(known.lower, attained)
    for delta in ("0", "1/100", "1/2"):
        found = loss.epsilon(delta)
        assert below(truth(one, found.upper), Fraction(delta))
    for order in ORDERS:
        attained, stated = divergence(one, float(Fraction(order))), loss.renyi(order)
        assert below(attained, stated.upper), (order, attained, stated)
        for rho in (loss.rho, charge.rho):
            assert rho is None or below(attained, Fraction(order) * rho)


def curves_of(loss: PrivacyLoss, charge: Charge, epsilon: Fraction) -> list[float]:
    """delta at `epsilon` by each currency that the loss, or its charge, states."""
    found = []
    for stated, failure in ((loss.pure_epsilon, 0), (loss.failing_epsilon, loss.failure)):
        if stated is not None:
            found.append(mixed_with_failure(pure_delta(stated, epsilon), Fraction(failure)).upper)
    for pair, failure in ((charge.epsilon, charge.delta), (charge.failing_epsilon, charge.failure)):
        if pair is not None:
            found.append(mixed_with_failure(pure_delta(pair, epsilon), min(failure, Fraction(1))).upper)
    for rho, failure in (
        (loss.rho, Fraction(0)),
        (loss.failing_rho, loss.failure),
        (charge.rho, Fraction(0)),
        (charge.failing_rho, min(charge.failure, Fraction(1))),
    ):
        if rho is not None:
            rest = Interval(0.0, min(concentrated_delta(rho, epsilon), 1.0))
            found.append(mixed_with_failure(rest, failure).upper)
    squares = [squared for squared in (loss.mu_squared, charge.mu_squared) if squared is not None]
    return found + [gaussian_delta(squared, epsilon).upper for squared in squares]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_nothing_is_stated_below_the_truth(operation: str) -> None:
    """At least a third of the animals can do each trick; what is not proved of the rest is refused in words."""
    done = 0
    names = FEW[: SLOW[operation]] if operation in SLOW else tuple(ANIMALS)
    for animal in (ANIMALS[name] for name in names):
        try:
            made = OPERATIONS[operation](animal)
        except UNPROVED:
            continue
        check(made)
        done += 1
    assert 3 * done >= len(names)


@given(st.sampled_from(FEW), st.lists(st.sampled_from(list(OPERATIONS)[1:]), min_size=2, max_size=2))
@settings(max_examples=12)
def test_nothing_is_stated_below_the_truth_after_two_operations(animal: str, operations: list[str]) -> None:
    made = ANIMALS[animal]
    try:
        for operation in operations:
            made = OPERATIONS[operation](made)
    except UNPROVED:
        return
    check(made)


@pytest.mark.parametrize("operation", ["as it is", "sampled", "two runs sampled", "sampled under replace"])
def test_what_counts_losses_never_reads_less_than_they_reveal(operation: str) -> None:
    """Four runs that were fixed in advance are one way to use an odometer, a filter and a budget."""
    counted = 0
    for animal in ANIMALS.values():
        try:
            one = OPERATIONS[operation](animal)
        except UNPROVED:
            continue
        if len(one.p) > 5:
            continue
        relation = AddRemove if AddRemove in one.loss.relations else Replace
        several = runs(one, 4, one.loss)
        for odometer in (
            ConcentratedOdometer(sharpest_at=1, failure="1/2", relation=relation),
            RenyiOdometer(orders=["3/2", "4"], relation=relation),
        ):
            counted += _reads_enough(odometer, one, several)
        for epsilon in ("1/2", "3/2"):
            attained = truth(several, float(Fraction(epsilon)))
            if attained > 1e-3:
                counted += _refuses(one, epsilon, Fraction(attained) * Fraction(999, 1000), relation)
    assert counted > 10


def _reads_enough(odometer: Odometer, one: Mechanism, several: Mechanism) -> int:
    try:
        for _ in range(4):
            odometer.add(one.loss)
    except (*UNPROVED, BudgetExceededError):
        return 0
    for delta in ("0", "1/1000", "1/10", "1/2", "9/10"):
        assert below(truth(several, odometer.epsilon(delta).upper), Fraction(delta)), odometer
    return 1


def _refuses(one: Mechanism, epsilon: str, delta: Fraction, relation: Relation) -> int:
    """Whatever promises a pair that four runs do not keep must refuse one of them."""
    rho, failure = largest_rho(Fraction(epsilon), delta / 2), delta / 3
    pair = Budget(epsilon=epsilon, delta=delta)
    budgets = [
        *(Budget(epsilon=epsilon), pair, Budget(epsilon=epsilon, delta=delta, failure=failure)),
        *(Budget(rho=rho, failure=failure), Budget(mu=1)),
        Budget(epsilon=epsilon, delta=delta, order=16, failure=failure),
    ]
    rules = [(budget, None) for budget in budgets] + [(pair, pair.rule(name=name)) for name in ("pairs", "advanced")]
    refused = 0
    for budget, rule in rules:
        if below(float(delta) * 1.001, (rule or budget.rule()).delta(epsilon).upper):
            continue  # it promises less
        account = Filter.resumed(budget, relation=relation, rule=rule, total=Charge.nothing())
        try:
            for _ in range(4):
                account.charge(one.loss)
        except (*UNPROVED, BudgetExceededError):
            refused += 1
        else:
            pytest.fail(f"{account} admits four of {one.loss!r}, which reveal more than {epsilon}, {float(delta)}")
    return refused


def _places(data: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Where each value of a JSON text stands."""
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _places(value, (*path, key))
    else:
        yield path


ODD = (None, True, "", "x", "-1", "1/0", -1, 0.5, 3, "0", [], {}, "replace", "add/remove", "1e999")


@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_is_read_from_json_is_held_to_the_same_conditions(operation: str) -> None:
    """Each value of each text, changed to each odd one, is refused in words or makes a loss that can be written."""
    names = FEW[: SLOW.get(operation, 6)] if operation != "as it is" else tuple(ANIMALS)
    for name in names:
        try:
            data = OPERATIONS[operation](ANIMALS[name]).loss.to_data()
        except UNPROVED:
            continue
        for path in _places(data):
            for odd in ODD:
                changed = copy.deepcopy(data)
                place: Any = changed
                for key in path[:-1]:
                    place = place[key]
                place[path[-1]] = odd
                try:
                    again = PrivacyLoss.from_data(changed)
                except DeniableError:
                    continue
                assert PrivacyLoss.from_json(again.to_json()) == again


@pytest.mark.parametrize("size", [1, 3, 5])
def test_an_odd_group_is_no_exchange_of_units(size: int) -> None:
    """A unit that is replaced is removed and another one added: a group of one under replace cost as much as one."""
    with pytest.raises(InvalidParameterError, match="even"):
        PrivacyLoss(GroupStatement(PureLoss(1), size, Replace))
    data = ApproximateLoss(1, "1/10").under_replace().to_data() | {"size": size}
    with pytest.raises(InvalidParameterError, match="even"):
        PrivacyLoss.from_data(data)


@pytest.mark.parametrize("count", [-1, 0.5, "2", True, None])
def test_a_composition_counts_whole_runs_however_it_is_built(count: object) -> None:
    with pytest.raises(InvalidParameterError, match="count must be a whole number"):
        PrivacyLoss(Composed([(PureLoss(1), count)]))  # type: ignore[list-item]


def test_nothing_sampled_has_no_divergence_at_any_order() -> None:
    for order in ("1", "3/2", "2", "7/3", "64"):
        assert compose([]).poisson_sampled(rate="0.3").renyi(order).upper <= 5e-324


SMOOTH = [
    *(ShuffledLoss(KaryResponse(epsilon=3, categories=2), users=users) for users in (20, 10**5)),
    ShuffledLoss(AnyRandomizer(epsilon=3), users=10**6),
    GaussianLoss(1).poisson_sampled(rate="1/100"),
    GaussianLoss(1).poisson_sampled(rate="1/100", relation=Replace),
    GaussianLoss(1).sampled_without_replacement(size=1, population=10),
    GaussianLoss(1).capped_poisson_sampled(rate="1/4", cap=3, population=9),
    GaussianLoss(1).randomly_allocated(of=10),
    LaplaceLoss(1) * 20,
    ExponentialMechanismLoss(1) * 20,
]


@pytest.mark.parametrize("loss", [*(animal.loss for animal in ANIMALS.values()), *SMOOTH], ids=str)
def test_no_upper_end_of_a_positive_probability_is_zero(loss: PrivacyLoss) -> None:
    """However far out: floats take for 0 what a proof of epsilon-DP must not."""
    greatest = loss.epsilon(0).lower  # below it delta is positive
    for epsilon in (1, 2, 8, 40, 800, 10**6):
        if epsilon < greatest * (1 - 1e-9):
            assert loss.delta(epsilon).upper > 0
            assert not loss.proves(Fraction(epsilon), Fraction(0))


def test_a_pure_budget_does_not_pay_less_for_reports_that_are_shuffled_among_many() -> None:
    loss = ShuffledLoss(KaryResponse(epsilon=3, categories=2), users=10**5)
    with pytest.raises(InvalidParameterError, match="above the stated delta"):
        loss.stated(epsilon=1, delta=0)
    assert loss.charge().epsilon == 3
