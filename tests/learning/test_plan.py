"""The plan: its loss, its samples, its sums, and what it refuses."""

import math
from contextlib import nullcontext
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import deniable as dn
from deniable.audit import replay
from deniable.audit.recorded import RecordedSampler
from deniable.errors import BudgetExceededError, InvalidParameterError, UnprovedError
from deniable.learning import (
    AdaptiveClip,
    BallsInBins,
    Clip,
    CyclicPoisson,
    FixedSize,
    LogisticRegression,
    Poisson,
    ShuffledEpochs,
    TrainingPlan,
    TruncatedPoisson,
    samplers,
)
from deniable.learning.federated import Federated
from deniable.learning.plan import TrainingRun
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Budget, GaussianLoss, PrivacyLoss, PrivacyUnit, Relation, Replace

COARSE = Clip(norm=Fraction(1, 2), lattice=2**10)


PATIENTS = PrivacyUnit(column="patient", noun="patient")


def plan(**changed: object) -> TrainingPlan:
    return TrainingPlan(**{"noise_multiplier": 2, "steps": 5, "dimensions": 3, "clip": COARSE, **changed})


def released(run: TrainingRun, gradients: np.ndarray) -> list[np.ndarray]:
    return [run.mean_gradient(gradients[batch]) for batch in run]


def once(gradients: np.ndarray, seed: int = 1, expected_rows: int = 1, **changed: object) -> np.ndarray:
    """What one step on all rows gives."""
    run = plan(**{"steps": 1, **changed}).run(len(gradients), expected_rows=expected_rows, bits=DeterministicBits(seed))
    return released(run, gradients)[0]


def test_full_batches_cost_what_real_gaussian_noise_does() -> None:
    """delta = F(-e/mu + mu/2) - exp(e) F(-e/mu - mu/2), F normal, mu = sqrt(steps)/noise (Dong, Roth, Su 2022)."""
    mu = math.sqrt(60) / 28.9
    exact = float(ndtr(-1 / mu + mu / 2) - math.e * ndtr(-1 / mu - mu / 2))
    found = plan(noise_multiplier="28.9", steps=60, dimensions=100).privacy_loss.delta(1).upper
    assert exact <= found <= exact * 1.01


def test_samples_cost_what_a_peer_computes() -> None:
    """3.7697 is dp_accounting 0.6.0, rounded up; the truth lies at most 1e-3 below."""
    run = plan(sampler=Poisson(rate="1/10"), noise_multiplier=3, steps=512, dimensions=100)
    assert run.privacy_loss.epsilon("1e-6").upper == pytest.approx(3.7697, abs=2e-3)


def test_under_replace_a_row_counts_twice() -> None:
    once, twice = plan(), plan(noise_multiplier=4, relation=Replace)
    assert twice.privacy_loss.relations == {Replace}
    assert twice.privacy_loss.delta(1).upper == pytest.approx(once.privacy_loss.delta(1).upper, rel=1e-3)
    sampled = {"sampler": Poisson(rate="1/10"), "steps": 1}
    assert plan(**sampled, relation=Replace).privacy_loss.delta(1).upper > plan(**sampled).privacy_loss.delta(1).upper


def test_calibrated_noise_is_private_and_hardly_more_than_needed() -> None:
    found = TrainingPlan.calibrate(epsilon=1, delta="1e-5", steps=20, dimensions=1, clip=COARSE)
    less = plan(noise_multiplier=found.noise_multiplier * Fraction(99, 100), steps=20, dimensions=1)
    assert found.privacy_loss.epsilon("1e-5").upper <= 1 < less.privacy_loss.epsilon("1e-5").upper


