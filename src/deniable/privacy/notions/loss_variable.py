"""Privacy loss as a random variable: its tails, moments and quantiles.

A pair of laws (P, Q) gives an outcome y the loss L(y) = ln(P(y)/Q(y)), and the variable is L(Y) for Y drawn from P.
Proofs: docs/theory/privacy/notions.md, "The loss as a random variable".

A pair of laws (P, Q) gives an outcome y the loss L(y) = ln(P(y)/Q(y)), and the variable is L(Y) for Y drawn from P.
Proofs: docs/theory/privacy/notions.md, "The loss as a random variable".
"""

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.arrays import Floats
from deniable.numbers.balls import ball, certified
from deniable.numbers.interval import INFINITE, NONNEGATIVE, PROBABILITIES, REAL, Interval, round_down, round_up
from deniable.numbers.rationals import Real, exact_rational, positive_integer, probability
from deniable.privacy.notions.conversion import mean_concentrated_of_concentrated
from deniable.privacy.notions.renyi import directed
from deniable.privacy.notions.renyi_integral import law_divergence, law_divergence_below_one
from deniable.privacy.pld.law import UNIT
from deniable.privacy.reports.plot import draw_variable
from deniable.privacy.statement import Stated, statement_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_GRID_POINTS = 2**16  # of an integral over a tail
_MAX_LOSS = 600.0  # which floats can exponentiate
_UNDERFLOW = 1e-300  # more than a probability that underflows to 0


def outcome_loss(p: Real, q: Real) -> Interval:
    """Return the privacy loss ln(p/q) of one outcome.

    Infinite where q = 0 < p: the outcome proves that the unit is there; minus infinite where p = 0 < q.

    Args:
        p: probability, or density, of the outcome with the unit.
        q: probability, or density, of the outcome without the unit.

    Raises: InvalidParameterError if one is negative or both are 0, an outcome that never comes.

    >>> print(f"{outcome_loss('3/4', '1/4'):.4f}")
    [1.0986, 1.0987]
    """
    with_unit, without = exact_rational("p", p), exact_rational("q", q)
    if with_unit < 0 or without < 0 or with_unit == without == 0:
        raise InvalidParameterError(f"p and q must be >= 0 and not both 0, got p={p!r}, q={q!r}")
    if without == 0 or with_unit == 0:
        infinite = math.inf if without == 0 else -math.inf
        return Interval(infinite, infinite)
    return certified(lambda: ball(with_unit / without).log(), within=REAL)


