"""Counters: totals under one price, whose steps are released once, whatever dies between."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.errors import BudgetExceededError, InvalidParameterError, StreamError, UnprovedError, UnsafeReleaseError
from deniable.ledger import Ledger
from deniable.mechanisms import Gaussian
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Budget, PrivacyUnit, Replace
from deniable.stream import Alarm, Counter, StreamPlan

FACTS: dict[str, Any] = {"steps": 40, "epsilon": 1, "delta": "1e-6"}
PERSON = PrivacyUnit(column="person", noun="person")
STRATEGIES = ["buffered", "tree", "square root", "dense"]


def ledger(**changed: Any) -> Ledger:
    facts: dict[str, Any] = {"budget": Budget(epsilon=2, delta="1e-5"), "relation": AddRemove, "unit": PrivacyUnit()}
    return Ledger.open(None, dataset="visits", **facts | changed)


def noisy(counter: Counter) -> list[Any]:
    """What was released of each step: integers, and nothing else is."""
    with counter._file.reading() as connection:
        return [json.loads(row[0]) for row in connection.execute("SELECT noisy FROM releases ORDER BY step")]


def test_a_year_of_days_is_charged_once_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    path, books = tmp_path / "days.stream", ledger()
    first = Counter(path, ledger=books, name="signups", **FACTS)
    first.add(100)
    first.add(20)
    day = first.release()
    assert float(books.spent().epsilon) == pytest.approx(1)
    (entry,) = books.entries()
    assert entry.text == "stream signups; epsilon=1, delta=1e-06; protects one event in one step (add/remove)"
    first.add(7)
    first.close()
    again = Counter(path, ledger=books, name="signups", **FACTS)
    assert len(books.entries()) == 1
    assert again.step == 1
    assert again.release(1)["total"] == day["total"]  # stored
    again.add(3)
    again.release()
    ((lower, upper),) = zip(*again.release(2).intervals(0.9999)["total"], strict=True)
    assert lower < 130 < upper
    assert os.stat(path).st_mode & 0o077 == 0


def test_what_a_budget_does_not_admit_leaves_no_stream(tmp_path: Path) -> None:
    path = tmp_path / "days.stream"
    with pytest.raises(BudgetExceededError):
        Counter(path, ledger=ledger(budget=Budget(epsilon="0.5", delta="1e-5")), **FACTS)
    books = ledger()
    Counter(path, ledger=books, **FACTS)  # it is charged now, as nothing was before
    assert len(books.entries()) == 1


def test_a_stream_that_was_tried_without_a_ledger_is_charged_when_there_is_one(tmp_path: Path) -> None:
    path, books = tmp_path / "days.stream", ledger(budget=Budget(epsilon=9, delta="1e-5"))
    with Counter(path, **FACTS) as tried:
        tried.release()
    for _ in range(2):
        assert Counter(path, ledger=books, **FACTS).step == 1
    assert len(books.entries()) == 1
    Alarm(tmp_path / "x.alarm", threshold=500, epsilon="1/2").check(1)
    for _ in range(2):
        Alarm(tmp_path / "x.alarm", threshold=500, epsilon="1/2", ledger=books).check(1)
    assert len(books.entries()) == 2


def test_ledgers_of_another_unit_or_relation_are_refused() -> None:
    persons = ledger(unit=PERSON)
    with pytest.raises(UnprovedError, match="protects one row"):
        Counter(ledger=persons, **FACTS)
    with pytest.raises(InvalidParameterError, match="protects 'person'"):
        Counter(ledger=persons, unit=PrivacyUnit(column="household", noun="household"), **FACTS)
    with pytest.raises(UnprovedError, match="add/remove"):
        Counter(ledger=ledger(relation=Replace), **FACTS)
    Counter(ledger=persons, unit=PERSON, steps_per_unit=3, **FACTS)
    assert len(persons.entries()) == 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_totals_are_a_function_of_the_released_integers_alone(strategy: str, tmp_path: Path) -> None:
    """Saved and loaded at random steps, and against the written-out inverse, to 1e-12."""
    path, rng = tmp_path / "x.stream", np.random.default_rng(5)
    facts = FACTS | {"strategy": strategy, "keys": ["a", "b"]}
    counter = Counter(path, **facts)
    for _ in range(40):
        counter.add(rng.integers(0, 50, 2))
        counter.release()
        if rng.random() < 0.3:
            counter.close()
            counter = Counter(path, **facts)
    released = np.concatenate([np.reshape(step, (-1, 2)) for step in noisy(counter)]).astype(float)
    uses = counter.plan.uses
    fine = counter.strategy.correlation.fine(uses) * counter.plan.size
    known = counter.strategy.correlation.estimator(uses) @ released / fine
    found = counter.history()["total"].reshape(40, 2)
    assert found == pytest.approx(known, rel=1e-12, abs=1e-12 * np.abs(known).max())


class Still(Gaussian):
    """No noise: what is left is the arithmetic."""

    def _noise(self, shape: tuple[int, ...], bits: Any) -> Any:
        return np.zeros(shape, dtype=np.int64)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_without_noise_totals_and_windows_are_exact(strategy: str) -> None:
    counter = Counter(strategy=strategy, windows=(3, 7), **FACTS)
    vars(counter.strategy)["noise"] = Still(sigma_squared=counter.strategy.noise.sigma_squared)
    counts = np.random.default_rng(6).integers(0, 10**6, 40)
    for count in counts[:5]:
        counter.add(int(count))
        counter.release()
    counter.extend(counts[5:])
    table, sums = counter.history(), np.cumsum(counts)
    assert table["total"] == pytest.approx(sums, abs=0.1)
    assert table["last_3"] == pytest.approx(sums - np.append([0] * 3, sums[:-3]), abs=0.1)
    assert counter.release(30)["last_7"][0] == pytest.approx(counts[23:30].sum(), abs=0.1)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_neighbours_move_the_released_integers_no_farther_than_is_paid(strategy: str) -> None:
    """Random rows with and without one person, from rows to integers without noise; the worst of 10 is above half."""
    facts: dict[str, Any] = {"steps": 12, "rho": 1, "unit": PERSON, "rows": 2, "steps_per_unit": 3, "separation": 2}
    facts |= {"keys": ["a", "b"], "bounds": (-1, 5), "strategy": strategy, "windows": (3,)}
    rng, worst = np.random.default_rng(8), 0.0
    for _ in range(10):
        one, other = Counter(**facts), Counter(**facts)
        still = Still(sigma_squared=one.strategy.noise.sigma_squared)
        vars(one.strategy)["noise"] = vars(other.strategy)["noise"] = still
        for _ in range(12):
            units, keys, values = (
                rng.integers(0, 3, 9),
                rng.choice(["a", "b", "c"], 9, p=[0.8, 0.1, 0.1]),
                np.full(9, 9),
            )
            values[rng.random(9) < 0.1] = -9
            for counter, kept in ((one, units >= 0), (other, units > 0)):
                counter.add_rows(values[kept], keys=keys[kept], units=units[kept])
                counter.release()
        moved = [np.subtract(a, b).astype(float).ravel() for a, b in zip(noisy(one), noisy(other), strict=True)]
        worst = max(worst, float(np.linalg.norm(np.concatenate(moved))))
    stated = one.strategy.correlation.sensitivity(one.plan.uses)
    assert stated / 2 < worst <= stated


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_noise_is_that_of_the_loss(strategy: str) -> None:
    """An audit of 3,000 pairs of streams that differ in one step: mu is found to 6%, three of its standard errors.

    The best test adds the released integers with the weights of C; half the noise would show twice the mu.
    """
    counts = [np.zeros(3000, dtype=int), np.ones(3000, dtype=int)]
    facts = {"steps": 12, "rho": "1/2", "keys": list(range(3000)), "strategy": strategy, "windows": (3,)}
    pairs = []
    for moved in counts:
        counter = Counter(**facts)
        for step in range(12):
            counter.add(moved if step == 4 else counts[0])
            counter.release()
        pairs.append(np.concatenate([np.reshape(step, (-1, 3000)) for step in noisy(counter)]).astype(float))
    correlation, uses = counter.strategy.correlation, counter.plan.uses
    state = correlation.blank(uses)
    ones = [counts[int(step == 4)] * counter.plan.size for step in range(12)]
    column = np.concatenate(
        [np.reshape(correlation.mixed(one.astype(object), state, step, uses), (-1, 3000))[:, 0]
         for step, one in enumerate(ones, start=1)]
    ).astype(float)  # fmt: skip
    scores = [column @ released for released in pairs]
    found = (scores[1].mean() - scores[0].mean()) / np.std(scores, axis=1).mean()
    mu = float(counter.privacy_loss.mu_squared) ** 0.5
    attained = np.linalg.norm(column) / correlation.sensitivity(uses) * mu
    assert found == pytest.approx(attained, rel=0.06)
    assert 0.8 * mu < attained <= mu


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_standard_errors_are_those_of_runs(strategy: str) -> None:
    """2,000 streams side by side: within 6% at every step, four of its standard errors; 12% is found out."""
    counter = Counter(keys=list(range(2000)), windows=(5,), strategy=strategy, steps=20, rho=1)
    counter.extend(np.zeros((20, 2000), dtype=int))
    for name, window in (("total", None), ("last_5", 5)):
        runs = counter.history()[name].reshape(20, 2000)
        assert runs.std(axis=1) == pytest.approx(counter.standard_errors(window=window), rel=0.065)


# --- once --------------------------------------------------------------------------------------------------------


def test_whatever_fails_in_a_step_no_step_is_lost_or_drawn_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = Counter(tmp_path / "x.stream", **FACTS)
    counter.add(5)
    counter.release()
    counter.add(11)

    def fails(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("deniable.stream.counter.packed", fails)  # after the draw, before it is stored
        with pytest.raises(KeyboardInterrupt):
            counter.release()
    assert (counter.step, len(noisy(counter))) == (1, 1)
    assert counter._pending.tolist() == [11 * counter.plan.size]
    counter.release()
    assert counter.release(2)["total"] == pytest.approx(16, abs=60)
    again = Counter(tmp_path / "x.stream", **FACTS)
    assert again.history()["total"].tolist() == counter.history()["total"].tolist()


def test_a_state_that_cannot_be_read_again_goes_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums that were mixed once and never stored must not be mixed twice."""
    counter = Counter(tmp_path / "x.stream", **FACTS)
    counter.add(5)

    def fails(*_: object, **__: object) -> None:
        raise StreamError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr("deniable.stream.counter.packed", fails)
        patch.setattr(Counter, "_load", fails)
        with pytest.raises(StreamError, match="gone"):
            counter.release()
    with pytest.raises(StreamError, match="Another process"):
        counter.release()
    again = Counter(tmp_path / "x.stream", **FACTS)
    again.release()
    assert again.step == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be forked")
