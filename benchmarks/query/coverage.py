"""How often does a 95% interval hold the truth? Every aggregate of SQL, on the made-up visits to a hospital.

python benchmarks/query/coverage.py [--runs 20000] [--ranked 2000]

The engine answers each question once, exactly; noise is then drawn and the answer built so many times. The truth is
what DuckDB says to the same text, so bounds are such that nothing is cut off. Totals and what is computed of them
should cover 95%. The ends of a quantile's interval are draws that miss by construction with 5% at most, whatever the
data; on real data they miss less often, as the text of the table says. MODE has no interval: what counts is how often
its value is within the stated number of rows of the most frequent.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import deniable as dn
from deniable.noise.bits import Bits, DeterministicBits
from deniable.query.aggregates.aggregate import Tally
from deniable.query.answer import build_release
from deniable.query.database import Database
from deniable.query.expression import Column, Facts, Kind
from deniable.query.plan import PricedPlan

OF_UNITS = "FROM (SELECT patient, SUM(cost) AS total FROM visits WHERE cost IS NOT NULL GROUP BY patient)"
TOTALS = {
    "COUNT(*)": "COUNT(*) {}",
    "COUNT(x)": "COUNT(age) {}",
    "COUNTIF": "COUNTIF(age > 40) {}",
    "FILTER": "SUM(cost) FILTER (WHERE age > 40) {}",
    "COUNT(DISTINCT unit)": "COUNT(DISTINCT patient) {}",
    "COUNT(DISTINCT x)": "COUNT(DISTINCT age) {}",
    "SUM of whole numbers": "SUM(age) {}",
    "SUM of reals": "SUM(cost) {}",
    "SUM per unit": f"SUM(LEAST(total, 30000)) {OF_UNITS}",
    "AVG": "AVG(cost) {}",
    "AVG per unit": f"AVG(LEAST(total, 30000)) {OF_UNITS}",
    "VAR_POP": "VAR_POP(cost) {}",
    "VAR_SAMP": "VAR_SAMP(cost) {}",
    "STDDEV_POP": "STDDEV_POP(cost) {}",
    "STDDEV_SAMP": "STDDEV_SAMP(age) {}",
    "COVAR_POP": "COVAR_POP(cost, age) {}",
    "COVAR_SAMP": "COVAR_SAMP(cost, age) {}",
    "CORR": "CORR(cost, age) {}",
    "ratio": "SUM(cost) / SUM(age) {}",
    "histogram": "COUNT(*) FILTER (WHERE WIDTH_BUCKET(cost, 0, 1000, 4) = 2) {}",
}
RANKED = {
    "MEDIAN": "MEDIAN(cost) {}",
    "QUANTILE_CONT(0.9)": "QUANTILE_CONT(cost, 0.9) {}",
    "MEDIAN of whole numbers": "MEDIAN(age) {}",
    "MIN": "MIN(cost) {}",
    "MAX": "MAX(cost) {}",
}


@dataclass(frozen=True)
class Covered:
    """Shares of the runs whose interval lies below the truth, holds it, and lies above."""

    below: float
    holds: float
    above: float


def database(**options: Any) -> Database:
    """The visits, with bounds that cut nothing off."""
    table = dn.datasets.visits()
    assert isinstance(table, pa.Table)
    columns = {
        "age": dn.Number(lower=0, upper=120),
        "cost": dn.Number(lower=0, upper=1000),
        "ward": dn.Keys(["surgery", "children", "emergency"]),
    }
    given: dict[str, Any] = {"unit": dn.each_row("visit"), "columns": columns, "budget": dn.Budget(epsilon=100)}
    return dn.connect(table, name="visits", **(given | options))


def many(plan: PricedPlan, exact: Sequence[Any], runs: int, bits: Bits) -> tuple[PricedPlan, list[Any]]:
    """The plan with a group for every run, and the noisy numbers of each."""
    run = Column("run", Facts(kind=Kind.INTEGER, keys=tuple(range(runs))))
    wide = replace(plan, query=replace(plan.query, question=replace(plan.query.question, keys=(run,))))
    return wide, [part.release(_repeated(each, runs), bits=bits) for part, each in zip(plan.parts, exact, strict=True)]


def _repeated(exact: Any, runs: int) -> Any:
    if not isinstance(exact, Tally):
        return np.repeat(exact, runs)
    cells = np.repeat(np.arange(runs), len(exact.codes))
    return Tally(cells, np.tile(exact.codes, runs), np.tile(exact.counts, runs), runs)


def coverage(asked: str, runs: int, bits: Bits, *, width: float = 1, **price: Any) -> Covered:
    """How often the 95% interval of one number, made so many times as wide, holds what DuckDB says that it is."""
    db = database(unit="patient") if "patient" in asked else database()
    text = f"SELECT {asked.format('FROM visits')}"
    plan = db.explain(text, **price).plan
    wide, noisy = many(plan, db._engine.exact(plan, secret=bytes(16)), runs, bits)
    answer = build_release(wide, noisy, left=db.ledger.left(), safe=False, stored=False)
    ((name, bounds),) = answer.intervals(0.95).items()
    lower, upper = (answer[name] + width * (end - answer[name]) for end in (bounds.lower, bounds.upper))
    visits = dn.datasets.visits()  # noqa: F841 - DuckDB finds it by its name
    ((truth,),) = duckdb.sql(
        text.replace("WIDTH_BUCKET(cost, 0, 1000, 4) = 2", "cost >= 250 AND cost < 500")
    ).fetchall()
    near = 1e-9 * max(1.0, abs(truth))
    above, below = lower > truth + near, upper < truth - near
    return Covered(float(below.mean()), float(1 - below.mean() - above.mean()), float(above.mean()))


def mode(runs: int, bits: Bits, **price: Any) -> float:
    """How often the value that MODE gives is within the stated rows of the most frequent."""
    db = database()
    plan = db.explain("SELECT MODE(ward) FROM visits", **price).plan
    (exact,) = db._engine.exact(plan, secret=bytes(16))
    _, (places,) = many(plan, [exact], runs, bits)
    counts = dict(zip(exact.codes.tolist(), exact.counts.tolist(), strict=True))
    gap = plan.parts[0].mechanism.gap_bound(3, failure=0.05)  # type: ignore[attr-defined]
    return float(np.mean([max(counts.values()) - counts.get(place, 0) <= gap for place in places.tolist()]))


def table(runs: int, ranked: int, bits: Bits) -> Iterator[tuple[str, str, Covered]]:
    """The coverage of every aggregate, in pure and in Gaussian noise."""
    for name, price in {"epsilon=0.2": {"epsilon": "0.2"}, "rho=0.005": {"rho": "0.005"}}.items():
        for questions, times in ((TOTALS, runs), (RANKED, ranked)):
            for aggregate, asked in questions.items():
                yield aggregate, name, coverage(asked, times, bits, **price)


def main() -> None:
    parser = argparse.ArgumentParser(description="Coverage of 95% intervals.")
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--ranked", type=int, default=2_000)
    chosen = parser.parse_args()
    bits = DeterministicBits(7)
    sys.stdout.write("| aggregate | price | below | covered | above |\n|---|---|---|---|---|\n")
    for aggregate, price, found in table(chosen.runs, chosen.ranked, bits):
        shares = " | ".join(f"{share:.2%}" for share in (found.below, found.holds, found.above))
        sys.stdout.write(f"| {aggregate} | {price} | {shares} |\n")
    sys.stdout.write(f"| MODE, within its rows | epsilon=0.01 | | {mode(chosen.ranked, bits, epsilon=0.01):.2%} | |\n")


if __name__ == "__main__":
    main()
