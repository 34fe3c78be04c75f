"""A loss as a picture: its profile and its trade-off curve, each with both bounds; needs matplotlib."""

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from deniable.errors import InvalidParameterError, MissingExtraError
from deniable.privacy.loss import PrivacyLoss

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from deniable.privacy.currencies.tradeoff import TradeOff

_LINE, _BAND = "#225588", "#88aacc"
_FLOORS = tuple(Fraction(1, 10**digits) for digits in (10, 5, 2, 1))  # smallest delta shown: the first within reach


def draw_profile(loss: PrivacyLoss, *, tolerance: float, points: int, ax: "Axes | None") -> "Axes":
    """delta against epsilon, from epsilon = 0 to where delta is 1e-10 or as small as it becomes.

    Guarantee: every pair on and above the line is proved: between the points delta is convex in exp(epsilon), and the
        line follows its chords. The marks below are proved lower bounds.

    Args:
        tolerance: relative distance of line and marks, where it is computed.
        points: how many values of epsilon.

    Raises: MissingExtraError if matplotlib is not installed.
    """
    axes = _axes(ax)
    epsilons = np.linspace(0.0, _farthest(loss, tolerance), points)
    found = [loss.delta(Fraction(float(epsilon)), tolerance=tolerance) for epsilon in epsilons]
    upper = np.array([value.upper for value in found])
    lower = np.array([value.lower for value in found])
    fine = np.linspace(epsilons[0], epsilons[-1], 8 * points)
    chords = np.interp(np.exp(fine - epsilons[-1]), np.exp(epsilons - epsilons[-1]), upper)
    axes.plot(fine, chords, color=_LINE, label="proved upper bound")
    axes.plot(epsilons, lower, color=_BAND, linestyle="", marker=".", label="proved lower bounds")
    positive = upper[upper > 0]
    if positive.size and positive.min() < 0.1:
        axes.set_yscale("log")
        axes.set_ylim(bottom=max(float(positive.min()) / 2, 1e-12))
    axes.set_xlabel("epsilon")
    axes.set_ylabel("delta")
    axes.set_title("(epsilon, delta) pairs on and above the line are proved")
    axes.legend()
    return axes


def draw_tradeoff(tradeoff: "TradeOff", *, points: int, ax: "Axes | None") -> "Axes":
    """Share of misses against share of false alarms of the best attack, between both bounds."""
    axes = _axes(ax)
    alarms = np.linspace(0.0, 1.0, points + 2)[1:-1]
    found = tradeoff.false_negative_rates(alarms)
    axes.fill_between(alarms, found.lower, found.upper, color=_BAND, label="between the bounds")
    axes.plot(alarms, found.lower, color=_LINE, label="no attack is below")
    axes.plot([0, 1], [1, 0], color="#999999", linestyle=":", label="guessing")
    axes.set_xlabel("false alarms")
    axes.set_ylabel("misses")
    axes.set_title("Error rates of the best attack")
    axes.legend()
    return axes


def _farthest(loss: PrivacyLoss, tolerance: float) -> float:
    """An epsilon at which delta is small."""
    for delta in _FLOORS:
        try:
            epsilon = loss.epsilon(delta, tolerance=tolerance).upper
        except InvalidParameterError:
            continue
        if math.isfinite(epsilon):
            return max(epsilon, 1e-3)
    return 10.0


def _axes(ax: "Axes | None") -> "Axes":
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError("plot() needs matplotlib. Install it: pip install 'deniable[plot]'") from error
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    return ax