def test_rho_is_kept_with_hardly_more_noise_than_needed() -> None:
    found = TrainingPlan.calibrate(rho="1/10", steps=20, dimensions=4, relation=Replace)
    assert Fraction("0.0999999") < found.privacy_loss.rho <= Fraction("0.1")
    for given in ({"sampler": Poisson(rate="1/2")}, {"epsilon": 1}, {"delta": "1e-6"}):
        with pytest.raises(InvalidParameterError, match="rho alone"):
            TrainingPlan.calibrate(rho="1/10", steps=20, dimensions=4, **given)


def test_every_row_has_its_chance() -> None:
    run, sizes = plan(sampler=Poisson(rate="1/4"), steps=400).run(20, expected_rows=20, bits=DeterministicBits(3)), []
    for batch in run:
        sizes.append(len(batch))
        run.mean_gradient(np.zeros((len(batch), 3)))
    assert len(sizes) == 400
    assert min(sizes) == 0  # (3/4)^20 = 0.003 a step
    assert abs(np.mean(sizes) - 5) < 5 * math.sqrt(20 * 3 / 16 / 400)  # false alarms: 1e-6


def test_sums_are_exact_integers_plus_noise_over_a_public_number() -> None:
    gradients = np.array([[0.1, -0.2, 0.0], [3.0, 4.0, 0.0], [0.25, 0.25, 0.25]])
    found = once(gradients, expected_rows=8) - once(gradients[:0], expected_rows=8)
    by_hand = [math.trunc(0.2048e3) + 614 + 511, -409 + 819 + 511, 511]  # towards 0, one by one
    assert found * 8 * 1024 / (1 / 2) == pytest.approx(by_hand, abs=1e-6)  # 1024 steps to a norm of 1/2


def test_a_gradient_that_is_not_finite_adds_nothing() -> None:
    good = np.array([[0.1, 0.2, 0.3]])
    for bad in ([np.nan, 1, 0], [np.inf, 0, 0], [-np.inf, np.inf, 0], [0, 0, 0]):
        assert (once(np.array([*good, bad])) == once(good)).all()


def test_the_noise_is_as_large_as_the_plan_says_whatever_the_batch() -> None:
    """The noise of 1,000 numbers: 2 x 1/2 over 10 expected rows, within 5 standard errors; a twin of 0.7 is outside."""
    for size in (0, 30):
        noise = once(np.zeros((size, 1000)), seed=size, expected_rows=10, dimensions=1000)
        assert abs(noise.std() / 0.1 - 1) < 5 / math.sqrt(2000) < 1 - 0.7


# --- one row exchanged, one more --------------------------------------------------------------------------------------

SAMPLERS = [
    Poisson(rate="1/2"),
    TruncatedPoisson(rate="1/2", cap=3, population=7),
    FixedSize(size=3, population=7),
    BallsInBins(bins=2),
    ShuffledEpochs(size=4, population=7),
]
CLIPS = [COARSE, Clip(stabiliser=1), Clip(blocks=[(1, 1), (2, 2)]), AdaptiveClip(norm=2)]


def moved(mine: dict[str, Any], theirs: dict[str, Any]) -> PrivacyLoss | None:
    """What the noise of one release hides of two sums, as real Gaussian noise would."""
    squares = int(((mine["exact"] - theirs["exact"]) ** 2).sum())
    multiplier = math.sqrt(mine["self"].sigma_squared / max(squares, 1)) * (1 + 1e-12)
    return GaussianLoss(Fraction(multiplier)) if squares else None


STEPS = [RecordedSampler(owner=AdditiveNoise, name="release", secret=frozenset({"exact", "bits"}),
                 shaped=frozenset({"exact"}), loss=moved)]  # fmt: skip


def repeated(made: TrainingPlan, rows: np.ndarray, other: np.ndarray, norms: int) -> bool:
    """Whether two runs with the same draws differ by more than `norms` clipping norms, in one step."""

    def run(rows: np.ndarray) -> object:
        return released(made.run(len(rows), expected_rows=7, bits=DeterministicBits(4)), rows)

    claim = GaussianLoss(made.noise_multiplier / norms)
    return replay(run, rows, other, samplers=STEPS, claim=claim, delta="1e-5").violated


