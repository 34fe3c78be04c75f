"""Laws from points of a curve, where a bound is a formula for delta, not a pair."""

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.privacy.pld.law import UNIT, FiniteLaw


def law_of_points(losses: Floats, heights: Floats) -> FiniteLaw:
    """Return the positive losses of a pair whose curve is above these points.

    It is at least the curve of every pair with delta <= heights at the losses. The curve of a pair is convex in
    exp(epsilon), so it lies below the chords between points, and below the greatest convex function that lies below the
    points. That function is a polygon: the curve of the law returned. Rounding is made up for afterwards: the curve is
    computed again from the masses, and these are raised until it lies above.

    The curve of a pair is convex in exp(epsilon), so it lies below the chords between points, and below the greatest
    convex function that lies below the points. That function is a polygon: the curve of the law returned. Rounding is
    made up for afterwards: the curve is computed again from the masses, and these are raised until it lies above.

    Args:
        losses: rising from 0.
        heights: upper bounds on delta, falling. What is left at the last loss counts as an infinite loss.
    """
    from scipy.optimize import isotonic_regression

    exp_losses = np.exp(losses)
    gaps = exp_losses[:-1] * np.expm1(np.diff(losses))
    corners = isotonic_regression(np.diff(heights) / gaps, weights=gaps).blocks
    hull = np.minimum(np.interp(exp_losses, exp_losses[corners], heights[corners]), heights)
    slopes = np.append(np.maximum.accumulate(np.diff(hull) / gaps), 0.0)
    q = np.append(0.0, np.maximum(np.diff(slopes), 0.0))  # at the first loss the polygon begins
    infinite = float(heights[-1])
    beyond = _beyond(q)
    curve = infinite + _beyond(beyond * np.append(gaps, 0.0), inclusive=True)
    short = hull[:-1] > curve[:-1]
    raised = float((hull[:-1][short] / curve[:-1][short]).max(initial=1.0)) * (1 + 64 * UNIT)
    q = q[1:] * raised
    return FiniteLaw(
        losses[1:],
        q * exp_losses[1:],
        q,
        infinite=infinite * raised,
        vanishing=0.0,
        roundings=8 + float(losses[-1]),
    )


def _beyond(masses: Floats, *, inclusive: bool = False) -> Floats:
    """Return the sums of all later masses; with their own, if inclusive."""
    sums = np.cumsum(masses[::-1])[::-1]
    return np.asarray(sums if inclusive else np.append(sums[1:], 0.0))
