"""A session: one noisy threshold, an end that cannot be passed, no second copy."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms import SparseVector
from deniable.mechanisms.interactive.session import Session
from deniable.noise.bits import DeterministicBits
from tests.mechanisms.interactive.laws import sessions

MECHANISM = SparseVector(threshold_scale=Fraction(1), query_scale=Fraction(2), answers=2)
WITH_VALUES = SparseVector(threshold_scale=Fraction(1), query_scale=Fraction(2), answers=3, value_scale=Fraction(2))


@pytest.mark.parametrize("one_by_one", [True, False])
def test_sessions_follow_the_law_of_transcripts(one_by_one: bool) -> None:
    """Chi-square of 2,000 sessions; a correct one fails for one seed in a million, and the law of half the threshold's
    noise is rejected with p < 10^-6."""
    bits, exact, counts = DeterministicBits(5), (0, 1, 0), dict.fromkeys(range(8), 0)
    for _ in range(2000):
        session = MECHANISM.open(threshold=0, bits=bits)
        if one_by_one:
            said = [session.ask(query) for query in exact if session.left]
        else:
            said = session.ask_many(exact).value.tolist()
        counts[sum(1 << i for i, above in enumerate(said) if above)] += 1
    kinds, chances = sessions(MECHANISM, exact)
    observed = np.array([counts[int(kind)] for kind in kinds])
    assert observed.sum() == 2000
    assert stats.chisquare(observed, 2000 * chances).pvalue > 1e-6
    weaker = SparseVector(threshold_scale=Fraction(1, 2), query_scale=Fraction(1), answers=2)
    assert stats.chisquare(observed, 2000 * sessions(weaker, exact)[1]).pvalue < 1e-6


def test_a_long_stream_stops_at_the_last_answer_in_any_block() -> None:
    exact = np.full(200_000, -10_000)
    exact[[7, 150_000]] = 10_000
    session = MECHANISM.open(threshold=0, bits=DeterministicBits(6))
    found = session.ask_many(exact)
    assert found.value.size == 150_001
    assert np.flatnonzero(found.value).tolist() == [7, 150_000]
    assert session.left == 0
    assert not found.safe
    with pytest.raises(UnprovedError, match="another session"):
        session.ask_many(exact)
    with pytest.raises(UnprovedError, match="another session"):
        session.ask_many([])


def test_a_session_goes_on_after_a_stream_that_ended_early() -> None:
    session = MECHANISM.open(threshold=0)
    assert session.safe
    assert session.ask_many([-10_000, 10_000, -10_000]).value.tolist() == [False, True, False]
    assert session.ask_many([]).value.size == 0
    assert session.left == 1
    assert session.ask(10_000) is True


def test_values_come_with_every_answer_above() -> None:
    session = WITH_VALUES.open(threshold=0, bits=DeterministicBits(7))
    found = session.ask_many([-1000, 1000, -1000, 2000])
    assert [answer is not None for answer in found.value] == [False, True, False, True]
    assert np.abs(found.value[[1, 3]] - [1000, 2000]).max() < 100
    assert session.ask(-5000) is None
    last = session.ask(3000)
    assert isinstance(last, int)
    assert abs(last - 3000) < 100


def test_nothing_wraps_around() -> None:
    top = 2**63 - 1
    session = SparseVector(threshold_scale=Fraction(1), query_scale=Fraction(2), answers=9).open(threshold=top)
    assert session.ask_many([-top, 0, -top - 1]).value.tolist() == [False] * 3
    assert session.ask(10**30) is True
    assert session.ask(np.int64(-4)) is False
    assert session.ask_many([2**63 - 1000, -1, 2**63 + 1000]).value.tolist() == [False, False, True]
    assert session.ask_many(np.array([-(10**30), 10**30], dtype=object)).value.tolist() == [False, True]
    assert MECHANISM.open(threshold=-(10**40)).ask(-top) is True


def test_there_is_never_a_second_copy() -> None:
    session = MECHANISM.open(threshold=0)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(UnprovedError, match="copied or pickled"):
            duplicate(session)
    session._process += 1  # as in the child of a fork
    with pytest.raises(UnprovedError, match="another process"):
        session.ask(1)


def test_a_child_of_a_fork_does_not_wait_for_a_lock_that_nobody_holds() -> None:
    """A thread of the parent may have held it, and there is no such thread in the child."""

    class Held:
        def __enter__(self) -> None:
            raise AssertionError("this would wait for ever")

        def __exit__(self, *_: object) -> None: ...

    session = MECHANISM.open(threshold=0)
    session._process += 1
    session._lock = Held()  # type: ignore[assignment]
    with pytest.raises(UnprovedError, match="another process"):
        session.ask_many([1])


def test_what_is_shown_is_public() -> None:
    assert repr(MECHANISM.open(threshold=123)) == "<session with 2 answers left>"


@pytest.mark.parametrize("exact", [1.5, True, "1"])
def test_a_question_is_a_whole_number(exact: object) -> None:
    session = MECHANISM.open(threshold=0)
    with pytest.raises(InvalidParameterError, match="whole numbers"):
        session.ask(exact)  # type: ignore[arg-type]
    assert session.left == 2


def test_a_refused_stream_asks_nothing() -> None:
    session = MECHANISM.open(threshold=0)
    for stream in ([1.5, 2.0], [[1, 2]], [10**30, 1.5]):
        with pytest.raises(InvalidParameterError):
            session.ask_many(stream)
    assert session.left == 2


def test_the_threshold_is_a_public_whole_number() -> None:
    with pytest.raises(InvalidParameterError, match="threshold"):
        MECHANISM.open(threshold=0.5)  # type: ignore[arg-type]


def test_a_session_is_made_by_open() -> None:
    assert isinstance(MECHANISM.open(threshold=0), Session)


@pytest.mark.parametrize("block", [1, 2, 3, 100])
def test_answers_of_earlier_blocks_are_gone(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of seven questions the third above is the fourth, however they are cut."""
    monkeypatch.setattr("deniable.mechanisms.interactive.session._QUESTIONS_PER_DRAW", block)
    far = 10**6
    mechanism = SparseVector(threshold_scale=Fraction(1), query_scale=Fraction(1), answers=3)
    session = mechanism.open(threshold=0, bits=DeterministicBits(1))
    found = session.ask_many([far, far, -far, far, far, far, -far])
    assert (found.value.tolist(), session.left) == ([True, True, False, True], 0)
