"""Sums whose rounding or width moves them further than one row may: overflow, and the order of rows."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from deniable.attacks.numbers import LOOPS, nonnegative, real, whole
from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError

Rows = list[float]
_CONFIDENCE = 0.9999  # the best of several pairs is reported


def tell_apart_by_sum(
    answer: Callable[[Rows], float], *, lower: float, upper: float, epsilon: float, rows: int = 1000, runs: int = 40
) -> AttackResult:
    """Tell apart tables whose true sums are at most one replaced row apart, by what arithmetic makes of them.

    Half of the answers about two tables, in another order or with one row replaced, set a cut that names the others:
    the pair told best, with a 99.99% interval, beside the best that epsilon admits, e^epsilon / (1 + e^epsilon).

    Args:
        answer: rows -> noisy sum, which claims epsilon where one row is replaced. An error or NaN is read as 0.
        lower, upper: its public bounds of a row.
        rows: of the longest table, at least 4.
        runs: answers a table, at least 4.

    Source: Casacuberta, Shoemate, Vadhan, Wagaman (2022), arXiv:2207.10635.

    >>> dice = np.random.default_rng(0)
    >>> wraps = lambda rows: np.array(rows).astype(np.int32).sum(dtype=np.int32) + dice.laplace(scale=2**24)
    >>> print(tell_apart_by_sum(wraps, lower=0, upper=2**24, epsilon=1, rows=200).succeeded)
    True
    """
    whole("runs", runs, least=4, most=LOOPS)
    if not nonnegative("epsilon", epsilon):
        raise InvalidParameterError("epsilon must be > 0, got 0")
    told = {
        name: [np.array([_ask(answer, table) for _ in range(runs)]) for table in pair]
        for name, pair in pair_tables(lower, upper, rows).items()
    }
    shares = {name: _named(*map(np.nan_to_num, answers)) for name, answers in told.items()}
    best = max(shares, key=lambda name: shares[name].value)
    return AttackResult(
        attack=f"Arithmetic of sums ({best})",
        target="which of two tables was summed",
        success=shares[best],
        baseline=1 / (1 + math.exp(-epsilon)),
        guess="the best guesser",
        sees=f"that epsilon {epsilon:g} admits",
        facts={**shares, "answers that were errors": int(np.isnan(list(told.values())).sum())},
    )


def pair_tables(lower: float, upper: float, rows: int) -> dict[str, tuple[Rows, Rows]]:
    """Pairs of tables of as many rows that a private sum must not tell apart, and that sums of fixed width do."""
    whole("rows", rows, least=4)
    if not -math.inf < real("lower", lower) < real("upper", upper) < math.inf:
        raise InvalidParameterError(f"lower must be below upper, both finite, got {lower} and {upper}")
    half, pairs = rows // 2, {}
    for small in (min(lower + 1, upper), lower + (upper - lower) * 5 / 8):
        pairs[f"order of {small} and {upper}"] = ([upper] * half + [small] * half, [small] * half + [upper] * half)
    wraps = [math.ceil(2**bits / upper) for bits in (15, 31, 63)] if upper > 0 else []
    for count in sorted({half, rows, *(count for count in wraps if 2 <= count <= rows)}):
        pairs[f"{count} rows of {upper}, one replaced"] = ([upper] * count, [upper] * (count - 1) + [lower])
    return pairs


def _ask(answer: Callable[[Rows], float], table: Rows) -> float:
    try:
        return float(answer(table))
    except Exception:
        return math.nan


def _named(first: NDArray[np.float64], second: NDArray[np.float64]) -> Share:
    """Share of the second half of the answers that a cut between the medians of the first half names right."""
    half = len(first) // 2
    low, high = np.median(first[:half]), np.median(second[:half])
    above = [np.sign(high - low) * (answers[half:] - (low / 2 + high / 2)) > 0 for answers in (first, second)]
    right = int((~above[0]).sum() + above[1].sum())
    return Share(right=right, attempts=2 * (len(first) - half), confidence=_CONFIDENCE)
