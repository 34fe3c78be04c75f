"""Variances, covariances and correlations: what they ask for, their exact values, and how often intervals hold them."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from deniable.noise.bits import DeterministicBits
from deniable.privacy import Replace
from deniable.privacy.budget.rule import Remaining
from deniable.query.answer import build_release
from deniable.query.declarations import Declaration, Keys, Number
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.evaluate import evaluate, numbers
from deniable.query.plan import PricedPlan
from tests.query.conftest import INF, NAN, SECRET, plan_of, table_of

COLUMNS: dict[str, Declaration] = {"x": Number(lower=0, upper=10), "y": Number(lower="-0.5", upper=2)}
ALL = (
    "VAR_POP(x)", "VAR_SAMP(x)", "VARIANCE(x)", "STDDEV_POP(x)", "STDDEV_SAMP(x)", "STDDEV(x)",
    "COVAR_POP(x, y)", "COVAR_SAMP(x, y)", "CORR(x, y)",
)  # fmt: skip


def exact_values(text: str, source: pa.Table, **options: object) -> dict[str, float]:
    """What the columns of an answer are without noise."""
    engine = DuckDBEngine.from_arrow(source, threads=1)
    plan = plan_of(table_of(engine, columns=COLUMNS, **options), text)  # type: ignore[arg-type]
    bases = _bases(plan, engine)
    return {o.name: float(numbers(evaluate(o.expression, bases))[0]) for o in plan.query.outcome.outputs}


def _bases(plan: PricedPlan, engine: DuckDBEngine) -> Mapping[str, np.ndarray]:
    exact = engine.exact(plan, secret=SECRET)
    return {f"base {i}": p.lattice.to_reals(e) for i, (p, e) in enumerate(zip(plan.parts, exact, strict=True))}


def parts_of(text: str) -> list[float]:
    """The l1 sensitivities of what a question asks for."""
    source = pa.table({"person": [1], "x": [1.0], "y": [1.0]})
    plan = plan_of(table_of(DuckDBEngine.from_arrow(source, threads=1), columns=COLUMNS), text)
    return sorted(float(part.sensitivity.l1 * part.lattice.grid) for part in plan.parts)


def test_every_sum_is_paid_once_and_bounded_by_its_own_range() -> None:
    variances = parts_of(f"SELECT {', '.join(ALL[:6])}, AVG(x), COUNT(x) FROM t")
    assert variances == [1, 5, 12.5]  # COUNT(x), SUM(x - 5), SUM((x - 5)^2 - 12.5)
    pairs = parts_of(f"SELECT {', '.join(ALL[6:])}, COUNTIF(x > y) FROM t")
    expected = [0.78125, 1, 1, 1.25, 5, 6.25, 12.5]  # centres lie on a coarse grid
    assert pairs == pytest.approx(expected, rel=1e-2)


def test_values_are_those_of_clamped_values_that_are_there() -> None:
    x = [3.0, -7.0, 1e308, None, NAN, INF, -INF, 4.5, 9.0, 2.0]
    y = [1.0, 0.25, -9.0, 1.0, 1.0, None, 0.5, NAN, 1.5, 0.75]
    source = pa.table({"person": list(range(10)), "x": x, "y": y})
    found = exact_values(f"SELECT {', '.join(f'{each} AS c{i}' for i, each in enumerate(ALL))} FROM t", source)
    there = np.clip([each for each in x if each is not None and each == each], 0, 10)
    pairs = np.array(
        [(a, b) for a, b in zip(x, y, strict=True) if a is not None and b is not None and a == a and b == b]
    )
    a, b = np.clip(pairs[:, 0], 0, 10), np.clip(pairs[:, 1], -0.5, 2)
    expected = [there.var(), there.var(ddof=1), there.var(ddof=1), there.std(), there.std(ddof=1), there.std(ddof=1)]
    expected += [np.cov(a, b, ddof=0)[0, 1], np.cov(a, b)[0, 1], np.corrcoef(a, b)[0, 1]]
    assert list(found.values()) == pytest.approx(expected, rel=1e-6)
    filtered = exact_values("SELECT VAR_POP(x) FILTER (WHERE y > 0.6) AS v FROM t", source)
    assert filtered["v"] == pytest.approx(np.clip([3, 9, 2], 0, 10).var(), rel=1e-6)


def test_copies_of_a_units_rows_change_nothing() -> None:
    source = pa.table({"person": [1, 2, 2, 3, 3, 3], "x": [1.0, 4, 4, 9, 9, 9], "y": [0.0, 1, 1, 0, 0, 0]})
    text = f"SELECT {', '.join(f'{each} AS c{i}' for i, each in enumerate(ALL))} FROM t"
    found = list(exact_values(text, source).values())
    assert found == pytest.approx(list(exact_values(text, source.take([0, 1, 3])).values()), rel=1e-5)


def test_intervals_hold_the_truth() -> None:
    """150 times the same 4,000 rows: at 95% the standard error of a share is 1.8%. Twin: intervals of 80%."""
    rng = np.random.default_rng(16)
    x = np.clip(rng.normal(6, 2, 4000), 0, 10)
    y = np.clip(rng.normal(0, 0.2, 4000) + x / 8, -0.5, 2)
    source = pa.table({"person": np.arange(4000), "g": np.zeros(4000, int), "x": x, "y": y})
    engine, names = DuckDBEngine.from_arrow(source, threads=1), ["VAR_SAMP(x)", "COVAR_POP(x, y)", "CORR(x, y)"]
    columns = COLUMNS | {"g": Keys(list(range(150)))}
    text = f"SELECT g, {', '.join(f'{each} AS c{i}' for i, each in enumerate(names))} FROM t GROUP BY g"
    plan, bits = plan_of(table_of(engine, columns=columns, unit=None), text), DeterministicBits(5)
    exact = engine.exact(plan, secret=SECRET)
    noisy = [part.release(np.full(150, total[0]), bits=bits) for part, total in zip(plan.parts, exact, strict=True)]
    release = build_release(plan, noisy, left=Remaining(epsilon=Fraction(1)), safe=False, stored=False)
    truths = [x.var(ddof=1), np.cov(x, y, ddof=0)[0, 1], np.corrcoef(x, y)[0, 1]]
    for level, least, most in ((0.95, 0.9, 0.99), (0.8, 0.7, 0.89)):
        for name, interval in release.intervals(level).items():
            truth = truths[int(name[1:])]
            held = np.mean((np.asarray(interval.lower) <= truth) & (truth <= np.asarray(interval.upper)))
            assert least <= held <= most, (name, level)


NASTY = [
    (None, 1.0),
    (NAN, INF),
    (1e308, -1e308),
    (INF, 2.0),
    (-INF, -0.5),
    (0.0, 9.0),
    (10.0, None),
    (2.0**63, 1e-320),
]


@pytest.mark.parametrize("options", [{"rows": 2}, {"rows": 3, "relation": Replace}, {"total_rows": 2}], ids=str)
def test_one_unit_moves_no_sum_further_than_the_plan_says(options: dict[str, Any]) -> None:
    def totals(rows: list[tuple[float | None, float | None]]) -> tuple[PricedPlan, list[np.ndarray]]:
        x, y = zip((5.0, 1.0), *rows, strict=True)
        source = pa.table(
            {"person": [1, *[2] * len(rows)], "x": pa.array(x, pa.float64()), "y": pa.array(y, pa.float64())}
        )
        engine = DuckDBEngine.from_arrow(source, threads=1)
        plan = plan_of(table_of(engine, columns=COLUMNS, **options), "SELECT CORR(x, y), COUNT(x) FROM t")
        return plan, engine.exact(plan, secret=SECRET)

    plan, here = totals(NASTY[:1] if options.get("relation") is Replace else [])
    for rows in [[row] * 4 for row in NASTY] + [NASTY]:
        for part, one, other in zip(plan.parts, here, totals(rows)[1], strict=True):
            assert abs(int(one[0]) - int(other[0])) <= part.sensitivity.linf
