"""One run, by the number of right guesses among a number of guesses that was fixed before."""

import numpy as np
from scipy.special import expit
from scipy.stats import binom

_HALVINGS = 60


def p_value(right: int, guesses: int, canaries: int, *, epsilon: float, delta: float) -> float:
    """Bound on the chance that an (epsilon, delta)-DP mechanism lets this many guesses, or more, be right.

    Guarantee: P(B >= right) + 2 canaries delta max over i of P(right > B >= right - i) / i, for B binomial with chance
        1/(1 + exp(-epsilon)).
    Source: Steinke, Nasr, Jagielski (2023), arXiv:2305.08846.
    """
    chance = float(expit(epsilon))
    tail = float(binom.sf(right - 1, guesses, chance))
    if not delta or not right:
        return min(1.0, tail)
    steps = np.arange(1, right + 1)
    near = float(np.max((binom.sf(right - steps - 1, guesses, chance) - tail) / steps))
    return min(1.0, tail + 2 * canaries * delta * near)


def epsilon_by_count(right: int, guesses: int, canaries: int, *, level: float, delta: float) -> float:
    """Largest epsilon that the p-value rejects together with all smaller ones; 0 where it rejects none.

    >>> round(epsilon_by_count(100, 100, 100, level=0.05, delta=0), 6)
    3.492965
    """

    def rejected(epsilon: float) -> bool:
        return p_value(right, guesses, canaries, epsilon=epsilon, delta=delta) <= level

    low, high = 0.0, float(np.log(guesses + 1) - np.log(level))
    if not rejected(low):
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low
