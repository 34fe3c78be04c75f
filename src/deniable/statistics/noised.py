"""Base of statistics that are exact numbers with the noise of one mechanism."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.privacy import PrivacyLoss, Sensitivity
from deniable.statistics.statistic import Statistic


@dataclass(frozen=True, kw_only=True)
class Noised(Statistic):
    """Base of statistics that spend their whole price on one mechanism.

    A subclass says how far one unit moves the numbers.
    """

    @property
    @abstractmethod
    def sensitivity(self) -> Sensitivity:
        """Sensitivity of the exact numbers."""

    @cached_property
    def mechanism(self) -> AdditiveNoise:
        """Noise of every number."""
        return self.price.noise(self.sensitivity)

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        return self.price.stated(self.mechanism.privacy_loss(self.sensitivity))

    def expected_error(self, size: int) -> float:
        """Return the standard deviation of the noise of one number, whatever the size."""
        return self.mechanism.standard_deviation()
