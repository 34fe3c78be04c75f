"""The laws of sessions about the threshold 0, summed over the noise of the threshold; an outcome has bit i for question
i. The last answer ends a session, so a transcript never goes on after it."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.numbers.arrays import Floats
from tests.mechanisms.laws import Law, Weaker


def masses(scale: float, reach: int = 400) -> tuple[NDArray[np.int64], Floats]:
    """Discrete Laplace noise."""
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(k) / scale)
    return k, weights / weights.sum()


def at_least(scale: float, k: NDArray[np.int64]) -> Floats:
    """P(noise >= k)."""
    q = np.exp(-1 / scale)
    far = q ** np.abs(k) / (1 + q)
    return np.where(k > 0, far, 1 - far * q)


def transcript(queries: Sequence[int], said: Sequence[bool], *, threshold_scale: float, query_scale: float) -> float:
    """The probability of these answers to the first questions."""
    z, weights = masses(threshold_scale)
    for query, above in zip(queries, said, strict=False):
        chance = at_least(query_scale, z - query)
        weights = weights * (chance if above else 1 - chance)
    return float(weights.sum())


def sessions(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], Floats]:
    answers = getattr(mechanism, "answers", 1)
    scales = {"threshold_scale": float(mechanism.threshold_scale), "query_scale": float(mechanism.query_scale)}
    found = {}
    for said in product((False, True), repeat=len(exact)):
        if sum(said) <= answers:
            end = len(said) if sum(said) < answers else max(i for i, above in enumerate(said) if above) + 1
            found[sum(1 << i for i, above in enumerate(said) if above)] = transcript(exact, said[:end], **scales)
    kinds = np.array(sorted(found))
    return kinds, np.array([found[kind] for kind in kinds])


def _weaker(mechanism: Any) -> Any:
    share = Fraction(7, 10)
    scales = {"threshold_scale": share * mechanism.threshold_scale, "query_scale": share * mechanism.query_scale}
    return replace(mechanism, **scales)


LAWS: dict[str, Law] = {"above_threshold": sessions, "sparse_vector": sessions}
WEAKER: dict[str, Weaker] = {"above_threshold": _weaker, "sparse_vector": _weaker}
