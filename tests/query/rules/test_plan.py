"""What rules take and return: a request is kept under a key where it is text and numbers, and plans add up."""

from fractions import Fraction

import pytest

from deniable.mechanisms.price import Price
from deniable.query.declarations import Number
from deniable.query.rules.plan import Plan, Request


def test_equal_requests_have_one_key_and_others_another() -> None:
    requests = [
        Request(question="SELECT 1", epsilon=1),
        Request(question="SELECT 1", epsilon=1, limits={"rows": None}),
        Request(question="SELECT 1", epsilon=1.0),
        Request(question="SELECT 1", delta=1),
        Request(question="SELECT 1", epsilon=1, limits={"rows": 1}),
        Request(question="SELECT 1", epsilon=1, limits={"groups": 1}),
        Request(question="SELECT 1", epsilon=1, confidence=0.9),
    ]
    keys = [request.key for request in requests]
    assert keys[0] == keys[1]
    assert len(set(keys)) == len(keys) - 1


@pytest.mark.parametrize("how", [{"written": True}, {"columns": {"x": Number()}}, {"weights": {"n": 1}}])
def test_requests_of_more_than_text_and_numbers_have_no_key(how: dict[str, object]) -> None:
    assert Request(question="SELECT 1", epsilon=1, **how).key is None  # type: ignore[arg-type]


def test_a_request_at_a_price_is_the_same_question_without_an_error() -> None:
    request = Request(question="SELECT 1", rho=1, error="5%", confidence=0.9, dialect="postgres")
    at = request.at(Price(epsilon=Fraction(1, 2), delta=Fraction(1, 10)))
    assert at == Request(question="SELECT 1", epsilon=Fraction(1, 2), delta=Fraction(1, 10), dialect="postgres")


def test_a_plan_without_searches_pays_for_none() -> None:
    assert Plan().due == 0
    assert Plan().totals == []
    assert Plan().known_tables == {}
