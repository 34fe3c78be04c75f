"""The loss of a mechanism that meets a definition and protects nobody."""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, NoReturn

from deniable.errors import UnprovedError
from deniable.privacy.around.wrapped import WrappedLoss
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.pld.law import Pairs

if TYPE_CHECKING:
    from deniable.privacy.charge import Charge


@dataclass(frozen=True, init=False)
class TeachingLoss(WrappedLoss):
    """`loss`, of which the curve may be looked at and nothing may be spent: `TeachingLoss(loss)`.

    Every number from which a charge could be made is refused, so that no sum, group, sample or statement that holds
    this loss can be charged either.

    Guarantee: the curve is that of `loss`.
    """

    kind: ClassVar[str] = "teaching"

    def __repr__(self) -> str:
        return f"TeachingLoss({self.loss!r})"

    @classmethod
    def _from_fields(cls, values: dict[str, object]) -> PrivacyLoss:
        return cls(values.pop("base", None), **values)  # type: ignore[arg-type]

    def to_data(self) -> dict[str, object]:
        return {"loss": self.kind, "base": self.loss.to_data()}

    def group(self, size: int) -> PrivacyLoss:
        return TeachingLoss(self.loss.group(size))

    def laws(self) -> None:
        return None

    def laws_of_runs(self, count: int) -> list[tuple[Pairs | None, int]]:
        return [(None, count)]

    def charge(self) -> "Charge":
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
    raise UnprovedError(
        "this mechanism is for teaching: it satisfies a definition and publishes private records all the same, so no "
        "ledger pays for it. Use one of the other families, such as Laplace."
    )
