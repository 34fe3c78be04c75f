"""Rounds: losses of the four places of the noise, sums, neighbours, what is refused, and digits."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.learning import AdaptiveClip, Clip, Poisson, TrainingPlan
from deniable.learning.federated import (
    Federated,
    LocalDescent,
    Participant,
    SecureSum,
    Sign,
    Simulation,
    Softmax,
    Top,
    private_descent,
)
from deniable.noise.bits import DeterministicBits
from deniable.privacy import GaussianLoss, Replace

COARSE = Clip(norm=1, lattice=2**10)
SECURE_SUM = SecureSum(survivors=4)


def plan(**changed: Any) -> TrainingPlan:
    return TrainingPlan(**{"noise_multiplier": 2, "steps": 3, "dimensions": 2, "clip": COARSE, **changed})


def trained(federated: Federated, updates: Any, seed: int = 1, **changed: Any) -> np.ndarray:
    clients = {
        i: Participant(
            federated, i, lambda _, to=each: np.array(to, dtype=float), bits=DeterministicBits(seed * 99 + i)
        )
        for i, each in enumerate(updates)
    }
    ask = Simulation(clients, **changed)
    count = len(updates)
    return federated.fit(ask, clients=count, expected_clients=count, bits=DeterministicBits(seed)).parameters


@pytest.mark.parametrize("trust", ["central", "local", "distributed"])
def test_parameters_move_by_the_sum_over_the_public_number(trust: str) -> None:
    """Hardly any noise; updates beyond the norm are cut, and one that is not finite counts as zero."""
    relation = {} if trust == "central" else {"relation": Replace}
    secure = SECURE_SUM if trust == "distributed" else None
    federated = Federated(plan=plan(noise_multiplier="1/100", **relation), trust=trust, secure=secure)
    updates = [(0.3, 0.4), (6.0, 8.0), (np.nan, 1.0), (0.0, 0.0), (0.1, 0.0)]
    assert trained(federated, updates) == pytest.approx([3 * 1.0 / 5, 3 * 1.2 / 5], abs=0.05)


def test_the_sum_has_the_noise_of_the_plan_and_nothing_is_divided_by_who_answered() -> None:
    """2,000 entries: a deviation within 6/sqrt(4000) of the claim; scales times 0.8 and 1.25 are refused."""
    for trust, secure, shares in (("central", None, 1.0), ("distributed", SECURE_SUM, 6 / 4), ("local", None, 6.0)):
        relation = {} if trust == "central" else {"relation": Replace}
        made = plan(steps=1, dimensions=2000, **relation)
        found = trained(Federated(plan=made, trust=trust, secure=secure), np.zeros((6, 2000)))
        claim = 2 * math.sqrt(shares) / 6
        assert abs(found.std() / claim - 1) < 6 / math.sqrt(4000)


def test_central_noise_costs_what_the_plan_does_and_local_noise_counts_every_round_at_two_norms() -> None:
    sampled = plan(sampler=Poisson(rate="1/10"), relation=Replace)
    assert Federated(plan=sampled).privacy_loss == sampled.privacy_loss
    local = Federated(plan=sampled, trust="local").privacy_loss
    assert local.delta(1).upper == pytest.approx((GaussianLoss(noise_multiplier=1) * 3).delta(1).upper, rel=1e-3)
    summed = Federated(plan=sampled, trust="distributed", secure=SECURE_SUM).privacy_loss
    assert local.delta(1).upper <= summed.delta(1).upper <= local.delta(1).upper * 1.001
    assert local.relations == summed.relations == {Replace}


def test_an_update_without_a_clip_has_no_privacy_and_with_one_two_norms() -> None:
    """Erratum E50: between any two clients' data sums differ by up to 2C; a norm of 1e6 at sigma 1 is no privacy."""
    sums = [COARSE.integers(np.array([each]), 1.0)[0] for each in ((1e6, 0.0), (-1e6, 0.0), (0.0, 0.0))]
    assert np.abs(sums[0] - sums[1]).max() == 2 * (2**10 - 1)
    assert np.abs(sums[0] - sums[2]).max() <= 2**10
    assert GaussianLoss(noise_multiplier="1e-6").delta(1).upper == 1


