"""Noisy gradient descent: every step adds up the clipped gradients of all rows, with exact noise on a lattice."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, Any

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.learning.descent.projected import Descent, started, walk
from deniable.learning.losses import Loss
from deniable.learning.sets import FeasibleSet
from deniable.mechanisms import ClippedSum, Gaussian
from deniable.mechanisms.additive.base import AdditiveNoise, additive
from deniable.mechanisms.base import Released
from deniable.mechanisms.records import records_of
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real, positive_integer, positive_rational, probability, whole_number
from deniable.privacy import PrivacyLoss, Relation, Sensitivity
from deniable.privacy.call import InWords, check_kind, read_fields
from deniable.privacy.sensitivity.vectors import of_ball_sum
from deniable.rows import Floats, numbers, silence, table

RESOLUTION = 2**20
"""Lattice steps to the clipping norm."""

_FINER = 1 + Fraction(1, 10**6)


@dataclass(frozen=True, kw_only=True)
class NoisyDescent(metaclass=InWords):
    """Projected descent by noisy mean gradients over all rows, for a fixed number of steps.

    Args:
        loss: of a linear model.
        feasible: where the parameters must lie.
        clip: the largest norm of a row's gradient; longer ones are clipped to it, and those that are no numbers are 0.
        noise: of every coordinate of the sum, in lattice steps, of which there are `resolution` to `clip`.
        steps: T, at least 1; fixed, whatever the rows are.
        size: the public number of rows by which sums are divided: exact under replace, else a public guess.
        step_size: what the mean gradient is multiplied by; the one of the best bound if it is left out.
        resolution: lattice steps to the clipping norm.

    Guarantee: that of the clipped sum, T times: one row moves a sum by at most `clip`, under replace twice that.
    Error: see `bound`.
    Source: Bassily, Smith, Thakurta (2014), arXiv:1405.7085, in its full-batch form.

    >>> from deniable.learning import L2Ball, Logistic
    >>> from deniable.privacy import Replace, of_count
    >>> one_row = of_count(rows=1, groups=1, cells=1, relation=Replace)
    >>> descent = NoisyDescent.calibrated(
    ...     one_row, epsilon=1, delta="1e-6", loss=Logistic(), feasible=L2Ball(radius=4, columns=2), clip=1, steps=10,
    ...     size=2,
    ... )
    >>> descent.privacy_loss(one_row).epsilon("1e-6").upper <= 1
    True
    >>> descent.release([[0.6, 0.8], [1.0, 0.0]], [1, -1]).value.average.shape
    (2,)
    """

    loss: Loss
    feasible: FeasibleSet
    clip: Annotated[Fraction, positive_rational]
    noise: Annotated[AdditiveNoise, additive]
    steps: Annotated[int, positive_integer]
    size: Annotated[int, positive_integer]
    step_size: Annotated[Fraction | None, positive_rational] = None
    resolution: Annotated[int, partial(whole_number, lower=1)] = RESOLUTION

    def __post_init__(self) -> None:
        read_fields(self)
        check_kind("loss", self.loss, Loss)
        check_kind("feasible", self.feasible, FeasibleSet)
        _ = self.mechanism  # checks the resolution against the number of columns

    @classmethod
    def calibrated(
        cls,
        sensitivity: Sensitivity,
        *,
        epsilon: Real,
        delta: Real,
        feasible: FeasibleSet,
        steps: int,
        resolution: int = RESOLUTION,
        **public: Any,
    ) -> "NoisyDescent":
        """A descent with the least Gaussian noise for (epsilon, delta), up to a millionth.

        Args:
            sensitivity: of the number of rows: of_count(rows=..., groups=1, cells=1, relation=...).
            epsilon: greater than 0.
            delta: in (0, 1).
            feasible: as in the class; steps, resolution and all others likewise.

        Guarantee: `privacy_loss(sensitivity)` proves the target; this was checked. Noise of variance T v in T steps is
            as private as noise of variance v in one, which is where the search starts.
        """
        check_kind("sensitivity", sensitivity, Sensitivity)
        check_kind("feasible", feasible, FeasibleSet)
        rows = records_of(sensitivity, proved=frozenset(Relation))
        once = of_ball_sum(
            radius=whole_number("resolution", resolution, lower=1),
            dimensions=feasible.middle.size,
            rows=rows,
            relation=sensitivity.relation,
        )
        variance = Gaussian.calibrated(once, epsilon=epsilon, delta=delta).sigma_squared * positive_integer(
            "steps", steps
        )
        excess, below = positive_rational("epsilon", epsilon), probability("delta", delta)
        for _ in range(100):
            noise = Gaussian(sigma_squared=variance)
            found = cls(feasible=feasible, steps=steps, resolution=resolution, noise=noise, **public)
            if found.privacy_loss(sensitivity).delta(excess).upper <= below:
                return found
            variance *= _FINER
        raise InvalidParameterError("no Gaussian noise was proved to meet this target. Give noise= yourself.")

    @property
    def mechanism(self) -> ClippedSum:
        """The noisy sum of clipped gradients that every step releases."""
        return ClippedSum(noise=self.noise, columns=self.feasible.middle.size, radius=self.clip, steps=self.resolution)

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """What all steps together reveal about a unit.

        Args:
            sensitivity: of the number of rows: of_count(rows=..., groups=1, cells=1, relation=...).
        """
        return self.mechanism.privacy_loss(sensitivity) * self.steps

    @property
    def bound(self) -> float:
        """Bound on the excess of the mean loss at the average, in expectation: R^2 / (2 a T) + a M / 2 + D b.

        R is the distance from the start to the farthest feasible point, D the diameter, a the step size,
        M = clip^2 + d deviation^2, and b = 2 sqrt(d) clip / resolution more than rounding takes from the mean gradient.
        It holds for exactly `size` rows whose gradients are no longer than `clip`: see `Loss.lipschitz`. The proof is
        that of `descend`, with the expectation of the squared norm in place of G^2.
        """
        _, radius = started(self.feasible, None)
        step, rounding = self._step_size, 2 * math.sqrt(self.feasible.middle.size) * self._unit * self.size
        return radius**2 / (2 * step * self.steps) + step * self._moment / 2 + self.feasible.diameter * rounding

    @silence()
    def release(self, rows: object, labels: object, *, bits: Bits = SECURE) -> Released[Descent]:
        """The private average and last point, and the bound; all of it may be published if it is safe.

        Pay before: this draws noise and asks no ledger.

        Args:
            rows: secret; a table of shape (rows, columns). A row with a value that is no number adds nothing.
            labels: secret; shape (rows,).
            bits: leave it out, except in tests.
        """
        mechanism, safe = self.mechanism, True
        found_rows, _ = table(rows, "rows", columns=mechanism.columns)
        found_labels = numbers(labels, "labels")

        def noisy(parameters: Floats, _: int) -> Floats:
            nonlocal safe
            found = mechanism.release(self.loss.gradients(parameters, found_rows, found_labels), bits=bits)
            safe = safe and found.safe
            return np.asarray(found.value).astype(np.float64) * self._unit

        first, _ = started(self.feasible, None)
        average, last = walk(noisy, self.feasible, first, steps=self.steps, step_size=self._step_size)
        return Released(Descent(average=average, last=last, bound=self.bound), safe)

    @property
    def _unit(self) -> float:
        """A lattice step of the sum, as a part of the mean gradient."""
        return float(self.clip / (self.resolution * self.size))

    @property
    def _moment(self) -> float:
        """Bound on the expected squared norm of a noisy mean gradient."""
        return float(self.clip) ** 2 + self.feasible.middle.size * (self.noise.standard_deviation() * self._unit) ** 2

    @property
    def _step_size(self) -> float:
        if self.step_size is not None:
            return float(self.step_size)
        return started(self.feasible, None)[1] / math.sqrt(self.steps * self._moment)
