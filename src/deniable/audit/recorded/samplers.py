"""Samplers: the functions that draw, and what about a call of one is secret."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.privacy import PrivacyLoss

Arguments = Mapping[str, Any]

_NUMPY = {
    "normal": "loc scale size", "laplace": "loc scale size", "logistic": "loc scale size", "gumbel": "loc scale size",
    "exponential": "scale size", "gamma": "shape scale size", "standard_normal": "size", "random": "size",
    "standard_exponential": "size", "geometric": "p size", "poisson": "lam size", "binomial": "n p size",
    "uniform": "low high size", "integers": "low high size", "choice": "a size replace p",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """A function or method that draws, and what must not depend on the data when it is called.

    Args:
        owner: the module or class that defines it.
        name: in the owner.
        parameters: names of its positional parameters, where its signature cannot be read.
        secret: parameters that may differ between neighbours, such as the exact value that the draw protects.
        shaped: those of them whose shape must be the same.
        centre: a secret parameter to which the noise is added: the same noise is added to both.
        positive: parameters that must be above 0: the scale of noise.
        loss: what one call reveals about the difference of its arguments on two inputs; None if nothing is known. It
            counts that difference right only where no rows were chosen by dice that the other run threw differently.
    """

    owner: Any
    name: str
    parameters: tuple[str, ...] = ()
    secret: frozenset[str] = frozenset()
    shaped: frozenset[str] = frozenset()
    centre: str | None = None
    positive: frozenset[str] = frozenset()
    loss: Callable[[Arguments, Arguments], PrivacyLoss | None] | None = field(default=None, compare=False)

    @property
    def function(self) -> Callable[..., Any]:
        """What is called: a function, or a method as its class defines it.

        Raises: InvalidParameterError if the owner has no such function of its own.
        """
        found = inspect.getattr_static(self.owner, self.name, None)
        if found is None or not callable(found):
            raise InvalidParameterError(f"{_called(self.owner)} has no function {self.name!r} to record")
        return found  # type: ignore[no-any-return]

    @property
    def title(self) -> str:
        """Its name with that of its owner."""
        return f"{_called(self.owner)}.{self.name}"

    def bound(self, positional: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call by name, defaults included where they are known."""
        if self.parameters:
            return {**dict(zip(self.parameters, positional, strict=False)), **named}
        found = inspect.signature(self.function).bind(*positional, **named)
        found.apply_defaults()
        return dict(found.arguments)


def numpy_samplers(loss: Callable[[Arguments, Arguments], PrivacyLoss | None] | None = None) -> tuple[Sampler, ...]:
    """The samplers of NumPy: methods of generators, and the functions of `numpy.random` that share one state.

    The centre `loc` of noise is secret, and its scale is public and must be above 0.

    Args:
        loss: what a call of a centred sampler reveals, where it is known.

    >>> from deniable.audit import numpy_samplers
    >>> len(numpy_samplers()) > 20
    True
    """
    made = []
    for owner, first in ((np.random.Generator, ["self"]), (np.random, [])):
        for name, words in _NUMPY.items():
            if first or hasattr(owner, name):
                centred = frozenset({"loc"} & set(words.split()))
                made.append(
                    Sampler(owner=owner, name=name, parameters=(*first, *words.split()), secret=centred | {"self"},
                            shaped=centred, centre="loc" if centred else None, positive=frozenset({"scale"}),
                            loss=loss if centred else None)
                )  # fmt: skip
    return tuple(made)


def _called(owner: Any) -> str:
    return str(getattr(owner, "__name__", owner)).rpartition(".")[2]
