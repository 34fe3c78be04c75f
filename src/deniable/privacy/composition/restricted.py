"""Losses that hold for one neighbouring relation, that of their sensitivity."""

from dataclasses import dataclass
from typing import ClassVar

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy.composition.wrapped import WrappedStatement
from deniable.privacy.relation import Relation
from deniable.privacy.statement import Stated, Statement


@dataclass(frozen=True, init=False)
class RestrictedStatement(WrappedStatement):
    """Loss that is stated for one relation alone: `loss.under(relation)`.

    A curve such as that of the exponential mechanism holds for either relation, with the sensitivity under that
    relation. A mechanism that computed it from a sensitivity under add/remove has proved nothing under replace.

    Guarantee: that of `loss`.
    """

    kind: ClassVar[str] = "restricted"
    relation: Relation

    def __init__(self, loss: Stated, relation: Relation) -> None:
        super().__init__(loss)
        Relation.checked(relation)
        if relation not in self.loss.relations:
            raise UnprovedError(f"{loss!r} is not proved for {relation}")
        read_fields(self, relation=relation)

    def __repr__(self) -> str:
        return f"{self.loss.operand}.under(Relation.{self.relation.name})"

    @property
    def composition(self) -> tuple[tuple[Statement, int], ...]:
        parts = self.loss.composition
        if parts == ((self.loss, 1),):
            return ((self, 1),)
        return tuple((RestrictedStatement(part, self.relation), count) for part, count in parts)

    @property
    def unrestricted(self) -> Statement:
        return self.loss

    def grouped(self, units: int) -> Statement | None:
        group = self.loss.grouped(units)
        return None if group is None else RestrictedStatement(group, self.relation)

    def grouped_one_way(self, units: int) -> Statement | None:
        group = self.loss.grouped_one_way(units)
        return None if group is None else RestrictedStatement(group, self.relation)

    def to_data(self) -> dict[str, object]:
        return {"loss": self.kind, "base": self.loss.to_data(), "relation": str(self.relation)}

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> Statement:
        relation, loss = values.pop("relation", None), values.pop("base", None)
        if relation not in {str(each) for each in Relation} or not isinstance(loss, Statement):
            raise InvalidParameterError(
                f"base must be a loss and relation 'add/remove' or 'replace', got {loss!r} and {relation!r}"
            )
        return cls(loss, relation=Relation(relation), **values)

    @property
    def relations(self) -> frozenset[Relation]:
        return frozenset({self.relation})
