"""Loss known by its mu: Gaussian differential privacy."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from deniable.numbers.rationals import Real, positive_rational, quotient_text, readable
from deniable.privacy.losses.gaussian import GaussianStatement
from deniable.privacy.statement import Statement


@dataclass(frozen=True, init=False)
class GaussianDPStatement(GaussianStatement):
    """Loss of any mu-GDP mechanism, known by nothing else.

    Args:
        mu: above 0.

    Guarantee: the curve of N(mu, 1) against N(0, 1), which is one of them and dominates all; so it composes, is sampled
        and converted as Gaussian noise of multiplier 1/mu.
    Source: Dong, Roth, Su (2019), arXiv:1905.02383.

    >>> from deniable.privacy import GaussianDPLoss
    >>> print(f"{GaussianDPLoss(mu=1).epsilon('1e-6').upper:.2f}")
    4.89
    """

    kind: ClassVar[str] = "gaussian_dp"

    def __init__(self, mu: Real) -> None:
        super().__init__(1 / positive_rational("mu", mu))

    def __repr__(self) -> str:
        return f"GaussianDPLoss(mu={readable(self.mu)!r})"

    @property
    def mu(self) -> Fraction:
        """Mean that is told apart from that of N(0, 1)."""
        return 1 / self.noise_multiplier

    def to_data(self) -> dict[str, object]:
        return {"loss": self.kind, "mu": quotient_text(self.mu)}

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> Statement:
        return cls(**values)
