import mpmath
import pytest

from deniable.privacy import LaplaceLoss


@pytest.mark.parametrize("multiplier", ["1/5", "1/2", "1", "4"])
@pytest.mark.parametrize("share", [0, 0.3, 0.9, 1])
def test_the_curve_is_the_integral(multiplier: str, share: float) -> None:
    loss = LaplaceLoss(multiplier)
    epsilon = float(loss.pure_epsilon) * share
    with mpmath.workdps(30):
        scale = mpmath.mpf(1) / mpmath.mpf(float(loss.pure_epsilon))
        density = lambda x: mpmath.exp(-abs(x) / scale) / (2 * scale)  # noqa: E731
        edge = (1 + epsilon * scale) / 2  # the loss exceeds epsilon beyond it
        gain = lambda x: max(0, density(x - 1) - mpmath.exp(epsilon) * density(x))  # noqa: E731
        truth = float(mpmath.quad(gain, [edge, 1, 1 + 5 * scale, 1 + 80 * scale]))
    assert loss.delta(epsilon).upper == pytest.approx(truth, rel=1e-9, abs=1e-15)


def test_golden_value() -> None:
    """golden.md G27."""
    assert LaplaceLoss(1).delta(0.5).upper == pytest.approx(0.22119921692859513175, rel=1e-9)
    assert LaplaceLoss(1).delta(0.5).width < 1e-16


def test_the_charge() -> None:
    charge = LaplaceLoss(10).charge()
    assert (charge.epsilon, charge.rho) == (LaplaceLoss(10).pure_epsilon, charge.epsilon**2 / 2)
    assert repr(LaplaceLoss(10)) == "LaplaceLoss(noise_multiplier=10)"
