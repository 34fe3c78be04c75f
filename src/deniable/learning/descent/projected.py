"""Projected gradient descent and its stochastic form, without privacy."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from deniable.arguments import in_words
from deniable.errors import InvalidParameterError
from deniable.learning.rates import descent_bound
from deniable.learning.sets import FeasibleSet
from deniable.noise import uniform
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, positive_integer, positive_rational


@dataclass(frozen=True, kw_only=True)
class Descent:
    """Result of a descent.

    Args:
        average: of the points at which gradients were taken, shape (columns,).
        last: the point after the last step.
        bound: on the excess of the mean loss at the average, in expectation where gradients are random.
    """

    average: Floats
    last: Floats
    bound: float


@in_words
def descend(
    gradient: Callable[[Floats], ArrayLike], feasible: FeasibleSet, *, steps: int, lipschitz: Real,
    start: ArrayLike | None = None,
) -> Descent:  # fmt: skip
    """Minimise a convex function by projected (sub)gradient descent, without privacy.

    Args:
        gradient: of the function at parameters of shape (columns,); of that shape.
        feasible, steps: where the parameters must lie, and T.
        lipschitz: G, the largest norm of a gradient.
        start: a feasible point; the middle of the set if it is left out.

    Guarantee: the excess of the average is at most R G / sqrt(T), R the largest distance from the start to a feasible
        point, with step R / (G sqrt(T)). The last iterate may be worse: by log(T) at worst, and already at T = 2.
    Proof: docs/theory/learning/descent.md.
    Raises: InvalidParameterError for a start outside of the set, or a gradient that is longer than G or not finite.
    Source: Zinkevich (2003); Harvey, Liaw, Plan, Randhawa (2019), arXiv:1812.05217, for the last iterate.

    >>> from deniable.learning.sets import L2Ball
    >>> found = descend(lambda x: x - [1, 0], L2Ball(radius=1, columns=2), steps=400, lipschitz=2)
    >>> bool(((found.average - [1, 0]) ** 2).sum() / 2 <= found.bound)
    True
    """
    first, radius = started(feasible, start)
    steep = float(positive_rational("lipschitz", lipschitz))

    def checked(parameters: Floats, _: int) -> Floats:
        value = np.asarray(gradient(parameters), dtype=np.float64)
        if value.shape != parameters.shape or not np.linalg.norm(value) <= steep * (1 + 1e-9):
            raise InvalidParameterError(f"a gradient is {parameters.size} numbers of norm at most lipschitz={steep:g}")
        return value

    size = radius / (steep * math.sqrt(positive_integer("steps", steps)))
    average, last = walk(checked, feasible, first, steps=steps, step_size=size)
    return Descent(average=average, last=last, bound=descent_bound(radius=radius, lipschitz=lipschitz, steps=steps))


@in_words
def descend_by_samples(
    gradient: Callable[[Floats, int], ArrayLike], feasible: FeasibleSet, *, examples: int, steps: int, lipschitz: Real,
    start: ArrayLike | None = None, bits: Bits = SECURE,
) -> Descent:  # fmt: skip
    """Minimise a mean of convex functions by stochastic gradient descent.

    A step takes the gradient of one function, chosen at random, without privacy.

    Args:
        gradient: of function number i at parameters of shape (columns,); of that shape, and norm at most `lipschitz`.
        feasible, steps, start: as in `descend`.
        examples: the number of functions.
        bits: leave it out, except in tests.

    Guarantee: that of `descend` in expectation, since the gradient of a function chosen uniformly is unbiased.
    Source: Robbins, Monro (1951); Nemirovski, Juditsky, Lan, Shapiro (2009), for averaged iterates.

    >>> from deniable.learning.sets import Box
    >>> values, box = [0.0, 1.0, 1.0], Box.ball(radius=1, columns=1)
    >>> found = descend_by_samples(lambda x, i: x - values[i], box, examples=3, steps=900, lipschitz=2)
    >>> bool(abs(found.average[0] - 2 / 3) < 0.5)
    True
    """
    chosen = uniform.below(positive_integer("examples", examples), size=positive_integer("steps", steps), bits=bits)
    draws = iter(chosen.tolist())
    return descend(lambda at: gradient(at, next(draws)), feasible, steps=steps, lipschitz=lipschitz, start=start)


def started(feasible: FeasibleSet, start: ArrayLike | None) -> tuple[Floats, float]:
    """The first point, and the largest distance from it to a feasible one.

    Raises: InvalidParameterError if it is outside of the set.
    """
    first = feasible.middle if start is None else np.array(start, dtype=np.float64)
    if not feasible.contains(first):
        raise InvalidParameterError("start must lie in the feasible set. Project it: feasible.project(start).")
    return first, feasible.max_distance(first)


def walk(
    gradient: Callable[[Floats, int], Floats], feasible: FeasibleSet, first: Floats, *, steps: int, step_size: float
) -> tuple[Floats, Floats]:
    """Return the average of the points of a descent, and its last point.

    The average is of the points at which gradients were taken.
    """
    total = np.zeros_like(first)
    point = first
    for step in range(steps):
        total += point
        point = feasible.project(point - step_size * gradient(point, step))
    return total / steps, point