def test_processes_that_are_killed_leave_steps_with_one_value_and_lose_none(tmp_path: Path) -> None:
    """What was seen before the kill is what the next process reads; sums hold every row that was added."""
    path, log = tmp_path / "x.stream", tmp_path / "seen"
    facts = {"steps": 10**5, "rho": 10**8}  # hardly any noise, so that lost rows would show
    Counter(path, **facts).close()
    log.touch()
    for turn in range(8):
        child = os.fork()
        if child == 0:
            counter = Counter(path, **facts)
            with log.open("a") as seen:
                while True:
                    counter.add(1)
                    value = counter.release()["total"][0]
                    seen.write(f"{counter.step} {value!r}\n")
                    seen.flush()
        time.sleep(0.3 + 0.037 * turn)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        counter = Counter(path, **facts)
        stored = counter.history()["total"] if counter.step else np.zeros(0)
        for line in log.read_text().splitlines():
            step, value = line.split()
            assert float(value.removeprefix("np.float64(").rstrip(")")) == stored[int(step) - 1]
        waiting = sum(counter._pending) / counter.plan.size
        extra = stored - np.arange(1, counter.step + 1)  # rows of a process that was killed before it released them
        assert (extra > -0.3).all()
        assert (extra < turn + 0.3).all()
        assert waiting in (0, 1)
        counter.close()
    assert len(log.read_text().splitlines()) > 8


