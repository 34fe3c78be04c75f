"""What all statistics share."""

from fractions import Fraction

import pytest

from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.ledger import Ledger
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Budget, PrivacyUnit
from deniable.statistics import Count, count
from deniable.statistics.statistic import checked_bounds


def ledger() -> Ledger:
    return Ledger.open(None, budget=Budget(epsilon=1), relation=AddRemove, unit=PrivacyUnit(), dataset="test")


def test_a_ledger_pays_before_the_rows_are_read() -> None:
    book = ledger()

    class Unreadable:
        @property
        def shape(self) -> object:
            raise AssertionError("looked before paying")

    answer = count([1, 2], epsilon="1/4", ledger=book)
    assert str(answer.budget_left) == "epsilon=0.75"
    with pytest.raises(BudgetExceededError):
        count(Unreadable(), epsilon=1, ledger=book)
    assert book.spent().epsilon == Fraction(1, 4)


def test_bad_parameters_cost_nothing() -> None:
    book = ledger()
    for wrong in (
        {"epsilon": -1},
        {"epsilon": 1, "rows": 0},
        {"epsilon": 1, "relation": "replace"},
        {"epsilon": 1, "rows": 2},
    ):
        with pytest.raises(InvalidParameterError):
            count([1], ledger=book, **wrong)  # type: ignore[arg-type]
    assert book.spent().epsilon == 0


def test_a_release_from_a_test_stream_says_so() -> None:
    assert not count([1], epsilon=1, bits=DeterministicBits(1)).safe
    assert count([1], epsilon=1).safe


def test_a_statistic_reads_like_its_call() -> None:
    assert str(Count(epsilon=1, rows=2)) == "count(epsilon=1, rows=2)"
    assert count([1], epsilon=1).text == "count(epsilon=1)"


@pytest.mark.parametrize("wrong", [None, 3, (1,), (2, 1), (1, 1), (0, float("nan")), (0, float("inf")), ("a", 1)])
def test_bounds_are_checked(wrong: object) -> None:
    with pytest.raises(InvalidParameterError, match="bounds"):
        checked_bounds(wrong)