@pytest.mark.parametrize("trust", ["central", "local", "distributed"])
def test_one_client_moves_the_sum_of_a_round_by_its_norm(trust: str) -> None:
    """The same draws in both worlds, so the noise cancels: one norm for nothing in its place, two for the opposite."""
    made = plan(steps=1, dimensions=3, relation=Replace)
    federated = Federated(plan=made, trust=trust, secure=SECURE_SUM if trust == "distributed" else None)
    updates = np.random.default_rng(3).normal(size=(6, 3)) * 50
    for other, norms in ((np.zeros(3), 1), (-updates[0], 2), (np.full(3, np.nan), 1)):
        moved = trained(federated, updates) - trained(federated, [other, *updates[1:]])
        assert 0.99 * norms < np.linalg.norm(moved) * 6 <= norms * (1 + 1e-9)


def test_shares_of_lattice_noise_are_nearly_one_draw() -> None:
    """The law of n shares, convolved, is at least (1 - bound) that of one draw of the whole, everywhere."""
    for square, count in product((1.0, 1.5), (2, 3, 6)):
        span = np.arange(-60, 61)
        one = np.exp(-(span**2) / (2 * square))
        law, whole = one / one.sum(), np.exp(-(np.arange(-60 * count, 60 * count + 1) ** 2) / (2 * square * count))
        whole, made = whole / whole.sum(), law
        for _ in range(count - 1):
            made = np.convolve(made, law)
        middle = np.abs(np.arange(len(whole)) - 60 * count) <= 12
        worst = 1 - (made[middle] / whole[middle]).min()
        federated = Federated(
            plan=plan(noise_multiplier=Fraction(1, 2), clip=Clip(lattice=4), steps=1, dimensions=1, relation=Replace),
            trust="distributed",
            secure=SecureSum(survivors=4),
        )
        assert federated.share_squared == 1
        bound = 5 * sum(math.exp(-2 * math.pi**2 * square * k / (k + 1)) for k in range(1, count))
        assert worst <= bound
        assert count > 2 or worst > bound / 10
    assert federated.lattice_delta == pytest.approx(5 * sum(math.exp(-2 * math.pi**2 * k / (k + 1)) for k in (1, 2, 3)))


def test_a_round_below_the_least_number_of_survivors_is_given_up_and_training_goes_on() -> None:
    made = Federated(plan=plan(relation=Replace, noise_multiplier="1/100"), trust="distributed", secure=SECURE_SUM)
    updates = np.full((6, 2), 0.3)
    for stage in range(4):
        clients = {i: Participant(made, i, lambda _, to=each: to) for i, each in enumerate(updates)}
        ask = Simulation(clients, drops_out=lambda turn, at, i, stage=stage: turn == 2 and at >= stage and i < 3)
        found = made.fit(ask, clients=6, expected_clients=6)
        assert [turn for turn, _ in found.lost] == [2]
        assert found.parameters == pytest.approx([0.6, 0.6], abs=0.05)
        one = Simulation(
            {i: Participant(made, i, lambda _, to=each: to) for i, each in enumerate(updates)},
            drops_out=lambda turn, at, i, stage=stage: turn == 2 and at >= stage and i < 2,
        )
        found = made.fit(one, clients=6, expected_clients=6)
        assert not found.lost
        assert found.parameters == pytest.approx([0.8 if stage < 3 else 0.9] * 2, abs=0.05)


def test_hostile_updates_count_as_nothing_where_the_server_sees_them() -> None:
    """Four-byte numbers beyond the norm, of another length, and none."""
    made = Federated(plan=plan(noise_multiplier="1/100", steps=1))
    ways = [np.full(2, 2**30, dtype="<i4").tobytes(), b"abc", b"", np.array([2**9, 0], dtype="<i4").tobytes()]
    found = made.fit(lambda asked: {i: ways[i] for i in asked}, clients=4, expected_clients=4)
    assert found.parameters == pytest.approx([1 / 8, 0], abs=0.02)