@pytest.mark.parametrize("clip", CLIPS, ids=str)
@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_an_exchanged_row_moves_one_step_of_an_epoch_by_two_norms(sampler: Poisson, clip: Clip) -> None:
    """Twin: with a tenth less it is noticed, where a row takes part for certain."""
    made, table = plan(sampler=sampler, clip=clip, relation=Replace, steps=sampler.period), np.ones((6, 3))
    pair = [np.vstack([table, row]) for row in ([900.0, -900, 900], [-900.0, 900, -900])]
    assert not repeated(made, *pair, 2)
    assert sampler.period == 1 or isinstance(clip, AdaptiveClip) or repeated(made, *pair, Fraction(9, 5))


@pytest.mark.parametrize("clip", CLIPS, ids=str)
def test_one_row_more_moves_a_step_by_one_norm(clip: Clip) -> None:
    made, rows = plan(clip=clip, steps=1), np.random.default_rng(2).normal(size=(7, 3)) * 100
    assert not repeated(made, rows, rows[:6], 1)
    assert repeated(made, rows, rows[:6], Fraction(9, 10))


# --- units with several rows ------------------------------------------------------------------------------------------


def test_a_unit_is_drawn_with_all_its_rows() -> None:
    owners = ["b", "a", "b", None, "c", "a", "b"]
    run = plan(sampler=BallsInBins(bins=3), unit=PATIENTS, steps=9).run(
        7, expected_rows=3, units=owners, bits=DeterministicBits(5)
    )
    batches = [(batch, run.mean_gradient(np.zeros((len(batch), 3))))[0] for batch in run]
    groups = ([0, 2, 6], [1, 5], [4])
    for epoch in (batches[:3], batches[3:6], batches[6:]):
        assert sorted(np.concatenate(epoch)) == [0, 1, 2, 4, 5, 6]
        assert all(any(set(group) <= set(batch) for batch in epoch) for group in groups)


@pytest.mark.parametrize("rows", [1, 30])
def test_a_unit_moves_a_step_by_one_norm_however_many_rows_it_has(rows: int) -> None:
    """Twin: without units the same rows move the sum thirty times as far."""
    gradients, owners = np.full((3 + rows, 3), 50.0), ["x", "y", "z", *["w"] * rows]
    options = {"expected_rows": 1, "bits": DeterministicBits(6)}

    def one(count: int) -> np.ndarray:
        run = plan(unit=PATIENTS, steps=1).run(count, **{**options, "bits": DeterministicBits(6)}, units=owners[:count])
        return released(run, gradients[:count])[0]

    assert 0.49 < np.linalg.norm(one(3 + rows) - one(3)) <= 0.5
    alone = once(gradients, seed=6) - once(gradients[:3], seed=6)
    assert np.linalg.norm(alone) == pytest.approx(rows / 2, rel=0.01)


def test_a_bad_row_counts_as_zero_in_its_unit() -> None:
    found = []
    for own in (0.2, 0.0):
        gradients = np.array([[own, 0, 0], [np.nan, 1e308, np.inf], [0, 0, 0]])
        run = plan(unit=PATIENTS, steps=1).run(3, expected_rows=1, units=[1, 1, 2], bits=DeterministicBits(7))
        found.append(released(run, gradients)[0])
    assert (found[0] - found[1]).tolist() == pytest.approx([0.1, 0, 0], abs=1e-3)


# --- the run: payment, steps, checkpoints -----------------------------------------------------------------------------


