"""Privacy in the words of economics: how much expected utility can move.

A utility in [0, 1] is a randomized test between two data sets, so its expectations are error rates, and the trade-off
curve of the loss bounds one by the other, sharply. Proofs: docs/theory/games/utility.md.
"""

import math
from fractions import Fraction

from deniable.arguments import in_words
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.balls import ball, certified
from deniable.numbers.interval import NONNEGATIVE, Interval, round_down, round_up
from deniable.numbers.rationals import Real, exact_rational, nonnegative_rational, positive_integer, shown
from deniable.privacy import PrivacyLoss, Relation, Replace


@in_words
def expected_utility(
    loss: PrivacyLoss,
    *,
    usual: Real,
    bounds: tuple[Real, Real | None] = (0, None),
    people: int = 1,
    relation: Relation = Replace,
) -> Interval:
    """Bound anybody's expected utility after `people` have changed their reports.

    The bounds hold in both directions, for every utility with these bounds, and for everybody at once.

    Args:
        loss: of the outcome. One that is proved under add/remove alone is taken for two steps under replace.
        usual: the expected utility before.
        bounds: (lower, upper) of possible utilities; upper is None where it is unknown, which needs epsilon-DP.
        people: number of people who act together.
        relation: Replace for another report, AddRemove for taking part or not.

    Guarantee: with a = (usual - lower) / (upper - lower) and the trade-off curve f, the new one is between f(1 - a) and
        1 - f(a) on the same scale, and some mechanism with this loss attains either. Without an upper bound the
        distance from the lower one changes by a factor in [e^-epsilon, e^epsilon].
    Source: Dwork, Roth (2014), section 2.3.1, for the factor; docs/theory/games/utility.md for the curve.
    Raises: UnprovedError without an upper bound where delta is not 0.

    >>> from deniable.games import expected_utility
    >>> from deniable.privacy import PureLoss
    >>> print(f"{expected_utility(PureLoss(epsilon='0.1'), usual=1000):.1f}")
    [904.8, 1105.2]
    """
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise InvalidParameterError(f"bounds must be (lower, upper), upper a number or None, got {shown(bounds)}")
    lower, upper = bounds
    mean = exact_rational("usual", usual)
    low = exact_rational("the lower bound", lower)
    high = None if upper is None else exact_rational("the upper bound", upper)
    if mean < low or (high is not None and (mean > high or low >= high)):
        raise InvalidParameterError(
            f"usual must be within bounds, the lower one below the upper, got {shown(usual)} and {shown(bounds)}"
        )
    joint = _of(loss, people, relation)
    if high is None:
        return _without_upper(joint, mean, low)
    share = (mean - low) / (high - low)
    curve = joint.tradeoff()
    hits = Fraction(curve.true_positive_rate(min(round_up(share), 1.0)).upper)
    misses = Fraction(curve.false_negative_rate(min(round_up(1 - share), 1.0)).lower)
    return Interval(round_down(low + misses * (high - low)), round_up(low + hits * (high - low)))


@in_words
def gain_bound(loss: PrivacyLoss, *, width: Real, liars: int = 1, relation: Relation = Replace) -> float:
    """Bound the gain of a player's expected utility by lying.

    It holds whatever the others report.

    Args:
        loss: of the outcome. One that is proved under add/remove alone is taken for two steps under replace.
        width: largest minus least utility of the player, in money or in any unit.
        liars: number of players who lie together; the bound is for each one's utility.
        relation: Replace for another report, AddRemove for taking part or not.

    Guarantee: width times the total variation delta(0) between two outcomes, rounded up; attained. For epsilon-DP it is
        tanh(epsilon / 2), below the usual e^epsilon - 1, and tanh(epsilon / 4) for the exponential mechanism.
    Source: McSherry, Talwar (2007), for approximate truthfulness; docs/theory/games/utility.md.

    >>> from deniable.games import gain_bound
    >>> from deniable.privacy import PureLoss
    >>> print(f"{gain_bound(PureLoss(epsilon='0.2'), width=1):.4f}")  # e^0.2 - 1 is 0.2214
    0.0997
    """
    span = nonnegative_rational("width", width)
    return round_up(span * Fraction(_of(loss, liars, relation).delta(0).upper))


def _without_upper(loss: PrivacyLoss, mean: Fraction, low: Fraction) -> Interval:
    """Bound an expected utility of which no upper bound is known."""
    limit = loss.pure_epsilon
    if limit is None:
        raise UnprovedError(
            f"{loss!r} has a delta above 0, so a utility without an upper bound may change by any amount. Give both "
            "bounds."
        )
    growth = certified(lambda: ball(limit).exp(), within=NONNEGATIVE).upper
    if growth == math.inf:  # above 1.8e308
        return Interval(round_down(low), growth if mean > low else round_up(low))
    factor = Fraction(growth)
    return Interval(round_down(low + (mean - low) / factor), round_up(low + (mean - low) * factor))


def _of(loss: PrivacyLoss, people: int, relation: Relation) -> PrivacyLoss:
    """Return the loss of people who change together, under the asked relation."""
    if not isinstance(loss, PrivacyLoss):
        raise InvalidParameterError(f"loss must be a PrivacyLoss, such as PureLoss(epsilon=1), got {shown(loss)}")
    asked = loss.under_replace() if relation is Replace and Replace not in loss.relations else loss
    if Relation.checked(relation) not in asked.relations:
        raise UnprovedError(f"{loss!r} is not proved for {relation}. Take a loss that is: loss.relations lists them")
    return asked.group(positive_integer("people", people))
