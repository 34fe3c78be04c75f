"""`split`, before and after: a price, and what totals and other parts get of it."""

from fractions import Fraction

import pytest

from deniable.mechanisms.price import Price
from deniable.query.rules.bound import bound
from deniable.query.rules.plan import Plan
from deniable.query.rules.split import split
from deniable.query.sql import parse
from tests.query.rules.plans import tables


@pytest.mark.parametrize(
    ("columns", "totals", "part"),
    [
        ("COUNT(*)", Fraction(1), Fraction(1)),
        ("COUNT(*), SUM(age)", Fraction(1), Fraction(1, 2)),
        ("COUNT(*), SUM(age), MEDIAN(age)", Fraction(2, 3), Fraction(1, 3)),
        ("MEDIAN(age), MAX(age)", Fraction(1, 3), Fraction(1, 2)),  # there is no total to take a share
    ],
)
def test_totals_share_one_price_and_others_take_one_share_each(columns: str, totals: Fraction, part: Fraction) -> None:
    query = parse(f"SELECT {columns} FROM t", tables())
    after = split(bound(Plan(queries=(query,), price=Price(epsilon=Fraction(1)))))
    assert after.totals_price == Price(epsilon=totals)
    assert after.part_price == Price(epsilon=part)