class LossVariable:
    """Privacy loss random variable of the worst pair of neighbours: `loss.variable()`.

    Args:
        loss: one mechanism, known by a pair of laws.
        added: take the release without the unit as P, and the one with it as Q; the other way round by default.

    Guarantee: every number holds for the pair of laws that dominates the mechanism, which bounds delta and every Rényi
        divergence of all other pairs. Their tails may be larger where outcomes are merged: `TradeOff.loss_above` bounds
        those too.
    Raises: UnprovedError for a composition, or for a loss that is known by bounds alone.
    Source: Dwork, Rothblum, Vadhan (2010); Dwork, Roth (2014), section 3.5.

    >>> from deniable.privacy import GaussianLoss
    >>> loss = GaussianLoss(noise_multiplier=1).variable()        # normal, of mean 1/2 and variance 1
    >>> print(f"{loss.mean():.3f} {loss.above(2):.4f}")
    0.500 [0.0668, 0.0669]
    """

    def __init__(self, loss: Stated, *, added: bool = False) -> None:
        self.loss = statement_of("loss", loss)
        self.added = added
        pairs = self.loss.laws()
        if pairs is None:
            raise UnprovedError(
                f"{loss!r} has no single pair of laws. The loss of a composition is the sum of the losses of its "
                "parts: take variable() of each; means, variances and logarithms of `moment_generating` add."
            )
        self._law = pairs.upper[1 if added else 0]

    def __repr__(self) -> str:
        return f"LossVariable({self.loss!r}{', added=True' if self.added else ''})"

    # --- tails ---------------------------------------------------------------------------------------------------

    def above(self, epsilon: Real) -> Interval:
        """Return P(L > epsilon), infinite losses included, for any number `epsilon`.

        If it is at most delta in both directions, (epsilon, delta)-DP holds; the converse is false (`suffices`).
        """
        number = exact_rational("epsilon", epsilon)
        ends = []
        for side in (-1, 1):
            at = np.array([float(number)])
            moved = np.nextafter(at - side * self._law.slack(float(np.abs(at[0]))), -side * np.inf)
            tails = self._law.above(moved)
            ends.append(float(tails.p[0]) * (1 + side * (float(tails.error[0]) + 4 * UNIT)))
            ends[-1] += self._law.infinite * (1 + side * 4 * UNIT)
        if moved[0] < self._law.highest:
            ends[1] += _UNDERFLOW  # probabilities may have underflowed
        return Interval(min(max(ends[0], 0.0), 1.0), min(max(ends[1], 0.0), 1.0))

    def suffices(self, epsilon: Real, delta: Real) -> bool:
        """Return whether P(L > epsilon) <= delta is certain in both directions.

        That proves (epsilon, delta)-DP.

        Guarantee: P(S) <= P(S and L <= epsilon) + P(L > epsilon) <= e^epsilon Q(S) + delta. It is sufficient and not
            necessary: delta(epsilon) is smaller than the tail.
        """
        allowed = probability("delta", delta)
        both = (self, LossVariable(self.loss, added=not self.added))
        return all(Fraction(one.above(epsilon).upper) <= allowed for one in both)

    # --- moments -------------------------------------------------------------------------------------------------

    def mean(self) -> Interval:
        """Return E[L], the Kullback-Leibler divergence of P from Q."""
        return self._divergence(Fraction(1))

    def variance(self) -> Interval:
        """Return E[L^2] - E[L]^2, to a relative width of about 1e-3."""
        mean = self.mean()
        square = self.moment(2)
        if math.isinf(square.upper):
            return NONNEGATIVE
        low = Fraction(square.lower) - Fraction(mean.upper) ** 2
        return Interval(max(round_down(low), 0.0), round_up(Fraction(square.upper) - Fraction(mean.lower) ** 2))

    def moment(self, power: int) -> Interval:
        """Return E[L^power] for a whole power >= 1; infinite where the loss may be.

        Guarantee: the integrals of power l^(power - 1) over P(L > l) and P(L < -l), both of which decrease, so that the
            sums over a grid at either end of its cells bound them.
        """
        count = positive_integer("power", power)
        if self._law.infinite > 0:
            return INFINITE
        positive = self._tail_moment(count, below=False)
        negative = self._tail_moment(count, below=True)
        if count % 2:
            return Interval(
                np.nextafter(positive.lower - negative.upper, -np.inf),
                np.nextafter(positive.upper - negative.lower, np.inf),
            )
        return Interval(
            np.nextafter(positive.lower + negative.lower, 0.0), np.nextafter(positive.upper + negative.upper, np.inf)
        )

    def moment_generating(self, exponent: Real) -> Interval:
        """Return E[exp(exponent L)], the moment generating function.

        It is exp(s D) with D the Rényi divergence of order 1 + s, of the exchanged pair below -1.
        """
        s = exact_rational("exponent", exponent)
        if s in (0, -1):
            mass = 1.0 if s == 0 else 1 - self._law.vanishing
            return Interval(mass if s == 0 else max(mass - 4 * UNIT, 0.0), 1.0)
        if s > -1:
            divergence = self._divergence(1 + s)
            rate = s
        else:
            divergence = directed(self.loss, -s)[0 if self.added else 1]
            rate = -s - 1
        ends = sorted([divergence.lower, divergence.upper], reverse=rate < 0)
        return Interval(_exp(rate, ends[0]).lower, _exp(rate, ends[1]).upper)

    def sub_gaussian(self) -> Interval:
        """Return the least tau with E[exp(s (L - E[L]))] <= exp(s^2 tau^2/2) for every s.

        The mechanism is then (mu, tau)-CDP, and mu is `mean()`. The lower end is the standard deviation, which tau is
        never below.

        mu is `mean()`. The lower end is the standard deviation, which tau is never below.

        Guarantee: tau is exact for normal losses, at most half the range of a bounded loss (Hoeffding's lemma), and
            follows from rho-zCDP (`mean_concentrated_of_concentrated`).
        Source: Dwork, Rothblum (2016), arXiv:1603.01887.
        """
        if self._law.infinite > 0:
            return INFINITE
        if self.loss.normal_mu_squared is not None:
            mu = self.loss.normal_mu_squared
            return certified(lambda: ball(mu).sqrt(), within=NONNEGATIVE)
        ends = [math.inf]
        if math.isfinite(self._law.highest - self._law.lowest):
            ends.append((self._law.highest - self._law.lowest) / 2 * (1 + 16 * UNIT))
        if self.loss.rho is not None:
            ends.append(mean_concentrated_of_concentrated(self.loss.rho)[1])
        upper = min(ends)
        return Interval(min(math.sqrt(self.variance().lower) * (1 - 4 * UNIT), upper), upper)

    # --- simulation and pictures -----------------------------------------------------------------------------------

    def quantiles(self, probabilities: ArrayLike) -> Floats:
        """Return the least loss l with P(L <= l) >= each probability, to about 9 digits.

        It is infinite where the loss is. Independent uniform numbers give independent draws of L, to simulate public
        models: `variable.quantiles(deniable.noise.simulation.uniforms((1000,), bits=bits))`.

        Returns: losses of the shape of `probabilities`.
        """
        shares = np.asarray(probabilities, dtype=np.float64)
        if not np.all((shares > 0) & (shares < 1)):
            raise InvalidParameterError("probabilities must be numbers in (0, 1)")
        low = np.full(shares.size, max(self._law.lowest - 1e-9, -_MAX_LOSS))
        high = np.full(shares.size, min(self._law.highest, _MAX_LOSS))
        for _ in range(60):
            middle = (low + high) / 2
            reached = self._law.below(middle).p >= shares.ravel()
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        certain = self._law.below(high).p >= shares.ravel() * (1 - 1e-12)
        losses: Floats = np.where(certain, high, np.inf if self._law.infinite > 0 else high).reshape(shares.shape)
        return losses

    def plot(self, *, points: int = 129, ax: "Axes | None" = None) -> "Axes":
        """Draw P(L > l) and delta(l) against l; needs the extra `plot`."""
        return draw_variable(self, points=points, ax=ax)

    # --- below -----------------------------------------------------------------------------------------------------

    def _divergence(self, order: Fraction) -> Interval:
        """Return the divergence of this pair if its loss is bounded.

        Otherwise that of the mechanism, whose closed forms are sharper.
        """
        if math.isfinite(self._law.highest) and self._law.infinite == 0:
            return law_divergence(self._law, order) if order >= 1 else law_divergence_below_one(self._law, order)
        return directed(self.loss, order)[1 if self.added else 0]

    def _tail_moment(self, power: int, *, below: bool) -> Interval:
        """Return the integral of power l^(power - 1) P(L > l), or P(L < -l), for l > 0."""
        furthest = -self._law.lowest if below else self._law.highest
        if furthest <= 0:
            return Interval(0.0, 0.0)
        bounded = math.isfinite(furthest) and furthest <= _MAX_LOSS
        end = furthest * (1 + 4 * UNIT) if bounded else self._tail_end(below)
        grid: Floats = np.concatenate([[0.0], np.geomspace(end * 1e-6, end, _GRID_POINTS)])
        cells = np.diff(grid**power)
        slack = self._law.slack(end)
        tails = self._law.below(slack - grid) if below else self._law.above(grid - slack)
        upper = np.minimum(tails.p * (1 + tails.error), 1.0)
        tails = self._law.below(np.nextafter(-slack - grid, -np.inf)) if below else self._law.above(grid + slack)
        lower = tails.p * (1 - tails.error)
        upper = np.maximum(upper, _UNDERFLOW)
        room = 1e-9  # more than the rounding of cells and sums, which is several thousand roundings
        top = float(np.sum(cells * upper[:-1])) * (1 + room) + (0.0 if bounded else self._beyond(power, end, below))
        return Interval(max(float(np.sum(cells * lower[1:])) * (1 - room), 0.0), top)

    def _tail_end(self, below: bool) -> float:
        """Return a loss beyond which little of a tail is left."""
        if below:
            return 60.0
        return min(45.0 + self._divergence(Fraction(2)).upper, _MAX_LOSS)

    def _beyond(self, power: int, end: float, below: bool) -> float:
        """Return a bound on the integral beyond `end`, by Markov's inequality.

        P(L > l) <= E[e^L] e^-l, and P(L < -l) <= e^-l always. The integral of power l^(power - 1) e^-l is e^-end times
        a sum of power!/j! end^j over j < power.

        The integral of power l^(power - 1) e^-l is e^-end times a sum of power!/j! end^j over j < power.
        """
        grown = 0.0 if below else self._divergence(Fraction(2)).upper
        if grown == math.inf:
            return math.inf
        whole = math.fsum(math.factorial(power) / math.factorial(j) * end**j for j in range(power))
        return math.exp(min(grown - end, 700.0)) * whole * (1 + 1e-9)


def _exp(rate: Fraction, divergence: float) -> Interval:
    """Return exp(rate divergence), certified."""
    if math.isinf(divergence):
        return INFINITE if rate > 0 else PROBABILITIES
    return certified(lambda: ball(rate * Fraction(divergence)).exp(), within=NONNEGATIVE)
