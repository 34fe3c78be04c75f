"""Failures as oracles: errors, their text and their cost, where one row decides."""

from collections.abc import Callable, Sequence

import numpy as np

from deniable.attacks.numbers import MAX_ROUNDS, whole
from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError

Answers = Callable[[str], object]
BudgetLeft = Callable[[], float]


def distinguish_by_failure(
    present: Answers,
    absent: Answers,
    questions: Sequence[str],
    *,
    left: tuple[BudgetLeft, BudgetLeft] | None = None,
    repeats: int = 3,
) -> AttackResult:
    """Find questions whose failure reveals whether a person's row is in the table.

    Args:
        present: answers a question about the table with the row, or raises.
        absent: likewise, about the table without the row.
        questions: such as divisions by a column, casts of text, sums at the limits of a type, logarithms.
        left: functions that return the budget left of each; None ignores costs. A failure with another cost is an
            oracle.
        repeats: number of times that each question is asked, since noise may decide too. The observations must differ
            every time.

    Returns: share of the questions that are oracles; `learned` holds them.
    Source: Haeberlen, Pierce, Narayan (2011), "Differential privacy under fire".

    >>> ask = lambda table: lambda question: sum(1 / row for row in table)
    >>> print(distinguish_by_failure(ask([1, 2, 0]), ask([1, 2]), ["SUM(1 / x)"]).success.value)
    1.0
    """
    whole("repeats", repeats, upper=MAX_ROUNDS)
    if not len(questions):
        raise InvalidParameterError("questions must hold at least one question")
    worlds = list(zip((present, absent), left or (None, None), strict=True))
    oracles = []
    for question in questions:
        here, there = ({observe(ask, question, left=budget) for _ in range(repeats)} for ask, budget in worlds)
        if not here & there:
            oracles.append(question)
    return AttackResult(
        attack="Failures",
        target="question whose failure shows whether a row is there",
        success=Share(right=len(oracles), attempts=len(questions)),
        baseline=0.0,
        guess="an analyst",
        sees="whose questions fail alike in both tables",
        learned=np.array(oracles, dtype=object),
        facts={"oracles": "; ".join(map(str, oracles)) or "none"},
    )


def observe(ask: Answers, question: str, *, left: BudgetLeft | None = None) -> tuple[object, ...]:
    """Return what an analyst sees besides an answer: failure, text and cost."""
    before = left() if left else 0
    try:
        ask(question)
        seen = ("answered", "")
    except Exception as error:
        seen = (type(error).__name__, str(error))
    return (*seen, (left() if left else 0) - before)
