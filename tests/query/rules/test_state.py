"""`state`, before and after: tables, limits and price as a question states them."""

from fractions import Fraction
from typing import Any

import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms.price import Price
from deniable.query.declarations import Number
from deniable.query.rules.state import state
from tests.query.rules.plans import asked

GOOGLE = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5, delta = 1e-6) COUNT(*) FROM t"


@pytest.mark.parametrize(
    ("how", "price"),
    [
        ({"epsilon": 1}, Price(epsilon=Fraction(1))),
        ({"epsilon": "0.1", "delta": "1e-6"}, Price(epsilon=Fraction(1, 10), delta=Fraction(1, 10**6))),
        ({"rho": 2}, Price(rho=Fraction(2))),
        ({"question": GOOGLE}, Price(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6))),
        ({"error": 5}, Price(epsilon=Fraction(1))),  # a stand-in: the least price is sought later
        ({"epsilon": 1, "error": "5%"}, Price(epsilon=Fraction(1, 32))),  # the first of several answers
    ],
)
def test_the_price_is_the_one_that_is_stated(how: dict[str, Any], price: Price) -> None:
    assert state(asked(**how)).price == price


def test_options_leave_the_text_with_its_positions() -> None:
    text = state(asked(GOOGLE)).text
    assert text == "SELECT " + " " * (GOOGLE.index("COUNT") - len("SELECT ")) + GOOGLE[GOOGLE.index("COUNT") :]


def test_columns_and_limits_of_a_question_are_those_of_its_tables() -> None:
    plan = asked(epsilon=1, columns={"big": Number(lower=0, upper=9)}, limits={"rows": 2}, bounds={"rows": 3})
    table = state(plan).tables["t"]
    assert table.column("big").facts.upper == 9
    assert (table.rows, table.own) == (2, ("rows",))
    assert plan.tables["t"].rows == 3


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"epsilon": 1, "error": 5}, "not both. A share of the answer is written error='5%'"),
        ({"error": "5%"}, "needs a price"),
        ({"question": GOOGLE, "epsilon": 1}, "stands in OPTIONS already"),
        ({"epsilon": 1, "limits": {"rows": 7}}, "from 1 to the declared 1"),
    ],
)
def test_what_a_question_cannot_state_is_refused(how: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        state(asked(**how))
