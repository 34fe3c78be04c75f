"""Output and objective perturbation: noise on a minimiser, or inside of it.

Proofs: docs/theory/learning/erm.md.
"""

import math
from fractions import Fraction

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.learning.erm.exact import CERTIFIED, minimise
from deniable.learning.erm.problem import Problem
from deniable.mechanisms import Gaussian, Laplace
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.noise import rounded
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.privacy import AddRemove, GaussianDPLoss, PrivacyLoss, PureLoss, Relation, Sensitivity, calibrate
from deniable.privacy.constructors import ObjectivePerturbationLoss
from deniable.privacy.sensitivity.vectors import of_ball_sum

_FINE_STEPS, _COARSE_STEPS = 2**20, 2**10  # lattice steps to the distance of neighbouring outputs
_NOISE_STEPS = 2**40  # steps to the scale of the noise inside of the objective
_MAX_STEPS = 2**44  # steps to the farthest point, which floats count with room to spare
_COVER = 128  # what hides that minimisers are approximate costs 1/128 of epsilon, or mu = 1/128


class _Penalised:
    """Base class of both: a penalty for stability, and a release on a lattice."""

    regularisation: float
    noise: AdditiveNoise
    step: float  # of the lattice

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.weakest = 1e-6 * problem.size * problem.curved
        price, columns = problem.price, problem.columns
        assert price.epsilon is not None
        spread = 2 * math.log(1 / price.delta) + 2 * float(price.epsilon) if price.delta else 2 * columns
        self.guess = math.sqrt(spread * columns) / float(price.epsilon) * problem.moved * problem.steep / problem.radius
        """About the expected length of noise for the gradient, over the radius: what penalties are chosen for."""

    def _chosen(self, given: float | None, best: float) -> float:
        if given is not None and given < self.weakest:
            raise InvalidParameterError(f"regularisation must be at least {self.weakest:.4g} to certify a minimiser")
        return max(best, self.weakest) if given is None else given

    def _moves(self, steps: int, relation: Relation) -> Sensitivity:
        """Return the sensitivity of rounded points, where exact ones move `steps`."""
        moved = steps + math.isqrt(self.problem.columns) + 2
        radius = moved if relation is AddRemove else -(-moved // 2)
        return of_ball_sum(radius=radius, dimensions=self.problem.columns, rows=1, relation=relation)

    def _step(self, distance: float, steps: int) -> float:
        """Return the width of a lattice step, for `steps` steps to a distance.

        Rounded up.
        """
        step = distance * (1 + 2.0**-40) / steps
        if self.problem.feasible.max_distance(np.zeros(self.problem.columns)) > _MAX_STEPS * step:
            raise InvalidParameterError(f"regularisation is too strong to tell points apart: {self.regularisation:.4g}")
        return step

    def _released(self, point: Floats, bits: Bits) -> Floats:
        noisy = self.noise.release(np.rint(point / self.step).astype(np.int64), bits=bits).value
        return self.problem.feasible.project(np.asarray(noisy).astype(np.float64) * self.step)

    def _excess(self, tilt: float) -> float:
        """Bound the excess by the penalty, a linear term and output noise.

        The linear term has E|b|^2 = tilt.
        """
        problem, strength = self.problem, self.regularisation
        inside = (strength * problem.radius**2 / 2 + tilt / (2 * strength)) / problem.size
        length = math.sqrt(problem.columns) * (self.noise.standard_deviation() + 1) * self.step
        return inside + problem.steep * (length + 2 * CERTIFIED * problem.steep / strength)


class Output(_Penalised):
    """Release the minimiser with noise on it.

    A term moves it by at most L / strength, and tau / strength more.
    """

    def __init__(self, problem: Problem, strength: float | None) -> None:
        super().__init__(problem)
        best = (problem.size * problem.curved * self.guess**2) ** (1 / 3)
        self.regularisation = self._chosen(strength, best)
        distance = (problem.moved + 2 * CERTIFIED) * problem.steep
        self.step = self._step(distance / self.regularisation, _FINE_STEPS)
        sensitivity = self._moves(_FINE_STEPS, problem.relation)
        self.noise = problem.price.noise(sensitivity)
        self.loss = problem.price.stated(self.noise.privacy_loss(sensitivity))
        self.how = f"{self.noise.kind.capitalize()} noise on the minimiser with penalty {self.regularisation:.4g}."
        self.bound = self._excess(0.0)

    def draw(self, rows: Floats, labels: Floats, bits: Bits) -> Floats:
        tilt = np.zeros(self.problem.columns)
        return self._released(minimise(self.problem, rows, labels, self.regularisation, tilt), bits)


class Objective(_Penalised):
    """Release the minimiser of the sum and a random linear term, drawn once.

    The minimiser for a real Gaussian (or Laplace) vector is private. What is computed, for the rounding of that vector,
    is near to it, and a little noise on the output pays for the difference.
    """

    def __init__(self, problem: Problem, strength: float | None) -> None:
        super().__init__(problem)
        price = problem.price
        replaced = problem.moved == 2
        assert price.epsilon is not None
        left = price.epsilon * (1 - Fraction(1, _COVER))
        shared = 2 if replaced and price.delta else 1  # a Gaussian term is proved for one row at a time
        weakest = problem.curved / math.expm1(left / 2 / shared)
        strength = self._chosen(strength, max(self.guess, weakest))
        self.regularisation = strength if shared * math.log1p(problem.curved / strength) < left else weakest
        ratio = Fraction(problem.curved / self.regularisation) * (1 + Fraction(1, 2**40))
        self._law: rounded.Continuous = rounded.StandardNormal() if price.delta else rounded.StandardLaplace()
        multiplier = self._with_normal_term(ratio) if price.delta else self._with_laplace_term(ratio, left)
        self._scale = float(multiplier) * problem.steep * (1 + 2.0**-40)
        rounding = math.sqrt(problem.columns) * self._scale / _NOISE_STEPS
        self.step = self._step(2 * (CERTIFIED * problem.steep + rounding) / self.regularisation, _COARSE_STEPS)
        self.how = (
            f"{'Normal' if price.delta else 'Laplace'} noise of scale {self._scale:.4g} on the gradient of the sum, "
            f"with penalty {self.regularisation:.4g}, before it is minimised."
        )
        self.bound = self._excess(problem.columns * (self._law.standard_deviation() * self._scale) ** 2)

    def _with_normal_term(self, ratio: Fraction) -> Fraction:
        """Set loss and output noise for a Gaussian term; return its noise multiplier.

        Args:
            ratio: the largest curvature of one row over the regularisation, rounded up.
        """
        price = self.problem.price
        assert price.epsilon is not None
        cover = GaussianDPLoss(Fraction(1, _COVER))
        self.noise = Gaussian.calibrated(self._moves(_COARSE_STEPS, AddRemove), mu_squared=cover.mu_squared)

        def total(multiplier: Fraction) -> PrivacyLoss:
            both = ObjectivePerturbationLoss(noise_multiplier=multiplier, curvature=ratio) + cover
            return both.under_replace() if self.problem.moved == 2 else both

        multiplier = calibrate(total, over=(0, 10**6), epsilon=price.epsilon, delta=price.delta)
        self.loss = price.stated(total(multiplier))
        return multiplier

    def _with_laplace_term(self, ratio: Fraction, left: Fraction) -> Fraction:
        """Set loss and output noise for a Laplace term; return its scale.

        Args:
            ratio: the largest curvature of one row over the regularisation, rounded up.
            left: the epsilon that the noise on the output leaves.
        """
        problem = self.problem
        assert problem.price.epsilon is not None
        sensitivity = self._moves(_COARSE_STEPS, problem.relation)
        self.noise = Laplace.calibrated(sensitivity, epsilon=problem.price.epsilon / _COVER)
        jacobian = Fraction(math.log1p(float(ratio))) * (1 + Fraction(1, 2**40))
        l1 = problem.moved * Fraction(math.isqrt(problem.columns << 80) + 1, 2**40)
        self.loss = PureLoss(problem.price.epsilon)
        return l1 / (left - jacobian)

    def draw(self, rows: Floats, labels: Floats, bits: Bits) -> Floats:
        problem, limit = self.problem, rounded.LARGEST_BOUND
        steps = rounded.sample(
            self._law, centre=0, scale=_NOISE_STEPS, lower=-limit, upper=limit, size=problem.columns, bits=bits
        )
        tilt = steps.astype(np.float64) * (self._scale / _NOISE_STEPS)
        return self._released(minimise(problem, rows, labels, self.regularisation, tilt), bits)
