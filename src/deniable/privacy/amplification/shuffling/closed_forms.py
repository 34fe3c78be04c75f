"""Closed form of amplification by shuffling, for comparison.

`ShuffledLoss` is tighter wherever it holds.
"""

from fractions import Fraction

from deniable.errors import UnprovedError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE, REAL
from deniable.numbers.rationals import Real, decimal_text, positive_integer, positive_rational, probability


def clones_epsilon(*, epsilon: Real, users: object, delta: Real) -> float:
    """Return an epsilon of shuffled reports of any local randomizer, in closed form.

    Args:
        epsilon: the local epsilon.
        users: the number of users, n.
        delta: above 0.

    Guarantee: ln(1 + (E - 1)/(E + 1) (8 sqrt(E ln(4/delta)/n) + 8 E/n)) with E = e^epsilon, rounded up.
    Raises: UnprovedError unless epsilon <= ln(n / (16 ln(2/delta))), the range of the theorem.
    Source: Feldman, McMillan, Talwar (2021), arXiv:2012.12803.
    """
    failed = probability("delta", delta)
    if failed == 0:
        raise UnprovedError("the closed form needs delta > 0; at delta = 0 shuffling does not lower the local epsilon")
    local = positive_rational("epsilon", epsilon)
    n = positive_integer("users", users)
    range_ = certified(lambda: (n / (16 * (2 / ball(failed)).log())).log(), within=REAL)
    if Fraction(range_.lower) < local:
        raise UnprovedError(
            f"the closed form of clones is proved for epsilon <= ln(n / (16 ln(2/delta))) = {range_.lower:.6g}, "
            f"got epsilon={decimal_text(local)}. Use ShuffledLoss(AnyRandomizer(epsilon=...), users=...)."
        )

    def formula() -> Arb:
        grown = ball(local).exp()
        spread = (grown * (4 / ball(failed)).log() / n).sqrt()
        return ((grown - 1) / (grown + 1) * (8 * spread + 8 * grown / n)).log1p()

    return certified(formula, within=NONNEGATIVE).upper
