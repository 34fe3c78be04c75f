"""What people read of a loss: error rates of attacks, divergences, curves, reports and pictures."""

from fractions import Fraction
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from deniable.numbers.interval import Interval, Intervals, each
from deniable.numbers.rationals import Real, Reals
from deniable.privacy.notions.gaussian_dp import mu_squared_of_pure
from deniable.privacy.pld.accountant import CURVE_TOLERANCE, DEFAULT_TOLERANCE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from deniable.privacy.loss import PrivacyLoss
    from deniable.privacy.notions.loss_variable import LossVariable
    from deniable.privacy.notions.tradeoff import TradeOff
    from deniable.privacy.reports.report import Report


class Readings:
    """What can be asked of every `PrivacyLoss` besides its curve; all of it follows from the loss."""

    @property
    def _itself(self) -> "PrivacyLoss":
        from deniable.privacy.loss import PrivacyLoss

        assert isinstance(self, PrivacyLoss)
        return self

    @property
    def failing_mu_squared(self) -> Fraction | None:
        """A bound on mu^2 for which mu-GDP holds up to the failure; None when none is proved."""
        loss = self._itself
        if not loss.failure:
            return loss.mu_squared
        return None if loss.failing_epsilon is None else mu_squared_of_pure(loss.failing_epsilon)

    @property
    def divergences_are_closed(self) -> bool:
        """Whether Rényi divergences are given by a formula, so that many orders are quick."""
        return False

    def tradeoff(self, *, tolerance: float = CURVE_TOLERANCE) -> "TradeOff":
        """Certified bounds on the best attack: misses against false alarms, beliefs, risk."""
        from deniable.privacy.notions.tradeoff import TradeOff

        return TradeOff(self._itself, tolerance=tolerance)

    def advantage(self, *, tolerance: float = DEFAULT_TOLERANCE) -> Interval:
        """The largest difference between hits and false alarms of an attack: the total variation, delta(0)."""
        return self._itself.delta(0, tolerance=tolerance)

    @overload
    def renyi(self, order: Reals) -> Intervals: ...  # type: ignore[overload-overlap]
    @overload
    def renyi(self, order: Real) -> Interval: ...
    def renyi(self, order: Real | Reals) -> Interval | Intervals:
        """The Rényi divergence of an order, in the worse direction; at math.inf the greatest loss.

        Args:
            order: any number > 0, or a list of them, which gives as many intervals.
        """
        from deniable.privacy.notions.renyi import renyi

        return each(lambda one: renyi(self._itself, one), order)

    def variable(self, *, added: bool = False) -> "LossVariable":
        """The privacy loss as a random variable: tails, moments, quantiles; see `LossVariable`."""
        from deniable.privacy.notions.loss_variable import LossVariable

        return LossVariable(self._itself, added=added)

    def curve(self, *, points: int = 33, tolerance: float = CURVE_TOLERANCE) -> dict[str, NDArray[np.float64]]:
        """The curve as columns `epsilon`, `delta_lower`, `delta_upper`, from 0 to where delta is next to nothing.

        Every frame library reads them: `polars.DataFrame(loss.curve())`.

        Args:
            points: how many values of epsilon, evenly spaced.
            tolerance: as in `delta`.
        """
        from deniable.privacy.reports.plot import profile

        return profile(self._itself, points=points, tolerance=tolerance)

    def report(self, delta: Real, *, population: int | None = None, tolerance: float = DEFAULT_TOLERANCE) -> "Report":
        """What is guaranteed at `delta` and what an attacker can learn, in plain words.

        Args:
            population: number of units in the data, if it is public; the report then says whether delta is small
                against 1/population.
            tolerance: of epsilon, as in `epsilon`.
        """
        from deniable.privacy.reports.report import report

        return report(self._itself, delta, population=population, tolerance=tolerance)

    def plot(self, *, tolerance: float = CURVE_TOLERANCE, points: int = 33, ax: "Axes | None" = None) -> "Axes":
        """Draw delta against epsilon, both bounds; needs the extra `plot`."""
        from deniable.privacy.reports.plot import draw_profile

        return draw_profile(self._itself, tolerance=tolerance, points=points, ax=ax)

    def plot_renyi(self, *, orders: Reals | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw Rényi divergences against their orders, both bounds; needs the extra `plot`."""
        from deniable.privacy.reports.plot import draw_renyi

        return draw_renyi(self._itself, orders=orders, ax=ax)
