"""Homogeneity: a class whose members share a secret reveals it, however large."""

from typing import Any

from deniable.attacks.anonymity.view import View, see
from deniable.attacks.frames import Names
from deniable.attacks.result import AttackResult


def attack_homogeneity(
    release: Any, *, quasi: Names, sensitive: str, people: Any = None, count: str | None = None
) -> AttackResult:
    """Guess everybody's secret as the most frequent one of their class.

    Where the class holds one secret, the guess is certain: the facts count these people. Where the release shows
    nothing for a person, the guess is its most frequent secret overall.

    Args:
        release: rows of pandas, Polars or Arrow, one for each person; or the cells of a table of counts.
        quasi, sensitive: names of its columns.
        people: the targets, with their true quasi-identifiers and secrets; None: the rows of the release are the
            targets, each in its own class.
        count: the column of counts, if the release is a table of counts; then `people` is needed. Counts may be noisy.

    Raises: InvalidParameterError if a column is unknown, or a table of counts comes without `people`.
    Source: Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam (2007).

    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["30 to 39"] * 3 + ["40 to 49"] * 3, "ill": ["flu", "flu", "flu", "flu", "no", "no"]})
    >>> result = attack_homogeneity(table, quasi="age", sensitive="ill")
    >>> result.success.right, result.facts["people whose class holds one secret"]
    (5, 3)
    """
    return guess_by_class(see(release, quasi=quasi, sensitive=sensitive, people=people, count=count))


def guess_by_class(view: View) -> AttackResult:
    """Guess the most frequent secret of each target's class."""
    guess = view.best
    certain = view.held == 1
    facts: dict[str, object] = {
        "people whose class holds one secret": int(certain.sum()),
        "of these, right": int((certain & (guess == view.secret)).sum()),
        "people of whose class nothing is shown": int((view.held == 0).sum()),
    }
    return view.judge("Homogeneity attack", guess, facts=facts)
