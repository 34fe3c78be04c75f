"""Closed forms of amplification by shuffling, for comparison; `ShuffledLoss` is tighter wherever they hold."""

from fractions import Fraction

from deniable.errors import UnprovedError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE, REAL
from deniable.numbers.rationals import Real, decimal_text, positive_integer, positive_rational, probability


def clones_epsilon(*, epsilon: Real, users: object, delta: Real) -> float:
    """An epsilon, with `delta`, of `users` shuffled reports of any `epsilon`-LDP randomizer.

    Guarantee: ln(1 + (E - 1)/(E + 1) (8 sqrt(E ln(4/delta)/n) + 8 E/n)) with E = e^epsilon, rounded up.
    Raises: UnprovedError unless epsilon <= ln(n / (16 ln(2/delta))), the range of the theorem.
    Source: Feldman, McMillan, Talwar (2021), arXiv:2012.12803.
    """
    local, n, failed = _read(epsilon, users, delta)

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


def first_epsilon(*, epsilon: Real, users: object, delta: Real) -> float:
    """The first bound of its kind: 12 epsilon sqrt(ln(1/delta) / n), rounded up.

    Raises: UnprovedError unless epsilon < 1/2, n >= 1000 and delta < 1/100, the range of the theorem.
    Source: Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta (2019), arXiv:1811.12469.
    """
    local, n, failed = _read(epsilon, users, delta)
    if not (local < Fraction(1, 2) and n >= 1000 and failed < Fraction(1, 100)):
        raise UnprovedError(
            "this bound is proved for epsilon < 1/2, n >= 1000 and delta < 1/100, "
            f"got epsilon={decimal_text(local)}, n={n}, delta={decimal_text(failed)}. Use ShuffledLoss."
        )
    return certified(lambda: 12 * ball(local) * ((1 / ball(failed)).log() / n).sqrt(), within=NONNEGATIVE).upper


def _read(epsilon: Real, users: object, delta: Real) -> tuple[Fraction, int, Fraction]:
    failed = probability("delta", delta)
    if failed == 0:
        raise UnprovedError("these bounds need delta > 0; at delta = 0 shuffling does not lower the local epsilon")
    return positive_rational("epsilon", epsilon), positive_integer("users", users), failed
