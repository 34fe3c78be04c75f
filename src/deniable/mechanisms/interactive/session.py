"""Session about one threshold: questions until the last answer "above"."""

import os
import threading
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.base import Released
from deniable.mechanisms.integers import integers
from deniable.noise.bits import Bits
from deniable.numbers.arrays import ExactIntegers
from deniable.numbers.rationals import whole_number

_QUESTIONS_PER_DRAW = 1 << 16  # questions whose noise is drawn at once


class Session:
    """State of a sparse vector mechanism between questions; made by `open`.

    It holds one secret, the noisy threshold, and so there must never be two of it: it cannot be copied, pickled, or
    used on both sides of a fork. Threads may share it. After the last answer "above" it refuses every question.
    """

    def __init__(
        self,
        *,
        threshold: int,
        threshold_noise: Laplace,
        query_noise: Laplace,
        value_noise: Laplace | None,
        answers: int,
        bits: Bits,
    ) -> None:
        level = whole_number("threshold", threshold)
        self._level = int(threshold_noise.release([level], bits=bits).value[0])
        self._query_noise, self._value_noise = query_noise, value_noise
        self._left, self._bits = answers, bits
        self._process, self._lock = os.getpid(), threading.Lock()

    @property
    def left(self) -> int:
        """Number of answers "above" that are left."""
        return self._left

    @property
    def safe(self) -> bool:
        """Whether the answers may be published: false for a test stream of bits."""
        return self._bits.safe

    def ask(self, exact: int) -> bool | int | None:
        """Return whether a secret whole number is above the threshold.

        Returns: True or False; where the mechanism gives values, the noisy value for "above" and None for below.
        Raises: UnprovedError after the last answer.
        """
        if isinstance(exact, bool) or not isinstance(exact, int | np.integer):
            raise InvalidParameterError("a session takes whole numbers. Put real numbers on a lattice first.")
        answer: bool | int | None = self.ask_many([int(exact)]).value.tolist()[0]
        return answer

    def ask_many(self, exact: ArrayLike) -> Released[NDArray[Any]]:
        """Answer a stream of secret whole numbers, up to the last "above".

        The array has one entry for each question that was answered: what `ask` returns.

        Raises: UnprovedError after the last answer. InvalidParameterError unless `exact` is a line of integers.
        """
        stream = integers("exact", exact, listed=True)
        self._require_own_process()  # before the lock, which another thread may have held when the process was forked
        with self._lock:
            self._require_open()
            above = self._compared(stream)
            answers: NDArray[Any] = above
            if self._value_noise is not None:
                answers = np.full(above.size, None, dtype=object)
                answers[above] = self._value_noise.release(stream[: above.size][above], bits=self._bits).value
            self._left -= int(np.count_nonzero(above))
        return Released(answers, self.safe)

    def _compared(self, stream: ExactIntegers) -> NDArray[np.bool_]:
        """Return whether each noisy value reaches the threshold, up to the last answer."""
        answers = [np.zeros(0, dtype=np.bool_)]
        left = self._left
        for start in range(0, stream.size, _QUESTIONS_PER_DRAW):
            noisy = self._query_noise.release(stream[start : start + _QUESTIONS_PER_DRAW], bits=self._bits).value
            above = np.asarray(noisy >= self._level, dtype=np.bool_)
            indices = np.flatnonzero(above)
            if indices.size >= left:
                return np.concatenate([*answers, above[: indices[left - 1] + 1]])
            answers.append(above)
            left -= indices.size
        return np.concatenate(answers)

    def _require_own_process(self) -> None:
        if os.getpid() != self._process:
            raise UnprovedError(
                "this session belongs to another process. Open a session in each process; each is charged."
            )

    def _require_open(self) -> None:
        if self._left == 0:
            raise UnprovedError(
                "this session has given its last answer; about further questions nothing is proved. Open another "
                "session, which costs as much again, or ask for more answers from the start."
            )

    def __repr__(self) -> str:
        return f"<session with {self._left} answers left>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise UnprovedError(
            "a session cannot be copied or pickled: two copies of its noisy threshold would cost twice."
        )
