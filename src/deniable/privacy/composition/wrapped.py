"""Base class of losses that forward everything to an inner loss."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from deniable.arguments import read_fields
from deniable.numbers.interval import Interval
from deniable.privacy.statement import Stated, Statement, statement_of


@dataclass(frozen=True, init=False)
class WrappedStatement(Statement):
    """Statement that forwards to an inner `loss`; a subclass says what differs.

    Guarantee: that of `loss`.
    """

    loss: Annotated[Statement, statement_of]

    def __init__(self, loss: Stated) -> None:
        read_fields(self, loss=loss)

    def curve(self, epsilon: Fraction) -> Interval:
        return self.loss.curve(epsilon)

    @property
    def composition(self) -> tuple[tuple[Statement, int], ...]:
        return ((self, 1),)

    @property
    def sort_key(self) -> str:
        """Key of the inner loss, then this one's JSON."""
        return self.loss.sort_key + self.to_json()

    @property
    def as_sample(self) -> tuple[Statement, Fraction]:
        base, rate = self.loss.as_sample
        return (self, rate) if rate == 1 else (base, rate)

    def dominates(self, other: Statement) -> bool:
        return self.loss.dominates(other.loss if isinstance(other, WrappedStatement) else other)

    @property
    def unrestricted(self) -> Statement:
        return self

    def replaced(self) -> Statement:
        """Return the inner loss, which is to be put under replace."""
        return self.loss


def _forward(name: str) -> None:
    """Let a wrapped loss answer by the loss inside."""
    if isinstance(getattr(Statement, name), property):
        setattr(WrappedStatement, name, property(lambda self: getattr(self.loss, name)))
    else:
        setattr(WrappedStatement, name, lambda self, *given: getattr(self.loss, name)(*given))


for _name in (
    *("relations", "failure", "infinite_mass", "pure_epsilon", "rho", "failing_epsilon", "failing_rho", "mu_squared"),
    "failing_mu_squared",
    *("is_bound", "normal_mu_squared", "laplace_epsilon", "response", "divergences_are_closed"),
    *("proves", "delta_within", "epsilon_within", "divergences", "divergences_below_one", "charge"),
    *("laws", "laws_of_runs", "joint_laws", "exact_laws", "as_randomizer"),
    *("grouped", "grouped_one_way", "sampled", "least_delta_of_runs", "of_runs"),
):
    _forward(_name)
