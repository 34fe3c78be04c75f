"""Clients: their work against plain formulas, and what they refuse."""

import math
import warnings
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.learning import Clip, Poisson, TrainingPlan
from deniable.learning.federated import (
    Federated,
    LocalDescent,
    Participant,
    SecureSum,
    Sign,
    Softmax,
    Top,
    clients,
    private_descent,
)
from deniable.learning.federated.secure import pack
from deniable.learning.losses import Hinge, Logistic, Squared
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Replace
from tests.rows.containers import ODD

ROWS = np.random.default_rng(2).normal(size=(6, 3))
PLAN = TrainingPlan(noise_multiplier=Fraction(1, 100), steps=2, dimensions=3, relation=Replace, clip=Clip(norm=1))


def first(norm: float = 1.0, parameters: object = (0.0, 0.0, 0.0)) -> bytes:
    return b"\0" + np.append(norm, parameters).astype("<f8").tobytes()


def test_softmax_gradients_are_those_of_the_loss() -> None:
    model, labels, here = Softmax(columns=3, classes=4), np.array([0, 1, 2, 3, 0, 1]), np.linspace(-1, 1, 16)

    def loss(at: np.ndarray, i: int) -> float:
        scores = np.append(ROWS[i], 1) @ at.reshape(4, 4)
        return float(np.log(np.exp(scores).sum()) - scores[labels[i]])

    for i, found in enumerate(model.gradients(here, ROWS, labels)):
        steps = np.eye(16) * 1e-6
        assert found == pytest.approx([(loss(here + s, i) - loss(here - s, i)) / 2e-6 for s in steps], abs=1e-6)
    assert not model.gradients(here, ROWS[:1], [9]).any()
    assert (
        model.predict(here, ROWS).tolist()
        == (np.column_stack([ROWS, np.ones(6)]) @ here.reshape(4, 4)).argmax(1).tolist()
    )


def test_a_gradient_of_a_linear_layer_is_the_row_until_it_is_clipped_and_noised() -> None:
    """Inventory 170: dW / db is the row, to the last digits; of an update with noise it is not."""
    model = Softmax(columns=3, classes=4)
    exact = model.gradients(np.zeros(16), ROWS[:1], [2])[0]
    noisy = Federated(plan=TrainingPlan(noise_multiplier=1, steps=1, dimensions=16, relation=Replace), trust="local")
    client = Participant(noisy, 0, lambda _: exact, bits=DeterministicBits(4))
    sent = np.frombuffer(client.answer(first(parameters=np.zeros(16))), dtype="<i8").astype(float)
    guesses = [(found[:12].reshape(3, 4) / found[12:])[:, 0] for found in (exact, sent)]
    assert guesses[0] == pytest.approx(ROWS[0], rel=1e-12)
    assert np.linalg.norm(guesses[1] - ROWS[0]) > 1


def test_one_step_is_a_gradient_and_more_go_on_from_there() -> None:
    labels, loss = ROWS.sum(axis=1), Squared(label_bound=9)
    once = LocalDescent(model=loss, rows=ROWS, labels=labels, step_size="1/10")(np.zeros(3))
    assert once == pytest.approx(ROWS.T @ labels / 60)
    twice = LocalDescent(model=loss, rows=ROWS, labels=labels, step_size="1/10", steps=2)(np.zeros(3))
    assert twice == pytest.approx(once + LocalDescent(model=loss, rows=ROWS, labels=labels, step_size="1/10")(once))
    empty = LocalDescent(model=loss, rows=np.zeros((0, 3)), labels=[], step_size=1)
    assert empty(np.zeros(3)).tolist() == [0, 0, 0]


def test_private_descent_walks_by_its_plan() -> None:
    """With hardly any noise it is plain descent on clipped gradients."""
    local = LocalDescent(model=Squared(label_bound=1), rows=ROWS / 9, labels=[1] * 6, step_size=1, steps=2)
    work = private_descent(local, PLAN, expected_rows=6, bits=DeterministicBits(1))
    assert work(np.zeros(3)) == pytest.approx(local(np.zeros(3)), abs=0.02)


