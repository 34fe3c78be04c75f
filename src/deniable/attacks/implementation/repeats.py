"""Repeated questions: again, in other words, or from several analysts at once."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike

from deniable.attacks.numbers import MAX_ROUNDS, nonnegative, read_numbers, whole
from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError

BudgetLeft = Callable[[], float]


def average_repeats(
    ask: Callable[[str], float],
    questions: Sequence[Sequence[str]],
    exact: ArrayLike,
    *,
    left: BudgetLeft | None = None,
    repeats: int = 200,
    tolerance: float = 0.5,
) -> AttackResult:
    """Average free answers to the same question, asked in equivalent forms.

    Args:
        ask: question -> noisy answer; it raises where it refuses, which ends the repetitions.
        questions: forms of each question: aliases, other orders of columns, other spellings of the filter.
        exact: shape (questions,): true value of each, to judge the averages.
        left: function that returns the budget left. With it, only answers that are free after the first are averaged:
            more answers for more budget are not an attack. Without it, all are.
        repeats: number of answers to each question, at least 2.
        tolerance: an average within it of the truth is right.

    Source: Dwork and Roth (2014), "The algorithmic foundations of differential privacy", section 3.5.

    >>> dice = np.random.default_rng(0)
    >>> fresh = lambda question: 7 + dice.laplace(scale=3)
    >>> average_repeats(fresh, [["SELECT COUNT(*)", "SELECT COUNT(*) AS n"]], [7], repeats=400).success.value
    1.0
    """
    truth = read_numbers("exact", exact, dimensions=1)
    if len(truth) != len(questions) or not all(map(len, questions)):
        raise InvalidParameterError(
            "questions must hold at least one form of each question, and exact one true value for each"
        )
    whole("repeats", repeats, lower=2, upper=MAX_ROUNDS)
    nonnegative("tolerance", tolerance)
    collected = [_answers(ask, forms, left, repeats) or [np.nan] for forms in questions]
    averages = np.array([np.mean(answers) for answers in collected])
    first = np.array([answers[0] for answers in collected])
    return AttackResult(
        attack="Averaging of repeats",
        target=f"true value, to within {tolerance:g}",
        success=Share(right=int((np.abs(averages - truth) < tolerance).sum()), attempts=len(truth)),
        baseline=float((np.abs(first - truth) < tolerance).mean()),
        guess="a reader",
        sees="of the first answer alone",
        learned=averages,
        facts={
            "free answers a question": f"{np.mean([len(answers) for answers in collected]):g}",
            "different answers a question": f"{np.mean([len(set(answers)) for answers in collected]):g}",
        },
    )


def _answers(ask: Callable[[str], float], forms: Sequence[str], left: BudgetLeft | None, repeats: int) -> list[float]:
    """Return the first answer and all free ones, without repetitions of paid answers."""
    answers: list[float] = []
    bought: set[float] = set()
    for number in range(repeats):
        before = left() if left else 0.0
        try:
            answer = float(ask(forms[number % len(forms)]))
        except Exception:
            break
        if answers and left is not None and left() != before:
            bought.add(answer)
        elif answer not in bought:
            answers.append(answer)
    return answers


def overspend(ask: Callable[[int], object], *, analysts: int, affordable: int) -> AttackResult:
    """Ask from several threads at once, and count answers beyond the budget.

    Args:
        ask: index of the analyst -> answer to a question of its own; it raises where the budget refuses.
        analysts: number of threads, more than are affordable; all start together.
        affordable: number of answers that the budget covers.

    >>> print(overspend(lambda analyst: 1.0, analysts=8, affordable=2).success.right)
    6
    """
    whole("affordable", affordable, lower=0, upper=whole("analysts", analysts, upper=10_000) - 1)
    together = threading.Barrier(analysts)
    answered = [False] * analysts

    def one(number: int) -> None:
        together.wait()
        with suppress(Exception):
            ask(number)
            answered[number] = True

    threads = [threading.Thread(target=one, args=(number,)) for number in range(analysts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return AttackResult(
        attack="Double spending",
        target="answer that the budget does not cover",
        success=Share(right=max(sum(answered) - affordable, 0), attempts=analysts - affordable),
        baseline=0.0,
        guess="one analyst",
        sees="after another",
        learned=np.array(answered),
        facts={"answers": sum(answered), "answers that the budget covers": affordable},
    )
