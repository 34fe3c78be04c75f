"""Sums of losses with few values against all their outcomes."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable.privacy.pld.law import Pairs
from deniable.privacy.pld.laws import LaplaceLaw, NormalLaw, randomized_response_law
from deniable.privacy.pld.sum_law import MAX_VALUES, law_of_sum, laws_of_few


def test_the_law_of_a_sum_is_that_of_all_outcomes() -> None:
    limits = (0.5, 1.0, 0.5)
    found = law_of_sum([randomized_response_law(limit) for limit in limits])
    assert found is not None
    for threshold in (-2.1, -0.6, 0.1, 0.9, 1.9, 2.1):
        p = q = 0.0
        for signs in product((1, -1), repeat=3):
            if sum(sign * limit for sign, limit in zip(signs, limits, strict=True)) > threshold:
                p += np.prod([1 / (1 + np.exp(-sign * limit)) for sign, limit in zip(signs, limits, strict=True)])
                q += np.prod([1 / (1 + np.exp(sign * limit)) for sign, limit in zip(signs, limits, strict=True)])
        tails = found.above(np.array([threshold]))
        assert (tails.p[0], tails.q[0]) == pytest.approx((p, q), abs=1e-14)


def test_laws_without_few_values_are_not_written_out() -> None:
    response = randomized_response_law(1.0)
    assert law_of_sum([response, NormalLaw(1.0)]) is None
    assert law_of_sum([LaplaceLaw(1.0)]) is None
    assert laws_of_few([(Pairs.symmetric(response), 12)]) is not None
    assert laws_of_few([(Pairs.symmetric(response), 13)]) is None
    assert laws_of_few([(None, 1)]) is None
    assert Fraction(MAX_VALUES) == 2**12
