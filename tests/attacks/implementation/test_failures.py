"""Failures as oracles against textbook interfaces, and against ours."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.attacks.implementation import distinguish_by_failure
from deniable.attacks.implementation.failures import observe
from deniable.errors import BudgetExceededError, InvalidParameterError

ROWS = [(1, 2, "10"), (2, 5, "20"), (3, 1, "30")]
TARGET = (4, 0, "x" * 2**10)  # a zero, and a text that is no number


class Textbook:
    """Computes first and charges afterwards, refunds what fails, and says what went wrong."""

    def __init__(self, rows: list[tuple[int, int, str]]) -> None:
        self.rows, self.left = rows, 1.0
        self.questions: dict[str, Callable[[int, str], float]] = {
            "count": lambda _, __: 1,
            "inverse": lambda number, _: 1 / number,
            "log": lambda number, _: math.log(number),
            "cast": lambda _, text: int(text),
            "power": lambda number, text: 10.0 ** (len(text) * (number == 0)),
        }

    def ask(self, question: str) -> float:
        total = sum(self.questions[question](number, text) for _, number, text in self.rows)
        self.left -= 0.01
        return total


def ours(rows: list[tuple[int, int, str]]) -> dn.Database:
    people, numbers, texts = zip(*rows, strict=True)
    table = pa.table({"person": people, "x": pa.array(numbers, pa.int64()), "y": texts, "z": [2.0**53] * len(rows)})
    columns = {"x": dn.Number(lower=0, upper=9), "z": dn.Number(lower=0, upper=2**53)}
    columns["y"] = dn.Number(lower=0, upper=9, integer=True)
    return dn.connect(table, name="t", unit="person", budget=dn.Budget(epsilon=1000), columns=columns)


QUESTIONS = [
    "SELECT SUM(1 / x) AS s FROM t",
    "SELECT COUNT(*) AS n FROM t WHERE 1 / x > 0",
    "SELECT SUM(x % x) AS s FROM t",
    "SELECT SUM(CAST(y AS INTEGER)) AS s FROM t",
    "SELECT SUM(y) AS s FROM t",
    "SELECT COUNT(*) AS n FROM t WHERE CAST(y AS INTEGER) > 10",
    "SELECT SUM(z * z) AS s FROM t",
    "SELECT SUM(LN(x)) AS s FROM t",
    "SELECT COUNT(*) AS n FROM t WHERE SQRT(x - 1) > 0",
    "SELECT AVG(x) AS m FROM t WHERE x = 0",
    "SELECT SUM(x) AS s FROM t WHERE y = 'x'",
    "SELECT COUNT(*) AS n FROM missing",
]


def test_textbook_failures_tell_who_is_there() -> None:
    present, absent = Textbook([*ROWS, TARGET]), Textbook(ROWS)
    result = distinguish_by_failure(present.ask, absent.ask, list(present.questions))
    assert result.learned is not None
    assert result.learned.tolist() == ["inverse", "log", "cast", "power"]
    assert result.succeeded


def test_a_refund_tells_even_where_texts_do_not() -> None:
    """The twin of paying first: the same constant text, but what fails costs nothing."""

    def quiet(api: Textbook) -> Callable[[str], float]:
        def ask(question: str) -> float:
            try:
                return api.ask(question)
            except (ArithmeticError, ValueError):
                return 0.0

        return ask

    present, absent = Textbook([*ROWS, TARGET]), Textbook(ROWS)
    asks = quiet(present), quiet(absent)
    assert not distinguish_by_failure(*asks, ["inverse"]).succeeded
    assert distinguish_by_failure(*asks, ["inverse"], left=(lambda: present.left, lambda: absent.left)).succeeded


def test_a_failure_by_chance_is_no_oracle() -> None:
    dice = np.random.default_rng(0)
    ask = lambda _: math.sqrt(dice.normal())  # noqa: E731
    assert not distinguish_by_failure(ask, ask, ["noise"] * 20, repeats=12).succeeded


def test_our_failures_look_alike_and_cost_alike() -> None:
    """One row with a zero, and a text that is no number: the same outcomes, texts and prices, question by question."""
    present, absent = ours([*ROWS, TARGET]), ours(ROWS)
    asks: list[Callable[[str], object]] = [lambda text, db=db: db.sql(text, epsilon=0.5) for db in (present, absent)]  # type: ignore[misc]
    left = (lambda: present.budget.spent.epsilon, lambda: absent.budget.spent.epsilon)
    result = distinguish_by_failure(*asks, QUESTIONS, left=left, repeats=1)
    assert result.facts is not None
    assert result.facts["oracles"] == "none"
    assert present.budget.spent.epsilon > 0  # some were answered


def test_our_statistics_fail_alike() -> None:
    asks: list[Callable[[str], object]] = [
        lambda name, rows=rows: getattr(dn.statistics, name)(rows, bounds=(0, 9), epsilon=0.5)  # type: ignore[misc]
        for rows in ([1.0] * 50 + [math.nan], [1.0] * 50)
    ]
    assert not distinguish_by_failure(*asks, ["sum", "mean", "variance", "standard_deviation"]).succeeded


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "", None, 10**400, -1e-300, 1j])
def test_errata_e54_a_nonsensical_epsilon_is_refused_and_free(epsilon: Any) -> None:
    """The notes' first program takes max(epsilon, 1e-12)."""
    db = ours(ROWS)
    assert observe(lambda text: db.sql(text, epsilon=epsilon), "SELECT COUNT(*) AS n FROM t")[0] != "answered"
    assert db.budget.spent.epsilon == 0


def test_what_is_seen_of_a_question() -> None:
    left = iter([Fraction(1), Fraction(1, 2)])
    assert observe(lambda _: 5, "q", left=lambda: next(left)) == ("answered", "", Fraction(-1, 2))
    db = ours(ROWS)
    assert observe(lambda _: db.sql("SELECT COUNT(*) AS n FROM t", epsilon=2000), "")[0] == BudgetExceededError.__name__


def test_nothing_to_ask_is_refused() -> None:
    for given in ({"questions": []}, {"questions": ["q"], "repeats": 0}):
        with pytest.raises(InvalidParameterError, match=r"at least one question|repeats must"):
            distinguish_by_failure(str, str, **given)  # type: ignore[arg-type]
