"""Group privacy: a release, with the guarantee for several units together."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from numpy.typing import NDArray

from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.base import Released, WorstCase
from deniable.mechanisms.wrappers.base import Wrapper
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import whole_number
from deniable.privacy import PrivacyLoss, Sensitivity
from deniable.privacy.composition.group import MAX_MEMBERS

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, kw_only=True)
class Grouped(Wrapper):
    """Run a mechanism, with the loss of `size` units together, such as a household.

    The sensitivity remains that to one unit.

    Args:
        base: the mechanism.
        size: of the group, from 1.

    Guarantee: size * epsilon for an epsilon-DP mechanism; (size epsilon, delta (e^(size epsilon) - 1)/(e^epsilon - 1))
        for an (epsilon, delta)-DP one, and not (size epsilon, size delta); the whole curve is in `GroupStatement`.
    Source: Vadhan (2017), lemma 2.2; docs/theory/privacy/group.md.

    >>> from deniable.privacy import AddRemove, of_count
    >>> count = of_count(rows=1, groups=1, relation=AddRemove)
    >>> f"{Grouped(base=Laplace(scale=10), size=4).privacy_loss(count).epsilon(0).upper:.2f}"
    '0.40'
    """

    kind: ClassVar[str] = "grouped"

    size: Annotated[int, partial(whole_number, lower=1, upper=MAX_MEMBERS)]

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        return self.base.privacy_loss(sensitivity).group(self.size)

    def release(self, exact: Any, *, bits: Bits = SECURE) -> Released[Any]:
        """Return a release of the mechanism."""
        return self.base.release(exact, bits=bits)

    def _masses(self, exact: Any) -> Mapping[Hashable, "Fraction | arb"]:
        return self.base._masses(exact)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """Return outcomes of the mechanism."""
        return self.base.outcomes(exact, runs, bits=bits)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a count with two units more."""
        return WorstCase(mechanism=cls(base=Laplace(scale=Fraction(2)), size=2), exact=(2,), neighbour=(0,))
