"""What the release of a mechanism takes, with what the mechanisms inside it take."""

import inspect
from collections.abc import Mapping
from typing import Protocol, cast

from numpy.typing import ArrayLike

from deniable.mechanisms.base import Mechanism
from deniable.noise.bits import Bits
from deniable.privacy.call import check


class _Releases(Protocol):
    def release(self, exact: ArrayLike, *, bits: Bits, **inputs: object) -> object: ...


def release_of(mechanism: Mechanism, exact: ArrayLike, bits: Bits, inputs: Mapping[str, object]) -> object:
    """What the mechanism releases.

    Args:
        exact: its first input.
        inputs: the others by name, such as `function` of `SampleAndAggregate`.
    """
    return cast(_Releases, mechanism).release(exact, bits=bits, **inputs)


def check_inputs(mechanism: Mechanism, inputs: Mapping[str, object]) -> None:
    """Refuse names that a release does not take, and missing ones, before anything is drawn.

    Raises: InvalidParameterError.
    """
    check("release", signature_of(mechanism), (None,), inputs)


def required(mechanism: Mechanism) -> set[str]:
    """The inputs, apart from the first one, that a release cannot do without."""
    others = list(signature_of(mechanism).parameters.values())[1:]
    return {parameter.name for parameter in others if parameter.default is parameter.empty}


def signature_of(mechanism: Mechanism) -> inspect.Signature:
    """All that its release takes: what goes to mechanisms inside it is taken by name."""
    shown = inspect.signature(cast(_Releases, mechanism).release).parameters.values()
    own = {parameter.name: parameter for parameter in shown if parameter.kind is not parameter.VAR_KEYWORD}
    if len(own) < len(shown):
        for part in parts_of(mechanism):
            for parameter in list(signature_of(part).parameters.values())[1:]:
                own.setdefault(parameter.name, parameter.replace(kind=parameter.KEYWORD_ONLY))
    return inspect.Signature(list(own.values()))


def parts_of(mechanism: Mechanism) -> tuple[Mechanism, ...]:
    """The mechanisms that it is made of."""
    from deniable.mechanisms.wrappers.base import Wrapper
    from deniable.mechanisms.wrappers.mixed import Mixed

    if isinstance(mechanism, Mixed):
        return tuple(part for _, part in mechanism.parts)
    return (mechanism.base,) if isinstance(mechanism, Wrapper) else ()
