"""One form for all questions that certainly ask the same of the rows.

It does not matter how they are written.

Names of columns are followed through aliases, subqueries and WITH down to the tables, so they do not matter. Inner
joins become one list of what they join, beside one list of conditions, each in an order of its own. What is made of
several rows, or of rows that may be missing, stays a thing by itself: aggregated rows, UNION ALL, LEFT JOIN.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache, wraps
from itertools import groupby, permutations, product
from math import factorial, prod
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from deniable.errors import UnsupportedQueryError
from deniable.query.effort import check_time
from deniable.query.expression import Call, Column, Expression, Literal, canonical, operands, substituted
from deniable.query.grouped import GroupedRows
from deniable.query.join import Join
from deniable.query.table_expression import FilteredRows, Project, Renamed, Scan, TableExpression
from deniable.query.union import Union

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from deniable.query.plan import Question

Form = TypeVar("Form", bound=Callable[..., Any])
Meaning = Callable[[Column], Expression]
MAX_PARTS = 50_000  # of all expressions, with columns of subqueries written out
MAX_NAME = 10_000  # characters of the form of a column, above which its hash stands for it
_MOST_ORDERS = 24  # of equal tables in a join that are compared; beyond, they stay as they are written


def kept(form: Form) -> Form:
    """Memoize the form of a table expression, or of one of its columns by name.

    Columns above name it repeatedly.
    """

    @wraps(form)
    def made(tree: TableExpression, *columns: Column) -> Any:
        memo = tree.__dict__.setdefault("forms", {})
        key = (form.__qualname__, *(column.name for column in columns))
        if key not in memo:
            memo[key] = form(tree, *columns)
        return memo[key]

    return cast("Form", made)


def canonical_question(question: "Question", public: Mapping[str, str]) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Return the question as plain data, and its aggregates in their order there.

    A question about one table that is named as it is has the form that it had in the first versions.

    Args:
        public: fingerprints of the public tables that it reads, by name.
    """
    forms = (_question(question, labels) for labels in _orders(question.source))
    said, order = min(forms, key=lambda form: json.dumps(form[0], sort_keys=True))
    return said | ({"public": dict(public)} if public else {}), order


def check_parts(question: "Question") -> None:
    """Refuse a question that is too long once its subqueries are written out.

    Their columns are written out in its name.

    Raises: UnsupportedQueryError.
    """
    parts = sum(tree.parts(each) for tree, each in _expressions(question))
    if parts > MAX_PARTS:
        raise UnsupportedQueryError(
            f"the query has {parts:,} parts when columns of its subqueries are written out as often as they are named; "
            f"at most {MAX_PARTS:,} are planned. Name each column fewer times, or use fewer levels of subqueries."
        )


def public_tables(tree: TableExpression) -> Iterator[Scan]:
    """Yield the public tables that a table expression reads, with repetitions."""
    if isinstance(tree, Scan):
        yield from () if tree.private else (tree,)
        return
    below = [getattr(tree, name, None) for name in ("source", "left", "right")]
    for source in (*below, *getattr(tree, "sources", ())):
        yield from () if source is None else public_tables(source)


def fingerprint(held: "pa.Table") -> str:
    """A hash of rows, in whatever order they come, and of the names of their columns."""
    held = held.sort_by([(name, "ascending") for name in held.column_names])
    digest = hashlib.sha256(json.dumps([len(held), held.column_names, [*map(str, held.schema.types)]]).encode())
    for column in held.columns:
        for part in _content(column):
            digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


def _expressions(question: "Question") -> Iterator[tuple[TableExpression, Expression]]:
    """Yield every expression in a question's name, and what it is over.

    That is the table expression whose columns it names.
    """
    arguments = (each.argument for each in question.aggregates)
    for each in (*question.keys, *(argument for argument in arguments if argument is not None)):
        yield question.source, each
    waiting = [question.source]
    while waiting:
        tree = waiting.pop()
        match tree:
            case FilteredRows(source=source, condition=condition):
                yield source, condition
                waiting.append(source)
            case Project(source=source) | Renamed(source=source):
                waiting.append(source)
            case GroupedRows(source=source, keys=keys):
                yield from ((source, key) for key in keys)
                waiting.append(source)
            case Join(left=left, right=right, on=on):
                yield from ((side, each) for pair in on for side, each in zip((left, right), pair, strict=True))
                waiting += [left, right]
            case Union(sources=sources):
                waiting += sources


