from fractions import Fraction

import numpy as np

from deniable.mechanisms import Laplace
from deniable.statistics.laws import Law


def test_errors_are_in_the_unit_of_the_answer() -> None:
    mechanism, p = Laplace(scale=8), np.array([0.1, 0.9])
    law = Law(mechanism, Fraction(1, 4))
    assert np.array_equal(law.quantile(p), mechanism.quantile(p) / 4)
    assert law.half_width(0.9) == mechanism.half_width(0.9) / 4
    assert law.standard_deviation() == mechanism.standard_deviation() / 4
