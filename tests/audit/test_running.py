"""Mechanisms that raise, hang, keep state, and change what they are given."""

import threading
from typing import Any

import numpy as np
import pytest

from deniable.audit import measure_exactly, numpy_samplers, replay
from deniable.audit.outputs import Failed
from deniable.audit.running import MechanismRunner
from deniable.errors import InvalidParameterError


def test_either_input_runs_as_often() -> None:
    runner = MechanismRunner(mechanism=sum, inputs=([1], [1, 1]))
    ours, theirs = runner.draw(100)
    assert list(ours) == [1] * 100
    assert list(theirs) == [2] * 100
    assert (runner.called, runner.stopped) == (200, False)


def test_which_input_runs_first_is_a_coin() -> None:
    """Else whatever counts its calls tells them apart."""
    calls = iter(range(10**6))
    ours, theirs = MechanismRunner(mechanism=lambda _: next(calls) % 2, inputs=(0, 1)).draw(1000)
    assert abs(int(np.sum(ours)) - 500) < 80  # 5 standard deviations
    assert np.array_equal(np.asarray(ours), 1 - np.asarray(theirs))


def test_an_error_is_an_output_without_its_text() -> None:
    def fails(rows: list[int]) -> float:
        return 1 / len(rows)

    ours, theirs = MechanismRunner(mechanism=fails, inputs=([], [1])).draw(3)
    assert list(ours) == [Failed("ZeroDivisionError")] * 3
    assert list(theirs) == [1, 1, 1]


def test_a_mechanism_cannot_change_the_input_of_the_next_run() -> None:
    def eats(rows: list[int]) -> int:
        rows.append(1)
        return len(rows)

    assert list(MechanismRunner(mechanism=eats, inputs=([], [1])).draw(3)[0]) == [1, 1, 1]


@pytest.mark.parametrize("batched", [True, False])
def test_outputs_written_into_one_array_are_kept_apart(batched: bool) -> None:
    place = np.zeros(3)

    def writes(value: int, *runs: int) -> Any:
        place[:] = value
        return place

    ours, theirs = MechanismRunner(mechanism=writes, inputs=(1, 2), batched=batched).draw(3)
    assert (np.asarray(ours) == 1).all()
    assert (np.asarray(theirs) == 2).all()


def test_a_mechanism_that_hangs_is_left_behind() -> None:
    free = threading.Event()

    def hangs(rows: list[int]) -> int:
        if not rows:
            free.wait()
        return 1

    runner = MechanismRunner(mechanism=hangs, inputs=([1], []), seconds=0.05)
    assert [len(outputs) for outputs in runner.draw(10)] == [0, 0]
    assert runner.stopped
    free.set()


def test_time_that_is_over_ends_the_runs_between_calls() -> None:
    runner = MechanismRunner(mechanism=len, inputs=([1], []), seconds=0.05)
    ours, theirs = runner.draw(10**9)
    assert 0 < len(ours) == len(theirs) < 10**9


def test_batches_are_asked_for_at_once() -> None:
    asked = []

    def noise(rows: list[int], runs: int) -> Any:
        asked.append(runs)
        return np.full((runs, 2), len(rows))

    ours, theirs = MechanismRunner(mechanism=noise, inputs=([1], []), batched=True).draw(10)
    assert asked == [10, 10]
    assert np.shape(ours) == np.shape(theirs) == (10, 2)


def test_a_batch_with_an_error_is_run_one_by_one() -> None:
    def fails(rows: list[int], runs: int) -> list[int]:
        if runs > 1:
            raise ValueError
        return [len(rows)]

    assert list(MechanismRunner(mechanism=fails, inputs=([1], []), batched=True).draw(3)[0]) == [1, 1, 1]


def test_a_batch_of_the_wrong_size_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="one entry for each of the 5 runs"):
        MechanismRunner(mechanism=lambda rows, runs: np.zeros(3), inputs=(1, 2), batched=True).draw(5)


def test_shapes_that_change_stay_lists() -> None:
    sizes = iter(range(1, 100))
    ours, _ = MechanismRunner(mechanism=lambda rows: np.zeros(next(sizes)), inputs=(1, 2)).draw(3)
    assert isinstance(ours, list)
    assert isinstance(MechanismRunner(mechanism=lambda rows: 10**30, inputs=(1, 2)).draw(3)[0], list)
    assert isinstance(MechanismRunner(mechanism=lambda rows: np.zeros(2), inputs=(1, 2)).draw(3)[0], np.ndarray)


def test_progress_is_told() -> None:
    shares: list[float] = []
    MechanismRunner(mechanism=sum, inputs=([1], [2]), progress=shares.append).draw(10)
    assert shares == sorted(shares)
    assert shares[-1] == 1


@pytest.mark.parametrize("batched", [False, True])
def test_an_asynchronous_mechanism_is_refused(batched: bool) -> None:
    async def later(*_: Any) -> int:
        return 1

    with pytest.raises(InvalidParameterError, match="asynchronous"):
        MechanismRunner(mechanism=later, inputs=(0, 1), batched=batched).draw(4)
    with pytest.raises(InvalidParameterError, match="asynchronous"):
        replay(later, 0, 1, samplers=numpy_samplers())
    with pytest.raises(InvalidParameterError, match="asynchronous"):
        measure_exactly(later, [(0, 1)])
