"""Classic composition theorems, for comparison; `Composed` is never above them.

Each function returns an epsilon, rounded up, for a slack delta'; the total delta is that of `total_delta`. The
parameters must be fixed in advance; for others see `filters`. Proofs: docs/theory/privacy/notions.md.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE, REAL, round_up
from deniable.numbers.rationals import Real, nonnegative_rational, positive_integer, probability


def basic_epsilon(epsilons: Iterable[object]) -> float:
    """Return the sum of the epsilons, with no slack.

    Source: Dwork, McSherry, Nissim, Smith (2006).
    """
    return round_up(sum(_checked(epsilons), Fraction(0)))


def advanced_epsilon(epsilon: Real, *, count: int, slack: Real) -> float:
    """Return epsilon by advanced composition of equal runs.

    It is epsilon sqrt(2 count ln(1/slack)) + count epsilon (e^epsilon - 1).

    Source: Dwork, Rothblum, Vadhan (2010); Dwork, Roth (2014), Theorem 3.20.
    """
    x = nonnegative_rational("epsilon", epsilon)
    runs = positive_integer("count", count)
    share = _slack(slack)
    return drifted([(x, runs)], share, classic_drift)


def advanced_epsilon_short(epsilon: Real, *, count: int, slack: Real) -> float:
    """Return epsilon sqrt(8 count ln(1/slack)), where it is valid.

    Raises: UnprovedError unless count epsilon (e^epsilon - 1) is at most epsilon sqrt(2 count ln(1/slack)).
    Source: Dwork, Roth (2014), Corollary 3.21.
    """
    x = nonnegative_rational("epsilon", epsilon)
    runs = positive_integer("count", count)
    share = _slack(slack)
    room = certified(lambda: _deviation(runs * x**2, share) - runs * ball(x) * ball(x).expm1(), within=REAL)
    if room.lower < 0:
        raise UnprovedError(
            "epsilon sqrt(8 count ln(1/slack)) is proved where count epsilon (e^epsilon - 1) is at most half of it; "
            f"got epsilon={epsilon}, count={count}, slack={slack}. Use tanh_epsilon, or compose the losses themselves."
        )
    return _rounded(lambda: 2 * _deviation(runs * x**2, share))


def tanh_epsilon(epsilons: Iterable[object], *, slack: Real) -> float:
    """Return epsilon by composition with the greatest mean loss, and a deviation.

    It is sum epsilon_i tanh(epsilon_i/2) + sqrt(2 ln(1/slack) sum epsilon_i^2).

    Source: Kairouz, Oh, Viswanath (2015), arXiv:1311.0776, Theorems 3.4 and 3.5.
    """
    limits, share = _checked(epsilons), _slack(slack)
    return drifted([(limit, limits.count(limit)) for limit in set(limits)], share, tanh_drift)


def total_delta(deltas: Iterable[object], *, slack: Real) -> float:
    """Return the delta that goes with the epsilons here, rounded up.

    It is 1 - (1 - slack) prod(1 - delta_i).
    """
    rest = 1 - probability("slack", slack)
    for delta in deltas:
        rest *= 1 - probability("delta", delta)
    return round_up(1 - rest)


def drifted(counted: Iterable[tuple[Fraction, int]], slack: Fraction, drift: Callable[[Arb], Arb]) -> float:
    """Return the sum of mean losses plus a deviation, rounded up.

    It is the sum of drift(epsilon) plus sqrt(2 ln(1/slack) sum epsilon^2).

    Args:
        counted: each epsilon and how often it occurs.
        drift: a bound on the mean loss of an epsilon-DP mechanism.
    """
    parts = list(counted)
    square = sum((count * limit**2 for limit, count in parts), Fraction(0))

    def formula() -> Arb:
        mean = sum((count * drift(ball(limit)) for limit, count in parts), ball(Fraction(0)))
        return mean + _deviation(square, slack)

    return _rounded(formula)


def classic_drift(epsilon: Arb) -> Arb:
    """Return epsilon (e^epsilon - 1), a bound on the mean loss."""
    return epsilon * epsilon.expm1()


def tanh_drift(epsilon: Arb) -> Arb:
    """Return epsilon tanh(epsilon/2), the greatest mean loss."""
    return epsilon * (epsilon / 2).tanh()


def _deviation(square: Fraction, slack: Fraction) -> Arb:
    """Return sqrt(2 ln(1/slack) sum epsilon^2)."""
    return (-2 * ball(square) * ball(slack).log()).sqrt()


def _checked(epsilons: Iterable[object]) -> list[Fraction]:
    return [nonnegative_rational("epsilon", epsilon) for epsilon in epsilons]


def _slack(slack: Real) -> Fraction:
    share = probability("slack", slack)
    if share == 0:
        raise InvalidParameterError("slack must be > 0: with no slack only basic composition holds")
    return share


def _rounded(formula: Callable[[], Arb]) -> float:
    return certified(formula, within=NONNEGATIVE).upper
