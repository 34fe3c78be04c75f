"""Loss of mechanisms that meet a definition and protect nobody, for teaching."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, NoReturn

from deniable.arguments import read_fields
from deniable.errors import UnprovedError
from deniable.numbers.interval import Interval
from deniable.privacy.charge import Charge
from deniable.privacy.composition.group import group
from deniable.privacy.relation import Relation
from deniable.privacy.statement import Stated, Statement, statement_of


@dataclass(frozen=True, init=False)
class TeachingStatement(Statement):
    """Loss whose curve may be read, and for which nothing may be charged.

    Every number from which a charge could be made is refused, so that no sum, group, sample or statement that holds
    this loss can be charged either.

    Args:
        loss: the loss of the mechanism.

    Guarantee: the curve is that of `loss`.
    """

    kind: ClassVar[str] = "teaching"
    loss: Annotated[Statement, statement_of]

    def __init__(self, loss: Stated) -> None:
        read_fields(self, loss=loss)

    def __repr__(self) -> str:
        return f"TeachingLoss({self.loss!r})"

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> Statement:
        return cls(values.pop("base", None), **values)  # type: ignore[arg-type]

    def to_data(self) -> dict[str, object]:
        return {"loss": self.kind, "base": self.loss.to_data()}

    def grouped(self, units: int) -> Statement:
        return TeachingStatement(group(self.loss, units))

    def proves(self, epsilon: Fraction, delta: Fraction) -> bool:
        return self.loss.proves(epsilon, delta)

    def curve(self, epsilon: Fraction) -> Interval:
        return self.loss.curve(epsilon)

    def delta_within(self, epsilon: Fraction, tolerance: float) -> Interval:
        return self.loss.delta_within(epsilon, tolerance)

    def epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        return self.loss.epsilon_within(delta, tolerance)

    @property
    def relations(self) -> frozenset[Relation]:
        return self.loss.relations

    @property
    def infinite_mass(self) -> Fraction:
        return self.loss.infinite_mass

    def charge(self) -> Charge:
        _refuse()

    @property
    def failure(self) -> Fraction:
        _refuse()

    @property
    def failing_epsilon(self) -> Fraction | None:
        _refuse()

    @property
    def failing_rho(self) -> Fraction | None:
        _refuse()

    @property
    def mu_squared(self) -> Fraction | None:
        _refuse()


def _refuse() -> NoReturn:
    """Raise the error that says why nothing may be charged."""
    raise UnprovedError(
        "this mechanism is for teaching: it satisfies a definition and publishes private records all the same, so no "
        "ledger pays for it. Use one of the other families, such as Laplace."
    )