@pytest.mark.parametrize("update", [[np.nan, 0, 0], [np.inf, 0, 0], [1e300, 1e300, 0], [3.0, 4.0, 0], [0, 0, 0]])
def test_what_a_client_sends_is_within_the_norm(update: list[float]) -> None:
    federated = Federated(plan=PLAN)
    sent = np.frombuffer(Participant(federated, 0, lambda _: np.array(update)).answer(first()), dtype="<i4")
    steps = PLAN.clip.lattice
    assert (sent.astype(object) ** 2).sum() <= steps**2
    assert bool(sent.any()) == (0 < np.abs(update).max() < 1e100)


def test_a_client_answers_no_more_rounds_than_were_paid_and_no_bytes_that_are_no_message() -> None:
    client = Participant(Federated(plan=PLAN), 0, lambda at: at)
    for message in (b"", b"\0", first(float("nan")), first(-1), first(parameters=(0, 0)), b"\7", b"\1abc"):
        assert client.answer(message) == b""
        assert client.refusal
    assert client.answer(first())
    assert client.answer(first())
    assert client.answer(first()) == b""
    assert "rounds of the plan are over" in client.refusal


@pytest.mark.parametrize("rows", [[], [[]], [[1.0, 2.0]], [[1.0, 2.0], [np.nan, 1.0], [3.0]]], ids=len)
@pytest.mark.parametrize("model", [Softmax(columns=2, classes=3), Squared(label_bound=1), Logistic(), Hinge()], ids=str)
def test_there_is_a_gradient_for_every_row_and_none_for_none(model: Any, rows: list[Any]) -> None:
    """Each row is read and rounded by itself, so that rows alone have the same gradients to the last bit."""
    here, labels = np.linspace(-1, 1, getattr(model, "dimensions", 2)), [1.0] * len(rows)
    found = model.gradients(here, rows, labels)
    assert found.shape == (len(rows), here.size)
    for row, gradient in zip(rows, found, strict=True):
        assert np.array_equal(model.gradients(here, [row], [1.0])[0], gradient, equal_nan=True)


def test_a_gradient_is_rounded_in_the_same_way_beside_other_rows() -> None:
    """300 rows of 64 columns, whose matrix product rounds otherwise in blocks; the twin is that product."""
    model, drawn = Softmax(columns=64, classes=3), np.random.default_rng(1)
    rows, here = drawn.normal(size=(301, 64)), drawn.normal(size=model.dimensions)
    together = model.gradients(here, rows, np.zeros(301))
    alone = np.vstack([model.gradients(here, rows[i : i + 1], [0]) for i in range(301)])
    assert np.array_equal(together, alone)


def broken(_: object) -> Any:
    raise SystemExit("a row")


@pytest.mark.parametrize("trust", ["central", "local", "distributed"])
def test_work_that_fails_is_a_zero_update_and_the_server_sees_no_difference(trust: str) -> None:
    """The same draws for zeros and for every failure: the same bytes, and errors for the client's own log alone."""
    federated = Federated(plan=PLAN, trust=trust, secure=SecureSum(survivors=3) if trust == "distributed" else None)
    ways: list[Any] = [
        broken,
        *(lambda _, given=odd: given for odd in [np.zeros(2), 1.0, np.eye(3), None, *ODD.values()]),
    ]

    def sent(work: Any, errors: list[BaseException]) -> bytes:
        client = Participant(federated, 0, work, log=errors.append, bits=DeterministicBits(1))
        replies = client.answer(first()), client._secure and client._secure._vector.tobytes()
        assert not client.refusal
        return repr(replies)

    zeros = sent(lambda _: np.zeros(3), [])
    for work in ways:
        errors: list[BaseException] = []
        with warnings.catch_warnings(action="error"):
            assert sent(work, errors) == zeros
        assert errors
        with pytest.raises(BaseException):  # noqa: B017, PT011 - whatever it is, to whoever may see it
            federated.rehearse(work)


