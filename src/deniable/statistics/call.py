"""Calls in the words of the caller: a misspelt parameter is named, with the parameters that exist."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import Any, ParamSpec, TypeVar, get_type_hints

from deniable.errors import InvalidParameterError


class _Default:
    """Stands in a signature for the default of an option."""

    def __repr__(self) -> str:
        return "..."


P = ParamSpec("P")
R = TypeVar("R")


def in_words(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with its options in its signature, and an error of ours where the arguments do not fit it."""
    signature = _spelt_out(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        check(function.__name__, signature, args, kwargs)
        return function(*args, **kwargs)

    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def check(name: str, signature: inspect.Signature, args: tuple[object, ...], given: Mapping[str, object]) -> None:
    """Refuse arguments that do not fit; no value is looked at.

    Raises: InvalidParameterError.
    """
    known = signature.parameters
    wrong = [word for word in given if word not in known]
    if wrong:
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


def _unknown(name: str, word: str, known: Iterable[str]) -> str:
    near = get_close_matches(word, known, n=1) or [each for each in known if len(word) > 1 and each.startswith(word)]
    meant = f" Did you mean {near[0]}?" if near else ""
    return f"{name} takes no {word}.{meant} It takes: {', '.join(known)}."


def _spelt_out(function: Callable[..., Any]) -> inspect.Signature:
    """The signature with the options that **options stands for, each by its name."""
    signature = inspect.signature(function)
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            (options,) = parameter.annotation.__args__
            parameters += [
                inspect.Parameter(word, parameter.KEYWORD_ONLY, default=_Default(), annotation=kind)
                for word, kind in get_type_hints(options).items()
            ]
        else:
            parameters.append(parameter)
    return signature.replace(parameters=parameters)
