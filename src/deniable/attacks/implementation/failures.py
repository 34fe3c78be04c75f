"""Failures as oracles: errors, their text and their price, where a single row decides whether they happen."""

from collections.abc import Callable, Sequence

import numpy as np

from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError

Ask = Callable[[str], object]
Left = Callable[[], object]


def observe(ask: Ask, question: str, *, left: Left | None = None) -> tuple[object, ...]:
    """What an asker sees of a question, but for the answer itself: whether it failed, how, and what it cost.

    Args:
        ask: question -> answer, or raises.
        question: text, or whatever `ask` takes.
        left: budget that is left, as a number, or as anything that can be compared; None does not look.

    >>> observe(lambda question: 1 / 0, "any")
    ('ZeroDivisionError', 'division by zero', None)
    """
    before = left() if left else None
    try:
        ask(question)
        seen = ("answered", "")
    except Exception as error:
        seen = (type(error).__name__, str(error))
    after = left() if left else None
    try:
        spent = None if left is None else after - before  # type: ignore[operator]
    except TypeError:
        spent = (before, after)
    return (*seen, spent)


def tell_apart_by_failure(
    present: Ask,
    absent: Ask,
    questions: Sequence[str],
    *,
    left: tuple[Left, Left] | None = None,
    repeats: int = 3,
) -> AttackResult:
    """Find questions whose failure tells whether one person's row is in the table.

    Args:
        present: answers about the table with the row, or raises; absent: about the same table without it.
        questions: such as divisions by a column, casts of text, sums at the limits of a type, logarithms.
        left: budget left of each; None does not look. A failure that costs nothing, or something else, is an oracle.
        repeats: times that each is asked, since noise may decide too. What is seen must differ every time.

    Returns: share of the questions that are oracles; `learned` says which.
    Raises: InvalidParameterError if there is no question.
    Source: Haeberlen, Pierce, Narayan (2011), "Differential privacy under fire".

    >>> ask = lambda table: lambda question: sum(1 / row for row in table)
    >>> print(tell_apart_by_failure(ask([1, 2, 0]), ask([1, 2]), ["SUM(1 / x)"]).success.value)
    1.0
    """
    if not len(questions) or repeats < 1:
        raise InvalidParameterError(f"needs a question and repeats >= 1, got {len(questions)} and {repeats}")
    budgets = left or (None, None)
    seen = [
        [{observe(ask, question, left=budget) for _ in range(repeats)} for question in questions]
        for ask, budget in zip((present, absent), budgets, strict=True)
    ]
    told = [not here & there for here, there in zip(*seen, strict=True)]
    oracles = [question for question, tells in zip(questions, told, strict=True) if tells]
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


NONSENSE: tuple[object, ...] = (0, -1, float("nan"), float("inf"), -float("inf"), "", None, 10**400, -1e-300, 1j)


def offer_nonsense(accept: Callable[[object], object], values: Sequence[object] = NONSENSE) -> AttackResult:
    """Offer an epsilon that no theorem covers, and count how often it is taken.

    Args:
        accept: makes a mechanism, or an answer, with this epsilon; it should raise.
        values: what to offer.

    Raises: InvalidParameterError if there is nothing to offer.

    >>> offer_nonsense(lambda epsilon: max(epsilon, 1e-12), [0, -1, "x"]).learned
    array([0, -1], dtype=object)
    """
    if not len(values):
        raise InvalidParameterError("values must hold at least one value")
    taken = [value for value in values if observe(lambda _, value=value: accept(value), "")[0] == "answered"]  # type: ignore[misc]
    learned = np.empty(len(taken), dtype=object)
    learned[:] = taken
    return AttackResult(
        attack="Nonsense as epsilon",
        target="epsilon that should be refused",
        success=Share(right=len(taken), attempts=len(values)),
        baseline=0.0,
        guess="a mechanism",
        sees="that checks its parameters",
        learned=learned,
        facts={"accepted": ", ".join(map(repr, taken)) or "nothing"},
    )
