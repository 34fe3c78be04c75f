"""Audits in one run: canaries, each included by a coin, and guesses which were."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Literal

from numpy.typing import ArrayLike

from deniable.audit.canaries.betting import by_bets
from deniable.audit.canaries.counting import by_count, gaussian, shifted
from deniable.audit.canaries.guesses import Guesses, read_guesses
from deniable.audit.result import AuditResult, Number, read_claim, read_failure
from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import probability, whole_number
from deniable.privacy import PrivacyLoss

GuessingMethod = Literal["bets", "count", "gaussian", "claim"]
_MIN_GUESSES = 8  # fewer certify next to nothing
_METHODS = {
    "bets": "bets on guesses, the surest first",
    "count": "number of right guesses against (epsilon, delta)-DP",
    "gaussian": "number of right guesses against the curves of Gaussian noise",
    "claim": "number of right guesses against the claimed curve, its epsilon raised or lowered",
}


def audit_one_run(
    scores: ArrayLike,
    included: ArrayLike,
    *,
    claim: PrivacyLoss | None = None,
    epsilon: Number | None = None,
    delta: Number = 0,
    confidence: float = 0.95,
    method: GuessingMethod = "bets",
    both_ends: bool = True,
    guesses: int | None = None,
    seed: int = 0,
) -> AuditResult:
    """Bound epsilon from one run on data with canaries.

    Each canary is included by a fair coin of its own.

    The coins must be independent of each other, of the data and of the scores: a fixed number of included canaries
    breaks the proof, and so do scores computed from the coins. Each canary is one unit of the claimed relation.

    Args:
        scores: shape (canaries,), computed from the output alone; higher means more likely included. Ties are fine.
        included: shape (canaries,), the coins: True where the canary was in the data.
        claim: loss that the mechanism claims; or `epsilon` and `delta` of a claim.
        epsilon: claimed; None claims nothing.
        delta: at which epsilon is bounded.
        confidence: of the bound, in (0, 1).
        method: "bets" needs no choice and is valid at every number of guesses; "count" is the binomial test;
            "gaussian" and "claim" test the whole trade-off curve: of Gaussian noise (a bound for Gaussian mechanisms
            only), or the claimed one.
        both_ends: guess "left out" for the lowest scores too, not only "included" for the highest.
        guesses: number of guesses, fixed before the scores were seen; None tries 1, 1/2, 1/4, ... of the canaries,
            and divides the level among them. Bets need none.
        seed: of the order of equal scores.

    Guarantee: the bound exceeds the true epsilon with probability at most 1 - confidence.
    Raises: InvalidParameterError for NaN, lists of different lengths, or coins that were not fair.
    Source: Steinke, Nasr, Jagielski (2023), arXiv:2305.08846; Mahloujifar, Melis, Chaudhuri (2024), arXiv:2410.22235;
        Ville (1939) for bets.
    Proof: docs/theory/audit/one_run.md.

    >>> from deniable.audit import audit_one_run
    >>> coins = [True, False] * 100
    >>> print(audit_one_run(coins, coins, epsilon=1).sentence)
    The claim of epsilon=1 is false: epsilon is at least 3.782, at confidence 0.95.
    """
    stated = read_claim(claim, epsilon=epsilon, delta=delta)
    at = float(probability("delta", delta))
    level = read_failure(confidence)
    if method not in _METHODS:
        raise InvalidParameterError(f"method must be one of {', '.join(_METHODS)}, got {method!r}")
    made = read_guesses(scores, included, both_ends=both_ends, seed=seed)
    bound = _bounds(method, stated, made.right.size, guesses, level=level, delta=at)
    proved, count = bound(made)
    result = AuditResult(
        claim=stated,
        epsilon=proved,
        delta=at,
        confidence=1 - level,
        event=f"{int(made.right[:count].sum()):,} of the {count:,} surest guesses right",
        runs=1,
        tried=(f"{_METHODS[method]}, {'at both ends' if both_ends else 'from the top'}",),
    )
    return replace(result, limits=tuple(_limits(method, made)), inconclusive=_inconclusive(result, method, made, bound))


EpsilonBound = Callable[[Guesses], tuple[float, int]]


def _bounds(
    method: GuessingMethod, claim: PrivacyLoss | None, size: int, guesses: int | None, *, level: float, delta: float
) -> EpsilonBound:
    """Return a function from guesses to the bound and the number that gave it."""
    if guesses is not None:
        whole_number("guesses", guesses, lower=1, upper=size)
    if method == "bets":
        return partial(by_bets, level=level, delta=delta)
    fewer = [size >> times for times in range(1, size.bit_length()) if size >> times >= _MIN_GUESSES]
    counts = [size, *fewer] if guesses is None else [guesses]
    one: Callable[..., float] = partial(by_count, delta=delta)
    if method != "count":
        one = (gaussian(delta) if method == "gaussian" else shifted(claim, delta)).bound
    return lambda given: max(
        (one(int(given.right[:count].sum()), count, given.canaries, level=level / len(counts)), count)
        for count in counts
    )


def _inconclusive(result: AuditResult, method: GuessingMethod, made: Guesses, bound: EpsilonBound) -> str:
    """Return the reason why no guesses could refute the claim, if there is one."""
    failures = made.canaries * result.delta / 2
    if method == "bets" and failures >= 1 - result.confidence:
        return f"{made.canaries:,} canaries allow {failures:.2g} of failures by delta"
    if result.claim is not None and result.epsilon < result.claimed:
        largest = bound(made.perfect)[0]
        if largest < result.claimed:
            return f"{made.canaries:,} canaries cannot show an epsilon above {largest:.3g}"
    return ""


def _limits(method: GuessingMethod, made: Guesses) -> Iterator[str]:
    """Yield questions that this run cannot decide, and why."""
    if made.half and made.canaries > _MIN_GUESSES:
        yield "whether coins were thrown: exactly half of the canaries were included; a fixed number proves nothing"
    if method == "gaussian":
        yield "anything about mechanisms that are not Gaussian: the bound is for these alone"
    if method == "claim":
        yield "the epsilon of curves with another shape than the claimed one; whether the claim is false holds for all"
