"""The least price for a stated error: it suffices, a thousandth less does not, and no row is read for it."""

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import deniable as dn
from deniable.errors import DeniableError
from deniable.mechanisms.price import Price
from deniable.query.database import Database
from deniable.query.rules import price
from tests.query.test_database import Poisoned

SOURCE = pa.table({"who": [1, 2, 3], "g": ["a", "b", "a"], "x": [1.0, 2.0, 3.0]})
COLUMNS = {"g": dn.Keys(["a", "b"]), "x": dn.Number(lower=0, upper=10)}


def database(**budget: Any) -> tuple[Database, Poisoned]:
    allowed = dn.Budget(**budget or {"epsilon": 9, "delta": "1e-5"})
    healthy = dn.connect(SOURCE, name="t", unit="who", columns=COLUMNS, rows=2, budget=allowed)
    engine = Poisoned(healthy._engine)
    return Database(engine, healthy.tables, healthy.ledger), engine


@pytest.mark.parametrize(
    ("text", "error", "delta"),
    [
        ("SELECT COUNT(*) AS n FROM t", 5, None),
        ("SELECT g, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY g", {"n": 20, "s": 100}, None),
        ("SELECT g, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY g", {"s": 100}, "1e-6"),
        ("SELECT 2 * COUNT(*) + SUM(x) / 10 - COUNT(*) FILTER (WHERE x > 1) + 7 AS y FROM t", 30, None),
    ],
)
def test_the_price_that_is_found_is_enough_and_the_next_smaller_is_not(text: str, error: Any, delta: Any) -> None:
    db, engine = database()
    plan = db.explain(text, error=error, delta=delta).plan
    spent = plan.price.epsilon
    assert spent is not None

    def widths(at: Fraction) -> dict[str, float]:
        """By another route: the intervals that a release of zeros shows."""
        from deniable.query.answer import build_release
        from deniable.query.stored import noisy_of

        priced = price(plan.query, Price(epsilon=at, delta=plan.price.delta), db.ledger.budget)
        zeros = str([[0] * plan.query.question.cells for _ in priced.parts]).replace("'", '"')
        shown = build_release(
            priced, noisy_of(f'{{"noisy": {zeros}}}', priced.names[0]), left=db.ledger.left(), safe=True, stored=False
        )
        return {name: float((ends.upper - ends.lower).max()) / 2 for name, ends in shown.intervals(0.95).items()}

    wanted = error if isinstance(error, dict) else dict.fromkeys(widths(spent), error)
    assert all(widths(spent)[name] <= most * 1.0001 for name, most in wanted.items())
    if " + " not in text:  # there the parts' doubts are added up, which is safe and not tight
        assert any(widths(spent * Fraction(98, 100))[name] > most for name, most in wanted.items())
    assert engine.reads == 0


def test_a_budget_in_rho_pays_in_rho() -> None:
    db, _ = database(rho=1)
    plan = db.explain("SELECT COUNT(*) AS n FROM t", error=20).plan
    assert plan.price.rho is not None
    assert plan.parts[0].law.half_width(0.95) <= 20  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "asked", "words"),
    [
        ("SELECT AVG(x) AS a FROM t", {"error": 1}, "depends on the answer"),
        ("SELECT MEDIAN(x) AS a FROM t", {"error": 1}, "depends on the answer"),
        ("SELECT COUNT(*) AS n FROM t", {"error": {"m": 1}}, "the noisy columns are n"),
        ("SELECT COUNT(*) AS n FROM t", {"error": 0}, "error"),
        ("SELECT COUNT(*) AS n FROM t", {"error": "x"}, "error"),
        ("SELECT COUNT(*) AS n FROM t", {"error": 1, "epsilon": 1}, "not both"),
        ("SELECT COUNT(*) AS n FROM t", {"error": 1, "confidence": 2}, "confidence"),
        ("SELECT COUNT(*) AS n FROM t", {"error": {}}, "names no column"),
    ],
)
def test_what_cannot_be_promised_is_refused_and_costs_nothing(text: str, asked: dict[str, Any], words: str) -> None:
    db, engine = database()
    with pytest.raises(DeniableError, match=words):
        db.sql(text, **asked)
    assert (engine.reads, db.ledger.entries()) == (0, [])
