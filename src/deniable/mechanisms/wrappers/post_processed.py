"""Post-processing: a function of the release alone."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.base import NO_ANSWER, Released, WorstCase
from deniable.mechanisms.integers import MIN_INT64
from deniable.mechanisms.wrappers.base import Wrapper, room_for
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import shown
from deniable.privacy import PrivacyLoss, Sensitivity

if TYPE_CHECKING:
    from flint import arb

Function = Callable[[NDArray[Any]], NDArray[Any]]


def _absolute(values: NDArray[Any]) -> NDArray[Any]:
    """Return absolute values, also of the least 64-bit integer.

    Its own does not fit in 64 bits.
    """
    wide = values.dtype == np.int64 and bool((values == MIN_INT64).any())
    return np.asarray(np.abs(values.astype(object) if wide else values))


_FUNCTIONS: dict[str, Function] = {
    "absolute": _absolute,
    "nonnegative": lambda values: np.maximum(values, 0),
    "parity": lambda values: values % 2,
    "sign": np.sign,
}
_OURS = tuple(_FUNCTIONS)


def define(name: str, function: Function) -> None:
    """Name a public function of released values, for `PostProcessed(function=name)`.

    It is applied entry by entry. JSON holds the name, so the program that reads it has to define the function again. A
    name is defined once.

    Args:
        name: a text that is not taken.
        function: of an array of released values.

    >>> define("halves in the docs", lambda values: values / 2)
    """
    if not isinstance(name, str) or not name or not callable(function):
        raise InvalidParameterError(f"define takes a name and a function, got {shown(name)} and {shown(function)}")
    if _FUNCTIONS.setdefault(name, function) is not function:
        raise InvalidParameterError(f"there is already a function {name!r}. Choose another name.")


@dataclass(frozen=True, kw_only=True)
class PostProcessed(Wrapper):
    """Release a public function of what a mechanism releases.

    The function sees the released values and nothing else. No answer stays no answer.

    Args:
        base: the mechanism.
        function: "absolute", "nonnegative", "parity", "sign", or a name given with `define`.

    Guarantee: that of the mechanism.
    Source: Dwork, Roth (2014), proposition 2.1.

    >>> counts = PostProcessed(base=Laplace(scale=10), function="nonnegative")
    >>> bool((counts.release([0, 3, 120]).value >= 0).all())
    True
    """

    kind: ClassVar[str] = "post_processed"

    function: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.function, str) or self.function not in _FUNCTIONS:
            raise InvalidParameterError(
                f"function must be {', '.join(_OURS)} or a name of your own, got {shown(self.function)}. "
                "Give a function of your own a name with define(name, function)."
            )

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        return self.base.privacy_loss(sensitivity)

    @property
    def takes_sums(self) -> bool:
        return self.base.takes_sums

    def release(self, exact: Any, *, bits: Bits = SECURE) -> Released[Any]:
        """Return the mechanism's release, with the function applied to its values.

        A number stays a number, and a tuple a tuple.

        Args:
            exact: secret; what the mechanism takes.
            bits: leave it out, except in tests.
        """
        return self.base.release(exact, bits=bits).map(self._answered)

    def _masses(self, exact: Any) -> dict[Hashable, "Fraction | arb"]:
        masses: dict[Hashable, Any] = {}
        for value, mass in self.base._masses(exact).items():
            answer = None if value is None else self._answered(value)
            masses[answer] = masses[answer] + mass if answer in masses else mass
        return masses

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """Return the function of each outcome, which is one number or no answer."""
        base_outcomes = self.base.outcomes(exact, runs, bits=bits)
        none = np.asarray(base_outcomes == NO_ANSWER, dtype=np.bool_)
        if not none.any():
            return self._applied(base_outcomes)
        applied = self._applied(base_outcomes[~none])
        result = np.empty(base_outcomes.shape, dtype=room_for(applied))
        result[none] = base_outcomes[none]
        result[~none] = applied
        return result

    def _answered(self, answer: object) -> Any:
        applied = self._applied(np.asarray(answer))
        if isinstance(answer, np.ndarray) or applied.ndim != np.ndim(answer):  # type: ignore[arg-type]
            return applied
        return tuple(applied.tolist()) if isinstance(answer, tuple) else applied.item()

    def _applied(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(_FUNCTIONS[self.function](values))

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a count at epsilon = 1, of which {at least 1} and above show as much."""
        mechanism = cls(base=Laplace(scale=Fraction(1)), function="nonnegative")
        return WorstCase(mechanism=mechanism, exact=(1,), neighbour=(0,))