def test_wraps_are_bounded_and_refused() -> None:
    """One coordinate: the sum of 2^11 updates of 2^20 steps fills 32 bits."""
    made = Federated(plan=plan(clip=Clip(), relation=Replace), trust="distributed", secure=SECURE_SUM)
    assert made.wrap_probability(1000) < 1e-9 < made.wrap_probability(2048) == 1
    with pytest.raises(InvalidParameterError, match="wrap around"):
        made.fit(dict, clients=2048, expected_clients=2048)
    narrow = Federated(
        plan=plan(clip=Clip(lattice=100), relation=Replace), trust="distributed", secure=SecureSum(survivors=4, width=2)
    )
    room, spread = 2**15 - 1 - 32000, math.sqrt(320 * float(narrow.share_squared))
    assert narrow.wrap_probability(320) == pytest.approx(min(12 * math.exp(-((room / spread) ** 2) / 2), 1))


def test_the_norm_follows_a_quantile_of_updates_wherever_the_noise_is_added() -> None:
    clip = AdaptiveClip(norm=8, rate=1)
    for trust, secure in (("central", None), ("distributed", SECURE_SUM), ("local", None)):
        made = plan(noise_multiplier="1/100", steps=20, clip=clip, relation=Replace)
        norms: list[float] = []
        federated = Federated(plan=made, trust=trust, secure=secure)
        clients = {i: Participant(federated, i, lambda _, i=i: np.array([i / 4, 0.0])) for i in range(9)}
        carried = Simulation(clients)

        def ask(messages: dict[int, bytes], carried: Simulation = carried, norms: list[float] = norms) -> Any:
            first = next(iter(messages.values()))
            norms.extend(np.frombuffer(first[1:9], dtype="<f8") if first[0] == 0 else [])
            return carried(messages)

        federated.fit(ask, clients=9, expected_clients=9)
        assert norms[0] == 8
        assert 0.7 < norms[-1] < 1.4


def test_codecs_are_of_noisy_values_and_noise_is_in_what_leaves_a_client() -> None:
    made = plan(noise_multiplier=1, dimensions=64, relation=Replace, steps=1)
    for codec, length in ((Sign(steps=100), 8), (Top(count=5), 60)):
        federated = Federated(plan=made, trust="local", codec=codec)
        sent = [Participant(federated, 0, lambda _: np.eye(64)[0]).answer(b"\0" + np.ones(65).tobytes()) for _ in "ab"]
        assert sent[0] != sent[1]
        assert {len(each) for each in sent} == {length}
        whole = Federated(plan=made, codec=codec)
        found = trained(whole, np.zeros((4, 64)))
        steps = np.unique(np.abs(found * 4 * 2**10).round())
        assert steps.tolist() == [100] if isinstance(codec, Sign) else np.count_nonzero(found) == 5


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"trust": "nobody"}, "trust must be"),
        ({"trust": "distributed"}, "goes with secure"),
        ({"secure": SECURE_SUM}, "goes with secure"),
        ({"trust": "local", "plan": plan()}, "relation=Replace"),
        ({"codec": Sign(steps=1), "plan": plan(clip=AdaptiveClip())}, "a codec goes with Clip"),
        ({"local_steps": 3}, "local_steps goes with"),
        ({"trust": "examples", "local_steps": 2}, "must divide"),
        (
            {"trust": "local", "plan": plan(clip=Clip(lattice=1), noise_multiplier="1/2", relation=Replace)},
            "too coarse",
        ),
    ],
)
def test_what_has_no_proof_is_refused_before_anybody_is_asked(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidParameterError, match=sentence):
        Federated(**{"plan": plan(), **changed})
    for bad in ({"survivors": 3, "colluding": 2}, {"survivors": 3, "width": 3}, {"survivors": 3, "neighbours": 5}):
        with pytest.raises(InvalidParameterError):
            SecureSum(**bad)


def test_the_ledger_pays_before_a_client_is_asked() -> None:
    seen: list[str] = []

    class Purse:
        def pay(self, loss: Any, **facts: Any) -> None:
            seen.append("paid")
            assert facts["units"]
            assert loss == plan().booked("1e-6")

    def ask(messages: dict[int, bytes]) -> dict[int, bytes]:
        seen.append("asked")
        return {}

    Federated(plan=plan()).fit(ask, clients=2, expected_clients=2, ledger=Purse())  # type: ignore[arg-type]
    assert seen == ["paid", "asked", "asked", "asked"]


