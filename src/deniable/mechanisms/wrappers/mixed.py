"""A mixture: one of several mechanisms, drawn by a public coin."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.base import Mechanism, Released, WorstCase
from deniable.mechanisms.wrappers.base import checked_part, scattered
from deniable.noise import bernoulli
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.balls import ball
from deniable.numbers.rationals import positive_rational, shown
from deniable.privacy import PrivacyLoss, Sensitivity, mixture

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, kw_only=True)
class Mixed(Mechanism):
    """Run one of several mechanisms, drawn with public weights.

    Args:
        parts: pairs of a weight and a mechanism, such as [("1/4", first), ("3/4", second)]; the weights sum to 1.

    Guarantee: delta is at most the weighted sum of the deltas at each epsilon, also when it is known which one ran.
        Weights are numbers that are fixed here. Weights that depend on the data have no such bound: the choice itself
        then reveals them, whatever is chosen.
    Source: Kifer, Lin (2010); docs/theory/privacy/parallel.md.

    >>> from deniable.privacy import AddRemove, of_count
    >>> count = of_count(rows=1, groups=1, relation=AddRemove)
    >>> mixed = Mixed(parts=[("1/4", Laplace(scale=1)), ("3/4", Laplace(scale=10))])
    >>> f"{mixed.privacy_loss(count).delta(0).upper:.3f}"  # the weighted sum of 0.462 and 0.050
    '0.153'
    """

    kind: ClassVar[str] = "mixed"

    parts: tuple[tuple[Fraction, Mechanism], ...]

    def __post_init__(self) -> None:
        if not isinstance(self.parts, Sequence):
            raise InvalidParameterError(f"parts must be a list of pairs (weight, mechanism), got {shown(self.parts)}")
        read_fields(self, parts=tuple(_checked(part) for part in self.parts))
        total = sum((weight for weight, _ in self.parts), Fraction(0))
        if total != 1:
            raise InvalidParameterError(f"weights of parts must sum to 1, got {shown(total)}. Write fractions: '1/3'.")

    @property
    def takes_sums(self) -> bool:
        return all(part.takes_sums for _, part in self.parts)

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        return mixture([(weight, part.privacy_loss(sensitivity)) for weight, part in self.parts])

    def release(self, exact: Any, *, bits: Bits = SECURE) -> Released[Any]:
        """Return a release of the mechanism that was drawn."""
        return self.parts[int(self._drawn(1, bits)[0])][1].release(exact, bits=bits)

    def _masses(self, exact: Any) -> dict[Hashable, "Fraction | arb"]:
        laws: list[tuple[Fraction, Mapping[Hashable, Any]]] = [
            (weight, part._masses(exact)) for weight, part in self.parts
        ]
        rational = all(isinstance(mass, Fraction) for _, law in laws for mass in law.values())
        masses: dict[Hashable, Any] = {}
        for weight, law in laws:
            for value, mass in law.items():
                part = (
                    weight * mass if rational else ball(weight) * (ball(mass) if isinstance(mass, Fraction) else mass)
                )
                masses[value] = masses[value] + part if value in masses else part
        return masses

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """Return outcomes of the mechanisms that were drawn."""
        drawn = self._drawn(runs, bits)
        counts = np.bincount(drawn, minlength=len(self.parts))
        parts = [
            part.outcomes(exact, int(count), bits=bits)
            for (_, part), count in zip(self.parts, counts, strict=True)
            if count
        ]
        return scattered(parts, drawn)

    def _drawn(self, runs: int, bits: Bits) -> NDArray[np.intp]:
        """Draw the index of a part for each run.

        Coin after coin, each with the chance of a part among those that are left.
        """
        drawn = np.full(runs, len(self.parts) - 1)
        open_ = np.arange(runs)
        left = Fraction(1)
        for index, (weight, _) in enumerate(self.parts[:-1]):
            taken = bernoulli.sample(p=weight / left, size=open_.size, bits=bits)
            drawn[open_[taken]] = index
            open_ = open_[~taken]
            left -= weight
        return drawn

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a count with little noise or with more, of which only the value is seen.

        The claim is attained only where it is also known which noise was drawn.
        """
        parts = ((Fraction(1, 3), Laplace(scale=Fraction(1))), (Fraction(2, 3), Laplace(scale=Fraction(1, 2))))
        return WorstCase(mechanism=cls(parts=parts), exact=(1,), neighbour=(0,), attains=False)


def _checked(part: object) -> tuple[Fraction, Mechanism]:
    if not isinstance(part, Sequence) or len(part) != 2:
        raise InvalidParameterError(f"parts must be pairs (weight, mechanism), got {shown(part)}")
    if callable(part[0]):
        raise UnprovedError(
            "the weights of a mixture must be public numbers: no theorem covers weights that depend on the data. "
            "Choose with a mechanism, such as ExponentialMechanism, and add its loss."
        )
    return positive_rational("weight", part[0]), checked_part("parts", part[1])
