"""Noisy gradient descent by a training plan.

Gradients of sampled rows are clipped, with exact noise on a lattice.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated

from deniable.arguments import InWords, check_kind, read_fields
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.learning.descent.projected import Descent, started, walk
from deniable.learning.estimators.estimator import same_length
from deniable.learning.losses import Loss
from deniable.learning.plan import TrainingPlan
from deniable.learning.sets import FeasibleSet
from deniable.ledger.payment import Payer
from deniable.mechanisms.base import Released
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, positive_integer, positive_rational
from deniable.privacy import PrivacyLoss
from deniable.privacy.constructors import LastIterateLoss
from deniable.privacy.relation import AddRemove
from deniable.rows import Container, each_row, numbers, silence, table, without_rows


@dataclass(frozen=True, kw_only=True)
class NoisyDescent(metaclass=InWords):
    """Projected descent by noisy mean gradients of the rows that a plan samples.

    That is noisy gradient descent with all rows, DP-SGD with samples, also of one row: `FixedSize(size=1, ...)`.

    Args:
        loss, feasible: of a linear model, and where its parameters must lie.
        plan: sampler, clip, noise and number of steps, with as many dimensions as there are parameters.
        size: the public number of rows: exact under replace, else a public guess.
        step_size: what the mean gradient is multiplied by; the one of the best bound if it is left out.
        start: public feasible parameters, such as those of a model of public rows; the middle of the set if left out.
        smoothness: of the loss, as `loss.smoothness(row_radius=...)` gives it; allows longer steps.

    Guarantee: `plan.privacy_loss`, of all iterates together. What `start` was made of must be public.
    Source: Bassily, Smith, Thakurta (2014), arXiv:1405.7085; Abadi et al. (2016), arXiv:1607.00133.

    >>> from deniable.learning import TrainingPlan
    >>> from deniable.learning.losses import Logistic
    >>> from deniable.learning.sets import L2Ball
    >>> plan = TrainingPlan.calibrate(epsilon=1, delta="1e-6", steps=10, dimensions=2)
    >>> descent = NoisyDescent(loss=Logistic(), feasible=L2Ball(radius=4, columns=2), plan=plan, size=2)
    >>> descent.release([[0.6, 0.8], [1.0, 0.0]], [1, -1]).value.average.shape
    (2,)
    """

    loss: Loss
    feasible: FeasibleSet
    plan: TrainingPlan
    size: Annotated[int, positive_integer]
    step_size: Annotated[Fraction | None, positive_rational] = None
    start: tuple[float, ...] | None = None
    smoothness: Annotated[Fraction | None, positive_rational] = None

    def __post_init__(self) -> None:
        read_fields(self)
        for name, kind in (("loss", Loss), ("feasible", FeasibleSet), ("plan", TrainingPlan)):
            check_kind(name, getattr(self, name), kind)
        if self.plan.dimensions != self.feasible.middle.size:
            raise InvalidParameterError(f"plan must have dimensions={self.feasible.middle.size}, as the set has")
        started(self.feasible, self.start)

    @property
    def bound(self) -> float:
        """Bound on the expected excess of the mean loss at the average.

        It is R^2 / (2 a T) + a (C^2 + V) / 2 + D b.

        R is the distance from the start to the farthest feasible point, D the diameter, a the step size, C the clip,
        V what noise and sampling add to the expected squared norm, and b = 2 sqrt(d) clip / lattice more than rounding
        takes from the mean gradient. A smooth loss with a <= 1 / smoothness has R^2 / (2 a T) + a V + D b. For exactly
        `size` rows whose gradients are no longer than the clip. Proof: docs/theory/learning/descent.md.
        """
        _, radius = started(self.feasible, self.start)
        step, clip = self._step_size, self.plan.clip
        rounding = 2 * math.sqrt(self.plan.dimensions) * float(clip.norm / clip.norm_steps)
        smooth = self.smoothness is not None and step * self.smoothness <= 1 + 1e-9
        added = self._added if smooth else (float(clip.norm) ** 2 + self._added) / 2
        return radius**2 / (2 * step * self.plan.steps) + step * added + self.feasible.diameter * rounding

    def last_iterate_loss(self, *, row_norm: Real) -> PrivacyLoss:
        """Return the privacy loss of the last point alone, for comparison.

        In exact arithmetic with real-valued noise.

        Rounding is not covered, so this may not be booked: `plan.privacy_loss` is. No row is longer than `row_norm`.

        Raises: UnprovedError unless the number of rows is public, all of them are used in every step, no gradient is
            longer than the clip, and a step does not expand.
        """
        plan = self.plan
        steepest = self.loss.lipschitz(row_radius=row_norm, feasible=self.feasible)
        if plan.relation is AddRemove or plan.sampler.share() != 1 or steepest > plan.clip.norm:
            raise UnprovedError(
                "the last iterate is accounted for under replace, with all rows in every step, where no gradient is "
                f"clipped. Take Poisson(rate=1) and Clip(norm={steepest:.6g}), or use plan.privacy_loss."
            )
        smoothness = self.loss.smoothness(row_radius=row_norm)
        diameter = self.feasible.diameter
        return LastIterateLoss(
            steps=plan.steps, noise_multiplier=plan.noise_multiplier / 2, learning_rate=Fraction(self._step_size),
            smoothness=Fraction(smoothness), diameter=Fraction(diameter),
            gradient_sensitivity=2 * plan.clip.norm / self.size,
        )  # fmt: skip

    @silence()
    def release(
        self, rows: Container, labels: Container, *, ledger: Payer | None = None, delta: Real = "1e-6",
        bits: Bits = SECURE,
    ) -> Released[Descent]:  # fmt: skip
        """Release the private average and last point, and the bound.

        All of it may be published if it is safe.

        Args:
            rows, labels: secret; (rows, columns) and (rows,). A row with a value that is not a number adds nothing, nor
                does one on which the loss fails.
            bits: leave it out, except in tests.
            ledger: charged before a row is read; None charges nothing.
            delta: at which a ledger that adds up pairs is charged.
        """
        first, _ = started(self.feasible, self.start)
        self.loss.gradients(first, without_rows(rows), without_rows(labels))  # refuses what does not fit
        run = self.plan.run(same_length(rows, labels), expected_rows=self.size, ledger=ledger, delta=delta, bits=bits)
        found_rows = table(rows, "rows", columns=self.plan.dimensions)[0]
        found_labels = numbers(labels, "labels")

        def noisy(parameters: Floats, _: int) -> Floats:
            batch = next(run)
            gradients = each_row(
                partial(self.loss.gradients, parameters), found_rows[batch], found_labels[batch], width=first.shape
            )
            return run.mean_gradient(gradients)

        average, last = walk(noisy, self.feasible, first, steps=self.plan.steps, step_size=self._step_size)
        if self.smoothness is not None:
            average = average + (last - first) / self.plan.steps  # of the points after each step
        return Released(Descent(average=average, last=last, bound=self.bound), run.safe)

    @property
    def _added(self) -> float:
        """Bound on the expected squared norm of noise and sampling errors.

        They are errors of the mean gradient.
        """
        plan = self.plan
        share = float(self.plan.sampler.share())
        noise = float(plan.noise_multiplier * plan.clip.norm) / (share * self.size)
        return float(plan.clip.norm) ** 2 * (1 - share) / (share * self.size) + plan.dimensions * noise**2

    @property
    def _step_size(self) -> float:
        if self.step_size is not None:
            return float(self.step_size)
        radius = started(self.feasible, self.start)[1]
        steps = self.plan.steps
        if self.smoothness is not None:
            return min(float(1 / self.smoothness), radius / math.sqrt(2 * steps * self._added))
        return radius / math.sqrt(steps * (float(self.plan.clip.norm) ** 2 + self._added))
