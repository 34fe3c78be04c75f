"""Second reads: the same question again, in other words, or from many askers at once."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike

from deniable.attacks.numbers import LOOPS, nonnegative, read_numbers, whole
from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError

Left = Callable[[], float]


def average_repeats(
    ask: Callable[[str], float],
    questions: Sequence[Sequence[str]],
    exact: ArrayLike,
    *,
    left: Left | None = None,
    repeats: int = 200,
    tolerance: float = 0.5,
) -> AttackResult:
    """Average what the same question answers again and again, in equivalent forms, as long as it costs nothing.

    Args:
        ask: question -> noisy answer; it raises where it refuses, which ends the repeats.
        questions: forms of each question: aliases, other orders of columns, other spellings of the filter.
        exact: true value of each, to score by, shape (questions,).
        left: budget that is left. With it, only answers that cost nothing after the first are averaged: more answers
            for more budget are no attack. Without it, all are.
        repeats: answers a question, at least 2.
        tolerance: an average within it of the truth is right.

    Source: Dwork and Roth (2014), "The algorithmic foundations of differential privacy", section 3.5.

    >>> dice = np.random.default_rng(0)
    >>> fresh = lambda question: 7 + dice.laplace(scale=3)
    >>> average_repeats(fresh, [["SELECT COUNT(*)", "SELECT COUNT(*) AS n"]], [7], repeats=400).success.value
    1.0
    """
    truth = read_numbers("exact", exact, dimensions=1)
    if len(truth) != len(questions) or not all(map(len, questions)):
        raise InvalidParameterError("needs a true value for each question, and a form of each")
    whole("repeats", repeats, least=2, most=LOOPS), nonnegative("tolerance", tolerance)
    told = [_answers(ask, forms, left, repeats) or [np.nan] for forms in questions]
    averages, first = np.array([np.mean(answers) for answers in told]), np.array([answers[0] for answers in told])
    return AttackResult(
        attack="Averaging of repeats",
        target=f"true value, to within {tolerance:g}",
        success=Share(right=int((np.abs(averages - truth) < tolerance).sum()), attempts=len(truth)),
        baseline=float((np.abs(first - truth) < tolerance).mean()),
        guess="a reader",
        sees="of the first answer alone",
        learned=averages,
        facts={
            "free answers a question": f"{np.mean([len(answers) for answers in told]):g}",
            "different answers a question": f"{np.mean([len(set(answers)) for answers in told]):g}",
        },
    )


def _answers(ask: Callable[[str], float], forms: Sequence[str], left: Left | None, repeats: int) -> list[float]:
    """Answers that were free, after the first; what was paid for before is nothing new when it is read again."""
    answers: list[float] = []
    paid: set[float] = set()
    for number in range(repeats):
        before = left() if left else 0.0
        try:
            answer = float(ask(forms[number % len(forms)]))
        except Exception:
            break
        if answers and left is not None and left() != before:
            paid.add(answer)
        elif answer not in paid:
            answers.append(answer)
    return answers


def overspend(ask: Callable[[int], object], *, askers: int, affordable: int) -> AttackResult:
    """Ask from many threads at once, and count answers that the budget does not cover.

    Args:
        ask: number of the asker -> answer to a question of its own; it raises where the budget refuses.
        askers: threads, more than are affordable; all start together.
        affordable: answers that the budget covers.

    >>> print(overspend(lambda asker: 1.0, askers=8, affordable=2).success.right)
    6
    """
    whole("affordable", affordable, least=0, most=whole("askers", askers, most=10_000) - 1)
    together, answered = threading.Barrier(askers), [False] * askers

    def one(number: int) -> None:
        together.wait()
        with suppress(Exception):
            ask(number)
            answered[number] = True

    threads = [threading.Thread(target=one, args=(number,)) for number in range(askers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return AttackResult(
        attack="Double spending",
        target="answer that the budget does not cover",
        success=Share(right=max(sum(answered) - affordable, 0), attempts=askers - affordable),
        baseline=0.0,
        guess="one asker",
        sees="after another",
        learned=np.array(answered),
        facts={"answers": sum(answered), "answers that the budget covers": affordable},
    )