def _content(column: "pa.ChunkedArray") -> Iterator["NDArray[Any]"]:
    """Yield NULLs and values of a column: numbers, or lengths and letters of texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    yield column.is_null().to_numpy()
    number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if number:
        yield column.fill_null(0).to_numpy()
        return
    texts = pc.fill_null(column.cast(pa.large_string()), "").combine_chunks()
    _, offsets, letters = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    yield np.diff(ends)
    if len(ends) and ends[-1] > ends[0]:
        yield np.frombuffer(letters, dtype=np.uint8)[ends[0] : ends[-1]]


def _question(question: "Question", labels: Sequence[int]) -> tuple[dict[str, Any], tuple[int, ...]]:
    check_time()
    leaves = _leaves(question.source)
    alone = isinstance(leaves[0], Scan) and len(leaves) == 1
    meaning = _meaning(question.source, labels, alone=alone)
    aggregates = [_followed(aggregate, meaning) for aggregate in question.aggregates]
    order = sorted(range(len(aggregates)), key=lambda index: aggregates[index].sort_key)
    keys = tuple(substituted(key, meaning) for key in question.keys)
    said: dict[str, Any] = replace(
        question, keys=keys, aggregates=tuple(aggregates[index] for index in order)
    ).to_json()
    conditions = canonical(_conditions(question.source, labels, alone=alone))
    if alone:
        both = conditions if len(conditions) < 2 else [{"call": "and", "arguments": conditions}]
        return said | {
            "table": leaves[0].to_json(),
            "unit": [leaves[0].unit, said["unit"][1]],
            "where": (*both, None)[0],
        }, tuple(order)
    return said | {"table": _block(question.source, labels), "unit": said["unit"][1], "where": None}, tuple(order)


def _followed(aggregate: Any, meaning: Meaning) -> Any:
    """An aggregate of the columns that its own mean."""
    values = {each.name: getattr(aggregate, each.name) for each in fields(aggregate)}
    read = {name: value for name, value in values.items() if isinstance(value, Column | Literal | Call)}
    return replace(aggregate, **{name: substituted(value, meaning) for name, value in read.items()})


def _leaves(tree: TableExpression) -> list[TableExpression]:
    """Return the leaves of inner joins, below row-by-row nodes."""
    match tree:
        case FilteredRows(source=source) | Project(source=source) | Renamed(source=source):
            return _leaves(source)
        case Join(left=left, right=right, outer=False):
            return [*_leaves(left), *_leaves(right)]
    return [tree]


def _orders(tree: TableExpression) -> Iterator[list[int]]:
    """Numbers for the leaves, by their forms; those of equal forms in every order."""
    forms = [json.dumps(_leaf(leaf), sort_keys=True) for leaf in _leaves(tree)]
    ties = [list(tie) for _, tie in groupby(sorted(range(len(forms)), key=forms.__getitem__), key=forms.__getitem__)]
    compares_all = prod(factorial(len(tie)) for tie in ties) <= _MOST_ORDERS
    for choice in product(*(permutations(tie) if compares_all else [tie] for tie in ties)):
        placed = [leaf for tie in choice for leaf in tie]
        yield [placed.index(leaf) for leaf in range(len(forms))]


def _meaning(tree: TableExpression, labels: Sequence[int], *, alone: bool = False) -> Meaning:
    """Return the function that writes a column as an expression over the leaves.

    The column is one of a table expression, the leaves are those below it.
    """
    match tree:
        case FilteredRows(source=source):
            return _meaning(source, labels, alone=alone)
        case Renamed(source=source, prefix=prefix):
            inner = _meaning(source, labels, alone=alone)
            return lambda column: inner(Column(column.name.removeprefix(prefix), column.facts))
        case Project(source=source, columns=columns):
            inner = _meaning(source, labels, alone=alone)
            meant = cache(lambda name: substituted(columns.get(name) or source.unit_expression, inner))
            return lambda column: meant(column.name)
        case Join(left=left, right=right, outer=False):
            cut = len(_leaves(left))
            own = {*left.names, left.unit}
            first, second = _meaning(left, labels[:cut]), _meaning(right, labels[cut:])
            return lambda column: (first if column.name in own else second)(column)
    if alone:
        return lambda column: column
    return lambda column: Column(_shortened([labels[0], _inside(tree, column)]), column.facts)


def _shortened(said: object) -> str:
    """Return plain data as text, shortened to a hash where it is long.

    Texts within texts double in length with each level.
    """
    text = json.dumps(said, sort_keys=True)
    return text if len(text) <= MAX_NAME else hashlib.sha256(text.encode()).hexdigest()


def _conditions(tree: TableExpression, labels: Sequence[int], *, alone: bool = False) -> Iterator[object]:
    match tree:
        case FilteredRows(source=source, condition=condition):
            for each in operands(condition, "and"):
                yield substituted(each, _meaning(source, labels, alone=alone)).to_json()
            yield from _conditions(source, labels, alone=alone)
        case Project(source=source) | Renamed(source=source):
            yield from _conditions(source, labels, alone=alone)
        case Join(left=left, right=right, on=on, outer=False):
            cut = len(_leaves(left))
            meaning = _meaning(tree, labels)
            yield from ({"equal": canonical(substituted(side, meaning).to_json() for side in pair)} for pair in on)
            yield from _conditions(left, labels[:cut])
            yield from _conditions(right, labels[cut:])


def _block(tree: TableExpression, labels: Sequence[int]) -> object:
    check_time()
    leaves = canonical(_leaf(leaf) for leaf in _leaves(tree))
    return {"joined": leaves, "where": canonical(_conditions(tree, labels))}


@kept
def _best(tree: TableExpression) -> tuple[object, list[int]]:
    """Return the form of a table expression by itself, and its leaves' numbers."""
    forms = [(_block(tree, labels), labels) for labels in _orders(tree)]
    return min(forms, key=lambda form: json.dumps(form[0], sort_keys=True))


