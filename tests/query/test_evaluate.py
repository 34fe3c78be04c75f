"""Result-side arithmetic: SQL's three-valued logic on arrays, and nothing infinite."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import UnsupportedQueryError
from deniable.query.evaluate import FUNCTIONS, check_result, evaluate, missing
from deniable.query.expression import Column, Facts, Kind, literal
from deniable.query.operators import OPERATORS, call

N = Column("n", Facts(kind=Kind.REAL))
M = Column("m", Facts(kind=Kind.REAL))
G = Column("g", Facts(kind=Kind.TEXT))
NAN = float("nan")
VALUES = {
    "n": np.array([2.0, 0.0, -3.5, NAN]),
    "m": np.array([0.0, 0.0, 2.0, 1.0]),
    "g": np.array(["a", "b", None, "a"], dtype=object),
}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (call("divide", N, M), [NAN, NAN, -1.75, NAN]),
        (call("add", N, literal(Fraction(1, 2))), [2.5, 0.5, -3, NAN]),
        (call("ln", N), [np.log(2), NAN, NAN, NAN]),
        (call("round", N, literal(0)), [2, 0, -4, NAN]),
        (call("greatest", N, literal(0)), [2, 0, 0, NAN]),
        (call("gt", N, M), [1, 0, 0, NAN]),
        (call("and", call("gt", N, literal(0)), call("eq", M, literal(0))), [1, 0, 0, 0]),
        (call("or", call("gt", N, literal(0)), call("eq", M, literal(1))), [1, 0, 0, 1]),
        (call("not", call("gt", N, literal(0))), [0, 1, 1, NAN]),
        (call("is_null", N), [0, 0, 0, 1]),
        (call("coalesce", N, literal(9)), [2, 0, -3.5, 9]),
        (call("nullif", M, literal(0)), [NAN, NAN, 2, 1]),
        (call("case", call("gt", N, literal(0)), literal(1), call("lt", N, literal(0)), M, N), [1, 0, 2, NAN]),
        (call("eq", G, literal("a")), [1, 0, NAN, 1]),
        (call("in", G, literal("b"), literal("c")), [0, 1, NAN, 0]),
        (call("in", N, literal(2), literal(0)), [1, 1, 0, NAN]),
    ],
)
def test_values(expression: object, expected: list[float]) -> None:
    np.testing.assert_allclose(np.asarray(evaluate(expression, VALUES), dtype=float), expected)  # type: ignore[arg-type]


def test_leading_axes_broadcast() -> None:
    draws = np.arange(12.0).reshape(3, 4)
    result = evaluate(
        call("add", N, call("case", call("gt", N, literal(1)), M, literal(0))), {"n": draws, "m": VALUES["m"]}
    )
    assert result.shape == (3, 4)


def test_null_is_none_in_text_and_nan_in_numbers() -> None:
    assert list(missing(VALUES["g"])) == [False, False, True, False]
    assert list(missing(VALUES["n"])) == [False, False, False, True]


def test_what_has_no_meaning_on_numbers_is_refused() -> None:
    assert set(FUNCTIONS) < set(OPERATORS)
    check_result(call("add", N, M))
    with pytest.raises(UnsupportedQueryError, match="LOWER"):
        check_result(call("is_null", call("lower", G)))
