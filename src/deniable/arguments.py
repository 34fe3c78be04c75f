"""Argument checks in the words of the caller, and readers of fields."""

import inspect
import sys
from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache, wraps
from typing import Annotated, Any, ParamSpec, TypeVar, get_args, get_origin

from deniable.errors import InvalidParameterError

P = ParamSpec("P")
R = TypeVar("R")
Made = TypeVar("Made")

Reader = Callable[[str, object], object]


class InWords(ABCMeta):
    """Metaclass whose classes refuse misspelt and missing arguments in words."""

    def __call__(cls, *args: object, **given: object) -> Any:
        try:
            return super().__call__(*args, **given)
        except TypeError as error:
            if is_of_the_call(error):
                _constructor(cls).check(args, given)
            raise

    @property
    def __signature__(cls) -> inspect.Signature:
        """Signature that `help` and notebooks show."""
        return _constructor(cls).signature


class CallSignature:
    """Parameters of a function or a class, read from its signature once."""

    def __init__(self, name: str, signature: inspect.Signature) -> None:
        self.name, self.signature = name, signature
        parameters = signature.parameters.values()
        self.known = {each.name: each for each in parameters if each.kind is not each.VAR_KEYWORD}
        self.takes_others = len(self.known) < len(parameters)
        self.positional = [word for word, each in self.known.items() if each.kind is each.POSITIONAL_OR_KEYWORD]
        self.needed = [word for word, each in self.known.items() if each.default is each.empty]

    def check(self, args: tuple[object, ...], given: Mapping[str, object]) -> None:
        """Refuse arguments that do not fit; no value is looked at.

        Raises: InvalidParameterError.
        """
        message = self._misfit(args, given)
        if message:
            raise InvalidParameterError(message) from None

    def _misfit(self, args: tuple[object, ...], given: Mapping[str, object]) -> str:
        """Say which argument does not fit; empty if all do."""
        known, name = self.known, self.name
        wrong = None if self.takes_others else next((word for word in given if word not in known), None)
        if wrong is not None:
            return _unknown(name, wrong, known)
        if len(args) > len(self.positional):
            by_position = " and ".join(self.positional) or "nothing"
            return f"{name} takes {by_position} by position, and all else by name. It takes: {', '.join(known)}."
        placed = self.positional[: len(args)]
        twice = [word for word in placed if word in given]
        if twice:
            return f"{name} got {twice[0]} twice"
        missing = [word for word in self.needed if word not in given and word not in placed]
        return f"{name} needs {' and '.join(missing)}. It takes: {', '.join(known)}." if missing else ""


def is_of_the_call(error: TypeError) -> bool:
    """Whether a TypeError says that arguments did not fit, where it is caught.

    The function that was called has not begun.
    """
    return error.__traceback__ is None or error.__traceback__.tb_next is None


def in_words(
    function: Callable[P, R],
    *,
    signature: inspect.Signature | None = None,
    kinds: Mapping[str, type] | None = None,
) -> Callable[P, R]:
    """Return the function with an error of ours where its arguments do not fit.

    Python itself checks a call; the message is looked for when Python has refused it.

    Args:
        signature: what the function takes, where its own says that less clearly; it is then checked before each call.
        kinds: parameters whose values must be of a class.
    """
    shown = signature or inspect.signature(function)
    is_method = next(iter(shown.parameters), "") in ("self", "cls")
    taken = CallSignature(function.__name__, _without_first(shown) if is_method else shown)
    # (parameter, its class, its position in a call or beyond all positions)
    checked = [
        (word, kind, is_method + taken.positional.index(word) if word in taken.positional else sys.maxsize)
        for word, kind in (kinds or {}).items()
        if word in taken.known
    ]

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if signature is not None:
            taken.check(args[is_method:], kwargs)
        for word, kind, index in checked:
            value = args[index] if index < len(args) else kwargs.get(word, kind)
            if value is not kind and not isinstance(value, kind):
                check_kind(word, value, kind)
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if is_of_the_call(error):
                taken.check(args[is_method:], kwargs)
            raise

    call.__signature__ = shown  # type: ignore[attr-defined]
    return call


def check_kind(name: str, value: object, kind: type) -> None:
    """Refuse a value of another class; the message has its class alone."""
    if not isinstance(value, kind):
        raise InvalidParameterError(f"{name} must be of class {kind.__name__}, got one of {type(value).__name__}")


def made_of(name: str, data: object, kinds: Mapping[str, Callable[..., Made]]) -> Made:
    """Build the object that plain data describe, of the kind that a field names.

    The other fields are its parameters.

    Raises: InvalidParameterError if they name none.
    """
    kind = data.get(name) if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(kind, str) or kind not in kinds:
        raise InvalidParameterError(f"{name} must be one of {sorted(kinds)} with its fields")
    return kinds[kind](**{str(word): value for word, value in data.items() if word != name})


def _unknown(name: str, word: str, known: Iterable[str]) -> str:
    similar = get_close_matches(word, known, n=1) or [each for each in known if len(word) > 1 and each.startswith(word)]
    meant = f" Did you mean {similar[0]}?" if similar else ""
    return f"{name} takes no {word}.{meant} It takes: {', '.join(known)}."


def read_fields(instance: object, **given: object) -> None:
    """Set fields of a frozen dataclass, each through the reader in its type.

    A reader is written beside the type: `size: Annotated[int, positive_integer]`.

    A reader takes the name and the value, and returns the value or raises. None is left alone where the type admits it.

    Args:
        instance: the dataclass that is being made.
        given: values of fields, in an `__init__` of its own; without any, the fields that have a reader are read again.
    """
    readers = _readers(type(instance))  # type: ignore[arg-type]
    for name in given or readers:
        value = given[name] if given else getattr(instance, name)
        if name in readers:
            reader, optional = readers[name]
            value = None if value is None and optional else reader(name, value)
        object.__setattr__(instance, name, value)


@cache
def _readers(cls: type) -> dict[str, tuple[Reader, bool]]:
    kinds: dict[str, Any] = {}
    for each in reversed(cls.__mro__):
        kinds |= vars(each).get("__annotations__", {})
    return {
        name: (kind.__metadata__[0], type(None) in get_args(kind.__origin__))
        for name, kind in kinds.items()
        if get_origin(kind) is Annotated
    }


@cache
def _constructor(cls: type) -> CallSignature:
    return CallSignature(cls.__name__, _without_first(inspect.signature(cls.__init__)))  # type: ignore[misc]


def _without_first(signature: inspect.Signature) -> inspect.Signature:
    return signature.replace(parameters=list(signature.parameters.values())[1:])
