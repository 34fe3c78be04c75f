"""Tails of mixtures against 32 digits: a place t is one of the events {x > t}, and l(t) is as close as stated."""

import math

import mpmath
import numpy as np
import pytest

from deniable.privacy.losses.gaussian_mixture_law import MixtureLaw

CASES = [
    ([(0.99, 0.0), (0.01, 1.0)], [(1.0, 0.0)]),
    ([(0.5, 0.0), (0.3, 0.02), (0.2, 3.0)], [(1.0, 0.0)]),
    ([(0.7, 0.0), (0.3, 4.0)], [(0.2, -3.0), (0.8, 0.0)]),
    ([(1.0, 1e-3)], [(1.0, 0.0)]),
    ([(1e-9, 0.25), (1 - 1e-9, 12.0)], [(1.0, 0.0)]),
    ([(0.25, 0.0), (0.25, 0.5), (0.5, 1.0)], [(0.5, 0.0), (0.25, 0.5), (0.25, 1.0)]),
]
Mixture = list[tuple[float, float]]


def made(p: Mixture, q: Mixture) -> MixtureLaw:
    lowest = math.log(p[0][0] / q[0][0]) if p[0][1] == q[0][1] else -math.inf
    highest = math.log(p[-1][0] / q[-1][0]) if p[-1][1] == q[-1][1] else math.inf
    first, second = (np.array([[math.log(w) for w, _ in side], [a for _, a in side]]) for side in (p, q))
    return MixtureLaw(first, second, lowest=lowest, highest=highest)


def loss_at(x: mpmath.mpf, p: Mixture, q: Mixture) -> mpmath.mpf:
    dense = lambda side: mpmath.fsum(w * mpmath.exp(mpmath.mpf(a) * x - mpmath.mpf(a) ** 2 / 2) for w, a in side)  # noqa: E731
    return mpmath.log(dense(p) / dense(q))


def true_tail(loss: mpmath.mpf, p: Mixture, q: Mixture, side: Mixture, sign: int) -> mpmath.mpf:
    """P(L > loss), or P(L <= loss) for sign = -1, by 110 bisections for the place."""
    low, high = mpmath.mpf(-80), mpmath.mpf(80)
    for _ in range(110):
        middle = (low + high) / 2
        low, high = (middle, high) if loss_at(middle, p, q) < loss else (low, middle)
    return mpmath.fsum(w * mpmath.ncdf(sign * (a - low)) for w, a in side)


@pytest.mark.parametrize(("p", "q"), CASES)
def test_tails_are_within_half_of_the_stated_error(p: Mixture, q: Mixture) -> None:
    law = made(p, q)
    ends = law.position_of(-1e9) + 8, law.position_of(1e9) - 8
    with mpmath.workdps(32):
        places = np.linspace(*ends, 5)
        losses = np.array([float(loss_at(mpmath.mpf(x), p, q)) for x in places])
        slack = law.slack(float(np.abs(losses).max()))
        for sign, found in ((1, law.above(losses)), (-1, law.below(losses))):
            for loss, p_mass, q_mass, error in zip(losses, found.p, found.q, found.error, strict=True):
                if not law.lowest + slack < loss < law.highest - slack:
                    continue
                for mass, side in ((p_mass, p), (q_mass, q)):
                    if mass > 1e-270:
                        ends_of_it = sorted(true_tail(mpmath.mpf(loss) + s, p, q, side, sign) for s in (-slack, slack))
                        assert ends_of_it[0] * (1 - error / 2) <= mass <= ends_of_it[1] * (1 + error / 2)


@pytest.mark.parametrize(("p", "q"), CASES)
def test_a_stated_error_that_is_small(p: Mixture, q: Mixture) -> None:
    """A twin for the test above: errors and slack are far below what it would take to hide a mistake."""
    law = made(p, q)
    assert law.slack(30.0) < 1e-10
    assert float(law.above(np.array([0.0])).error[0]) < 1e-12


def test_nothing_is_beyond_the_limits() -> None:
    law = made(*CASES[5])
    assert (law.lowest, law.highest) == (math.log(0.5), math.log(2))
    outside = np.array([law.lowest - 0.01, law.highest, law.highest + 1])
    assert law.above(outside).p.tolist() == [1, 0, 0]
    assert law.below(outside).q.tolist() == [0, 1, 1]
    near = law.above(np.array([law.lowest + 1e-14, law.highest - 1e-14]))
    assert near.p[0] == pytest.approx(1)
    assert near.p[1] < 1e-100


def test_many_components_take_part_in_blocks() -> None:
    weights = [math.comb(120, k) / 2**120 for k in range(121)]
    law = made([(w, k / 20) for k, w in enumerate(weights)], [(1.0, 0.0)])
    losses = np.linspace(-1, 20, 9000)
    found = law.above(losses)
    assert np.all(np.diff(found.p) <= 0)
    with mpmath.workdps(30):
        p = [(w, k / 20) for k, w in enumerate(weights)]
        assert found.p[2000] == pytest.approx(
            float(true_tail(mpmath.mpf(losses[2000]), p, [(1.0, 0.0)], p, 1)), rel=1e-9
        )
