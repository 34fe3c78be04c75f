"""Plots of a loss: privacy profile and trade-off curve, each with both bounds.

They need matplotlib, the extra `plot`.
"""

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError, MissingExtraError
from deniable.numbers.rationals import Reals, exact_rational, positive_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from deniable.privacy.loss import PrivacyLoss
    from deniable.privacy.notions.loss_variable import LossVariable
    from deniable.privacy.notions.tradeoff import TradeOff

_LINE, _BAND = "#225588", "#88aacc"
_LAST_DELTAS = tuple(Fraction(1, 10**digits) for digits in (10, 5, 2, 1))  # the plot ends at the first with an epsilon


def draw_profile(loss: "PrivacyLoss", *, tolerance: float, points: int, ax: "Axes | None") -> "Axes":
    """Draw delta against epsilon, up to where delta is 1e-10 or falls no more.

    Guarantee: every pair on and above the line is proved: between the points delta is convex in exp(epsilon), and the
        line follows its chords. The marks below are proved lower bounds.

    Args:
        loss: the loss.
        tolerance: relative distance of line and marks, where it is computed.
        points: number of values of epsilon, evenly spaced from 0.
        ax: the axes to draw on; None for a new figure.

    Raises: MissingExtraError if matplotlib is not installed.
    """
    axes = axes_for(ax)
    epsilons, lower, upper = profile(loss, tolerance=tolerance, points=points).values()
    fine = np.linspace(epsilons[0], epsilons[-1], 8 * points)
    chords = np.interp(np.exp(fine - epsilons[-1]), np.exp(epsilons - epsilons[-1]), upper)
    axes.plot(fine, chords, color=_LINE, label="proved upper bound")
    axes.plot(epsilons, lower, color=_BAND, linestyle="", marker=".", label="proved lower bounds")
    positive = upper[upper > 0]
    if positive.size and positive.min() < 0.1:
        axes.set_yscale("log")
        axes.set_ylim(bottom=max(float(positive.min()) / 2, 1e-12))
    return _labelled(axes, "epsilon", "delta", "(epsilon, delta) pairs on and above the line are proved")


def profile(loss: "PrivacyLoss", *, tolerance: float, points: int) -> dict[str, NDArray[np.float64]]:
    """Return the columns epsilon, delta_lower and delta_upper; shape (points,) each."""
    epsilons = np.linspace(0.0, _last_epsilon(loss, tolerance), positive_integer("points", points))
    deltas = loss.delta([Fraction(float(epsilon)) for epsilon in epsilons], tolerance=tolerance)
    return {"epsilon": epsilons, "delta_lower": deltas.lower, "delta_upper": deltas.upper}


def draw_renyi(loss: "PrivacyLoss", *, orders: Reals | None, ax: "Axes | None") -> "Axes":
    """Draw Rényi divergences against their orders, on logarithmic axes.

    By default orders run from 1/8 to 64.
    """
    axes = axes_for(ax)
    chosen: Reals = [Fraction(2) ** (step - 3) for step in range(10)] if orders is None else orders
    divergences = loss.renyi(chosen)
    order_values = [float(exact_rational("order", order)) for order in chosen]
    axes.fill_between(order_values, divergences.lower, divergences.upper, color=_BAND, label="between the bounds")
    axes.plot(order_values, divergences.upper, color=_LINE, marker=".", label="proved upper bounds")
    axes.set_xscale("log")
    if np.all(divergences.lower > 0):
        axes.set_yscale("log")
    return _labelled(axes, "order", "Rényi divergence", "Rényi divergence, in the worse direction")


def draw_variable(variable: "LossVariable", *, points: int, ax: "Axes | None") -> "Axes":
    """Draw P(L > l) and, for l >= 0, delta(l), up to where both are small."""
    axes = axes_for(ax)
    low, high = (float(end) for end in variable.quantiles([1e-4, 1 - 1e-4]))
    high = min(high, 50.0)
    losses = np.linspace(low - 0.05 * (high - low), high + 0.05 * (high - low) + 1e-9, points)
    tails = [variable.above(float(loss)).upper for loss in losses]
    axes.plot(losses, tails, color=_LINE, label="P(L > l)")
    positive = losses[losses >= 0]
    axes.plot(
        positive,
        [variable.loss.delta_at(Fraction(float(loss))).upper for loss in positive],
        color=_BAND,
        label="delta(l)",
    )
    return _labelled(axes, "l", "probability", "Tail of the privacy loss, and delta below it")


def draw_tradeoff(tradeoff: "TradeOff", *, points: int, ax: "Axes | None") -> "Axes":
    """Draw false negatives against false positives of the best attack, both bounds."""
    axes = axes_for(ax)
    alarms = np.linspace(0.0, 1.0, points + 2)[1:-1]
    misses = tradeoff.false_negative_rates(alarms)
    axes.fill_between(alarms, misses.lower, misses.upper, color=_BAND, label="between the bounds")
    axes.plot(alarms, misses.lower, color=_LINE, label="no attack is below")
    axes.plot([0, 1], [1, 0], color="#999999", linestyle=":", label="guessing")
    return _labelled(axes, "false alarms", "misses", "Error rates of the best attack")


def _last_epsilon(loss: "PrivacyLoss", tolerance: float) -> float:
    """Return an epsilon at which delta is small."""
    for delta in _LAST_DELTAS:
        try:
            epsilon = loss.epsilon(delta, tolerance=tolerance).upper
        except InvalidParameterError:
            continue
        if math.isfinite(epsilon):
            return max(epsilon, 1e-3)
    return 10.0


def _labelled(axes: "Axes", x: str, y: str, title: str) -> "Axes":
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title)
    axes.legend()
    return axes


def axes_for(ax: "Axes | None") -> "Axes":
    """Return these axes, or new ones.

    Raises: MissingExtraError if matplotlib is not installed.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError.of("plot", "plot() needs matplotlib") from error
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    return ax
