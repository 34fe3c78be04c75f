"""A loss that holds for one neighbouring relation, because the sensitivity in it was measured under that one."""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy.interval import Interval
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.pld.law import Pairs
from deniable.privacy.relation import Relation

if TYPE_CHECKING:
    from deniable.privacy.filters import Charge


@dataclass(frozen=True, init=False)
class Restricted(PrivacyLoss):
    """`loss`, stated for one relation alone: `Restricted(loss, relation)`.

    A curve such as that of the exponential mechanism holds for either relation, with the sensitivity under that
    relation. A mechanism that computed it from a sensitivity under add/remove has proved nothing under replace.

    Guarantee: that of `loss`.
    """

    kind: ClassVar[str] = "restricted"
    loss: PrivacyLoss
    relation: Relation

    def __init__(self, loss: PrivacyLoss, relation: Relation) -> None:
        if not isinstance(loss, PrivacyLoss):
            raise InvalidParameterError(f"loss must be a PrivacyLoss, got {loss!r}")
        if not isinstance(relation, Relation):
            raise InvalidParameterError(f"relation must be AddRemove or Replace, got {relation!r}")
        if relation not in loss.relations:
            raise UnprovedError(f"{loss!r} is not proved for {relation}")
        object.__setattr__(self, "loss", loss)
        object.__setattr__(self, "relation", relation)

    def __repr__(self) -> str:
        return f"Restricted({self.loss!r}, relation=Relation.{self.relation.name})"

    def group(self, size: int) -> PrivacyLoss:
        return Restricted(self.loss.group(size), self.relation)

    def to_data(self) -> dict[str, object]:
        return {"loss": self.kind, "base": self.loss.to_data(), "relation": str(self.relation)}

    @classmethod
    def _from_fields(cls, values: dict[str, object]) -> PrivacyLoss:
        relation, loss = values.pop("relation"), values.pop("base")
        if relation not in {str(each) for each in Relation} or not isinstance(loss, PrivacyLoss):
            raise InvalidParameterError(
                f"base must be a loss and relation 'add/remove' or 'replace', got {loss!r} and {relation!r}"
            )
        return cls(loss, relation=Relation(relation), **values)

    def _delta(self, epsilon: Fraction) -> Interval:
        return self.loss._delta(epsilon)

    def _delta_within(self, epsilon: Fraction, tolerance: float) -> Interval:
        return self.loss._delta_within(epsilon, tolerance)

    def _epsilon_within(self, delta: Fraction, tolerance: float) -> Interval:
        return self.loss._epsilon_within(delta, tolerance)

    def laws(self) -> Pairs | None:
        return self.loss.laws()

    def charge(self) -> "Charge":
        return self.loss.charge()

    @property
    def relations(self) -> frozenset[Relation]:
        return frozenset({self.relation})

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
    def mu_squared(self) -> Fraction | None:
        return self.loss.mu_squared
