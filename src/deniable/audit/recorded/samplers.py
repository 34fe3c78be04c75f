"""Samplers: functions that draw, and the secret arguments of their calls."""

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
class RecordedSampler:
    """Function or method that draws, and the parameters that must not depend on data.

    Args:
        owner: the module or class that defines it.
        name: in the owner.
        parameters: names of its positional parameters, where its signature cannot be read.
        secret: parameters that may differ between neighbours, such as the exact value that the draw protects.
        shaped: those of them whose shape must be the same.
        centre: a secret parameter to which the noise is added: the same noise is added to both.
        positive: parameters that must be above 0: the scale of noise.
        loss: from the arguments of one call on two inputs to its privacy loss; None if it is unknown. The difference of
            the arguments is right only where both runs chose the same rows at random.

    >>> import numpy as np
    >>> from deniable.audit.recorded import RecordedSampler
    >>> RecordedSampler(owner=np.random.Generator, name="laplace", secret=frozenset({"loc"})).title
    'Generator.laplace'
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
        """Function that is recorded, or method as its class defines it.

        Raises: InvalidParameterError if the owner has no such function of its own.
        """
        function = inspect.getattr_static(self.owner, self.name, None)
        if function is None or not callable(function):
            raise InvalidParameterError(f"{_called(self.owner)} has no function {self.name!r} to record")
        return function  # type: ignore[no-any-return]

    @property
    def title(self) -> str:
        """Name of the sampler with that of its owner."""
        return f"{_called(self.owner)}.{self.name}"

    def bound(self, positional: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name, with defaults where they are known.

        Args:
            positional, named: of the call.
        """
        if self.parameters:
            return {**dict(zip(self.parameters, positional, strict=False)), **named}
        given = inspect.signature(self.function).bind(*positional, **named)
        given.apply_defaults()
        return dict(given.arguments)


def numpy_samplers(
    loss: Callable[[Arguments, Arguments], PrivacyLoss | None] | None = None,
) -> tuple[RecordedSampler, ...]:
    """Return the samplers of NumPy: methods of generators, and global functions.

    The centre `loc` of noise is secret, and its scale is public and must be above 0.

    Args:
        loss: from the arguments of a call of a centred sampler on two inputs to its privacy loss, where it is known.

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
                    RecordedSampler(
                        owner=owner,
                        name=name,
                        parameters=(*first, *words.split()),
                        secret=centred | {"self"},
                        shaped=centred,
                        centre="loc" if centred else None,
                        positive=frozenset({"scale"}),
                        loss=loss if centred else None,
                    )
                )
    return tuple(made)


def _called(owner: Any) -> str:
    """Return the last part of the name of a module or class."""
    return str(getattr(owner, "__name__", owner)).rpartition(".")[2]
