"""Last iterates: exact Gaussian recursions of quadratic losses, a numerical program, and published closed forms."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import GaussianLoss, PrivacyLoss
from deniable.privacy.constructors import LastIterateLoss


def descent(**changes: object) -> PrivacyLoss:
    given_ = {"steps": 20, "noise_multiplier": 2, "learning_rate": "0.1", "smoothness": 10} | changes
    return LastIterateLoss(**given_)  # type: ignore[arg-type]


def quadratic_mu(kept: float, steps: int, batches: int, after: int, noise: float) -> float:
    """The law of the last iterate by its recursion: w <- kept w - (used) shift + noise. Mean gap over deviation."""
    gap, variance = 0.0, 0.0
    for step in range(steps):
        left = steps - 1 - step
        used = left >= after and (left - after) % batches == 0
        gap, variance = kept * gap + used, kept**2 * variance + noise**2
    return gap / math.sqrt(variance)


@pytest.mark.parametrize("kept", ["0", "0.3", "0.9", "1"])
@pytest.mark.parametrize("steps", [1, 2, 50])
def test_full_batches_of_quadratic_losses_attain_the_bound(kept: str, steps: int) -> None:
    rate = Fraction(1, 10)
    loss = descent(steps=steps, strong_convexity=(1 - Fraction(kept)) / rate, smoothness=10)
    exact = quadratic_mu(float(kept), steps, 1, 0, 2.0)
    assert math.sqrt(loss.mu_squared) == pytest.approx(exact, rel=1e-11)
    assert math.sqrt(loss.statement.attained_mu_squared) == pytest.approx(exact, rel=1e-11)
    assert loss.delta(1).width <= 1e-9 * loss.delta(1).upper


@given(st.floats(0.2, 1.0), st.integers(1, 60), st.integers(1, 7), st.integers(0, 10), st.floats(0.5, 4))
def test_quadratic_losses_lie_between_the_ends(kept: float, steps: int, batches: int, after: int, noise: float) -> None:
    rate, c = Fraction(1, 100), Fraction(repr(kept))
    loss = descent(
        steps=steps + after, batches=batches, steps_after=after, learning_rate=rate, smoothness=100,
        strong_convexity=(1 - c) / rate, noise_multiplier=noise,
    )  # fmt: skip
    exact = quadratic_mu(kept, steps + after, batches, after, noise)
    assert math.sqrt(loss.statement.attained_mu_squared) == pytest.approx(exact, rel=1e-10)
    assert exact <= math.sqrt(loss.mu_squared) * (1 + 1e-10)


@pytest.mark.parametrize(
    ("c", "batches", "after", "steps"),
    [(0.9, 1, 0, 8), (0.9, 3, 0, 10), (0.7, 2, 1, 8), (1.0, 4, 0, 9), (1.0, 3, 2, 12)],
)
def test_the_formula_is_the_optimum_of_the_program(c: float, batches: int, after: int, steps: int) -> None:
    """Least sum of squared shifts a with z <- c z + used - a >= 0 at every step and 0 at the end, by SLSQP."""
    used = np.array([(i >= after and (i - after) % batches == 0) * 1.0 for i in range(steps)][::-1])

    def distances(a: np.ndarray) -> np.ndarray:
        z, found = 0.0, []
        for shift, use in zip(a, used, strict=True):
            z = c * z + use - shift
            found.append(z)
        return np.array(found)

    constraints = [
        {"type": "ineq", "fun": lambda a: distances(a)[:-1]},
        {"type": "ineq", "fun": lambda a: a},
        {"type": "eq", "fun": lambda a: distances(a)[-1]},
    ]
    best = minimize(lambda a: a @ a, used, jac=lambda a: 2 * a, constraints=constraints, options={"ftol": 1e-13})
    rate = Fraction(1, 100)
    loss = descent(
        steps=steps, batches=batches, steps_after=after, learning_rate=rate, smoothness=100, noise_multiplier=1,
        strong_convexity=(1 - Fraction(repr(c))) / rate,
    )  # fmt: skip
    assert float(loss.mu_squared) == pytest.approx(best.fun, rel=1e-5)


def test_one_pass_has_the_bound_of_feldman_and_others() -> None:
    """errata.md E71 and inventory 133: convex losses, used once, 1/(n + 1 - t); attained by linear losses."""
    for after in (0, 1, 9, 99):
        loss = descent(steps=100, batches=100, steps_after=after)
        assert loss.statement.uses == 1
        assert float(loss.mu_squared) == pytest.approx(1 / (4 * (after + 1)), rel=1e-11)
        order, lipschitz, sigma = 3, 5.0, 20.0  # sensitivity 2 L, noise 2 (2 L)
        theirs = order * 2 * lipschitz**2 / (sigma**2 * (after + 1))
        assert order * float(loss.mu_squared) / 2 == pytest.approx(theirs)


def test_cyclic_batches_have_the_published_closed_form() -> None:
    """Bok, Su, Altschuler (2024): 1 + c^(2l-2) (1-c^2)/(1-c^l)^2 (1-c^(l(E-1)))/(1+c^(l(E-1))); convex 1 + (E-1)/l."""
    c, batches, epochs = 0.95, 8, 12
    loss = descent(steps=96, batches=8, learning_rate="0.01", smoothness=100, strong_convexity=5, noise_multiplier=1)
    far = c ** (batches * (epochs - 1))
    truth = 1 + c ** (2 * batches - 2) * (1 - c * c) / (1 - c**batches) ** 2 * (1 - far) / (1 + far)
    assert float(loss.mu_squared) == pytest.approx(truth, rel=1e-11)
    assert descent(steps=96, batches=8, noise_multiplier=1).mu_squared == 1 + Fraction(11, 8)


def test_a_bounded_set_ends_the_growth() -> None:
    """Convex losses: mu^2 is near 4 D / (rate sensitivity) / noise^2, however many steps are made."""
    short, long = (
        descent(steps=steps, smoothness=1, learning_rate=1, diameter=25, gradient_sensitivity=1, noise_multiplier=1)
        for steps in (20, 10**6)
    )
    assert short.mu_squared == 20
    assert long.mu_squared == 100
    assert long.statement.attained_mu_squared == 0
    assert descent(steps=10**6, smoothness=1, learning_rate=1, noise_multiplier=1).mu_squared == 10**6


def test_a_bounded_set_helps_strongly_convex_losses_too() -> None:
    free = descent(steps=1000, strong_convexity="0.01")
    held = descent(steps=1000, strong_convexity="0.01", diameter=1, gradient_sensitivity=1)
    assert held.mu_squared < free.mu_squared
    huge = descent(steps=1000, strong_convexity="0.01", diameter=10**9, gradient_sensitivity=1)
    assert huge.mu_squared == free.mu_squared


def test_it_is_never_worse_than_releasing_every_iterate() -> None:
    loss = descent(steps=30, batches=3)
    assert loss.mu_squared <= (GaussianLoss(2) * 10).mu_squared
    assert loss.epsilon("1e-5").upper <= (GaussianLoss(2) * 10).epsilon("1e-5").upper


def test_a_twin_that_ignores_the_unit_between_uses_is_caught() -> None:
    """Were the shifts of cyclic batches free of the order (z >= 0), the bound would fall below the optimum."""
    loss = descent(steps=96, batches=8, noise_multiplier=1)
    unordered = Fraction(12**2, 89)
    assert loss.mu_squared > unordered


def test_runs_compose_and_round_trip() -> None:
    loss = descent(steps=30, strong_convexity=1, diameter=3, gradient_sensitivity="0.5")
    assert PrivacyLoss.from_json(loss.to_json()) == loss
    both = (loss * 4).delta(1)
    exact = GaussianLoss(1 / Fraction(math.sqrt(4 * loss.mu_squared))).delta(1)
    assert both.upper == pytest.approx(exact.upper, rel=2e-3)
    assert "strong_convexity=1" in repr(loss)


def test_steps_that_expand_are_refused() -> None:
    with pytest.raises(UnprovedError, match="do not expand"):
        descent(learning_rate="0.21")


@pytest.mark.parametrize(
    "changes",
    [
        {"steps": 0}, {"batches": 0}, {"steps_after": 20}, {"steps_after": -1}, {"noise_multiplier": 0},
        {"strong_convexity": 11}, {"diameter": 1}, {"gradient_sensitivity": 1}, {"learning_rate": float("nan")},
    ],
)  # fmt: skip
def test_bad_parameters_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        descent(**changes)
