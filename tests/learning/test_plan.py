"""The plan: its loss, its samples, its sums, and what it refuses."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.learning import Clip, Poisson, TrainingPlan
from deniable.noise.bits import DeterministicBits
from deniable.privacy import PrivacyUnit, Replace

COARSE = Clip(norm=Fraction(1, 2), lattice=2**10)


def plan(**changed: object) -> TrainingPlan:
    return TrainingPlan(**{"noise_multiplier": 2, "steps": 5, "dimensions": 3, "clip": COARSE, **changed})


def test_full_batches_cost_what_real_gaussian_noise_does() -> None:
    """delta = F(-e/mu + mu/2) - exp(e) F(-e/mu - mu/2), F normal, mu = sqrt(steps)/noise (Dong, Roth, Su 2022)."""
    mu = math.sqrt(60) / 28.9
    exact = float(ndtr(-1 / mu + mu / 2) - math.e * ndtr(-1 / mu - mu / 2))
    found = plan(noise_multiplier="28.9", steps=60, dimensions=100).privacy_loss().delta(1).upper
    assert exact <= found <= exact * 1.01


def test_samples_cost_what_a_peer_computes() -> None:
    """3.7697 is dp_accounting 0.6.0, rounded up; the truth lies at most 1e-3 below."""
    run = plan(sampler=Poisson(rate="1/10"), noise_multiplier=3, steps=512, dimensions=100)
    assert run.privacy_loss().epsilon("1e-6").upper == pytest.approx(3.7697, abs=2e-3)


def test_under_replace_a_row_counts_twice() -> None:
    once, twice = plan(), plan(noise_multiplier=4, relation=Replace)
    assert twice.privacy_loss().relations == {Replace}
    assert twice.privacy_loss().delta(1).upper == pytest.approx(once.privacy_loss().delta(1).upper, rel=1e-3)
    sampled = {"sampler": Poisson(rate="1/10"), "steps": 1}
    assert (
        plan(**sampled, relation=Replace).privacy_loss().delta(1).upper > plan(**sampled).privacy_loss().delta(1).upper
    )


def test_calibrated_noise_is_private_and_hardly_more_than_needed() -> None:
    found = TrainingPlan.calibrate(epsilon=1, delta="1e-5", steps=20, dimensions=1, clip=COARSE)
    less = plan(noise_multiplier=found.noise_multiplier * Fraction(99, 100), steps=20, dimensions=1)
    assert found.privacy_loss().epsilon("1e-5").upper <= 1 < less.privacy_loss().epsilon("1e-5").upper


def test_every_step_has_a_batch_and_every_row_its_chance() -> None:
    run = plan(sampler=Poisson(rate="1/4"), steps=400)
    sizes = [len(batch) for batch in run.batches(20, bits=DeterministicBits(3))]
    assert len(sizes) == 400
    assert min(sizes) == 0  # (3/4)^20 = 0.003 a step
    assert abs(np.mean(sizes) - 5) < 5 * math.sqrt(20 * 3 / 16 / 400)  # false alarms: 1e-6
    assert [len(batch) for batch in run.batches(0, bits=DeterministicBits(3))] == [0] * 400
    assert all((batch == np.arange(7)).all() for batch in plan().batches(7))


def test_sums_are_exact_integers_plus_noise_over_a_public_number() -> None:
    gradients = np.array([[0.1, -0.2, 0.0], [3.0, 4.0, 0.0], [0.25, 0.25, 0.25]])
    run = plan(sampler=Poisson(rate="1/2"))
    noise = run.mean_gradient(gradients[:0], expected_rows=8, bits=DeterministicBits(1))
    found = run.mean_gradient(gradients, expected_rows=8, bits=DeterministicBits(1)) - noise
    steps = found * 4 * 1024 / (1 / 2)  # 4 = 8 expected rows at rate 1/2; 1024 steps to a norm of 1/2
    by_hand = [math.trunc(0.2048e3) + 614 + 511, -409 + 819 + 511, 511]  # towards 0, one by one
    assert steps == pytest.approx(by_hand, abs=1e-6)
    assert noise.any()


@pytest.mark.parametrize("bad", [[np.nan, 1, 0], [np.inf, 0, 0], [-np.inf, np.inf, 0], [0, 0, 0]], ids=str)
def test_a_gradient_that_is_zero_or_not_finite_adds_nothing(bad: list[float]) -> None:
    good = np.array([[0.1, 0.2, 0.3]])
    with_bad = plan().mean_gradient(np.array([*good, bad]), expected_rows=2, bits=DeterministicBits(1))
    assert (with_bad == plan().mean_gradient(good, expected_rows=2, bits=DeterministicBits(1))).all()


def test_no_gradient_moves_the_sum_by_more_than_the_norm() -> None:
    run, rows = (
        plan(dimensions=40),
        np.random.default_rng(1).normal(size=(50, 40)) * 10.0 ** np.arange(-20, 30)[:, None],
    )
    empty = run.mean_gradient(rows[:0], expected_rows=1, bits=DeterministicBits(1))
    moves = [run.mean_gradient(row[None], expected_rows=1, bits=DeterministicBits(1)) - empty for row in rows]
    assert max(np.linalg.norm(moves, axis=1)) <= 0.5 * (1 + 1e-9)


def test_the_noise_is_as_large_as_the_plan_says_whatever_the_batch() -> None:
    """The noise of 1,000 numbers: 2 x 1/2 over 10 expected rows, within 5 standard errors; a twin of 0.7 is outside."""
    run = plan(dimensions=1000, noise_multiplier=2)
    for size in (0, 30):
        noise = run.mean_gradient(np.zeros((size, 1000)), expected_rows=10, bits=DeterministicBits(size))
        assert abs(noise.std() / 0.1 - 1) < 5 / math.sqrt(2000) < 1 - 0.7


def test_sums_made_elsewhere_get_the_noise_of_the_plan() -> None:
    """Twelve standard errors apart from 0.7 of it; shapes stay, and every number has its own noise."""
    run = plan(dimensions=10**4)
    first, second = run.noisy([np.zeros((50, 100), np.int64), np.zeros(5000, np.int64)], bits=DeterministicBits(1))
    noise = np.concatenate([first.ravel(), second]) * float(run.clip.step)
    assert (first.shape, second.shape) == ((50, 100), (5000,))
    assert abs(noise.std() - 1) < 5 / math.sqrt(2 * 10**4) < 1 - 0.7
    again = run.noisy(np.arange(10**4), bits=DeterministicBits(1))[0] - np.arange(10**4)
    assert (again != first.ravel().repeat(2)).any()
    for wrong in (np.zeros(9999, np.int64), np.zeros(10**4)):
        with pytest.raises(InvalidParameterError):
            run.noisy(wrong)


def test_a_hundred_million_numbers_have_a_plan() -> None:
    large = plan(dimensions=10**8, clip=Clip(lattice=2**26))
    assert large.privacy_loss().epsilon("1e-5").upper == pytest.approx(
        plan().privacy_loss().epsilon("1e-5").upper, rel=1e-3
    )


def test_json_gives_the_same_plan_back() -> None:
    first = plan(sampler=Poisson(rate="1/3"), relation=Replace, unit=PrivacyUnit(noun="patient"))
    assert TrainingPlan.from_json(first.to_json()) == first


@pytest.mark.parametrize("text", ["", "[]", '{"plan": "training"}', plan().to_json().replace("poisson", "shuffled")])
def test_other_text_is_no_plan(text: str) -> None:
    with pytest.raises(InvalidParameterError):
        TrainingPlan.from_json(text)


@pytest.mark.parametrize(
    "wrong",
    [{"steps": 0}, {"steps": 1.5}, {"noise_multiplier": 0}, {"dimensions": 0}, {"sampler": 0.1}, {"clip": 1},
     {"relation": "both"}, {"noise_multiplier": "1e30"}],
    ids=str,
)  # fmt: skip
def test_settings_that_do_not_fit_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        plan(**wrong)


def test_rates_and_norms_outside_their_domains_are_refused() -> None:
    for make in (lambda: Poisson(rate="11/10"), lambda: Poisson(rate=0), lambda: Clip(norm=0), lambda: Clip(lattice=0)):
        with pytest.raises(InvalidParameterError):
            make()


def test_units_with_many_rows_are_refused() -> None:
    with pytest.raises(UnprovedError, match="one row"):
        plan(unit=PrivacyUnit(column="patient", noun="patient"))
