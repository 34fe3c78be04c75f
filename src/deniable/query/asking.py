"""Methods of a database that ask for a statistic.

Each has the function's signature, with names of columns for its rows.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MethodType
from typing import Any

from deniable.arguments import in_words
from deniable.release import Release

SAMPLES = frozenset({"two_sample_t_test", "mann_whitney"})  # two lists of rows: one column, told apart by another
DECLARED = ("bounds", "target_bounds", "keys", "other_keys", "groups")  # what the catalog may know

_ROWS = ("values", "features", "target", "first", "second", "groups")  # by place: private rows
_KNOWN = frozenset({"relation", "rows", "units", "ledger", "bits"})  # what the database knows


@dataclass(frozen=True)
class StatisticQuestion:
    """A statistic that is asked of a database.

    Args:
        function: of `deniable.statistics`.
        columns: names of columns, or lists of them, by the parameter of the function that takes their rows.
        parameters: the public parameters, as they are given.
        where: a condition on rows, as in SQL; None counts all.
        fresh: whether to charge again for new noise although an answer is stored.
    """

    function: Callable[..., Release]
    columns: Mapping[str, object]
    parameters: Mapping[str, Any]
    where: str | None = None
    fresh: bool = False


class StatisticMethod:
    """Method of a database that asks for one statistic.

    Args:
        name: of the function, where the method has another.
    """

    def __init__(self, name: str = "") -> None:
        self._name = name

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = self._name or name

    def __get__(self, database: object, owner: type | None = None) -> Callable[..., Release]:
        method = _method(self._name)
        return method if database is None else MethodType(method, database)


class _Declared:
    """Stands in a signature for what the catalog declares."""

    def __repr__(self) -> str:
        return "<as declared>"


@cache
def _method(name: str) -> Callable[..., Release]:
    """Return the method that asks for a statistic.

    `_answer_statistic` of the database does the rest.
    """
    from deniable import statistics
    from deniable.statistics.call import without_arguments

    function: Callable[..., Release] = getattr(statistics, name)
    parameters = inspect.signature(function).parameters.values()
    rows = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD and p.name in _ROWS]
    signature = _signature(function, rows)

    def ask(self: Any, *args: object, **given: object) -> Release:
        parameters = dict(signature.bind(self, *args, **given).arguments)
        del parameters["self"]
        where, fresh = parameters.pop("where", None), parameters.pop("fresh", False)
        columns = {word: parameters.pop(_shown(name, word)) for word in rows}
        asked = StatisticQuestion(function, columns, parameters, where=where, fresh=fresh)
        release: Release = self._answer_statistic(asked)
        return release

    said = without_arguments((inspect.getdoc(function) or "").partition("\n>>>")[0].rstrip(), _KNOWN)
    ask.__name__ = ask.__qualname__ = name
    ask.__doc__ = (
        f"{said}\n\nOn the database's unit, rows, relation and ledger; what the columns declare need not be given.\n"
        'where: counts only rows for which this condition holds, as in SQL: "age > 30".\n'
        "fresh: charges again for new noise, although an answer is stored."
    )
    return in_words(ask, signature=signature)


def _shown(name: str, word: str) -> str:
    """Return the name under which a method shows a parameter for private rows."""
    if name in SAMPLES:
        return {"first": "column", "second": "by"}[word]
    return {"values": "column"}.get(word, word)


def _signature(function: Callable[..., Release], rows: Sequence[str]) -> inspect.Signature:
    shown = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for word, parameter in inspect.signature(function).parameters.items():
        if word in rows:
            shown.append(parameter.replace(name=_shown(function.__name__, word), annotation="str | Sequence[str]"))
        elif word not in _KNOWN:
            shown.append(parameter.replace(default=_Declared()) if word in DECLARED else parameter)
    shown.append(inspect.Parameter("where", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="str | None"))
    shown.append(inspect.Parameter("fresh", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=bool))
    return inspect.Signature(shown, return_annotation=Release)
