"""Choices by weights in floating point, which underflow to 0 and overflow to infinity."""

import math
from collections.abc import Callable

from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError

_CONFIDENCE = 0.9999
_SMALLEST, _LARGEST = -1075 * math.log(2), 1024 * math.log(2)  # where exp rounds to 0, and to infinity


def tell_apart_by_choice(choose: Callable[[list[int]], object], *, rate: float, runs: int = 40) -> AttackResult:
    """Tell two neighbours apart by an exponential mechanism at the limits of floating point.

    Candidate 0 has the score t - 1 and seven others t, the least score whose weight exp(rate t) is positive in
    doubles: so one of the seven is chosen. One row fewer, t - 2 and t - 1, and no weight is left: a fallback, an
    error or NaN decides. Likewise where weights overflow. In exact arithmetic both tables are chosen from alike.

    Args:
        choose: scores of eight candidates, whole numbers that one row moves by at most 1 -> index of the chosen one.
            What it raises is an outcome too.
        rate: of the weights, exp(rate * score), > 0: epsilon / 2 where one row may move a score by 1.
        runs: choices a table, at least 4.

    Returns: share of choices whose table was named right, in the pair that was told best, with a 99.99% interval,
        beside the best that epsilon = 2 rate admits.
    Raises: InvalidParameterError if rate or runs is outside its domain.

    >>> def textbook(scores):
    ...     weights = [math.exp(0.4 * score) for score in scores]
    ...     return random.choices(range(8), weights)
    >>> import random
    >>> print(tell_apart_by_choice(textbook, rate=0.4).succeeded)
    True
    """
    if not 0 < rate < math.inf or runs < 4:
        raise InvalidParameterError(f"needs finite rate > 0 and runs >= 4, got {rate} and {runs}")
    low, high = math.ceil(_SMALLEST / rate), math.floor((_LARGEST - math.log(7 + math.exp(-rate))) / rate)
    shares = {
        name: _named(choose, [[top - 1, *[top] * 7] for top in tops], runs)
        for name, tops in {"underflow": (low, low - 1), "overflow": (high, high + 1)}.items()
    }
    best = max(shares, key=lambda name: shares[name].value)
    return AttackResult(
        attack=f"Weights at the limits of floating point ({best})",
        target="which of two neighbouring tables was asked",
        success=shares[best],
        baseline=1 / (1 + math.exp(-2 * rate)),
        guess="the best guesser",
        sees=f"that epsilon {2 * rate:g} admits",
        facts={name: str(share) for name, share in shares.items()},
    )


def _named(choose: Callable[[list[int]], object], tables: list[list[int]], runs: int) -> Share:
    """Share of the second half of the outcomes that the commoner table of that outcome in the first half names."""
    seen = [[_outcome(choose, scores) for _ in range(runs)] for scores in tables]
    half = runs // 2
    learned = [world[:half] for world in seen]
    right = 0
    for world, outcomes in enumerate(seen):
        for outcome in outcomes[half:]:
            counts = [known.count(outcome) for known in learned]
            right += int((counts[1] > counts[0]) == bool(world))
    return Share(right=right, attempts=2 * (runs - half), confidence=_CONFIDENCE)


def _outcome(choose: Callable[[list[int]], object], scores: list[int]) -> str:
    try:
        return str(choose(scores))
    except Exception as error:
        return type(error).__name__