def test_digits_are_learnt_by_whole_clients_and_by_their_examples() -> None:
    """Chance is 0.1. Two rows a client, epsilon 8 for all that a client has."""
    datasets = pytest.importorskip("sklearn.datasets")
    rows, labels = datasets.load_digits(return_X_y=True)
    order, rows = np.random.default_rng(0).permutation(len(rows)), rows / 16
    train, held = order[:1348], order[1348:]
    model = Softmax(columns=64, classes=10)
    public = {"delta": "1e-5", "dimensions": model.dimensions}
    whole = Federated(plan=TrainingPlan.calibrate(epsilon=8, steps=6, **public), step_size=2)
    parts = np.array_split(train[:400], 200)
    work = [LocalDescent(model=model, rows=rows[p], labels=labels[p], step_size="1/2", steps=3) for p in parts]
    clients = {i: Participant(whole, i, each, bits=DeterministicBits(i)) for i, each in enumerate(work)}
    found = whole.fit(Simulation(clients), clients=200, expected_clients=200, bits=DeterministicBits(1))
    assert (model.predict(found.parameters, rows[held]) == labels[held]).mean() > 0.7
    inside = Federated(plan=TrainingPlan.calibrate(epsilon=8, steps=12, **public), trust="examples", local_steps=3)
    work = [
        LocalDescent(model=model, rows=rows[p], labels=labels[p], step_size=2, steps=3)
        for p in np.array_split(train, 5)
    ]
    clients = {
        i: Participant(inside, i, private_descent(each, inside.plan, expected_rows=270, bits=DeterministicBits(i)))
        for i, each in enumerate(work)
    }
    found = inside.fit(Simulation(clients), clients=5, expected_clients=5, bits=DeterministicBits(1))
    assert (model.predict(found.parameters, rows[held]) == labels[held]).mean() > 0.8


def test_skellam_shares_have_the_noise_of_the_plan_and_a_loss_without_a_lattice_term() -> None:
    """2,000 entries, six of four shares: a deviation within 6/sqrt(4000) of the claim, a sum of 6 Skellam numbers."""
    made = plan(steps=1, dimensions=2000, relation=Replace)
    federated = Federated(plan=made, trust="distributed", secure=SECURE_SUM, noise="skellam")
    found = trained(federated, np.zeros((6, 2000)))
    assert abs(found.std() / (2 * math.sqrt(6 / 4) / 6) - 1) < 6 / math.sqrt(4000)
    assert federated.lattice_delta == 0
    gaussian = Federated(plan=made, trust="distributed", secure=SECURE_SUM)
    exact, bound = (each.privacy_loss.epsilon("1e-5").upper for each in (gaussian, federated))
    assert exact < bound < 1.12 * exact
    assert federated.privacy_loss.relations == {Replace}
    for bad, sentence in (
        ({"noise": "normal"}, "noise must be"),
        ({"plan": plan(clip=Clip(), relation=Replace)}, "too fine"),
    ):
        with pytest.raises(InvalidParameterError, match=sentence):
            Federated(**{"plan": made, "trust": "distributed", "secure": SECURE_SUM, "noise": "skellam", **bad})
    with pytest.raises(InvalidParameterError, match="noise must be"):
        Federated(plan=made, trust="central", noise="skellam")


@pytest.mark.parametrize("noise", ["gaussian", "skellam"])
def test_numbers_that_wrap_around_are_as_rare_as_stated(noise: str) -> None:
    """16 bits, 7 clients at the norm, 4,000 numbers: sums modulo 2^16 that differ from those in full."""
    made = plan(clip=Clip(lattice=3000), steps=1, dimensions=4000, noise_multiplier="3/2", relation=Replace)
    federated = Federated(plan=made, trust="distributed", secure=SecureSum(survivors=2, width=2), noise=noise)
    bits = DeterministicBits(5)
    total = 7 * 3000 + sum(federated.share((4000,), bits) for _ in range(7))
    wrapped = (total != total.astype(np.int16)).sum()
    spread = math.sqrt(7 * float(federated.share_squared))
    room = (2**15 - 1 - 7 * 3000) / spread
    bound = 4000 * 2 * math.exp(-(room**2) / (2 + 2 * (room / spread / 3 if noise == "skellam" else 0)))
    assert federated.wrap_probability(7) == pytest.approx(min(bound, 1))
    assert 0 < wrapped < bound