def test_the_ledger_pays_before_the_first_batch() -> None:
    ledger = dn.Ledger.open(
        None, budget=Budget(epsilon=3, delta="1e-4"), relation=dn.AddRemove, unit=PrivacyUnit(), dataset="rows"
    )
    run = plan(noise_multiplier=5).run(20, expected_rows=20, ledger=ledger)
    spent = ledger.left()
    assert next(run).size == 20
    run.mean_gradient(np.zeros((20, 3)))
    again = plan(noise_multiplier=5).run(20, expected_rows=20, checkpoint=run.checkpoint())
    assert (len(released(again, np.zeros((20, 3)))), ledger.left()) == (4, spent)  # nothing is paid twice
    with pytest.raises(BudgetExceededError):
        plan(noise_multiplier="1/10").run(20, expected_rows=20, ledger=ledger)


def test_a_run_that_goes_on_with_a_ledger_pays_unless_it_has_paid() -> None:
    """The text of a run that nobody paid for, and of one that was paid where it went on."""

    def ledger() -> dn.Ledger:
        budget = Budget(epsilon=3, delta="1e-4")
        return dn.Ledger.open(None, budget=budget, relation=dn.AddRemove, unit=PrivacyUnit(), dataset="rows")

    made, first, second = plan(noise_multiplier=5), ledger(), ledger()
    unpaid = made.run(20, expected_rows=20).checkpoint()
    old = unpaid.replace(', "paid": false', "")
    assert old != unpaid
    whole = ledger()
    made.run(20, expected_rows=20, ledger=whole)
    for text in (unpaid, old):
        paying = ledger()
        run = made.run(20, expected_rows=20, ledger=paying, checkpoint=text)
        assert paying.left() == whole.left() != first.left()
        with pytest.raises(InvalidParameterError, match="was paid"):
            made.run(20, expected_rows=20, ledger=second, checkpoint=run.checkpoint())
        later = made.run(20, expected_rows=20, checkpoint=run.checkpoint())
        assert (second.left(), later.paid) == (first.left(), True)


@pytest.mark.parametrize(
    ("sampler", "relation"),
    [
        *((each, dn.AddRemove) for each in (Poisson(rate="1/4"), BallsInBins(bins=4), CyclicPoisson(classes=3))),
        (TruncatedPoisson(rate="1/4", cap=9, population=20), dn.AddRemove),
        *((each, Replace) for each in (FixedSize(size=5, population=20), ShuffledEpochs(size=5, population=20))),
    ],
    ids=str,
)
def test_training_is_paid_from_every_kind_of_budget(sampler: samplers.Sampler, relation: Relation) -> None:
    """A central federated run too, under the clients' unit; of an epsilon alone no Gaussian noise can be paid."""
    made = plan(sampler=sampler, relation=relation, clip=Clip(), noise_multiplier=4)
    budgets = [Budget(epsilon=9, delta="1e-5"), Budget(rho=9), Budget(mu=9), Budget(epsilon=9)]
    for budget, unit in product(budgets, (PrivacyUnit(), PrivacyUnit(column="client", noun="client"))):
        ledger = dn.Ledger.open(None, budget=budget, relation=relation, unit=unit, dataset="rows")
        pure = not (budget.delta or budget.rho or budget.mu)
        with pytest.raises(UnprovedError, match="a budget with delta") if pure else nullcontext():
            if unit.column is None:
                made.run(20, expected_rows=20, ledger=ledger, delta="1e-6")
            else:
                Federated(plan=made).fit(lambda asked: {}, clients=20, expected_clients=20, ledger=ledger, delta="1e-6")
        spent = ledger.spent()
        assert bool(spent.epsilon or spent.rho or spent.mu_squared) is not pure


