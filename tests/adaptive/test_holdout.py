"""What all holdouts promise: they pay first, keep count, and withdraw aloud."""

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from deniable.adaptive import GaussianAnswers, Ladder, ReusableHoldout
from deniable.adaptive.holdout import Holdout, best_epsilon, rounded, rounding, share_of
from deniable.errors import BudgetExceededError, InvalidParameterError, UnprovedError
from deniable.ledger import Ledger
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Budget, Filter, PrivacyUnit, PureLoss, Replace

RHO = Budget(rho="0.5")
MAKERS: dict[str, Callable[..., Holdout]] = {
    "threshold": lambda **given: ReusableHoldout(**{"corrections": 3, **given}),
    "ladder": lambda **given: Ladder(**{"improvements": 3, **given}),
    "gaussian": GaussianAnswers,
}


def ask(holdout: Holdout, values: object) -> float:
    if isinstance(holdout, ReusableHoldout):
        return holdout.ask(0.5, values).value
    assert isinstance(holdout, Ladder | GaussianAnswers)
    return (holdout.submit if isinstance(holdout, Ladder) else holdout.ask)(values).value


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_all_is_paid_at_once_and_within_the_budget(make: Callable[..., Holdout]) -> None:
    account = Filter(RHO, relation=Replace)
    holdout = make(rows=100, questions=5, budget=Budget(rho="0.3"), ledger=account)
    assert account.spent.rho == holdout.privacy_loss.rho
    assert 0.29 < account.spent.rho <= 0.3
    with pytest.raises(BudgetExceededError):
        make(rows=100, questions=5, budget=Budget(rho="0.3"), ledger=account)
    ledger = Ledger.open(None, budget=RHO, relation=Replace, unit=PrivacyUnit(), dataset="holdout")
    make(rows=100, questions=5, budget=Budget(rho="0.3"), ledger=ledger, bits=DeterministicBits(1))
    assert [record.safe for record in ledger.entries()] == [False]
    with pytest.raises(UnprovedError, match="replace"):
        make(rows=100, questions=5, budget=RHO, ledger=Filter(RHO, relation=AddRemove))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_after_the_promised_questions_the_promise_is_withdrawn_aloud(make: Callable[..., Holdout]) -> None:
    holdout = make(rows=50, questions=3, budget=RHO, bits=DeterministicBits(2))
    for left in (2, 1, 0):
        ask(holdout, [0.5] * 50)
        assert holdout.left == left
    for _ in range(2):
        with pytest.raises(BudgetExceededError, match="answers no further questions"):
            ask(holdout, [0.5] * 50)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_rows_are_read_one_by_one_and_nothing_is_counted_for_a_refused_question(make: Callable[..., Holdout]) -> None:
    holdout = make(rows=4, questions=9, budget=Budget(rho=100), bits=DeterministicBits(3))
    for wrong in ([1, 0], np.zeros((4, 2)), "text", None):
        with pytest.raises(InvalidParameterError):
            ask(holdout, wrong)
    assert holdout.left == 9
    full = 2**16
    for values, total in (
        ([True, False, None, float("nan")], full),
        ([7, -3, "x", float("inf")], 2 * full),
        (np.array([0.25, 0.25, 0.25, 0.25]), full),
    ):
        assert holdout._sum(values) == total


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_there_are_never_two_of_a_holdout(make: Callable[..., Holdout]) -> None:
    holdout = make(rows=4, questions=2, budget=RHO)
    for twin in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(UnprovedError, match="copied"):
            twin(holdout)
    holdout._process += 1
    with pytest.raises(UnprovedError, match="process"):
        ask(holdout, [0] * 4)
    assert "2 of 2 questions left" in repr(holdout)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"rows": 0}, "rows"),
        ({"questions": 0}, "questions"),
        ({"budget": 1}, "Budget"),
        ({"failure": 0}, "failure"),
        ({"ledger": "x"}, "ledger"),
        ({"bits": 5}, "bits"),
    ],
)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_what_makes_no_sense_is_refused(make: Callable[..., Holdout], wrong: dict[str, object], match: str) -> None:
    with pytest.raises(InvalidParameterError, match=match):
        make(**{"rows": 10, "questions": 2, "budget": RHO, **wrong})


def test_a_budget_buys_the_largest_epsilon_that_it_admits() -> None:
    budget = Budget(epsilon=1)
    found = best_epsilon(budget, lambda epsilon: PureLoss(epsilon) * 7)
    assert 0.142 < found <= 1 / 7
    assert 1023 < best_epsilon(Budget(epsilon="1e9"), PureLoss) <= 1024
    with pytest.raises(BudgetExceededError, match="too small"):
        best_epsilon(Budget(epsilon="1e-12"), PureLoss)


def test_answers_have_few_values_and_shares_are_between_0_and_1() -> None:
    values = {rounded(noisy, 100) for noisy in range(-(2**20), 2**24, 997)}
    assert len(values) == 12
    assert {0.0, 1.0} <= values
    assert max(abs(rounded(k * 2**10, 100) - k * 2**10 / (100 * 2**16)) for k in range(6400)) <= rounding(100)
    for wrong in (-0.1, 1.1, "x"):
        with pytest.raises(InvalidParameterError, match="train"):
            share_of("train", wrong)


def test_an_answer_prints_for_people() -> None:
    holdout = ReusableHoldout(
        rows=1000, questions=5, corrections=1, budget=Budget(epsilon=5), bits=DeterministicBits(1)
    )
    answer = holdout.ask(0.5, [0, 1] * 500)
    said = f"0.500 ± {answer.error:.3f} (95%), from the public number; question 1 of 5, safe=False"
    assert repr(answer) == f"<HoldoutAnswer: {said}>"
