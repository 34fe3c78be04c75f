"""Totals share a price so that the columns are as exact as can be: by search over all shares, and by simulation."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from deniable.errors import DeniableError
from deniable.mechanisms.price import Price
from deniable.query.aggregates.aggregate import PricedAggregate
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.evaluate import evaluate, numbers
from deniable.query.naming import named
from deniable.query.plan import PricedPlan
from deniable.query.rules import price
from deniable.query.rules.share import importance, shares
from deniable.query.sql import parse
from tests.query.conftest import frame, table_of

TEXT = "SELECT region, COUNT(*) AS n, AVG(age) AS a, COUNT(DISTINCT person) AS u FROM t GROUP BY region"
TABLES = {"t": table_of(DuckDBEngine.from_arrow(frame()), rows=4)}
EPSILON, BOTH, RHO = (
    Price(epsilon=Fraction(1)),
    Price(epsilon=Fraction(1), delta=Fraction(1, 10**6)),
    Price(rho=Fraction(1, 9)),
)


def plan(asked: Price, weights: Any, text: str = TEXT) -> PricedPlan:
    return named(price(parse(text, TABLES), asked, None, weights))


def bounded(plan: PricedPlan) -> list[PricedAggregate]:
    return [part for part in plan.parts if isinstance(part, PricedAggregate)]


@pytest.mark.parametrize("asked", [EPSILON, RHO])
def test_no_other_shares_have_a_smaller_sum_of_squares(asked: Price) -> None:
    """By brute force over all shares of five percent."""
    made = plan(asked, {})
    parts = bounded(made)
    weights = importance(made.query, parts, {})

    def error(percents: tuple[int, ...]) -> float:
        noises = asked.noises([part.sensitivity for part in parts], percents)
        deviations = [
            noise.standard_deviation() * float(part.lattice.grid) for noise, part in zip(noises, parts, strict=True)
        ]
        return sum(a * deviation**2 for a, deviation in zip(weights, deviations, strict=True))

    best = error(tuple(shares(weights, parts, gaussian=asked is RHO, power=2 if asked is EPSILON else 1)))
    grid = [each for each in product(range(5, 100, 5), repeat=len(parts)) if sum(each) == 100]
    assert best <= 1.005 * min(map(error, grid))
    assert best < 0.95 * error((1,) * len(parts))


@pytest.mark.parametrize("asked", [EPSILON, BOTH, RHO])
@pytest.mark.parametrize("weights", [{}, {"a": 5}, {"u": 9, "n": "1/2"}])
def test_weighted_relative_errors_are_smaller_together_than_with_equal_shares(
    asked: Price, weights: dict[str, Any]
) -> None:
    """By simulation of the answer, from 20,000 draws of the noise about a group of the assumed kind."""
    rng = np.random.default_rng(3)

    def simulated(made: PricedPlan) -> float:
        truth = {"count": 1000.0, "units": 250.0, "sum": 25 * 1000.0}
        base = [truth[part.aggregate.function] for part in bounded(made)]
        spread = [part.law.standard_deviation() for part in bounded(made)]
        noisy = {f"base {n}": b + rng.normal(0, s, 20_000) for n, (b, s) in enumerate(zip(base, spread, strict=True))}
        exact = {f"base {n}": np.array(b) for n, b in enumerate(base)}
        squares = 0.0
        for output in made.query.outcome.outputs[1:]:
            right = float(numbers(evaluate(output.expression, exact)))
            off = float(np.sqrt(np.nanmean((numbers(evaluate(output.expression, noisy)) / right - 1) ** 2)))
            squares += (float(Fraction(weights.get(output.name, 1))) * off) ** 2
        return squares

    shared, equal = plan(asked, weights), plan(asked, None)
    assert simulated(shared) < 0.97 * simulated(equal)
    assert shared.loss.charge().epsilon == equal.loss.charge().epsilon


def test_every_total_gets_noise_and_one_alone_gets_all() -> None:
    hidden = "SELECT SUM(age) AS s FROM t HAVING COUNT(*) > 3 ORDER BY COUNT(DISTINCT person)"
    assert all(part.loss.charge().epsilon for part in plan(EPSILON, {"s": 10**6}, hidden).parts)
    assert plan(EPSILON, {}, "SELECT COUNT(*) FROM t").key == plan(EPSILON, None, "SELECT COUNT(*) FROM t").key
    assert plan(EPSILON, {}).loss.charge().epsilon == 1


@pytest.mark.parametrize(
    ("text", "weights", "words"),
    [
        (TEXT, {"m": 2}, "the columns with a share are n, a, u"),
        (TEXT, {"n": 0}, "weight"),
        (TEXT, {"n": "x"}, "weight"),
        ("SELECT COUNT(*) AS n FROM t", {"n": 2}, "several columns of totals"),
    ],
)
def test_weights_of_nothing_are_refused(text: str, weights: Any, words: str) -> None:
    with pytest.raises(DeniableError, match=words):
        plan(EPSILON, weights, text)
