"""A loss that is another's."""

from dataclasses import dataclass
from fractions import Fraction

from deniable.errors import InvalidParameterError
from deniable.numbers.interval import Interval
from deniable.privacy.loss import PrivacyLoss


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

    def _delta(self, epsilon: Fraction) -> Interval:
        return self.loss._delta(epsilon)

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

    @property
    def unrestricted(self) -> PrivacyLoss:
        return self

    def _replaced(self) -> PrivacyLoss:
        return self.loss.under_replace()


def _forward(name: str) -> None:
    """Let a wrapped loss answer by the loss inside."""
    if isinstance(getattr(PrivacyLoss, name), property):
        setattr(WrappedLoss, name, property(lambda self: getattr(self.loss, name)))
    else:
        setattr(WrappedLoss, name, lambda self, *given: getattr(self.loss, name)(*given))


for _name in (
    *("relations", "failure", "infinite_mass", "pure_epsilon", "rho", "failing_epsilon", "failing_rho", "mu_squared"),
    "failing_mu_squared",
    *("is_bound", "normal_mu_squared", "laplace_epsilon", "response", "divergences_are_closed"),
    *("proves", "_delta_within", "_epsilon_within", "_divergences", "_divergences_below_one", "charge"),
    *("laws", "laws_of_runs", "joint_laws", "exact_laws", "as_randomizer"),
    *("_grouped", "_grouped_one_way", "_poisson_sampled", "_least_of_runs", "_of_runs"),
):
    _forward(_name)
