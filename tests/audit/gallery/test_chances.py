"""Chances of the gallery beside SciPy's distributions and quadrature."""

import math
from fractions import Fraction as F
from itertools import pairwise

import pytest
from flint import ctx
from scipy import integrate, stats

from deniable.audit.gallery.chances import (
    above,
    binomial,
    exponential,
    geometric,
    laplace,
    normal,
    threshold_answers,
)


@pytest.mark.parametrize("x", [F(-3), F(-1, 2), F(0), F(1, 3), F(4)])
def test_cells_are_those_of_scipy(x: F) -> None:
    assert float(laplace(2)(x)) == pytest.approx(stats.laplace.cdf(float(x), scale=2), rel=1e-12)
    assert float(normal(2)(x)) == pytest.approx(stats.norm.cdf(float(x), scale=2), rel=1e-12)
    assert float(exponential(2)(x)) == pytest.approx(stats.expon.cdf(float(x), scale=2), rel=1e-12)
    assert float(above(laplace(2), 1, 1 + x)[True]) == pytest.approx(stats.laplace.sf(float(x), scale=2), rel=1e-12)


def test_discrete_laws_sum_to_one_and_have_the_right_ratio() -> None:
    law = geometric(1, -6, 7)
    assert sum(law.values()) == 1
    assert law[3] / law[2] == F(1, 2)
    assert law[-6] == sum(F(1, 3) * F(1, 2) ** k for k in range(7, 200)) + F(1, 3) * F(1, 2) ** 199
    assert sum(binomial(9, F(2, 7)).values()) == 1
    assert binomial(9, F(2, 7))[3] == pytest.approx(stats.binom.pmf(3, 9, 2 / 7))


@pytest.mark.parametrize(
    ("answers", "pattern", "value"),
    [((0, 2, -1), (False, True, False), None), ((1, 0, 1), (False, False, True), (-1, 2)), ((3,), (True,), (-2, 0))],
)
def test_answers_to_a_noisy_threshold_by_quadrature(
    answers: tuple[int, ...], pattern: tuple[bool, ...], value: tuple[int, int] | None
) -> None:
    noise = stats.laplace(scale=1.5)

    def density(z: float) -> float:
        product = stats.laplace.pdf(z, scale=3)
        for place, (answer, up) in enumerate(zip(answers, pattern, strict=True)):
            if value is not None and place == len(answers) - 1:
                start = max(z, value[0])
                product *= max(noise.cdf(value[1] - answer) - noise.cdf(start - answer), 0)
            else:
                product *= noise.sf(z - answer) if up else noise.cdf(z - answer)
        return float(product)

    kinks = sorted({-60.0, 0.0, 60.0, *map(float, answers), *map(float, value or ())})
    expected = sum(integrate.quad(density, *ends)[0] for ends in pairwise(kinks))
    with ctx.workprec(96):
        found = threshold_answers(answers, pattern, threshold_scale=3, query_scale=F(3, 2), value=value)
    assert float(found) == pytest.approx(expected, rel=1e-7)
    assert math.log10(float(found.rad()) + 1e-300) < -20