@pytest.mark.parametrize("trainer", ["LogisticRegression", "make_private"])
def test_trainers_pay_for_samples_from_a_budget_of_rho(trainer: str) -> None:
    ledger = dn.Ledger.open(None, budget=Budget(rho=9), relation=dn.AddRemove, unit=PrivacyUnit(), dataset="rows")
    own = plan(sampler=Poisson(rate="1/4"), clip=Clip(lattice=2**24))
    if trainer == "LogisticRegression":
        model = LogisticRegression(plan=own, bounds=[(0, 1)], classes=[0, 1], expected_rows=8)
        model.fit([[0.5]] * 8, [0, 1] * 4, ledger=ledger)
    else:
        torch = pytest.importorskip("torch")
        rows = torch.utils.data.TensorDataset(torch.rand(8, 2), torch.rand(8, 1))
        linear = torch.nn.Linear(2, 1)
        pytest.importorskip("deniable.learning.torch").make_private(
            linear, torch.optim.SGD(linear.parameters(), lr=1), torch.utils.data.DataLoader(rows, batch_size=2),
            loss=torch.nn.MSELoss(), plan=own, expected_rows=8, ledger=ledger,
        )  # fmt: skip
    assert ledger.spent().rho == own.known_loss.rho == Fraction(5, 8)


def test_samples_are_paid_for_in_pairs() -> None:
    sampled = plan(sampler=Poisson(rate="1/2"))
    epsilon = sampled.privacy_loss.epsilon("1e-5").upper
    for most, paid in ((epsilon * 1.0001, True), (epsilon * 0.999, False)):
        budget = Budget(epsilon=most, delta="1e-5")
        ledger = dn.Ledger.open(None, budget=budget, relation=dn.AddRemove, unit=PrivacyUnit(), dataset="rows")
        with nullcontext() if paid else pytest.raises(BudgetExceededError):
            sampled.run(20, expected_rows=20, ledger=ledger, delta="1e-5")


def test_what_does_not_fit_is_refused_before_anything_is_paid() -> None:
    class Nobody:
        def pay(self, *args: object, **options: object) -> None:
            raise AssertionError

    wrong = [
        (plan(), {"rows": -1}),
        (plan(), {"expected_rows": 0}),
        (plan(), {"units": [1] * 7}),
        (plan(unit=PATIENTS), {}),
        (plan(unit=PATIENTS), {"units": [1] * 6}),
        (plan(sampler=FixedSize(size=2, population=8), relation=Replace), {}),
        (plan(), {"bits": 3}),
        (plan(), {"ledger": 3}),
        (plan(), {"checkpoint": "{}"}),
    ]
    for made, given in wrong:
        options = {"rows": 7, "expected_rows": 7, "ledger": Nobody(), **given}
        with pytest.raises(InvalidParameterError):
            made.run(options.pop("rows"), **options)


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_a_run_that_is_resumed_draws_and_releases_what_was_left(sampler: Poisson) -> None:
    made = plan(sampler=sampler, relation=Replace, steps=6, clip=AdaptiveClip(norm=3))
    rows, before, after = np.ones((7, 3)), [], []
    run = made.run(7, expected_rows=7, bits=DeterministicBits(8))
    for _ in range(3):
        before.append(next(run))
        run.mean_gradient(rows[before[-1]])
    text = run.checkpoint()
    later = made.run(7, expected_rows=7, checkpoint=text, bits=DeterministicBits(9))
    for batch in later:
        after.append(batch)
        later.mean_gradient(rows[batch])
    assert len(before + after) == later.step == 6
    assert later.norm != run.norm
    if sampler.period == 2:
        pairs = zip((before + after)[::2], (before + after)[1::2], strict=True)
        assert all(sorted([*one, *other]) == list(range(7)) for one, other in pairs)
    assert list(later) == []


def test_a_resumed_run_has_fresh_noise_and_the_norm_that_was_reached() -> None:
    made = plan(clip=AdaptiveClip(norm=3))
    run = made.run(7, expected_rows=7)
    next(run)
    run.mean_gradient(np.ones((7, 3)))
    twice = [made.run(7, expected_rows=7, checkpoint=run.checkpoint()) for _ in "ab"]
    next(run)
    assert [next(each).size for each in twice] == [7, 7]
    assert {each.norm for each in twice} == {run.norm}
    one, other = (each.mean_gradient(np.ones((7, 3))) for each in twice)
    assert not (one == other).any()


