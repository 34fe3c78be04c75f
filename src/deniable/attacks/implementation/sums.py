"""Sums whose rounding or overflow moves them further than one row may."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from deniable.attacks.numbers import MAX_ROUNDS, nonnegative, real, whole
from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError

ListedRows = list[float]
_CONFIDENCE = 0.9999  # of the best of several pairs


def distinguish_by_sum(
    answer: Callable[[ListedRows], float],
    *,
    bounds: tuple[float, float],
    epsilon: float,
    rows: int = 1000,
    runs: int = 40,
) -> AttackResult:
    """Distinguish tables by the arithmetic of their sums.

    Their true sums differ by at most one replaced row. Half of the answers about two tables, in another order or with
    one row replaced, set a cut that names the others. The best pair is reported, with a 99.99% interval, beside the
    best that epsilon admits, e^epsilon / (1 + e^epsilon).

    Args:
        answer: rows -> noisy sum, which claims epsilon where one row is replaced. An error or NaN is read as 0.
        bounds: (lower, upper), public bounds of a row.
        epsilon: as claimed, > 0.
        rows: number of rows of the longest table, at least 4.
        runs: number of answers about each table, at least 4.

    Source: Casacuberta, Shoemate, Vadhan, Wagaman (2022), arXiv:2207.10635.

    >>> dice = np.random.default_rng(0)
    >>> wraps = lambda rows: np.array(rows).astype(np.int32).sum(dtype=np.int32) + dice.laplace(scale=2**24)
    >>> print(distinguish_by_sum(wraps, bounds=(0, 2**24), epsilon=1, rows=200).succeeded)
    True
    """
    whole("runs", runs, lower=4, upper=MAX_ROUNDS)
    if not nonnegative("epsilon", epsilon):
        raise InvalidParameterError("epsilon must be > 0, got 0")
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise InvalidParameterError(f"bounds must be (lower, upper), got {bounds!r}")
    answered = {
        name: [np.array([_ask(answer, table) for _ in range(runs)]) for table in pair]
        for name, pair in pair_tables(*bounds, rows).items()
    }
    shares = {name: _named(*map(np.nan_to_num, answers)) for name, answers in answered.items()}
    best = max(shares, key=lambda name: shares[name].value)
    return AttackResult(
        attack=f"Arithmetic of sums ({best})",
        target="which of two tables was summed",
        success=shares[best],
        baseline=1 / (1 + math.exp(-epsilon)),
        guess="the best guesser",
        sees=f"that epsilon {epsilon:g} admits",
        facts={**shares, "answers that were errors": int(np.isnan(list(answered.values())).sum())},
    )


def pair_tables(lower: float, upper: float, rows: int) -> dict[str, tuple[ListedRows, ListedRows]]:
    """Return pairs of tables that sums of fixed width distinguish, by name.

    Both have the same number of rows; a private sum must not distinguish them.
    """
    whole("rows", rows, lower=4)
    if not -math.inf < real("the lower bound", lower) < real("the upper bound", upper) < math.inf:
        raise InvalidParameterError(f"bounds must be finite, the lower one below the upper, got ({lower}, {upper})")
    half = rows // 2
    pairs = {}
    for small in (min(lower + 1, upper), lower + (upper - lower) * 5 / 8):
        pairs[f"order of {small} and {upper}"] = ([upper] * half + [small] * half, [small] * half + [upper] * half)
    wraps = [math.ceil(2**bits / upper) for bits in (15, 31, 63)] if upper > 0 else []
    for count in sorted({half, rows, *(count for count in wraps if 2 <= count <= rows)}):
        pairs[f"{count} rows of {upper}, one replaced"] = ([upper] * count, [upper] * (count - 1) + [lower])
    return pairs


def _ask(answer: Callable[[ListedRows], float], table: ListedRows) -> float:
    """Return the answer about a table; NaN for an error."""
    try:
        return float(answer(table))
    except Exception:
        return math.nan


def _named(first: NDArray[np.float64], second: NDArray[np.float64]) -> Share:
    """Return the share of answers that a cut names right.

    The cut lies between the medians of the first half of the answers; the second half is judged.
    """
    half = len(first) // 2
    low = np.median(first[:half])
    high = np.median(second[:half])
    above = [np.sign(high - low) * (answers[half:] - (low / 2 + high / 2)) > 0 for answers in (first, second)]
    right = int((~above[0]).sum() + above[1].sum())
    return Share(right=right, attempts=2 * (len(first) - half), confidence=_CONFIDENCE)