def test_of_two_processes_one_goes_on_and_the_other_is_refused(tmp_path: Path) -> None:
    one, other = Counter(tmp_path / "x.stream", **FACTS), Counter(tmp_path / "x.stream", **FACTS)
    one.add(1)
    one.release()
    for change in (lambda: other.add(1), other.release, lambda: other.extend([1]), lambda: other.add_rows([1])):
        with pytest.raises(StreamError, match="Another process has gone on"):
            change()
    assert len(noisy(one)) == 1
    other = Counter(tmp_path / "x.stream", **FACTS)
    other.release()
    with pytest.raises(StreamError, match="Another process"):
        one.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be forked")
def test_a_forked_process_must_open_its_own() -> None:
    counter = Counter(**FACTS)
    child = os.fork()
    if child == 0:
        try:
            counter.release()
        except StreamError:
            try:
                counter.band()
            except StreamError:
                os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_batch_counts_once() -> None:
    counter = Counter(**FACTS)
    for _ in range(3):
        counter.add(5, batch="monday.parquet")
        counter.add_rows([1, 1, 1], batch="tuesday.parquet")
    assert counter._pending.tolist() == [8 * counter.plan.size]


# --- refused -------------------------------------------------------------------------------------------------------


def test_steps_beyond_the_horizon_are_refused() -> None:
    counter = Counter(**FACTS | {"steps": 2})
    counter.release(2)  # silence is a step
    for change in (counter.release, lambda: counter.add(1), lambda: counter.extend([1]), lambda: counter.release(3)):
        with pytest.raises(StreamError, match="has 2 steps"):
            change()
    assert counter.release(1).columns == ("step", "total")


