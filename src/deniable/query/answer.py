"""From noisy integers to a release, all of it post-processing."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import UnsupportedQueryError
from deniable.privacy import compose
from deniable.privacy.budget.rule import Remaining
from deniable.query.aggregates.aggregate import integers
from deniable.query.aggregates.mode import ModeAggregate
from deniable.query.declarations import LARGEST_KEYS
from deniable.query.evaluate import Array, check_result, evaluate, missing, numbers
from deniable.query.expression import Call, Column, Expression, Kind, bases_of, columns_of
from deniable.query.expression import Key as PublicKey
from deniable.query.plan import Name, Ordering, Outcome, OutputColumn, PricedPlan, Query, Question, plain_key
from deniable.release import Release
from deniable.release.columns import Estimate, Key, Measure, Noisy

KIND_OF_KEY = {
    Kind.TEXT: "string",
    Kind.INTEGER: "int64",
    Kind.REAL: "float64",
    Kind.BOOLEAN: "bool",
    Kind.DATE: "date32",
    Kind.NULL: "null",
}
CHOSEN = (
    "Rows were chosen or cut by their noisy values, and noise that helped a row in is still in it: what is shown tends "
    "to be too extreme, and intervals hold the truth less often than they say."
)
FREE = "This question was answered before: the stored answer cost nothing."


def check_outcome(query: Query, *, written: bool = False) -> None:
    """Refuse what cannot be computed from noisy numbers, before anything is spent.

    Args:
        many: whether groups are answered apart from each other, where they are.

    Raises: UnsupportedQueryError.
    """
    outcome = query.outcome
    cells = 1 if query.question.searched else query.question.cells
    if cells > LARGEST_KEYS and not written:
        raise UnsupportedQueryError(
            f"GROUP BY makes {cells:,} groups; at most {LARGEST_KEYS:,} are answered at once, and more on Spark by "
            "db.write(...)."
        )
    if written and (outcome.order or outcome.limit is not None):
        raise UnsupportedQueryError(
            "files have no ORDER BY and LIMIT: leave them out, and order the frame that you get."
        )
    if written and not all(part.additive for part in query.question.aggregates):
        raise UnsupportedQueryError("files hold counts, sums and what is computed from them. Ask the rest with db.sql.")
    chosen = {f"base {index}": part for index, part in enumerate(query.question.aggregates) if not part.additive}
    for output in outcome.outputs:
        check_result(output.expression)
        for name in () if isinstance(output.expression, Column) else bases_of(output.expression):
            if name in chosen:
                raise UnsupportedQueryError(
                    f"{chosen[name]} has an interval of its own, and none is known of what is computed from it. Show "
                    "it in a column of its own."
                )
        if bases_of(output.expression) and not output.expression.facts.kind.is_number:
            raise UnsupportedQueryError(
                f"column {output.name!r} of the answer must be a number. Use HAVING to choose rows."
            )
        if bases_of(output.expression) and _keys(output.expression):
            raise UnsupportedQueryError(
                f"column {output.name!r} mixes groups and aggregates. Show them in columns of their own."
            )
    for expression in (*(ordering.expression for ordering in outcome.order), outcome.having):
        if expression is not None:
            check_result(expression)
            for name in bases_of(expression):
                if isinstance(chosen.get(name), ModeAggregate):
                    raise UnsupportedQueryError(f"{chosen[name]} can be shown, and neither order nor choose rows.")


def answer_text(noisy: Sequence[NDArray[Any]], question: Question, name: Name) -> str:
    """Return released keys and noisy integers as the ledger keeps them."""
    keys_found = (
        {} if question.found_keys is None else {"keys": [list(map(plain_key, keys)) for keys in question.found_keys]}
    )
    return json.dumps({"noisy": [noisy[index].tolist() for index in name.order], **keys_found})


def noisy_of(text: str, name: Name) -> list[NDArray[Any]]:
    """The noisy integers of an answer, one array a part."""
    kept = json.loads(text)["noisy"]
    return [integers(kept[name.order.index(index)]) for index in range(len(kept))]


def found_of(text: str, plan: PricedPlan) -> tuple[tuple[PublicKey, ...], ...] | None:
    """The keys of an answer that were found."""
    if plan.key_search is None:
        return None
    question = plan.query.question
    days = [question.keys[index].facts.kind is Kind.DATE for index in question.unknown]
    return tuple(
        tuple(date.fromisoformat(key) if day else key for key, day in zip(keys, days, strict=True))
        for keys in json.loads(text)["keys"]
    )


def build_release(
    plan: PricedPlan,
    noisy: Sequence[NDArray[Any]],
    *,
    left: Remaining | None,
    safe: bool,
    stored: bool,
    notes: tuple[str, ...] = (),
    keys: Mapping[str, Array] | None = None,
    measured: Callable[[OutputColumn], Estimate] | None = None,
) -> Release:
    """Return the release from one noisy integer array, shape (groups,), per aggregate.

    notes: what a reader must know, whatever the question.
    keys: the values of `key 0`, ... in these groups; None for all groups of the question, in their order.
    measured: makes columns of numbers in their own unit; None where they are noisy steps.
    """
    outcome = plan.query.outcome
    bases = tuple(
        part.column(f"base {index}", values) for index, (part, values) in enumerate(zip(plan.parts, noisy, strict=True))
    )
    keys = key_columns(plan.query.question, np.arange(plan.query.question.cells)) if keys is None else keys
    estimates = {base.name: base for base in bases if not isinstance(base, Noisy)}
    parts = tuple(
        measured(output) if measured is not None and bases_of(output.expression) else _part(output, keys, estimates)
        for output in outcome.outputs
    )
    release = Release(
        parts=parts,
        noisy=tuple(base for base in bases if isinstance(base, Noisy) and measured is None),
        cost=compose([]) if stored else plan.total,
        budget_left=left,
        text=plan.query.text,
        safe=safe,
        notes=(*notes, FREE) if stored else notes,
        protects=plan.query.question.table.protects,
    )
    known = {base.name: base.estimates for base in bases if isinstance(base, Estimate)}
    known |= {base.name: base.values for base in bases if isinstance(base, Noisy)}
    if measured is not None:
        known = {f"base {index}": values for index, values in enumerate(noisy)}
    environment = {**{name: values.astype(np.float64) for name, values in known.items()}, **keys}
    rows, chosen = _rows(outcome, environment, len(release))
    return release if rows is None else release.take(rows, note=CHOSEN if chosen else "")


def key_columns(question: Question, cells: NDArray[np.int64]) -> dict[str, Array]:
    """The value of every key in groups that are given by their numbers."""
    columns: dict[str, Array] = {}
    inner = question.cells
    for axis in question.axes:
        values = axis.values or ()
        inner //= max(1, len(values))
        for index, keys in axis.columns if isinstance(values, tuple) else ():
            column = np.empty(len(keys), dtype=object)
            column[:] = keys
            columns[f"key {index}"] = column[cells // inner % len(keys)]
    return {
        f"key {index}": columns.get(f"key {index}", np.empty(0, dtype=object)) for index in range(len(question.keys))
    }


def _part(
    output: OutputColumn, keys: Mapping[str, Array], estimates: Mapping[str, Estimate | Key]
) -> Key | Measure | Estimate:
    expression = output.expression
    bases = bases_of(expression)
    if not bases:
        length = len(next(iter(keys.values()))) if keys else 1
        values: Any = np.broadcast_to(evaluate(expression, keys), (length,))
        kind = expression.facts.kind
        return Key(name=output.name, values=_plain(values, kind), kind=KIND_OF_KEY.get(kind))
    if isinstance(expression, Column) and expression.name in estimates:
        return replace(estimates[expression.name], name=output.name)
    if isinstance(expression, Column):
        return Measure(name=output.name, bases=bases)
    facts = expression.facts
    return Measure(
        name=output.name,
        bases=bases,
        evaluate=partial(evaluate, expression),
        denominators=tuple(partial(evaluate, divisor) for divisor in divisors_of(expression)),
        lower=None if facts.lower is None else float(facts.lower),
        upper=None if facts.upper is None else float(facts.upper),
    )


def _plain(values: Array, kind: Kind) -> tuple[object, ...]:
    """Public values as Python has them: whole numbers, truth values, None for NULL."""
    types: Mapping[Kind, Callable[[Any], object]] = {Kind.BOOLEAN: bool, Kind.INTEGER: int, Kind.REAL: float}
    convert = types.get(kind)
    return tuple(
        None if gone else convert(value) if convert else value
        for value, gone in zip(values, missing(values), strict=True)
    )


def _keys(expression: Expression) -> bool:
    return any(name.startswith("key ") for name in columns_of(expression))


def divisors_of(expression: Expression) -> Iterator[Expression]:
    """Every divisor that depends on noise."""
    if not isinstance(expression, Call):
        return
    if expression.operator in ("divide", "modulo") and bases_of(expression.arguments[1]):
        yield expression.arguments[1]
    for argument in expression.arguments:
        yield from divisors_of(argument)


def _rows(outcome: Outcome, values: dict[str, Array], count: int) -> tuple[NDArray[np.int64] | None, bool]:
    """Return the rows of the answer in order, and whether noisy values chose them."""
    if outcome.having is None and not outcome.order and outcome.limit is None:
        return None, False
    rows = np.arange(count)
    if outcome.having is not None:
        kept = np.broadcast_to(numbers(evaluate(outcome.having, values)), (count,)) == 1
        rows = rows[kept]
    for ordering in reversed(outcome.order):
        rows = rows[_order(ordering, values, rows, count)]
    cut = outcome.limit is not None and outcome.limit < len(rows)
    noisy_order = any(bases_of(ordering.expression) for ordering in outcome.order)
    chosen = (outcome.having is not None and bool(bases_of(outcome.having))) or (cut and noisy_order)
    return rows[: outcome.limit], chosen


def _order(ordering: Ordering, values: dict[str, Array], rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """A stable order of `rows` by one expression."""
    everywhere: Any = np.broadcast_to(evaluate(ordering.expression, values), (count,))
    column: Array = everywhere[rows]
    absent = missing(column)
    ranks = np.zeros(len(column))
    _, ranks[~absent] = np.unique(column[~absent], return_inverse=True)
    if ordering.descending:
        ranks = -ranks
    ranks[absent] = -np.inf if ordering.nulls_first else np.inf
    return np.argsort(ranks, kind="stable")
