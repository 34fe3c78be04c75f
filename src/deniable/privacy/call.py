"""Calls in the words of the caller: a misspelt or missing parameter is named, with the parameters that exist."""

import inspect
from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

from deniable.errors import InvalidParameterError

P = ParamSpec("P")
R = TypeVar("R")


class InWords(ABCMeta):
    """The kind of class whose constructor refuses arguments that do not fit with an error of ours."""

    def __call__(cls, *args: object, **given: object) -> Any:
        check(cls.__name__, _constructor(cls), args, given)
        return super().__call__(*args, **given)

    @property
    def __signature__(cls) -> inspect.Signature:
        """What `help` and notebooks show."""
        return _constructor(cls)


def in_words(
    function: Callable[P, R],
    *,
    signature: inspect.Signature | None = None,
    kinds: Mapping[str, type] | None = None,
) -> Callable[P, R]:
    """The function or method, with an error of ours where its arguments do not fit.

    Args:
        signature: what it takes, where its own says that less clearly.
        kinds: parameters whose values must be of a class.
    """
    shown = signature or inspect.signature(function)
    own = next(iter(shown.parameters), "") in ("self", "cls")
    expected = _without_first(shown) if own else shown
    places = [name for name in expected.parameters if name in (kinds or {})]

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        given = args[1:] if own else args
        check(function.__name__, expected, given, kwargs)
        if places:
            values = expected.bind(*given, **kwargs).arguments
            for name in places:
                if name in values:
                    check_kind(name, values[name], (kinds or {})[name])
        return function(*args, **kwargs)

    call.__signature__ = shown  # type: ignore[attr-defined]
    return call


def check(name: str, signature: inspect.Signature, args: tuple[object, ...], given: Mapping[str, object]) -> None:
    """Refuse arguments that do not fit; no value is looked at.

    Raises: InvalidParameterError.
    """
    known = {
        word: parameter
        for word, parameter in signature.parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    wrong = [word for word in given if word not in known]
    if wrong and len(known) == len(signature.parameters):
        raise InvalidParameterError(_unknown(name, wrong[0], known))
    places = [word for word, parameter in known.items() if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    if len(args) > len(places):
        raise InvalidParameterError(
            f"{name} takes {' and '.join(places) or 'nothing'} by place, and all else by name. It takes: "
            f"{', '.join(known)}."
        )
    twice = [word for word in places[: len(args)] if word in given]
    if twice:
        raise InvalidParameterError(f"{name} got {twice[0]} twice")
    missing = [
        word
        for word, parameter in known.items()
        if parameter.default is parameter.empty and word not in given and word not in places[: len(args)]
    ]
    if missing:
        raise InvalidParameterError(f"{name} needs {' and '.join(missing)}. It takes: {', '.join(known)}.")


def check_kind(name: str, value: object, kind: type) -> None:
    """Refuse a value of another class; the message has its class alone."""
    if not isinstance(value, kind):
        raise InvalidParameterError(f"{name} must be of class {kind.__name__}, got one of {type(value).__name__}")


def _unknown(name: str, word: str, known: Iterable[str]) -> str:
    near = get_close_matches(word, known, n=1) or [each for each in known if len(word) > 1 and each.startswith(word)]
    meant = f" Did you mean {near[0]}?" if near else ""
    return f"{name} takes no {word}.{meant} It takes: {', '.join(known)}."


@cache
def _constructor(cls: type) -> inspect.Signature:
    return _without_first(inspect.signature(cls.__init__))  # type: ignore[misc]


def _without_first(signature: inspect.Signature) -> inspect.Signature:
    return signature.replace(parameters=list(signature.parameters.values())[1:])
