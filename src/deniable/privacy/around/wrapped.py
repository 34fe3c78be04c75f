"""A loss that is another's."""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable.errors import InvalidParameterError
from deniable.numbers.interval import Interval
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.pld.law import Pairs
from deniable.privacy.relation import Relation

if TYPE_CHECKING:
    from deniable.privacy.around.shuffling.randomizers import Randomizer
    from deniable.privacy.charge import Charge
    from deniable.privacy.currencies.renyi import Directions


@dataclass(frozen=True, init=False)
class WrappedLoss(PrivacyLoss):
    """All that is proved of `loss`; a subclass says what differs.

    Guarantee: that of `loss`.
    """

    loss: PrivacyLoss

    def __init__(self, loss: PrivacyLoss) -> None:
        if not isinstance(loss, PrivacyLoss):
            raise InvalidParameterError(f"loss must be a PrivacyLoss, got {loss!r}")
        object.__setattr__(self, "loss", loss)

    def proves(self, epsilon: Fraction, delta: Fraction) -> bool:
        return self.loss.proves(epsilon, delta)

    def _delta(self, epsilon: Fraction) -> Interval:
        return self.loss._delta(epsilon)

    def _delta_within(self, epsilon: Fraction, tolerance: float) -> Interval:
        return self.loss._delta_within(epsilon, tolerance)

    def _epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        return self.loss._epsilon_within(delta, tolerance)

    def laws(self) -> Pairs | None:
        return self.loss.laws()

    def laws_of_runs(self, count: int) -> list[tuple[Pairs | None, int]]:
        return self.loss.laws_of_runs(count)

    def _divergences(self, order: Fraction) -> "Directions":
        return self.loss._divergences(order)

    def _divergences_below_one(self, order: Fraction) -> "Directions":
        return self.loss._divergences_below_one(order)

    def joint_laws(self) -> Pairs | None:
        return self.loss.joint_laws()

    def exact_laws(self) -> Pairs | None:
        return self.loss.exact_laws()

    @property
    def is_bound(self) -> bool:
        return self.loss.is_bound

    @property
    def composition(self) -> tuple[tuple[PrivacyLoss, int], ...]:
        return ((self, 1),)

    @property
    def place(self) -> str:
        return self.loss.place + self.to_json()

    @property
    def as_sample(self) -> tuple[PrivacyLoss, Fraction]:
        base, rate = self.loss.as_sample
        return (self, rate) if rate == 1 else (base, rate)

    def dominates(self, other: PrivacyLoss) -> bool:
        return self.loss.dominates(other.loss if isinstance(other, WrappedLoss) else other)

    def _grouped(self, units: int) -> PrivacyLoss | None:
        return self.loss._grouped(units)

    def _grouped_one_way(self, units: int) -> PrivacyLoss | None:
        return self.loss._grouped_one_way(units)

    def _replaced(self) -> PrivacyLoss:
        return self.loss.under_replace()

    def _poisson_sampled(self, rate: Fraction) -> PrivacyLoss | None:
        return self.loss._poisson_sampled(rate)

    def as_randomizer(self) -> "Randomizer | None":
        return self.loss.as_randomizer()

    @property
    def laplace_epsilon(self) -> Fraction | None:
        return self.loss.laplace_epsilon

    @property
    def response(self) -> tuple[Fraction, Fraction] | None:
        return self.loss.response

    @property
    def normal_mu_squared(self) -> Fraction | None:
        return self.loss.normal_mu_squared

    @property
    def divergences_are_closed(self) -> bool:
        return self.loss.divergences_are_closed

    def charge(self) -> "Charge":
        return self.loss.charge()

    @property
    def relations(self) -> frozenset[Relation]:
        return self.loss.relations

    @property
    def failure(self) -> Fraction:
        return self.loss.failure

    @property
    def infinite_mass(self) -> Fraction:
        return self.loss.infinite_mass

    @property
    def pure_epsilon(self) -> Fraction | None:
        return self.loss.pure_epsilon

    @property
    def rho(self) -> Fraction | None:
        return self.loss.rho

    @property
    def failing_epsilon(self) -> Fraction | None:
        return self.loss.failing_epsilon

    @property
    def failing_rho(self) -> Fraction | None:
        return self.loss.failing_rho

    @property
    def mu_squared(self) -> Fraction | None:
        return self.loss.mu_squared
