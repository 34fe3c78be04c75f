"""Noise of many counts on one table: n against the root of n."""

import math
from fractions import Fraction
from typing import NamedTuple

from deniable.errors import InvalidParameterError
from deniable.limits.marginals import marginals_error
from deniable.numbers.rationals import Real, positive_integer, positive_rational, probability
from deniable.privacy import ApproximateLoss, Replace, Sensitivity
from deniable.privacy.calibration import gaussian_sigma_squared


class QuestionNoise(NamedTuple):
    """Standard deviations of each of several counts, in rows."""

    laplace: float  # sqrt(2) questions / epsilon, by adding up epsilons
    gaussian: float  # about sqrt(2 questions ln(1 / delta)) / epsilon, by advanced composition
    floor: float  # that no mechanism stays below, for some table, on the root mean square
    reconstruction: float  # that the largest error among all 2^rows subset counts cannot stay below


def noise_of_questions(questions: int, *, rows: int, epsilon: Real, delta: Real) -> QuestionNoise:
    """Return the noise of counts that are all asked of one table, under replace.

    Laplace noise grows with the number of questions: as many questions as rows drown in it. Gaussian noise grows with
    the root, which is where attacks that reconstruct the table begin to fail. Whoever answers *all* subset counts needs
    noise in proportion to the rows.

    Args:
        questions: number of counts.
        rows: of the table.
        epsilon, delta: of all answers together; delta in (0, 1).

    Returns: `QuestionNoise`: standard deviations of each count, in rows.

    Guarantee: `floor` is `marginals_error`. `reconstruction`: answers to all subset counts within E give all but 4 E
        rows, and no guess about a row is right with probability above (e^epsilon + delta) / (1 + e^epsilon), so
        E >= rows (1 - delta) / (4 (1 + e^epsilon)), in expectation.
    Source: Dinur, Nissim (2003), theorems 2.1 and 2.3; Dwork, Rothblum, Vadhan (2010).

    >>> noise = noise_of_questions(10_000, rows=10_000, epsilon=1, delta="1e-6")
    >>> round(noise.laplace), round(noise.gaussian), noise.floor > 15
    (14142, 422, True)
    """
    count, size = positive_integer("questions", questions), positive_integer("rows", rows)
    budget, failure = positive_rational("epsilon", epsilon), probability("delta", delta)
    if failure == 0:
        raise InvalidParameterError("delta must be above 0: Gaussian noise has no pure epsilon")
    floor = marginals_error(ApproximateLoss(budget, failure), rows=size, columns=count) * size
    return QuestionNoise(
        laplace=math.sqrt(2) * count / float(budget),
        gaussian=gaussian_noise(count, budget, failure),
        floor=floor,
        reconstruction=size * float(1 - failure) / (4 * (1 + math.exp(min(float(budget), 700.0)))),
    )


def gaussian_noise(counts: int, epsilon: Fraction, delta: Fraction, *, changed: int | None = None) -> float:
    """Return the standard deviation of Gaussian noise on counts of one table.

    A replaced row changes `changed` of them, or all, by one.
    """
    moved = Fraction(changed or counts)
    sensitivity = Sensitivity(l1=moved, l2_squared=moved, linf=Fraction(1), relation=Replace, coordinates=counts)
    return math.sqrt(gaussian_sigma_squared(sensitivity, epsilon=epsilon, delta=delta))
