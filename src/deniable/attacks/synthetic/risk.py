"""Risk of a synthetic table: success on the original beyond that on a control."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from deniable.attacks.numbers import whole
from deniable.attacks.result import AttackResult, Share


class Rate(NamedTuple):
    """Rate with its interval.

    Args:
        value: in [0, 1].
        lower, upper: ends of the interval.

    >>> from deniable.attacks.synthetic import wilson_rate
    >>> wilson_rate(5, 10).value
    0.5
    """

    value: float
    lower: float
    upper: float

    def __str__(self) -> str:
        return f"{self.value:.1%} ({self.lower:.1%} to {self.upper:.1%})"


def wilson_rate(right: int, attempts: int) -> Rate:
    """Estimate a success rate by Wilson's score, with its 95% interval.

    The value is (s + z^2/2)/(n + z^2), the half width z/(n + z^2) sqrt(s (n - s)/n + z^2/4).
    Source: Wilson (1927); Giomi, Boenisch, Wehmeyer, Tasnadi (2023), arXiv:2211.10459, who use it for these risks.

    Args:
        right: number of attempts that succeeded.
        attempts: number of attempts, at least 1.

    Raises: InvalidParameterError for more successes than attempts.

    >>> from deniable.attacks.synthetic import wilson_rate
    >>> print(wilson_rate(0, 100))
    1.8% (0.0% to 3.7%)
    """
    whole("right", right, lower=0, upper=whole("attempts", attempts))
    z = float(ndtri(0.975))
    centre = (right + z**2 / 2) / (attempts + z**2)
    half = z / (attempts + z**2) * math.sqrt(right * (attempts - right) / attempts + z**2 / 4)
    return Rate(centre, max(0.0, centre - half), min(1.0, centre + half))


def residual_risk(attack: Rate, control: Rate) -> Rate:
    """Return the risk of the original's people beyond others.

    It is (attack - control)/(1 - control), within [0, 1]. It rises with the attack's rate and falls with the control's,
    so its ends come from opposite ends of the two intervals: if each holds at 95%, this one holds at 90% or more.
    Source: Giomi, Boenisch, Wehmeyer, Tasnadi (2023), arXiv:2211.10459.

    Args:
        attack: rate of success on the original.
        control: rate of success on rows that the synthesiser has not seen.

    >>> from deniable.attacks.synthetic import residual_risk, wilson_rate
    >>> print(residual_risk(wilson_rate(80, 100), wilson_rate(20, 100)))
    73.2% (59.4% to 84.6%)
    """

    def beyond(rate: float, other: float) -> float:
        return 0.0 if other >= 1 else min(1.0, max(0.0, (rate - other) / (1 - other)))

    return Rate(
        beyond(attack.value, control.value), beyond(attack.lower, control.upper), beyond(attack.upper, control.lower)
    )


def judge(
    attack: str,
    target: str,
    *,
    right: NDArray[np.bool_],
    control: NDArray[np.bool_],
    chance: float,
) -> AttackResult:
    """Compare an attack on the original with the same attack on the control.

    Args:
        attack: its name.
        target: of one attempt, in the singular.
        right: shape (attempts,), success on the original.
        control: shape (attempts,), success on the control.
        chance: success of a guesser who sees no table, in [0, 1].
    """
    rates = [wilson_rate(int(one.sum()), len(one)) for one in (right, control)]
    blind = chance > rates[1].upper
    facts = {
        "success on the original": str(rates[0]),
        "success on the control": str(rates[1]),
        "residual risk": str(residual_risk(*rates)),
        "success of blind guesses": f"{chance:.1%}",
    }
    if right.sum() <= chance * len(right):
        facts["caution"] = "the attack is no better than blind guesses, so it says nothing about stronger ones"
    return AttackResult(
        attack=attack,
        target=target,
        success=Share(right=int(right.sum()), attempts=len(right)),
        baseline=max(rates[1].upper, chance),
        guess="a blind guess" if blind else "the same attack",
        sees="without the table" if blind else "on rows of the control (upper end of its interval)",
        learned=right,
        facts=facts,
    )