@pytest.mark.parametrize("late", [False, True])
def test_the_first_answer_leaves_when_its_time_is_over(late: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that work moves by 3 seconds: it is slept until 5, and where 2 are allowed the update is zero."""
    clock, asked, errors = [0.0], [], []  # type: ignore[var-annotated]

    class Worker:
        def __init__(self, target: Any, daemon: bool) -> None:
            self.target = target

        def start(self) -> None:
            asked.append(self.target)

        def join(self, seconds: float) -> None:
            clock[0] += min(seconds, 3)
            if seconds >= 3:
                self.target()

        def is_alive(self) -> bool:
            return late

    sleep = lambda seconds: clock.append(clock.pop() + seconds)  # noqa: E731
    monkeypatch.setattr(clients, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
    monkeypatch.setattr(clients, "Thread", Worker)
    seconds = 2 if late else 5
    client = Participant(Federated(plan=PLAN), 0, lambda at: at + 1, seconds=seconds, log=errors.append)
    replies = [client.answer(first()) for _ in "ab"]
    assert clock[0] == 2 * seconds
    assert [any(reply) for reply in replies] == [not late] * 2
    assert len(asked) == (1 if late else 2)  # not while it is still at work
    assert [type(error) for error in errors] == [TimeoutError] * 2 * late


def test_work_with_a_time_limit_runs_in_a_thread() -> None:
    client = Participant(Federated(plan=PLAN), 0, broken, seconds=0.01)
    assert client.answer(first()) == bytes(12)
    for trust, seconds in (("examples", 1), ("central", 0), ("central", math.inf)):
        work = private_descent(LocalDescent(model=Squared(label_bound=1), rows=ROWS, labels=[1] * 6, step_size=1), PLAN,
                               expected_rows=6)  # fmt: skip
        with pytest.raises(InvalidParameterError, match="seconds"):
            Participant(Federated(plan=PLAN, trust=trust), 0, work, seconds=seconds)


def test_a_row_on_which_a_model_fails_has_no_gradient_and_a_sample_may_be_empty() -> None:
    """Softmax of no rows raised, and one row of three spoiled the sum of all."""

    class Fussy(Softmax):
        def gradients(self, parameters: Any, rows: Any, labels: Any) -> Any:
            if 3 in rows:
                raise KeyError("a row")
            return super().gradients(parameters, rows, labels)[rows[:, 0] < 8]  # of another length

    public = {"noise_multiplier": Fraction(1, 1000), "steps": 40, "relation": Replace, "sampler": Poisson(rate="1/4")}
    plan = TrainingPlan(**public, dimensions=6)
    federated, model = Federated(plan=plan, trust="examples"), Fussy(columns=1, classes=3)
    for rows in ([], [[1.0]], [[1.0], [3.0], [9.0], [2.0]]):
        moved = []
        for kept in (rows, [row if row[0] < 3 else [math.nan] for row in rows]):
            local = LocalDescent(model=model, rows=kept, labels=[2] * len(rows), step_size=1)
            work = private_descent(local, plan, expected_rows=4, bits=DeterministicBits(1))
            client = Participant(federated, 0, work)
            moved.append([client.answer(first(parameters=np.zeros(6))) for _ in range(40)])
            assert {len(reply) for reply in moved[-1]} == {48}
            assert not any(reply == bytes(48) for reply in moved[-1])
        assert moved[0] == moved[1]


def test_what_is_wrong_with_a_program_is_said_before_a_row_is_read() -> None:
    federated = Federated(plan=PLAN, trust="examples")
    local = LocalDescent(model=Squared(label_bound=1), rows=ROWS, labels=[1] * 6, step_size=1)
    other = private_descent(local, replace(PLAN, noise_multiplier=1), expected_rows=6)
    several = private_descent(replace(local, steps=2), PLAN, expected_rows=6)
    for work in (None, local, other, several):
        with pytest.raises(InvalidParameterError, match="work must be"):
            Participant(federated, 0, work)  # type: ignore[arg-type]
    summed = SimpleNamespace(gradients=lambda parameters, rows, labels: rows.sum(axis=0))
    for model, wanted in ((Softmax(columns=3, classes=2), "8 numbers"), (summed, "3 numbers for each row")):
        with pytest.raises(InvalidParameterError, match=wanted):
            private_descent(replace(local, model=model), PLAN, expected_rows=6)
    with pytest.raises(InvalidParameterError, match="one entry for each row"):
        private_descent(replace(local, labels=[1]), PLAN, expected_rows=6)


def test_a_round_whose_every_answer_is_given_by_a_new_client_from_a_state_is_the_same() -> None:
    """Also a client that is back under another number, or after its last stage, has no secrets of the round."""
    federated = Federated(plan=PLAN, trust="distributed", secure=SecureSum(survivors=3))
    states: dict[int, bytes] = {}
    seen: list[set[int]] = [set(), set()]

    def fresh(i: int, *, number: int | None = None) -> Participant:
        made = Participant(
            federated, i if number is None else number, lambda _: np.array([0.1, 0.2, 0.3]) * (i + 1) / 5
        )
        if i in states:
            made.restore(states[i])
        return made

    def ask(messages: dict[int, bytes]) -> dict[int, bytes]:
        replies = {}
        for i, message in messages.items():
            client = fresh(i)
            replies[i], states[i] = client.answer(message), client.state
            if message[0]:
                seen[0].add(len(fresh(i, number=9).answer(message)))
            if message[0] == 3:
                seen[1].add(len(states[i]))
        return replies

    found = federated.fit(ask, clients=4, expected_clients=4)
    assert not found.lost
    assert found.parameters == pytest.approx(np.array([0.1, 0.2, 0.3]), abs=0.1)
    assert seen == [{0}, {3 * 8 + 16 + 8}]
    assert fresh(0).answer(first()) == b""


def test_what_signs_say_wrongly_is_made_up_for_in_the_next_rounds() -> None:
    """Without noise to speak of, updates of 0.2 and signs of 0.5: 0.2, -0.1, 0.6 and 0.3 decide, or always 0.2."""
    plan = TrainingPlan(noise_multiplier=Fraction(1, 1000), steps=5, dimensions=1, relation=Replace)
    for feedback, wanted in ((True, [1, -1, 1, 1]), (False, [1] * 4)):
        federated = Federated(plan=plan, trust="local", codec=Sign(steps=plan.clip.lattice // 2, feedback=feedback))
        client = Participant(federated, 0, lambda _: np.array([0.2]), bits=DeterministicBits(1))
        message = first(parameters=(0.0,))
        found = [federated.codec.unpack(client.answer(message), 1)[0] for _ in range(4)]  # type: ignore[union-attr]
        assert np.sign(found).tolist() == wanted


def test_what_is_left_out_outlives_the_process() -> None:
    federated = Federated(plan=PLAN, trust="local", codec=Top(count=1))
    client = Participant(federated, 0, lambda _: np.array([0.5, 0.4, 0.0]), bits=DeterministicBits(1))
    client.answer(first())
    twin = Participant(federated, 0, lambda _: np.array([0.5, 0.4, 0.0]), bits=DeterministicBits(2))
    twin.restore(client.state)
    assert twin.state == client.state
    sent = federated.codec.unpack(twin.answer(first()), 3) / PLAN.clip.lattice  # type: ignore[union-attr]
    assert sent == pytest.approx([0, 0.8, 0], abs=0.06)


def test_stages_out_of_order_are_refused() -> None:
    federated = Federated(plan=PLAN, trust="distributed", secure=SecureSum(survivors=3))
    client = Participant(federated, 0, lambda at: at)
    assert client.answer(b"\1") == b""
    assert "begins with parameters" in client.refusal
    assert len(client.answer(first())) == 64
    for stage in (b"\2", b"\3", b"\4", b"\xff"):
        assert client.answer(stage) == b""


def test_no_bytes_make_a_client_fail() -> None:
    noise = np.random.default_rng(8)
    federated = Federated(plan=PLAN, trust="distributed", secure=SecureSum(survivors=3))
    for trial in range(300):
        client = Participant(federated, 0, lambda at: at, bits=DeterministicBits(trial))
        client.answer(first())
        for stage in (1, 2, 3):
            parts = {int(i): noise.bytes((64, 82, 1)[stage - 1]) for i in noise.integers(0, 9, 8)}
            message = pack(parts) if trial % 2 else noise.bytes(int(noise.integers(0, 99)))
            assert isinstance(client.answer(bytes([stage]) + message), bytes)


def test_what_top_k_leaves_out_is_kept_for_the_next_round() -> None:
    """Without noise to speak of: the second entry waits, and comes first when it has grown."""
    federated = Federated(plan=PLAN, trust="local", codec=Top(count=1))
    client = Participant(federated, 0, lambda _: np.array([0.5, 0.4, 0.0]), bits=DeterministicBits(1))
    steps = PLAN.clip.lattice
    sent = [federated.codec.unpack(client.answer(first()), 3) / steps for _ in range(2)]  # type: ignore[union-attr]
    assert sent[0] == pytest.approx([0.5, 0, 0], abs=0.06)
    assert sent[1] == pytest.approx([0, 0.8, 0], abs=0.06)
