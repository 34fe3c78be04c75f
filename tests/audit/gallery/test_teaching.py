"""Mechanisms whose claims are true and that protect nobody."""

from fractions import Fraction

import pytest

from deniable.audit.gallery import GALLERY
from deniable.audit.gallery import teaching as module
from deniable.audit.gallery.teaching import all_or_nothing, name_and_shame, random_record
from deniable.errors import UnprovedError
from deniable.privacy import Budget
from tests.audit.gallery.judging import names, probability


def total_variation(one: dict[object, Fraction], other: dict[object, Fraction]) -> Fraction:
    return sum((abs(one.get(key, 0) - other.get(key, 0)) for key in {*one, *other}), Fraction(0)) / 2


def test_some_record_is_published_almost_surely_when_delta_is_one_over_n() -> None:
    """Inventory 10: 1 - (1 - delta)^n, which is nearly two thirds; the law is exact and its probabilities sum to 1."""
    law = name_and_shame(range(12), Fraction(1, 12))
    assert sum(law.values()) == 1
    assert 1 - law[()] == 1 - Fraction(11, 12) ** 12 > Fraction(6, 10)


def test_units_of_many_records_are_shown_more_often() -> None:
    """(0, 1 - (1 - delta)^3)-DP for units of three records, and not for a smaller delta."""
    assert total_variation(name_and_shame((1, 2, 3), Fraction(1, 10)), name_and_shame((), Fraction(1, 10))) == Fraction(
        271, 1000
    )


def test_the_whole_table_is_published_or_nothing() -> None:
    assert all_or_nothing((7, 8, 9)) == {(): Fraction(99, 100), (7, 8, 9): Fraction(1, 100)}
    assert total_variation(all_or_nothing((7, 8, 9)), all_or_nothing((1, 2, 3))) == Fraction(1, 100)
    assert probability("all or nothing", (1, 2)) == pytest.approx(0.01)


@pytest.mark.parametrize(("chance", "delta"), [(Fraction(1), "1/100"), (Fraction(1, 1000), "1/100000")])
def test_one_of_n_records_is_shown_with_total_variation_one_over_n(chance: Fraction, delta: str) -> None:
    """E61: n = 100: 0.01 outright, and delta/100 when released with probability delta; by the law of both tables."""
    laws = [random_record(table, chance) for table in ((1,) + 99 * (0,), 100 * (0,))]
    assert total_variation(*laws) == Fraction(delta)


def test_equal_records_are_one_output() -> None:
    assert random_record((5, 5, 6, 7)) == {(5,): Fraction(1, 2), (6,): Fraction(1, 4), (7,): Fraction(1, 4)}
    assert name_and_shame((4, 4), Fraction(1, 2))[4,] == Fraction(1, 2)


@pytest.mark.parametrize("name", names(module))
def test_the_claim_is_attained_and_no_budget_accepts_it(name: str) -> None:
    one = GALLERY[name]
    delta = Fraction(one.claim.delta(0).upper)
    law, other = one.chances(one.data), one.chances(one.neighbour)
    assert float(total_variation(law, other)) == pytest.approx(float(delta))
    with pytest.raises(UnprovedError, match="teaching"):
        Budget(epsilon=1, delta="0.5").price(one.claim)
