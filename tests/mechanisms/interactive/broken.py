"""Versions of the sparse vector technique that are not private, with one signature: the probability of a transcript.

Each is the version of the literature with discrete Laplace noise in place of real noise, for integer queries of
sensitivity 1 about the threshold 0. Source: Lyu, Su, Li (2017), arXiv:1603.01699, who number them as here.
"""

from collections.abc import Sequence

import numpy as np

from tests.mechanisms.interactive.laws import at_least, masses, transcript


def algorithm_3(queries: Sequence[int], value: int, *, epsilon: float, answers: int) -> float:
    """Lecture notes of 2011: what is released is the noisy value that was compared.

    The probability of "below" to all queries but the last, and of the noisy value `value` for that one.
    """
    z, weights = masses(2 / epsilon)
    scale = 2 * answers / epsilon
    for query in queries[:-1]:
        weights = weights * (1 - at_least(scale, z - query))
    noise, chances = masses(scale)
    return float(weights[z <= value].sum() * chances[noise == value - queries[-1]][0])


def algorithm_4(queries: Sequence[int], said: Sequence[bool], *, epsilon: float) -> float:
    """Lee, Clifton (2014): the noise of the queries does not grow with the number of answers."""
    return transcript(queries, said, threshold_scale=4 / epsilon, query_scale=4 / (3 * epsilon))


def algorithm_5(queries: Sequence[int], said: Sequence[bool], *, epsilon: float) -> float:
    """Stoddard et al. (2014): no noise on the queries, no limit to the answers."""
    z, weights = masses(2 / epsilon)
    for query, above in zip(queries, said, strict=True):
        weights = weights * ((query >= z) == above)
    return float(np.sum(weights))


def algorithm_6(queries: Sequence[int], said: Sequence[bool], *, epsilon: float) -> float:
    """Chen et al. (2015): no limit to the answers."""
    return transcript(queries, said, threshold_scale=2 / epsilon, query_scale=2 / epsilon)