def test_a_stream_without_a_horizon_goes_on() -> None:
    counter = Counter(**FACTS | {"steps": None})
    counter.extend(np.ones(5000, dtype=int))
    counter.release(7500)
    table = counter.history()
    assert len(table) == 7500
    lower, upper = counter.band()
    assert (lower[-1] < 5000 < upper[-1]).all()


def test_rows_of_a_step_that_is_not_open_are_refused() -> None:
    counter = Counter(**FACTS)
    counter.release()
    with pytest.raises(InvalidParameterError, match="step 1 is released"):
        counter.add(4, step=1)
    with pytest.raises(InvalidParameterError, match="not open yet"):
        counter.add_rows([4], step=3)
    counter.add(4, step=2)
    assert counter._pending.tolist() == [4 * counter.plan.size]


def test_files_of_anything_else_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.stream"
    Counter(path, **FACTS).close()
    for changed, says in (({"steps": 41}, "(steps)"), ({"keys": ["a"]}, "(keys)"), ({"epsilon": 2}, "(epsilon)")):
        with pytest.raises(StreamError, match="another stream") as error:
            Counter(path, **FACTS | changed)
        assert says in str(error.value)
    Counter(path, **FACTS | {"epsilon": 1.0, "delta": 1e-6}).close()  # the same facts, written in another way
    with pytest.raises(StreamError, match="secure bits"):
        Counter(path, bits=DeterministicBits(1), **FACTS)
    text, books = tmp_path / "text", tmp_path / "books.ledger"
    text.write_text("no database" * 1000)
    Ledger.open(books, budget=Budget(epsilon=1), relation=AddRemove, unit=PrivacyUnit(), dataset="x").close()
    for wrong in (text, books):
        with pytest.raises(StreamError, match="not the state of a stream"):
            Counter(wrong, **FACTS)
    with pytest.raises(StreamError, match="cannot be written"):
        Counter(tmp_path / "nowhere" / "x.stream", **FACTS)


@pytest.mark.parametrize("count", [1.5, float("nan"), "3", None, [1, 2], [[1]]])
def test_counts_that_are_no_integers_are_refused_without_their_value(count: Any) -> None:
    counter = Counter(**FACTS)
    with pytest.raises(InvalidParameterError) as error:
        counter.add(count)
    assert "1.5" not in str(error.value)
    counter.add(2**80)  # of any size
    counter.release()
    counter.extend([-(2**80), 10**5000, -(10**5000)])  # what no float holds is cut
    assert counter.history()["total"] == pytest.approx([2**80, 0, 2**100, 0], rel=1e-9, abs=2**60)


def test_streams_that_need_rows_refuse_counts() -> None:
    sums, persons = Counter(bounds=(0, 1), **FACTS), Counter(unit=PERSON, **FACTS)
    for refused in (lambda: sums.add(1), lambda: sums.extend([1]), lambda: persons.add(1), lambda: persons.extend([1])):
        with pytest.raises(InvalidParameterError, match=r"add_rows|bounded"):
            refused()
    persons.add(1, bounded=True)
    persons.add_rows(units=["ada", "ada", "bob"])
    assert persons._pending.tolist() == [3 * persons.plan.size]
    with pytest.raises(InvalidParameterError, match="plan, or facts"):
        Counter(plan=StreamPlan(**FACTS), steps=3)
    with pytest.raises(InvalidParameterError, match="0 released steps"):
        sums.history()


def test_test_noise_is_marked() -> None:
    counter = Counter(bits=DeterministicBits(1), **FACTS)
    counter.release()
    assert "unsafe_test_noise" in counter.history().to_arrow().column_names
    with pytest.raises(UnsafeReleaseError):
        counter.history().select(["total"]).scalar()


def test_totals_that_never_fall_are_marked_as_post_processing() -> None:
    counter = Counter(**FACTS)
    counter.release(40)
    plain, rising = counter.history(), counter.history(rising=True)
    assert np.all(np.diff(rising["total"]) >= 0)
    assert rising["total"].min() >= 0
    assert "never falls" in rising.to_json()
    assert counter.history()["total"].tolist() == plain["total"].tolist()  # no later step knows of it


def test_counters_are_public_names() -> None:
    assert dn.stream.Counter is Counter
    assert "buffered" in repr(Counter(**FACTS))
