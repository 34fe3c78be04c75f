"""Privacy losses as values: stated once by a mechanism, read by everybody."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, final, overload

import numpy as np
from numpy.typing import NDArray

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.interval import Interval, Intervals, each
from deniable.numbers.rationals import Real, Reals, nonnegative_rational, probability, read_json, readable
from deniable.privacy.amplification.sampling.allocation_replace import randomly_allocated
from deniable.privacy.amplification.sampling.capped import CappedPoissonStatement
from deniable.privacy.amplification.sampling.draws import DrawnStatement
from deniable.privacy.amplification.sampling.poisson import poisson_sampled
from deniable.privacy.amplification.sampling.poisson_replace import poisson_replaced
from deniable.privacy.amplification.sampling.subsets import sampled_without_replacement
from deniable.privacy.charge import Charge
from deniable.privacy.composition.booked import BookedStatement
from deniable.privacy.composition.compose import composed
from deniable.privacy.composition.group import group, under_replace
from deniable.privacy.composition.restricted import RestrictedStatement
from deniable.privacy.notions.loss_variable import LossVariable
from deniable.privacy.notions.renyi import renyi
from deniable.privacy.notions.tradeoff import TradeOff
from deniable.privacy.pld.accountant import CURVE_TOLERANCE, DEFAULT_TOLERANCE, checked_tolerance
from deniable.privacy.relation import Relation
from deniable.privacy.reports.plot import draw_profile, draw_renyi, profile
from deniable.privacy.reports.report import Report, report
from deniable.privacy.statement import Stated, Statement, statement_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@final
@dataclass(frozen=True, init=False, repr=False)
class PrivacyLoss:
    """Privacy loss of one mechanism, or of several together, about one unit.

    Constructors such as `GaussianLoss` make it from a statement that is proved of a mechanism. `a + b` is the loss of
    both, `a * 3` that of three runs; all are immutable values that can be compared, printed and written as JSON.

    Args:
        statement: what is proved: a `Statement` (see docs/guide/privacy.md, "Your own loss"), or another loss.

    >>> from deniable.privacy import GaussianLoss
    >>> run = GaussianLoss(noise_multiplier=1).poisson_sampled(rate="0.01") * 1000
    >>> print(f"{run.epsilon(delta='1e-5').upper:.2f}")
    1.83
    """

    statement: Annotated[Statement, statement_of]

    def __init__(self, statement: Stated) -> None:
        read_fields(self, statement=statement)

    def __repr__(self) -> str:
        """Return the call that makes this loss, without defaults."""
        return repr(self.statement)

    # --- the curve -----------------------------------------------------------------------------------------------

    @overload
    def delta(self, epsilon: Reals, *, tolerance: float = ...) -> Intervals: ...  # type: ignore[overload-overlap]
    @overload
    def delta(self, epsilon: Real, *, tolerance: float = ...) -> Interval: ...
    def delta(self, epsilon: Real | Reals, *, tolerance: float = DEFAULT_TOLERANCE) -> Interval | Intervals:
        """Return the smallest delta for which (epsilon, delta)-DP holds.

        Args:
            epsilon: any number >= 0, or a list of them, which gives as many intervals.
            tolerance: width of the answer relative to its upper end, where it has to be computed numerically; where
                upper and lower laws differ it bounds what each numerical answer adds; not promised below 1e-40. By
                default a wish: where it is not met, the answer is what is known, and its `wide` is True.

        Raises: InvalidParameterError if you gave a tolerance and it cannot be reached.

        >>> from deniable.privacy import GaussianLoss
        >>> print(f"{GaussianLoss(noise_multiplier=1).delta(epsilon=1).upper:.4f}")
        0.1269
        """
        width = checked_tolerance(tolerance)
        return each(lambda one: self.statement.delta_at(nonnegative_rational("epsilon", one), width), epsilon)

    @overload
    def epsilon(self, delta: Reals, *, tolerance: float = ...) -> Intervals: ...  # type: ignore[overload-overlap]
    @overload
    def epsilon(self, delta: Real, *, tolerance: float = ...) -> Interval: ...
    def epsilon(self, delta: Real | Reals, *, tolerance: float = DEFAULT_TOLERANCE) -> Interval | Intervals:
        """Return the smallest epsilon for which (epsilon, delta)-DP holds.

        The upper end is infinite where no epsilon is proved.

        Args:
            delta: any number in [0, 1), or a list of them, which gives as many intervals.
            tolerance: width of the answer relative to its upper end, where it has to be computed numerically; an
                epsilon below 0.01 counts as 0.01. By default a wish, as for `delta`.

        Raises: InvalidParameterError if you gave a tolerance and it cannot be reached.

        >>> from deniable.privacy import GaussianLoss
        >>> print(f"{GaussianLoss(noise_multiplier=1).epsilon(delta='1e-6').upper:.2f}")
        4.89
        """
        width = checked_tolerance(tolerance)
        return each(lambda one: self.statement.epsilon_at(probability("delta", one), width), delta)

    def proves(self, epsilon: Real, delta: Real) -> bool:
        """Return whether (epsilon, delta)-DP is proved; may be quicker than `delta`."""
        return self.statement.proves(nonnegative_rational("epsilon", epsilon), probability("delta", delta))

    # --- what else is proved -------------------------------------------------------------------------------------

    @property
    def relations(self) -> frozenset[Relation]:
        """Neighbouring relations for which the loss is proved."""
        return self.statement.relations

    @property
    def failure(self) -> Fraction:
        """Probability set aside: `rho`, `pure_epsilon` and their like hold up to it.

        See `Statement.failure`.
        """
        return readable(self.statement.failure)

    @property
    def infinite_mass(self) -> Fraction:
        """Lower bound on the probability of an infinite loss.

        For a delta below it, epsilon is infinite.
        """
        return readable(self.statement.infinite_mass)

    @property
    def pure_epsilon(self) -> Fraction | None:
        """Epsilon for which epsilon-DP holds, at no delta; None where none is proved."""
        return _readable(self.statement.pure_epsilon)

    @property
    def rho(self) -> Fraction | None:
        """Rho for which rho-zCDP holds; None where none is proved."""
        return _readable(self.statement.rho)

    @property
    def mu_squared(self) -> Fraction | None:
        """Bound on mu^2 for which mu-GDP holds; None where none is proved."""
        return _readable(self.statement.mu_squared)

    @property
    def failing_epsilon(self) -> Fraction | None:
        """Epsilon for which epsilon-DP holds up to `failure`; None where none is proved."""
        return _readable(self.statement.failing_epsilon)

    @property
    def failing_rho(self) -> Fraction | None:
        """Rho for which rho-zCDP holds up to `failure`; None where none is proved."""
        return _readable(self.statement.failing_rho)

    @property
    def failing_mu_squared(self) -> Fraction | None:
        """Bound on mu^2 for which mu-GDP holds up to `failure`; None where none is proved."""
        return _readable(self.statement.failing_mu_squared)

    def charge(self) -> Charge:
        """Return the charge of a ledger for this loss, in every notion that is proved."""
        return self.statement.charge()

    # --- the algebra ---------------------------------------------------------------------------------------------

    def __add__(self, other: object) -> "PrivacyLoss":
        if not isinstance(other, PrivacyLoss):
            return NotImplemented
        return compose([self, other])

    def __radd__(self, other: object) -> "PrivacyLoss":
        """Return this loss for 0 + loss, so that `sum(losses)` works."""
        if isinstance(other, int) and not isinstance(other, bool) and other == 0:
            return self
        return NotImplemented

    def __mul__(self, count: object) -> "PrivacyLoss":
        if isinstance(count, bool) or not isinstance(count, int):
            return NotImplemented
        return compose(self, count)

    __rmul__ = __mul__

    @property
    def composition(self) -> "tuple[tuple[PrivacyLoss, int], ...]":
        """Losses that are composed in this one, with their counts.

        This one once, unless it is a composition.
        """
        return tuple((PrivacyLoss(part), count) for part, count in self.statement.composition)

    def poisson_sampled(self, *, rate: Real, relation: Relation = Relation.ADD_REMOVE) -> "PrivacyLoss":
        """Return the loss of the mechanism on a Poisson sample.

        Each unit joins the sample with probability `rate`, independently.

        Args:
            rate: the sampling probability, in (0, 1].
            relation: what the result is to hold for; the loss itself is stated for add/remove in either case.

        Raises: UnprovedError unless the loss holds under add/remove; for replace it must have a pair of laws.

        >>> from deniable.privacy import PureLoss
        >>> print(f"{PureLoss(1).poisson_sampled(rate='0.01').epsilon(0).upper:.4f}")
        0.0170
        """
        sample = poisson_sampled if Relation.checked(relation) is Relation.ADD_REMOVE else poisson_replaced
        return PrivacyLoss(sample(self.statement, rate))

    def capped_poisson_sampled(
        self, *, rate: Real, cap: int, population: int, relation: Relation = Relation.ADD_REMOVE
    ) -> "PrivacyLoss":
        """Return the loss on a Poisson sample that is cut to a largest size.

        Args:
            rate: the sampling probability, in (0, 1).
            cap: the largest sample size; if more units are sampled, a random `cap` of them are kept.
            population: the largest number of units in the data, public.
            relation: what the result is to hold for.
        """
        return PrivacyLoss(CappedPoissonStatement(self, rate, cap, population, relation))

    def sampled_without_replacement(self, *, size: int, population: int) -> "PrivacyLoss":
        """Return the loss, under replace, on a uniformly random set of units.

        Args:
            size: the sample size.
            population: the number of units, public.
        """
        return PrivacyLoss(sampled_without_replacement(self.statement, size, population))

    def sampled_with_replacement(self, *, draws: int, population: int) -> "PrivacyLoss":
        """Return the loss, under replace, on units drawn with replacement.

        Args:
            draws: the number of draws.
            population: the number of units, public.
        """
        return PrivacyLoss(DrawnStatement(self, draws, population))

    def randomly_allocated(self, *, of: int, uses: int = 1, relation: Relation = Relation.ADD_REMOVE) -> "PrivacyLoss":
        """Return the loss of many runs, where each unit takes part in a few at random.

        Args:
            of: the number of runs.
            uses: the number of equal blocks of runs; each unit takes part in one run of each block, at random.
            relation: what the result is to hold for.
        """
        return PrivacyLoss(randomly_allocated(self.statement, of, uses, relation))

    def group(self, size: int, *, one_direction: bool = False) -> "PrivacyLoss":
        """Return the loss of the mechanism for several units together, such as a family.

        Args:
            size: how many units.
            one_direction: all units are added or all are removed; by default some may be added and others removed.

        >>> from deniable.privacy import PureLoss
        >>> print(PureLoss("0.5").group(3).epsilon(0).upper)
        1.5
        """
        return PrivacyLoss(group(self.statement, size, one_direction=one_direction))

    def under_replace(self) -> "PrivacyLoss":
        """Return the loss under replace of one that is stated under add/remove.

        A unit is removed and another one added. A loss that holds for either relation, such as `PureLoss(1)`, is what
        was measured under add/remove here, and counts twice; one that is stated for replace alone is returned as it is.
        So a bound that was proved for replace already needs no call of this method, and a second call changes nothing.

        A loss that holds for either relation, such as `PureLoss(1)`, is what was measured under add/remove here, and
        counts twice; one that is stated for replace alone is returned as it is. So a bound that was proved for replace
        already needs no call of this method, and a second call changes nothing.

        Guarantee: for groups of two, so (2 epsilon, (1 + e^epsilon) delta) for (epsilon, delta). The converse does not
            hold: replace says nothing about add/remove.
        Source: docs/theory/privacy/group.md.

        >>> from deniable.privacy import PureLoss
        >>> print(PureLoss(1).under_replace().epsilon(0).upper)
        2.0
        """
        return PrivacyLoss(under_replace(self.statement))

    def under(self, relation: Relation) -> "PrivacyLoss":
        """Return this loss, stated for one relation alone: that of its sensitivity.

        A curve such as that of the exponential mechanism holds for either relation, with the sensitivity under that
        relation. A mechanism that computed it from a sensitivity under add/remove has proved nothing under replace.
        Nothing is converted here: for the cost of an exchange, where add/remove is what was proved, see
        `under_replace`.

        Args:
            relation: AddRemove or Replace.

        Raises: UnprovedError if the loss is not proved for this relation.

        >>> from deniable.privacy import ExponentialMechanismLoss, Replace
        >>> ExponentialMechanismLoss(1).under(Replace).relations == {Replace}
        True
        """
        return PrivacyLoss(RestrictedStatement(self, relation))

    def stated(self, *, epsilon: Real, delta: Real) -> "PrivacyLoss":
        """Return this loss, charged at an (epsilon, delta) that its own curve proves.

        That is for budgets of such pairs. A mechanism that was asked for at epsilon = 0.1 and calibrated to it is then
        charged 1/10, and not a float beside it. The curve, rho and everything else remain.

        Args:
            epsilon: at least 0.
            delta: a probability.

        Raises: InvalidParameterError unless the pair is proved.
        """
        return PrivacyLoss(BookedStatement(self, epsilon, delta))

    # --- what people read of it ------------------------------------------------------------------------------------

    def tradeoff(self, *, tolerance: float = CURVE_TOLERANCE) -> TradeOff:
        """Return certified bounds on the best attack: error rates, beliefs, risk."""
        return TradeOff(self, tolerance=tolerance)

    def advantage(self, *, tolerance: float = DEFAULT_TOLERANCE) -> Interval:
        """Return the largest true positive rate less the false positive rate of an attack.

        It is the total variation, delta(0).
        """
        return self.delta(0, tolerance=tolerance)

    @overload
    def renyi(self, order: Reals) -> Intervals: ...  # type: ignore[overload-overlap]
    @overload
    def renyi(self, order: Real) -> Interval: ...
    def renyi(self, order: Real | Reals) -> Interval | Intervals:
        """Return the Rényi divergence of an order, in the worse direction.

        At math.inf it is the greatest loss.

        Args:
            order: any number > 0, or a list of them, which gives as many intervals.
        """
        return each(lambda one: renyi(self.statement, one), order)

    def variable(self, *, added: bool = False) -> LossVariable:
        """Return the privacy loss as a random variable: tails, moments, quantiles.

        See `LossVariable`.
        """
        return LossVariable(self, added=added)

    def curve(self, *, points: int = 33, tolerance: float = CURVE_TOLERANCE) -> dict[str, NDArray[np.float64]]:
        """Return the curve as columns `epsilon`, `delta_lower`, `delta_upper`.

        It runs from 0 to where delta is next to nothing. Every frame library reads the columns:
        `polars.DataFrame(loss.curve())`.

        Every frame library reads them: `polars.DataFrame(loss.curve())`.

        Args:
            points: how many values of epsilon, evenly spaced.
            tolerance: as in `delta`.
        """
        return profile(self, points=points, tolerance=tolerance)

    def report(self, delta: Real, *, population: int | None = None, tolerance: float = DEFAULT_TOLERANCE) -> Report:
        """Return a report in plain words: the guarantee, and what an attacker can learn.

        Args:
            delta: the delta of the guarantee.
            population: number of units in the data, if it is public; the report then says whether delta is small
                against 1/population.
            tolerance: of epsilon, as in `epsilon`.
        """
        return report(self, delta, population=population, tolerance=tolerance)

    def plot(self, *, tolerance: float = CURVE_TOLERANCE, points: int = 33, ax: "Axes | None" = None) -> "Axes":
        """Draw delta against epsilon, both bounds; needs the extra `plot`."""
        return draw_profile(self, tolerance=tolerance, points=points, ax=ax)

    def plot_renyi(self, *, orders: Reals | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw Rényi divergences against their orders; needs the extra `plot`."""
        return draw_renyi(self, orders=orders, ax=ax)

    # --- serialisation -------------------------------------------------------------------------------------------

    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON: the kind and the fields, rationals as text."""
        return self.statement.to_data()

    @staticmethod
    def from_data(data: object) -> "PrivacyLoss":
        """Return the loss that `to_data` wrote; all checks run again."""
        return PrivacyLoss(Statement.from_data(data))

    def to_json(self) -> str:
        """Return canonical JSON text: equal losses have equal text."""
        return self.statement.to_json()

    @staticmethod
    def from_json(text: str) -> "PrivacyLoss":
        """Return the loss that `to_json` wrote."""
        return PrivacyLoss.from_data(read_json(text, "a loss"))


def compose(losses: PrivacyLoss | Iterable[PrivacyLoss], count: int = 1) -> PrivacyLoss:
    """Return the loss of everything in `losses`, `count` times over.

    A single part is returned as itself. `compose(loss, 3) == compose([loss, loss, loss])`. The empty composition is
    `compose([])`, which reveals nothing.

    Args:
        losses: a loss, or several.
        count: the number of runs, at least 0.

    >>> from deniable.privacy import PureLoss
    >>> print(compose([PureLoss("1/2"), PureLoss("1/4")]).epsilon(0).upper)
    0.75
    """
    if not isinstance(losses, PrivacyLoss | Iterable):
        raise InvalidParameterError(f"losses must be a privacy loss or a list of them, got {losses!r}")
    return PrivacyLoss(composed([losses] if isinstance(losses, PrivacyLoss) else losses, count))


def _readable(number: Fraction | None) -> Fraction | None:
    """Return a bound in the class that prints as people type it; None stays None."""
    return None if number is None else readable(number)