def _within(tree: TableExpression, expression: Expression) -> object:
    """Return an expression over a table expression as plain data.

    The table expression is a form by itself.
    """
    return substituted(expression, _meaning(tree, _best(tree)[1])).to_json()


@kept
def _leaf(leaf: TableExpression) -> object:
    match leaf:
        case GroupedRows(source=source, keys=keys):
            return {"grouped": _best(source)[0], "keys": canonical(_within(source, key) for key in keys)}
        case Union(sources=sources):
            return {"union": [_best(source)[0] for source in sources]}
        case Join(left=left, right=right, on=on):
            pairs = canonical([_within(left, one), _within(right, other)] for one, other in on)
            return {"left join": [_best(left)[0], _best(right)[0]], "on": pairs}
    return {"table": leaf.to_json(), "unit": leaf.unit}


@kept
def _inside(leaf: TableExpression, column: Column) -> object:
    """Return what a column of a leaf is computed from, whatever its name."""
    match leaf:
        case GroupedRows(source=source, keys=keys, totals=totals) if column.name != leaf.unit:
            kind, number = column.name.split()
            if kind == "key":
                return {"key": _within(source, keys[int(number)])}
            said: Any = totals[int(number)].to_json()
            return {"total": [said[0], said[1] and _within(source, totals[int(number)].argument), *said[2:]]}  # type: ignore[arg-type]
        case Union(sources=sources) if column.name != leaf.unit:
            index = leaf.names.index(column.name)
            return [_within(source, source.column(source.names[index])) for source in sources]
        case Join(left=left, right=right):
            side = left if column.name in {*left.names, left.unit} else right
            return {"left" if side is left else "right": _within(side, column)}
    return column.name