def test_checkpoints_of_other_plans_and_rows_are_refused() -> None:
    made = plan(sampler=BallsInBins(bins=2))
    run = made.run(7, expected_rows=7)
    next(run)
    with pytest.raises(InvalidParameterError, match="between steps"):
        run.checkpoint()
    run.mean_gradient(np.zeros((len(run._batch), 3)))
    text = run.checkpoint()
    for other, rows in ((plan(), 7), (plan(sampler=BallsInBins(bins=2), noise_multiplier=3), 7), (made, 8)):
        with pytest.raises(InvalidParameterError):
            other.run(rows, expected_rows=7, checkpoint=text)
    for bad in (text.replace('"step": 1', '"step": 2'), text.replace('"step": 1', '"step": 9'), "[]"):
        with pytest.raises(InvalidParameterError):
            made.run(7, expected_rows=7, checkpoint=bad)
    assert made.run(7, expected_rows=7, checkpoint=text, bits=DeterministicBits(1)).safe is False


def test_a_step_releases_once() -> None:
    run = plan().run(2, expected_rows=2)
    with pytest.raises(InvalidParameterError, match="releases once"):
        run.mean_gradient(np.zeros((2, 3)))
    next(run)
    with pytest.raises(InvalidParameterError, match="every step releases"):
        next(run)
    for wrong in (np.zeros((1, 3)), np.zeros((2, 2)), np.zeros(6)):
        with pytest.raises(InvalidParameterError):
            run.mean_gradient(wrong)
    run.noisy(np.zeros(3, np.int64))
    with pytest.raises(InvalidParameterError, match="releases once"):
        run.noisy(np.zeros(3, np.int64))


def test_sums_made_elsewhere_move_an_adaptive_norm_too() -> None:
    run = plan(clip=AdaptiveClip(), noise_multiplier="1/100").run(50, expected_rows=50)
    next(run)
    (found,) = run.noisy(np.zeros(3, np.int64), within=-50)
    next(run)
    assert found.shape == (3,)
    assert run.norm == pytest.approx(math.exp(0.2 / 2), rel=1e-3)


def test_sums_made_elsewhere_get_the_noise_of_the_plan() -> None:
    """Within 5 standard errors; a twin of 0.7 is outside."""
    run = plan(dimensions=10**4).run(1, expected_rows=1, bits=DeterministicBits(1))
    next(run)
    for wrong in (np.zeros(9999, np.int64), np.zeros(10**4)):
        with pytest.raises(InvalidParameterError):
            run.noisy(wrong)
    first, second = run.noisy([np.zeros((50, 100), np.int64), np.zeros(5000, np.int64)])
    noise = np.concatenate([first.ravel(), second]) * run.scale
    assert (first.shape, second.shape) == ((50, 100), (5000,))
    assert abs(noise.std() - 1) < 5 / math.sqrt(2 * 10**4) < 1 - 0.7


def test_a_hundred_million_numbers_have_a_plan() -> None:
    large = plan(dimensions=10**8, clip=Clip(lattice=2**26))
    assert large.privacy_loss.epsilon("1e-5").upper == pytest.approx(
        plan().privacy_loss.epsilon("1e-5").upper, rel=1e-3
    )


def test_json_gives_the_same_plan_back() -> None:
    for sampler in SAMPLERS:
        for clip in CLIPS:
            first = plan(sampler=sampler, clip=clip, relation=Replace, unit=PATIENTS)
            assert TrainingPlan.from_json(first.to_json()) == first


@pytest.mark.parametrize(
    "text", ["", "[]", '{"kind": "TrainingPlan"}', plan().to_json().replace("Poisson", "Shuffled")]
)
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


def test_units_of_several_values_are_refused() -> None:
    with pytest.raises(UnprovedError, match="one value"):
        plan(unit=PrivacyUnit(column="patient", noun="patient", ids=2))
