"""Minimiser of a strongly convex sum over a convex set, with a certificate."""

import math

import numpy as np

from deniable.errors import UnprovedError
from deniable.learning.erm.problem import Problem
from deniable.learning.losses import products
from deniable.numbers.arrays import Floats

CERTIFIED = 2.0**-14
"""Gradient norm that certifies a minimiser, as a part of the largest gradient of one row."""


def minimise(problem: Problem, rows: Floats, labels: Floats, strength: float, tilt: Floats) -> Floats:
    """Minimise a sum of losses + strength/2 |w - start|^2 + <tilt, w> over a set.

    By accelerated projected descent (Nesterov 2004), whose steps follow from public numbers and the number of rows.

    Guarantee: within tau / strength of the exact minimiser, for tau = CERTIFIED * problem.steep; checked at the end.
    Raises: UnprovedError if rounding prevents it, which takes more than about 10^9 rows; nothing was released.
    Proof: docs/theory/learning/erm.md, "Certified minimisers".
    """
    curvature = len(rows) * problem.curved + strength
    tau = CERTIFIED * problem.steep
    root = math.sqrt(strength / curvature)
    steps = math.ceil(2 * max(0.0, math.log(2 * curvature * problem.feasible.diameter / tau)) / root) + 1
    momentum = (1 - root) / (1 + root)
    project = problem.feasible.project
    at = ahead = project(problem.start)
    for step in range(steps):
        slopes = problem.slopes(rows @ ahead, labels)
        gradient = slopes @ rows + strength * (ahead - problem.start) + tilt
        before = at
        at = project(ahead - gradient / curvature)
        ahead = at + (momentum if step else 0.0) * (at - before)  # the first step alone leaves M |start - best|^2 / 2
    if not distance_bound(problem, rows, labels, strength, tilt, at) * strength <= tau:
        raise UnprovedError("the exact minimiser was not reached, and nothing was released. Use method='gradient'.")
    return at


def distance_bound(  # noqa: PLR0917 - the terms of the sum, in order
    problem: Problem, rows: Floats, labels: Floats, strength: float, tilt: Floats, point: Floats
) -> float:
    """Bound the distance from a feasible point to the minimiser.

    Rounding is included: `fsum` rounds a sum once.
    """
    curvature = len(rows) * problem.curved + strength
    slopes = problem.slopes(products(rows, point[np.newaxis])[:, 0], labels)
    total = np.array([math.fsum((column * slopes).tolist()) for column in rows.T])
    aim = point - (total + strength * (point - problem.start) + tilt) / curvature
    unit = 2.0**-52
    row = float(problem.row_norm)
    length = float(np.linalg.norm(point))
    terms = len(rows) * ((problem.columns + 4) * problem.curved * length + 16 * problem.steep)
    others = (problem.columns + 16) * (curvature * (length + problem.radius) + float(np.linalg.norm(tilt)) + row)
    left = float(np.linalg.norm(point - problem.feasible.project(aim))) * curvature
    return (left * (1 + 1e-9) + unit * (terms + others + float(np.linalg.norm(total)))) / strength
