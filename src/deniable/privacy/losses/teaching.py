"""The loss of a mechanism that meets a definition and protects nobody."""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, NoReturn

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy.interval import Interval
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.relation import Relation

if TYPE_CHECKING:
    from deniable.privacy.filters import Charge


@dataclass(frozen=True, init=False)
class TeachingLoss(PrivacyLoss):
    """`base`, of which the curve may be looked at and nothing may be spent: `TeachingLoss(base)`.

    Every number from which a charge could be made is refused, so that no sum, group, sample or statement that holds
    this loss can be charged either.

    Guarantee: the curve is that of `base`.
    """

    kind: ClassVar[str] = "teaching"
    base: PrivacyLoss

    def __init__(self, base: PrivacyLoss) -> None:
        if not isinstance(base, PrivacyLoss):
            raise InvalidParameterError(f"base must be a PrivacyLoss, got {base!r}")
        object.__setattr__(self, "base", base)

    def __repr__(self) -> str:
        return f"TeachingLoss({self.base!r})"

    def _delta(self, epsilon: Fraction) -> Interval:
        return self.base._delta(epsilon)

    def _delta_within(self, epsilon: Fraction, tolerance: float) -> Interval:
        return self.base._delta_within(epsilon, tolerance)

    def _epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        return self.base._epsilon_within(delta, tolerance)

    def group(self, size: int) -> PrivacyLoss:
        return TeachingLoss(self.base.group(size))

    def charge(self) -> "Charge":
        _refuse()

    @property
    def relations(self) -> frozenset[Relation]:
        return self.base.relations

    @property
    def infinite_mass(self) -> Fraction:
        return self.base.infinite_mass

    @property
    def failure(self) -> Fraction:
        _refuse()

    @property
    def pure_epsilon(self) -> Fraction | None:
        _refuse()

    @property
    def rho(self) -> Fraction | None:
        _refuse()

    @property
    def mu_squared(self) -> Fraction | None:
        _refuse()


def _refuse() -> NoReturn:
    raise UnprovedError(
        "this mechanism is for teaching: it satisfies a definition and publishes private records all the same, so no "
        "ledger pays for it. Use one of the other families, such as Laplace."
    )
