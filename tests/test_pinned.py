"""One point for each bound of a theorem, derived a second time: a bound with room to spare hides a factor of two."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import comb
from scipy.stats import norm

from deniable.adaptive import GaussianAnswers, Ladder, ReusableHoldout, described_gap, posterior_gap, selected_gap
from deniable.adaptive.holdout import LATTICE_STEPS, SENSITIVITY
from deniable.attacks.tracing import attributes_to_trace, code_length, tracing_power
from deniable.attacks.tracing.fingerprinting import collective_score, draw_code
from deniable.games import CongestionGame, Counters, PrivateMatching
from deniable.learning import Clip, NoisyDescent, TrainingPlan
from deniable.learning.federated import Federated, SecureSum
from deniable.learning.losses import Logistic
from deniable.learning.rates import noisy_descent_steps
from deniable.learning.sets import L2Ball
from deniable.limits import (
    histogram_error,
    learner_rows,
    local_floor,
    mean_error,
    noise_of_questions,
    packed_error,
    packed_success,
    population_error,
    population_rows,
    threshold_error,
    two_point_error,
)
from deniable.local import ShuffledSum
from deniable.local.sums import mixing_distance
from deniable.mechanisms.correlated import Tree, Uses
from deniable.noise.bits import DeterministicBits
from deniable.privacy import ApproximateLoss, Budget, ConcentratedLoss, PureLoss, Replace
from deniable.privacy.constructors import LastIterateLoss
from deniable.privacy.notions.concentrated import largest_rho
from deniable.privacy.sensitivity.tree import squared_tree_sensitivity

NEAR: dict[str, Any] = {"rel": 1e-6}


# --- adaptive --------------------------------------------------------------------------------------------------------


def test_gaps_of_questions_that_follow_on_answers() -> None:
    assert described_gap(7, rows=50, failure="0.1") == pytest.approx(math.sqrt(math.log(2 * 7 / 0.1) / 100), **NEAR)
    assert posterior_gap(PureLoss("0.3"), failure="0.05") == pytest.approx(math.tanh(0.075), **NEAR)
    rest = 4e-3 / ((1 + math.exp(0.3)) * 0.25)
    found = posterior_gap(ApproximateLoss("0.3", "1e-3"), failure="0.25")
    assert found == pytest.approx(math.tanh(0.15) + rest, **NEAR)


def test_the_gap_of_a_question_that_was_selected() -> None:
    def gap(free: Any, delta: float = 0.0) -> float:
        extra, c = np.exp(free)
        share = 0.05 / (2 if delta else 1)
        noise = math.log((1 + 1 / c) / share) / (10_000 * extra)
        return (
            2 * noise
            + c
            + math.tanh((0.1 + extra) / (2 if delta else 4))
            + 4 * delta / ((1 + math.exp(0.1 + extra)) * 0.025)
        )

    for loss, delta in ((PureLoss("0.1"), 0.0), (ApproximateLoss("0.1", "1e-15"), 1e-15)):
        best = minimize(gap, [-3, -5], args=(delta,), method="Nelder-Mead").fun
        assert best <= selected_gap(loss, rows=10_000, failure="0.05") <= 1.005 * best


def test_errors_of_holdouts_are_of_noise_a_gap_and_rounding() -> None:
    few = GaussianAnswers(rows=100, questions=3, budget=Budget(rho=1000))
    rounding, gap = 0.5 / 11 + 1 / LATTICE_STEPS, math.sqrt(math.log(2 * 3 * 12**2 * 2 / 0.025) / 200)
    noise = few._noise.half_width(1 - Fraction("0.025") / 3) / (100 * LATTICE_STEPS)
    assert few.error == pytest.approx(gap + noise + rounding, **NEAR)
    many = GaussianAnswers(rows=10**6, questions=10**4, budget=Budget(rho="0.002"))
    c = Fraction(1, 20 * 1000 + 20)
    noise = many._noise.half_width(1 - c * Fraction("0.025") / 10**4) / (10**6 * LATTICE_STEPS)
    assert many.privacy_loss.rho is not None
    gap = posterior_gap(ConcentratedLoss(rho=many.privacy_loss.rho), failure="0.025")
    assert many.error == pytest.approx(noise + 0.5 / 1001 + 1 / LATTICE_STEPS + float(c) + gap, **NEAR)
    holdout = ReusableHoldout(rows=900, questions=6, corrections=3, threshold="0.04", budget=Budget(epsilon=30))
    told = holdout.corrected_error - holdout._valuing.half_width(1 - Fraction("0.05") / 12) / (900 * LATTICE_STEPS)
    compared = holdout._comparing.half_width(1 - Fraction("0.05") / 12, questions=6) / (900 * LATTICE_STEPS)
    assert holdout.kept_error == pytest.approx(0.04 + compared + told, **NEAR)
    once = [each.privacy_loss(SENSITIVITY).pure_epsilon for each in (holdout._comparing, holdout._valuing)]
    assert holdout.privacy_loss.pure_epsilon == 3 * sum(filter(None, once))
    assert all(once)
    board = Ladder(rows=900, questions=6, improvements=3, budget=Budget(epsilon=30))
    assert board.error == min(1, max(board.kept_error, board.corrected_error))


# --- games -----------------------------------------------------------------------------------------------------------


def test_errors_of_counters_are_a_union_over_posts() -> None:
    """Three passes of four batches: 13 posts, of which two are told apart by at most 3 + 2 * 3 nodes."""
    made = Counters(players=10, cells=2, passes=3, batches=4, rho=1)
    assert made.noise.sigma_squared == 9  # nine nodes hold a turn, and each moves by sqrt(2)
    assert made.error(0.05) == math.ceil(math.sqrt(2 * 9 * 9 * math.log(2 * 13**2 / 0.05)))


def test_regret_of_congestion() -> None:
    """Nobody moves twice where own costs decide: then all of the bound is the error of the counts."""
    game = CongestionGame(latencies=[range(11), range(11)], influence=1, top=10**6)
    own = [[0, 10**6]] * 10
    settled = game.settle(own, rho=1, slack=3, passes=2, batches=2, bits=DeterministicBits(1))
    made = Counters(players=10, cells=2, passes=2, batches=2, rho=1, moves=True)
    assert settled.bound == 3 + 2 * made.error(0.05)
    learnt = game.learn(own, rho="1/2", rounds=8, bits=DeterministicBits(1)).bound
    range_, sigma = 10 + 10**6, math.sqrt(8 / 0.5)
    swaps = range_ * math.sqrt(2 * math.log(2) / 16)
    assert learnt == pytest.approx(swaps + 2 * (sigma * math.sqrt(2 * math.log(4)) + 1), rel=1e-12)


def test_a_matching_divides_its_delta() -> None:
    """Half pays for the posts; the other covers two tails beyond the reserve, of which one counts e^epsilon times."""
    made = PrivateMatching(players=8, goods=2, supply=400, top=10, step=1, epsilon=1, delta="1e-2", passes=1, batches=2)
    assert made.counters.rho == largest_rho(Fraction(1), Fraction("0.005"))
    assert made.reserve == made.counters.error(0.01 / (2 + 2 * 3))  # 3 is at least e


# --- limits ----------------------------------------------------------------------------------------------------------


def test_packing_solves_its_inequality() -> None:
    """(sets - 1) s / (1 - s) <= e^(k epsilon) for a success of s."""
    found = packed_success(PureLoss(1), sets=100, units=3)
    assert 99 * found / (1 - found) == pytest.approx(math.exp(3), **NEAR)
    delta = 0.01
    found = packed_success(ApproximateLoss(1, "0.01"), sets=100, units=1)
    assert found == pytest.approx((1 + 99 / math.e * delta) / (1 + 99 / math.e), **NEAR)

    def success(sets: int, units: int) -> float:
        group, end = PureLoss(1).group(units), np.linspace(0, units, 65)
        weight = (sets - 1) * np.exp(-end)
        return float(((1 + weight * [group.delta(float(e)).upper for e in end]) / (1 + weight)).min())

    for sets in (20, 21):
        units = max(k for k in range(1, 12) if success(sets, k) < 0.95)
        assert packed_error(PureLoss(1), sets=sets, rows=1000, failure="0.05") == units / 2000
        assert histogram_error(PureLoss(1), rows=1000, cells=sets) == units / 2000
    for sets in range(2, 40):  # samples with two rows on the two sides of each threshold but the first
        units = round(2000 * packed_error(PureLoss(1), sets=sets, rows=1000, failure="0.05"))
        assert threshold_error(PureLoss(1), rows=1000, domain=sets + 1) == units // 2 / 1000


def test_two_points_are_told_apart_by_total_variation() -> None:
    distance = [0.0, *(PureLoss("0.1").group(k).delta(0).upper for k in range(1, 11))]
    assert distance[1] == pytest.approx(math.tanh(0.05))
    assert two_point_error(PureLoss("0.1"), units=1) == pytest.approx(1 / (1 + math.exp(0.1)), **NEAR)
    best = max(k / 20 * (1 - distance[k]) for k in range(1, 11))
    assert mean_error(PureLoss("0.1"), rows=10) == pytest.approx(best, **NEAR)
    one = population_error(PureLoss("0.1"), rows=1, distance="0.3")
    assert one == pytest.approx((1 - 0.3 * distance[1]) / 2, **NEAR)
    rows = population_rows(PureLoss("0.1"), distance="0.3", failure="0.4")
    errors = [population_error(PureLoss("0.1"), rows=size, distance="0.3") for size in (rows - 1, rows)]
    assert errors[1] <= 0.4 < errors[0]


def test_local_reports_have_a_floor() -> None:
    for epsilon, c in ((0.5, (math.e**0.5 - 1) ** 2 / math.e**0.5), (2.0, 2 * (math.e**2 - 1) ** 2 / (math.e**2 + 2))):
        slope = math.sqrt(10_000 * c) / 2
        tried = np.linspace(0, 1 / slope, 30_001)
        best = (tried / 2 * np.sqrt(1 - slope * tried)).max()
        assert local_floor(10_000, epsilon=str(epsilon)) == pytest.approx(best, **NEAR)


def test_learners_need_so_many_rows_and_not_one_less() -> None:
    h, share, epsilon, error = math.log(1000), 0.05, 0.5, 0.1

    def suffices(n: int) -> bool:
        noise = 2 * (h + math.log(2 / share)) / (n * epsilon)
        return 2 * math.sqrt((h + math.log(4 / share)) / (2 * n)) + noise <= error

    rows = learner_rows(1000, error="0.1", epsilon="0.5")
    assert suffices(rows)
    assert not suffices(rows - 1)
    several = 8 * (h + math.log(2 / share)) / error
    assert learner_rows(1000, error="0.1", epsilon="0.5", realizable=True) == math.ceil(several)
    assert learner_rows(1000, error="0.1", epsilon="0.1", realizable=True) == math.ceil(several * 5)
    assert learner_rows(1000, error="0.1", epsilon=1, realizable=True) == math.ceil(several)
    noise = noise_of_questions(10, rows=100, epsilon=1, delta="0.1")
    assert noise.reconstruction == pytest.approx(100 * 0.9 / (4 * (1 + math.e)), **NEAR)
    assert noise.laplace == pytest.approx(math.sqrt(2) * 10, **NEAR)


# --- tracing ---------------------------------------------------------------------------------------------------------


def test_codes_are_as_long_as_bernsteins_inequality_says() -> None:
    cutoff = 1 / 600

    def total(p: float) -> float:
        """Of two colluders: their bit where they agree; where they do not, either bit has mean 0 over the biases."""
        return ((1 - p) ** 2 * 2 * p + p**2 * 2 * (1 - p)) / math.sqrt(p * (1 - p))

    def law(p: float) -> float:
        return 1 / (math.sqrt(p * (1 - p)) * (math.pi - 4 * math.asin(math.sqrt(cutoff))))

    mean = quad(lambda p: total(p) * law(p), cutoff, 1 - cutoff)[0]
    assert collective_score(2) == pytest.approx(mean, **NEAR)
    length = code_length(users=50, coalition=2)

    def beyond(variance: float, reach: float, chance: float) -> float:
        """What a sum exceeds with this chance: z^2 = 2 (variance + reach z / 3) ln(1 / chance)."""
        return float(np.roots([1 / (2 * math.log(1 / chance)), -reach / 3, -variance]).max())

    reach = math.sqrt(1 / cutoff - 1)

    def caught(size: int) -> bool:
        return size * collective_score(2) >= 2 * beyond(size, reach, 0.01 / 50) + beyond(2 * size, 2 * reach, 0.01)

    assert caught(length)
    assert not caught(length - 1)
    code = draw_code(users=3, coalition=2, length=50)
    assert code.cutoff == cutoff
    assert code.threshold(0.01) == pytest.approx(beyond(50, reach, 0.01 / 3), **NEAR)
    apart = math.sqrt(40 / (10 + 100 * 0.02**2 / 0.25))
    assert tracing_power(people=10, reference=[0.5] * 40, noise=0.02) == pytest.approx(norm.sf(norm.isf(0.05) - apart))
    assert attributes_to_trace(people=10, power=0.9) == math.ceil(10 * (norm.isf(0.05) + norm.isf(0.1)) ** 2)


# --- learning --------------------------------------------------------------------------------------------------------


def test_noise_of_those_who_collude_does_not_count() -> None:
    """Of five who stay two tell the server their shares: three make the noise, and two of their sums are no draws."""
    given: dict[str, Any] = {"noise_multiplier": 1, "steps": 3, "dimensions": 2, "relation": Replace}
    plan = TrainingPlan(**given, clip=Clip(norm=1, lattice=2))
    made = Federated(plan=plan, trust="distributed", secure=SecureSum(survivors=5, colluding=2))
    square = Fraction(2**2, 3)
    assert made.share_squared == square
    sums = [math.exp(-2 * math.pi**2 * float(square) * k / (k + 1)) for k in (1, 2)]
    assert made.lattice_delta == pytest.approx(5 * sum(sums) * 3 * 2, rel=1e-6)
    far = made.privacy_loss.delta(60).upper  # where Gaussian noise has nothing left to add
    assert far == pytest.approx(made.lattice_delta, rel=1e-6)


@pytest.mark.parametrize("steps", range(2, 10))
def test_the_reach_of_a_tree_is_rounded_up(steps: int) -> None:
    uses = Uses(steps=steps, dimensions=1, lattice=5)
    square = squared_tree_sensitivity(steps, uses.times, uses.separation)
    assert (Tree().sensitivity(uses) - 1) ** 2 < square * 25 <= Tree().sensitivity(uses) ** 2


def test_bounds_of_descent() -> None:
    """The steps at which 1 / T is the noise's share 2 d / (rho n^2); and E|noise|^2 = d (sigma C / n)^2."""
    rho = float(largest_rho(Fraction(1), Fraction("1e-6")))
    steps = noisy_descent_steps(columns=10, size=1000, epsilon=1, delta="1e-6")
    assert steps == math.ceil(10**6 * rho / 20)
    plan = TrainingPlan(noise_multiplier=3, steps=4, dimensions=2, clip=Clip(norm=2))
    made = NoisyDescent(loss=Logistic(), feasible=L2Ball(radius=1, columns=2), plan=plan, size=50)
    assert made._added == pytest.approx(2 * (3 * 2 / 50) ** 2)


