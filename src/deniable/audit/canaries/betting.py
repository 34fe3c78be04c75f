"""Audits in one run by bets, which gain nothing on private mechanisms."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincc, betaln, expit

from deniable.audit.canaries.counting import last_rejected
from deniable.audit.canaries.guesses import Guesses


def log_wealth(right: NDArray[np.bool_], chance: float) -> NDArray[np.float64]:
    """Return the log wealth after each guess of bets that guesses beat `chance`.

    Guarantee: for every s >= chance the factor s/chance on a right guess and (1-s)/(1-chance) on a wrong one has mean
        at most 1 where guesses are right with at most `chance`, and so has the average over s uniform in [chance, 1].
    """
    rights = np.cumsum(right, dtype=np.float64)
    wrongs = np.arange(1, right.size + 1) - rights
    with np.errstate(divide="ignore"):
        above = np.log(np.where(chance < 1, betaincc(rights + 1, wrongs + 1, chance), 0.0))
    mixed = betaln(rights + 1, wrongs + 1) + above - np.log1p(-chance)
    return np.asarray(mixed - rights * np.log(chance) - wrongs * np.log1p(-chance), dtype=np.float64)


def by_bets(guesses: Guesses, *, level: float, delta: float) -> tuple[float, int]:
    """Return a lower bound on epsilon, and the number of guesses at the top wealth.

    Guarantee: under (epsilon, delta)-DP the wealth for chance 1/(1 + exp(-epsilon)) ever reaches 1/a with probability
        at most a + canaries delta/2. Below a = 1/e the epsilons that are rejected are those below one number.
    Error: below the largest rejected epsilon by at most 1e-11.
    Proof: docs/theory/audit/one_run.md.
    """
    left = level - guesses.canaries * delta / 2
    if left <= 0:
        return 0.0, guesses.right.size
    needed = -np.log(min(left, np.exp(-1)))

    def wealth(epsilon: float) -> NDArray[np.float64]:
        return log_wealth(guesses.right, float(expit(epsilon)))

    bound = last_rejected(lambda epsilon: float(wealth(epsilon).max()) >= needed) or 0.0
    return bound, int(np.argmax(wealth(bound))) + 1
