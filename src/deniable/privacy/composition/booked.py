"""Losses charged at the (epsilon, delta) that their user asked for."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import Real, nonnegative_rational, probability, quotient_text
from deniable.privacy.charge import Charge
from deniable.privacy.composition.wrapped import WrappedStatement
from deniable.privacy.notions.gaussian_dp import mu_squared_of_pure
from deniable.privacy.pld.accountant import DEFAULT_TOLERANCE
from deniable.privacy.statement import Stated, Statement


@dataclass(frozen=True, init=False)
class BookedStatement(WrappedStatement):
    """Loss with a stated (epsilon, delta), at which budgets of pairs charge it.

    It is refused unless its own curve proves the pair. The curve, rho and everything else remain those of `loss`. A
    mechanism asked for at epsilon = 0.1 and calibrated to it is then charged 1/10, and not a float beside it.

    The curve, rho and everything else remain those of `loss`. A mechanism asked for at epsilon = 0.1 and calibrated to
    it is then charged 1/10, and not a float beside it.

    Guarantee: the certified curve of `loss` is at most delta at epsilon; checked here, and again when read from JSON.
    """

    kind: ClassVar[str] = "stated"
    stated_epsilon: Fraction
    stated_delta: Fraction

    def __init__(self, loss: Stated, epsilon: Real, delta: Real) -> None:
        super().__init__(loss)
        read_fields(
            self, stated_epsilon=nonnegative_rational("epsilon", epsilon), stated_delta=probability("delta", delta)
        )
        if not self.loss.proves(self.stated_epsilon, self.stated_delta):
            proved = self.loss.delta_within(self.stated_epsilon, DEFAULT_TOLERANCE).upper
            raise InvalidParameterError(
                f"delta at epsilon={epsilon} is proved to be at most {proved:.6g}, above the stated delta={delta}. "
                "State a larger delta or epsilon, or add more noise (deniable.privacy.calibration.calibrate)."
            )

    def __repr__(self) -> str:
        pair = f"epsilon={self.stated_epsilon!r}, delta={self.stated_delta!r}"
        return f"{self.loss.operand}.stated({pair})"

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> Statement:
        loss = Statement.from_data(values.pop("loss_stated", None))
        return cls(loss, epsilon=values.pop("epsilon", None), delta=values.pop("delta", None), **values)

    def to_data(self) -> dict[str, object]:
        return {
            "loss": self.kind,
            "loss_stated": self.loss.to_data(),
            "epsilon": quotient_text(self.stated_epsilon),
            "delta": quotient_text(self.stated_delta),
        }

    def charge(self) -> Charge:
        """Return the charge of the loss, with the stated pair."""
        booked = replace(self.loss.charge(), epsilon=self.stated_epsilon, delta=self.stated_delta)
        if booked.failing_rho is not None:
            return booked
        epsilon, delta = self.stated_epsilon, self.stated_delta  # docs/theory/privacy/budget.md, lemma 2
        mu_squared = mu_squared_of_pure(epsilon)
        return replace(
            booked, failing_epsilon=epsilon, failing_rho=epsilon**2 / 2, failing_mu_squared=mu_squared, failure=delta
        )
