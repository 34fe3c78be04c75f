"""Three releases equally far apart: quadrature in the plane, and long runs that reveal more than the worst step."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.privacy import ExponentialMechanismLoss, GaussianLoss, LaplaceLoss, PrivacyLoss, PureLoss
from deniable.privacy.amplification.sampling.triangle import laplace_cells, triangle_law
from deniable.privacy.pld.accountant import RepeatedPair, composed_epsilon
from deniable.privacy.pld.law import LossLaw

WEIGHTS = [0.8, 0.2]


def curve(law: LossLaw | None, epsilon: float) -> float:
    assert law is not None
    found = law.above(np.array([epsilon]))
    return float(found.p[0] - math.exp(epsilon) * found.q[0])


def plane(density: str, ends: list[tuple[float, float]], epsilon: float) -> float:
    """The hockey stick of (1 - rate) R + rate P against (1 - rate) R + rate P', on a fine grid of the plane."""
    axis = np.linspace(-12, 12, 1601)
    line = np.exp(-(axis**2) / 2) if density == "normal" else np.exp(-np.abs(axis))
    whole = line.sum()

    def at(place: tuple[float, float]) -> np.ndarray:
        sides = [axis - c for c in place]
        logs = [-(s**2) / 2 if density == "normal" else -np.abs(s) for s in sides]
        return np.exp(logs[0])[:, None] * np.exp(logs[1])[None, :] / whole**2

    rest, first, second = (at(end) for end in ends)
    p, q = (0.8 * rest + 0.2 * one for one in (first, second))
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.4])
def test_normal_noise_on_an_equilateral_triangle(epsilon: float) -> None:
    ends = [(0.0, 0.0), (math.sqrt(3) / 2, 0.5), (math.sqrt(3) / 2, -0.5)]
    truth, found = plane("normal", ends, epsilon), curve(triangle_law(GaussianLoss(1).statement, WEIGHTS), epsilon)
    assert found <= truth * (1 + 1e-6)
    assert found == pytest.approx(truth, rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_laplace_noise_on_a_triangle(epsilon: float) -> None:
    """l1 distances 1 between (0, 0), (1/2, 1/2) and (1/2, -1/2)."""
    truth = plane("laplace", [(0.0, 0.0), (0.5, 0.5), (0.5, -0.5)], epsilon)
    found = curve(triangle_law(LaplaceLoss(1).statement, WEIGHTS), epsilon)
    assert found == pytest.approx(truth, rel=2e-2)


def test_ternary_response_by_hand() -> None:
    """(e, 1, 1), (1, e, 1), (1, 1, e) over e + 2, mixed."""
    e = math.e
    rest, first, second = np.array([[1, 1, e], [e, 1, 1], [1, e, 1]]) / (e + 2)
    p, q = 0.8 * rest + 0.2 * first, 0.8 * rest + 0.2 * second
    for epsilon in (0.0, 0.1, 0.29):
        truth = float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
        assert curve(triangle_law(PureLoss(1).statement, WEIGHTS), epsilon) == pytest.approx(truth, rel=1e-9, abs=1e-12)


def test_laws_are_those_of_pairs_and_their_own_mirror_images() -> None:
    for base in (GaussianLoss(1), LaplaceLoss(1), PureLoss(1)):
        law = triangle_law(base.statement, [0.75, 0.2, 0.05])
        assert law is not None
        at = np.array([-0.2, 0.01, 0.3])
        above, below = law.above(at), law.below(-at)
        assert np.allclose(above.p + law.below(at).p, 1, rtol=1e-9)
        assert np.allclose(above.p, below.q, rtol=2e-3)
    assert triangle_law(ExponentialMechanismLoss(1).statement, WEIGHTS) is None
    assert triangle_law(PureLoss(0).statement, WEIGHTS) is None


def test_the_worst_pair_of_one_step_is_not_that_of_many() -> None:
    """The counterexample of docs/theory/privacy/sampling.md: neither pair dominates the other, by certified numbers."""
    step = GaussianLoss(2).sampled_without_replacement(size=100, population=10_000)
    single, triangle = step.statement.laws().lower
    assert curve(triangle, 0.01) < 0.95 * curve(single, 0.01)
    least, most = (
        composed_epsilon([[RepeatedPair(law, 10_000)]], Fraction(1, 10**5), 1e-3) for law in (triangle, single)
    )
    assert most.upper < least.lower
    run = (step * 10_000).epsilon("1e-5")
    assert least.lower <= run.lower * 1.001 <= 1.001 * run.upper


def test_cells_of_laplace_noise_add_to_one() -> None:
    cells = laplace_cells(0.7, 3, 5)
    assert cells.shape == (4, 17)
    assert np.allclose(cells.sum(axis=1), 1, rtol=1e-14)
    assert cells[1, 0] == pytest.approx(math.exp(-0.7) / 2)
    assert np.allclose(cells[0], cells[3, ::-1])


@pytest.mark.parametrize("base", [GaussianLoss("0.01"), GaussianLoss("0.00001"), LaplaceLoss("0.001")])
def test_what_floats_cannot_tell_apart_is_left_out(base: PrivacyLoss) -> None:
    """Far from all three places both laws vanish as floats."""
    law = triangle_law(base.statement, WEIGHTS)
    assert law is None or 0 <= curve(law, 1.0) <= 0.2
    run = base.sampled_without_replacement(size=2, population=10) * 2
    assert run.delta(1, tolerance=1).lower <= 1 - 0.8**2
