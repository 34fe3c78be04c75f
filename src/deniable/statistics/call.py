"""Functions that ask for a statistic: their options, and plans that read no rows."""

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar, get_type_hints

from deniable import arguments
from deniable.arguments import CallSignature
from deniable.errors import InvalidParameterError
from deniable.noise.bits import SECURE
from deniable.numbers.rationals import shown
from deniable.release import Release
from deniable.statistics.statistic import Options, Statistic

P = ParamSpec("P")
R = TypeVar("R")

_OF_A_CALL = {"units": None, "ledger": None, "bits": SECURE}  # options that are not parameters of a plan
_ENTRY = re.compile(r"^ {4}(\w+): .*(?:\n {8}.*)*\n?", re.MULTILINE)  # of the section Args, without indentation


def asks(statistic: Callable[..., Statistic]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate the function that asks for a statistic.

    Its signature and its docstring show every option by name, an argument that does not fit is refused with the
    parameters that exist, and `plan` finds the statistic.

    Args:
        statistic: makes it from the parameters of the function that are not rows, `units`, `ledger` or `bits`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        options = inspect.signature(function).parameters["options"].annotation.__args__[0]
        signature = _spelt_out(function, options, _defaults(statistic))
        asking = arguments.in_words(function, signature=signature)
        asking.__doc__ = _with_options(inspect.cleandoc(function.__doc__ or ""), options)
        asking.statistic = statistic  # type: ignore[attr-defined]
        asking.planned = _planned(function.__name__, signature, statistic)  # type: ignore[attr-defined]
        return asking

    return decorate


def plan(function: Callable[..., Release], /, **parameters: Any) -> Statistic:
    """Return a statistic before any row is read: loss, mechanism, expected error.

    Args:
        function: one of `deniable.statistics` that takes rows, such as `mean`.
        parameters: of that function, all but the rows, `units`, `ledger` and `bits`.

    Returns: a `Statistic` with `privacy_loss` and `expected_error(size)`; call it with the rows for the answer.
    Raises: InvalidParameterError for another function, or whatever the function would say about its parameters.

    >>> import deniable as dn
    >>> plan = dn.statistics.plan(dn.statistics.mean, bounds=(0, 100), epsilon=1)
    >>> plan
    mean(epsilon=1, bounds=(0, 100))
    >>> f"{plan.expected_error(5000):.3f}"  # root mean squared, for about 5,000 rows
    '0.020'
    >>> plan.privacy_loss.epsilon(0).upper
    1.0
    >>> answer = plan([31, 45, 28])
    """
    if not hasattr(function, "statistic"):
        raise InvalidParameterError(
            f"function must be one of deniable.statistics that takes rows, such as mean, got {shown(function)}"
        )
    function.planned.check((), parameters)  # type: ignore[attr-defined]
    statistic: Statistic = function.statistic(**parameters)
    return statistic


def without_arguments(text: str, words: Iterable[str]) -> str:
    """Return a docstring without its entries for these arguments.

    Args:
        text: as `inspect.getdoc` gives it.
        words: the arguments.
    """
    left_out = frozenset(words)
    return _ENTRY.sub(lambda entry: "" if entry[1] in left_out else entry[0], text)


def _defaults(statistic: Callable[..., Statistic]) -> dict[str, object]:
    """Return the defaults of the options, from the statistic's fields and of a call."""
    return {name: each.default for name, each in inspect.signature(statistic).parameters.items()} | _OF_A_CALL


def _spelt_out(function: Callable[..., Any], options: type[Options], defaults: dict[str, object]) -> inspect.Signature:
    """Return the signature in which **options is a parameter for each option.

    Each has its default.
    """
    signature = inspect.signature(function)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    named = [
        inspect.Parameter(word, inspect.Parameter.KEYWORD_ONLY, default=defaults[word], annotation=kind)
        for word, kind in get_type_hints(options).items()
    ]
    return signature.replace(parameters=[*own, *named])


def _planned(name: str, signature: inspect.Signature, statistic: Callable[..., Statistic]) -> CallSignature:
    """Return the check of a plan's parameters.

    They are those of the function that the statistic has too.
    """
    known = inspect.signature(statistic).parameters
    taken = [each.replace(kind=each.KEYWORD_ONLY) for word, each in signature.parameters.items() if word in known]
    return CallSignature(name, signature.replace(parameters=taken))


def _with_options(text: str, options: type[Options]) -> str:
    """Return the docstring with the entries of all options in place of **options."""
    entries = [entry for each in dict.fromkeys((Options, options)) for entry in _entries(each.__doc__ or "")]
    return _ENTRY.sub(lambda entry: "".join(entries) if entry[1] == "options" else entry[0], text)


def _entries(text: str) -> list[str]:
    """Return the entries below the line "Args:" of a docstring, with line breaks."""
    arguments_alone = inspect.cleandoc(text).partition("Args:\n")[2]
    return [f"{entry[0].rstrip()}\n" for entry in _ENTRY.finditer(arguments_alone)]
