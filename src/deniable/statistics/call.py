"""Calls of statistics in the words of the caller, with every option by its name."""

import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, get_type_hints

from deniable import arguments


class _Default:
    """Stands in a signature for the default of an option."""

    def __repr__(self) -> str:
        return "..."


P = ParamSpec("P")
R = TypeVar("R")


def in_words(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with its options in its signature, and an error of ours where the arguments do not fit it."""
    return arguments.in_words(function, signature=_spelt_out(function))


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
