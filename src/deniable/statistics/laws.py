"""The error of a noisy aggregate in the unit of the answer."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import AdditiveNoise


@dataclass(frozen=True)
class Law:
    """The noise of a mechanism times a public step: that of the lattice on which the values lie."""

    mechanism: AdditiveNoise
    step: Fraction = Fraction(1)

    def quantile(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.mechanism.quantile(p) * float(self.step)

    def half_width(self, level: float) -> float:
        return self.mechanism.half_width(level) * float(self.step)

    def standard_deviation(self) -> float:
        return self.mechanism.standard_deviation() * float(self.step)
