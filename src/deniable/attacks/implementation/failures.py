"""Failures as oracles: errors, their text and their price, where a single row decides whether they happen."""

from collections.abc import Callable, Sequence

import numpy as np

from deniable.attacks.numbers import LOOPS, whole
from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError

Ask = Callable[[str], object]
Left = Callable[[], float]


def tell_apart_by_failure(
    present: Ask, absent: Ask, questions: Sequence[str], *, left: tuple[Left, Left] | None = None, repeats: int = 3
) -> AttackResult:
    """Find questions whose failure tells whether one person's row is in the table.

    Args:
        present: answers about the table with the row, or raises; absent: about the same table without it.
        questions: such as divisions by a column, casts of text, sums at the limits of a type, logarithms.
        left: budget left of each; None does not look. A failure that costs nothing, or something else, is an oracle.
        repeats: times that each is asked, since noise may decide too. What is seen must differ every time.

    Returns: share of the questions that are oracles; `learned` says which.
    Source: Haeberlen, Pierce, Narayan (2011), "Differential privacy under fire".

    >>> ask = lambda table: lambda question: sum(1 / row for row in table)
    >>> print(tell_apart_by_failure(ask([1, 2, 0]), ask([1, 2]), ["SUM(1 / x)"]).success.value)
    1.0
    """
    whole("repeats", repeats, most=LOOPS)
    if not len(questions):
        raise InvalidParameterError("needs a question")
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
        guess="an asker",
        sees="whose questions fail alike in both tables",
        learned=np.array(oracles, dtype=object),
        facts={"oracles": "; ".join(map(str, oracles)) or "none"},
    )


def observe(ask: Ask, question: str, *, left: Left | None = None) -> tuple[object, ...]:
    """What an asker sees of a question, but for the answer itself: whether it failed, how, and what it cost."""
    before = left() if left else 0
    try:
        ask(question)
        seen = ("answered", "")
    except Exception as error:
        seen = (type(error).__name__, str(error))
    return (*seen, (left() if left else 0) - before)
