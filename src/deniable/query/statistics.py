"""Statistics of `deniable.statistics` as questions to a database.

They use its unit, bounds, relation and ledger.

A method names columns where the function takes values, and leaves out what the database knows. Mistakes are found on a
table without rows; then the ledger is charged; only then does the engine read the columns.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from deniable.errors import ExecutionError, InvalidParameterError, UnprovedError
from deniable.ledger import Entry
from deniable.mechanisms.price import Price
from deniable.privacy import Budget, PrivacyLoss, Relation, compose
from deniable.query.answer import FREE
from deniable.query.asking import SAMPLES, StatisticQuestion
from deniable.query.catalog import DeclaredTable
from deniable.query.chosen import Chosen
from deniable.query.expression import Expression
from deniable.query.responder import Responder
from deniable.query.rules import price
from deniable.query.sql import parse
from deniable.query.table_expression import Scan, filtered
from deniable.release import Release, stored


def answer_statistic(asked: StatisticQuestion, responder: Responder, tables: Mapping[str, DeclaredTable]) -> Release:
    """Return a statistic of columns: rehearse, charge, read, release and keep it.

    The steps are in this order.

    Args:
        asked: the statistic, its columns and its public parameters.
        responder: answers for the table that the statistic is about.
        tables: all declared tables by name.

    Raises: InvalidParameterError, CatalogError or UnprovedError before anything is charged; ExecutionError if the
        engine stops.
    """
    table, ledger, safe = responder.table, responder.ledger, responder.bits.safe
    if table.auto:
        raise InvalidParameterError("rows='auto' is found for SQL and frames; statistics need rows=... of the table.")
    _check_sizes(table, tables)
    chosen = Chosen(asked.function, asked.columns, table, _condition(asked, responder))
    public = chosen.completed(asked.parameters)
    loss, text = chosen.rehearse(public)
    question = chosen.key(text)
    if asked.where is not None:
        text = f"{text[:-1]}, where={asked.where!r})"
    ledger.check_unit(text, units=True)
    entry = Entry(question=question, text=text, loss=loss, mechanisms=asked.function.__name__, safe=safe)
    new: list[Release] = []

    def compute() -> str:
        release, answer = _read(chosen, public, loss, responder)
        new.append(release)
        return answer

    known_by_text = not any(callable(value) for value in public.values())
    answer, was_stored = ledger.answer(entry, compute, fresh=asked.fresh or not known_by_text)
    notes = responder.notes(grouped="groups" in public)
    if was_stored:
        parts, said = stored.from_text(answer)
        release = Release(parts=parts, cost=compose([]), safe=safe, notes=said)
        notes = (*notes, FREE)
    else:
        (release,) = new
    release = replace(
        release, text=text, budget_left=ledger.left(), protects=table.protects, notes=(*release.notes, *notes)
    )
    return responder.with_provenance(release, question, answer, table, stored=was_stored)


def _check_sizes(table: DeclaredTable, tables: Mapping[str, DeclaredTable]) -> None:
    """Refuse to take the number of rows for public where a unit may have none.

    Under replace with one row a unit, statistics take it for the number of units. In one of several private tables a
    unit may have no row, and the one that takes its place may have one.
    """
    single = (table.total_rows or table.rows) == 1 and table.unit.column is not None
    private = sum(not each.public for each in tables.values())
    if table.relation is Relation.REPLACE and single and private > 1:
        raise UnprovedError(
            f"under replace with one row of each {table.unit.noun}, statistics take the number of rows for public. "
            f"In {table.name}, one of {private} private tables, a {table.unit.noun} may have none. Ask in SQL, or "
            "declare rows=2 or add/remove."
        )


def _condition(asked: StatisticQuestion, responder: Responder) -> Expression | None:
    """Return the condition on rows, checked as the filter of a query is.

    The engine checks it; None where all rows count.
    """
    table, where, statistic = responder.table, asked.where, asked.function.__name__
    replaced = table.relation is Relation.REPLACE
    if replaced and statistic in SAMPLES:
        raise UnprovedError(
            f"under replace {statistic} takes the sizes of its samples for public, and one who changes sides moves "
            "them. Ask a database under add/remove."
        )
    if where is None:
        return None
    if replaced:
        raise UnprovedError(
            "where= makes the number of rows that count private, and under replace statistics take it for public. "
            "Ask in SQL, or a database under add/remove."
        )
    return condition_of(where, responder)


def condition_of(where: str | None, responder: Responder) -> Expression | None:
    """Return a condition that stands for itself, as SQL; None for None.

    Raises: InvalidParameterError if it is not one condition on rows of the responder's table.
    """
    if where is None:
        return None
    table = responder.table
    if not isinstance(where, str):
        raise InvalidParameterError(f'where must be a condition as in SQL, such as "age > 30", got {where!r}')
    name = table.name.replace('"', '""')
    query = parse(f'SELECT COUNT(*) FROM "{name}" WHERE (\n{where}\n)', {table.name: table})  # noqa: S608
    outcome = query.outcome
    if query.question.keys or outcome.having is not None or outcome.order or outcome.limit is not None:
        raise InvalidParameterError(f'where must be one condition, such as "age > 30", got {where!r}')
    responder.engine.check(price(query, Price(epsilon=Fraction(1)), Budget(epsilon=1)))
    return query.question.where


def _read(chosen: Chosen, public: Mapping[str, Any], loss: PrivacyLoss, responder: Responder) -> tuple[Release, str]:
    """Return the statistic of the private rows, and its text in the ledger.

    Raises: ExecutionError, with one text for all failures, since they may depend on private rows.
    """
    release = None
    answer = ""
    try:
        rows = filtered(Scan(responder.table), chosen.where)
        held = responder.engine.columns(rows, list(chosen.expressions.values()))
        release = chosen.release(held, public, ledger=None, bits=responder.bits)
        answer = stored.as_text(release)
    except Exception:  # noqa: S110 - raised below, so that nothing private is attached to it
        pass
    if release is None or release.cost.to_data() != loss.to_data():
        raise ExecutionError
    return release, answer
