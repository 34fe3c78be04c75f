"""Random questions about random databases: one unit moves secret numbers as far as is stated, and nothing else."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from deniable.errors import UnsupportedQueryError
from deniable.privacy import of_clipped_sum
from deniable.query.aggregates import counts
from deniable.query.aggregates.aggregate import PricedAggregate
from deniable.query.engines.duckdb import sql
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.engines.remote import RemoteEngine
from tests.query.fuzz.cases import Tally, questions_of, run
from tests.query.fuzz.engines import Both, DuckDB, Postgres
from tests.query.fuzz.worlds import world_of


def test_one_unit_moves_what_is_drawn_as_far_as_is_stated_and_nothing_else() -> None:
    tally = Tally()
    case = run(DuckDB(), 1, range(20), tally)
    assert case is None, f"{case.finding(DuckDB())}\n{case}"
    assert tally.asked == 200
    assert tally.refused <= 0.4 * tally.asked
    assert len(tally.used) >= 0.8 * len(tally.known)


def test_so_it_is_on_a_server_which_has_the_numbers_of_duckdb(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tally = Tally()
    with closing(Postgres(postgres)) as engine:
        case = run(engine, 2, range(4), tally, per_world=6)
        other = run(Both(DuckDB(), engine), 3, range(3), tally, per_world=6)
        real = RemoteEngine.exact
        monkeypatch.setattr(RemoteEngine, "exact", lambda *given, **how: [*reversed(real(*given, **how))])
        twin = run(Both(DuckDB(), engine), 3, range(3), Tally(), per_world=6)
    assert case is None, f"{case}"
    assert other is None, f"{other}"
    assert twin is not None
    assert tally.refused <= 0.5 * tally.asked


def _too_little(**bounds: Any) -> Any:
    stated = of_clipped_sum(**bounds)
    return replace(stated, l1=stated.l1 / 2, l2_squared=stated.l2_squared / 4, linf=stated.linf / 2)


def _refusing(real: Callable[..., Any], self: Any, plan: Any, **how: Any) -> Any:
    exact = real(self, plan, **how)
    if sum(int(each) for part in exact if isinstance(part, np.ndarray) for each in part.ravel()) % 2:
        raise UnsupportedQueryError("the answer is odd.")
    return exact


def _every_pair(layers: list[str], question: Any, keyed: Any, *columns: str) -> str:
    layers.append(f"pairs AS (SELECT {', '.join(['u', 'cell', *columns])} FROM placed GROUP BY u, cell)")
    return "pairs"


TWINS: dict[str, tuple[Any, str, Any]] = {
    "a sensitivity of half": (counts, "of_clipped_sum", _too_little),
    "no clamp": (sql, "clamp", lambda value, low, high, **step: value),
    "no limit on groups": (sql, "_pairs", _every_pair),
    "no limit on rows": (sql, "_shared", lambda value, steps, most: f"{value} * {steps}"),
    "an error that depends on rows": (DuckDBEngine, "exact", _refusing),
    "a plan that depends on rows": (DuckDBEngine, "unchanged", lambda self: self._rows % 2 == 0),
    "noise of half": (PricedAggregate, "release", lambda real, self, exact, *, bits: real(self, exact // 2, bits=bits)),
}


@pytest.mark.parametrize("twin", TWINS)
def test_planted_faults_are_found(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, fault = TWINS[twin]
    real = getattr(where, name)
    takes_real = fault.__code__.co_varnames[:1] == ("real",)
    monkeypatch.setattr(where, name, (lambda *given, **how: fault(real, *given, **how)) if takes_real else fault)
    assert run(DuckDB(), 1, range(40), Tally(), per_world=2) is not None


def test_a_case_is_made_small() -> None:
    """A count that two rows decide shrinks to few rows, and a question of many parts to one."""
    draw = Random("small")
    world = next(each for each in iter(lambda: world_of(draw), None) if len(each.here["t"]) > 12)
    smaller = world.smaller(lambda each: any(row["b"] for row in each.here["t"]))
    assert len(smaller.here["t"]) == 1
    questions = [question for question, _ in questions_of(Random(1), world, 30)]
    again = [question for question, _ in questions_of(Random(1), world, 30)]
    assert questions == again
    assert {each.how for each in questions} == {"sql", "frame", "statistic"}
