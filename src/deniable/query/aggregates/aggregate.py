"""What a question asks of every group: exact integers, a bound on how far one unit moves them, and their noise."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import NoiseLaw
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.noise.bits import Bits
from deniable.noise.lattice import Lattice
from deniable.privacy import PrivacyLoss, Sensitivity
from deniable.query.expression import Expression, text_of
from deniable.release import Noisy

if TYPE_CHECKING:
    from deniable.query.plan import Question


@dataclass(frozen=True)
class Aggregate(ABC):
    """One number a group: a total over bounded rows.

    Args:
        argument: what is read of a row; rows in which it is NULL do not count. None: nothing, every row counts.
    """

    function: ClassVar[str]  # the name in the ledger, and for people
    argument: Expression | None = None

    @property
    def whole(self) -> bool:
        """Whether the exact number is an integer."""
        return True

    @property
    def place(self) -> tuple[bool, str]:
        """Where it stands among those that read the same."""
        return True, f"0{self.function}"

    @abstractmethod
    def bounded(self, question: "Question") -> "BoundedAggregate":
        """Its lattice, and how far one unit moves it, from public facts alone."""

    def to_json(self) -> dict[str, object]:
        argument = None if self.argument is None else self.argument.to_json()
        return {"function": self.function, "argument": argument, "centre": "0"}

    def __str__(self) -> str:
        return f"{self.function.upper()}({'*' if self.argument is None else text_of(self.argument)})"


@dataclass(frozen=True, kw_only=True)
class BoundedAggregate:
    """An aggregate on its lattice: one value lies in [lower, upper] grid steps after `centre` steps were subtracted.

    Args:
        share: lattice steps in one step of a row's value. Whole numbers are summed as such, and shared out more finely.
    """

    aggregate: Aggregate
    lattice: Lattice
    lower: int
    upper: int
    centre: int = 0
    share: int = 1
    sensitivity: Sensitivity

    def priced(self, mechanism: AdditiveNoise) -> "PricedAggregate":
        """The same with noise."""
        given: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        return PricedAggregate(**given, mechanism=mechanism, loss=mechanism.privacy_loss(self.sensitivity))


@dataclass(frozen=True, kw_only=True)
class PricedAggregate(BoundedAggregate):
    """An aggregate with its noise, which is in grid steps like everything about it."""

    mechanism: AdditiveNoise
    loss: PrivacyLoss

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise, in the aggregate's own unit."""
        return self.mechanism.law(self.lattice.grid)

    def release(self, exact: NDArray[Any], *, bits: Bits) -> NDArray[Any]:
        """Noisy steps, one a group. Public."""
        return self.mechanism.release(exact, bits=bits).value

    def noisy(self, name: str, values: NDArray[Any]) -> Noisy:
        """Released steps as a column: whole numbers stay integers."""
        whole = self.lattice.exponent == 0 and values.dtype == np.int64
        return Noisy(name=name, values=values if whole else self.lattice.to_reals(values), law=self.law)

    def to_json(self) -> object:
        """What of it the name of a question in the ledger depends on."""
        return [self.lattice.exponent, self.lower, self.upper, self.centre]


WHOLE = Lattice(exponent=0)
SHARES = Lattice(exponent=20)  # of counts and whole numbers where a unit's rows may count as fractions of one