# --- local, privacy --------------------------------------------------------------------------------------------------


def test_a_shuffled_sum_has_the_delta_of_both_halves() -> None:
    made = ShuffledSum(bounds=(0, 1), epsilon=1, delta="1e-3", min_people=40, people=50, steps=10)
    loss = made.privacy_loss
    assert float(loss.delta(1).upper) == pytest.approx(
        (1 + math.e) * mixing_distance(40, made.messages, 2**made.bits), rel=1e-5
    )


def test_messages_of_many_people_are_bounded_beyond_the_exact_terms() -> None:
    """Three messages, so c = 1, modulo 2, of 2000 people: 1024 exact means, and 2 M (1 / n^2 + n / binom(n, 2))."""
    n, modulus = 2000, 2
    means = np.zeros(1025)
    for people in [*range(1, 1025), n]:
        j = np.arange(1, min(people - 1, 1024) + 1)
        with np.errstate(over="ignore"):
            rest = float(((1 - j / people) * means[j] / comb(people, j)).sum())
        if people < n:
            means[people] = modulus * (1 + rest)
    excess = rest + 2 * modulus * (1 / n**2 + n / math.comb(n, 2))
    assert mixing_distance(n, 3, modulus) == pytest.approx(math.sqrt(excess) / 2, rel=1e-5)


@pytest.mark.parametrize("batches", [1, 2, 3])
def test_steps_that_do_not_divide_use_a_unit_once_more(batches: int) -> None:
    for steps in range(1, 3 * batches + 2):
        for after in range(min(steps, batches)):
            loss = LastIterateLoss(
                steps=steps, noise_multiplier=1, learning_rate=1, smoothness=1, batches=batches, steps_after=after
            )  # type: ignore[arg-type]
            assert loss.statement.uses == len(range(steps - 1 - after, -1, -batches))


def test_a_step_contracts_by_the_worse_end_of_curvature() -> None:
    given: dict[str, Any] = {"steps": 3, "noise_multiplier": 1, "smoothness": 1}
    found = [
        LastIterateLoss(**given, learning_rate=rate, strong_convexity="1/2").statement.contraction
        for rate in ("1/2", "19/10")
    ]
    assert found == [Fraction(3, 4), Fraction(9, 10)]
