"""Background knowledge: an attacker who can rule out secrets, or knows neighbours, narrows a class further."""

from typing import Any

import numpy as np

from deniable.attacks.anonymity.view import View, see
from deniable.attacks.frames import Codes, Names
from deniable.attacks.numbers import start_dice, whole
from deniable.attacks.result import AttackResult


def attack_with_background(
    release: Any,
    *,
    quasi: Names,
    sensitive: str,
    ruled_out: int = 1,
    neighbours: int = 0,
    people: Any = None,
    count: str | None = None,
    seed: int = 0,
) -> AttackResult:
    """Guess everybody's secret by their class, less what the attacker knows is not theirs.

    The guesser without the release rules out the same secrets, and takes the most frequent of the others.

    Args:
        release, quasi, sensitive, people, count: as for `attack_homogeneity`.
        ruled_out: how many wrong secrets the attacker can rule out for each target, drawn at random.
        neighbours: how many other members of the target's class, drawn at random, the attacker knows the secrets of:
            they are taken away from the class's counts.
        seed: of the draws.

    Raises: InvalidParameterError as `attack_homogeneity`; or if more secrets are ruled out than are wrong.
    Source: Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam (2007); Martin and others (2007), "Worst-case background
        knowledge".

    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["30 to 39"] * 3, "ill": ["flu", "flu", "cold"]})
    >>> attack_with_background(table, quasi="age", sensitive="ill", ruled_out=1).success.right
    3
    """
    view = see(release, quasi=quasi, sensitive=sensitive, people=people, count=count)
    return guess_with_background(view, ruled_out=ruled_out, neighbours=neighbours, seed=seed)


def guess_with_background(view: View, *, ruled_out: int, neighbours: int, seed: int) -> AttackResult:
    """Guess the most frequent secret that is left of each target's class."""
    distinct = len(view.values)
    whole("ruled_out", ruled_out, least=0, most=distinct - 1), whole("neighbours", neighbours, least=0)
    dice = start_dice(seed)
    out, known = _draw_wrong(view, ruled_out, dice), _draw_neighbours(view, neighbours, dice)
    # What is left of a class has its maximum among its first secrets: each thing known moves one of them down.
    width = min(ruled_out + known.shape[1] + 1, distinct)
    codes, left = view.first(width)
    for beside in known.T:
        left -= codes == beside[:, None]
    for wrong in out.T:
        left[codes == wrong[:, None]] = 0
    left[codes < 0] = 0
    most = left.max(axis=1)
    best = np.where(left == most[:, None], codes, distinct).min(axis=1)
    guess = np.where(most > 0, best, _first_left(view.commonest, out))
    certain = ((left > 0).sum(axis=1) == 1) & (view.held <= width)
    ranking = np.argsort(-np.bincount(view.secret, minlength=distinct), kind="stable")
    facts: dict[str, object] = {
        "secrets ruled out for a person": ruled_out,
        "neighbours known": neighbours,
        "people with one secret left": int(certain.sum()),
        "of these, right": int((certain & (guess == view.secret)).sum()),
    }
    blind = float((_first_left(ranking, out) == view.secret).mean()), "the most frequent secret that is not ruled out"
    return view.judge("Background knowledge attack", guess, facts=facts, blind=blind)


def _draw_wrong(view: View, number: int, dice: np.random.Generator) -> Codes:
    """Wrong secrets of each target, shape (targets, number): a window on a random circle of the secrets."""
    distinct = len(view.values)
    circle = dice.permutation(distinct)
    start = np.argsort(circle)[view.secret] + dice.integers(1, distinct - number + 1, len(view.secret))
    return np.asarray(circle[(start[:, None] + np.arange(number)) % distinct])


def _draw_neighbours(view: View, number: int, dice: np.random.Generator) -> Codes:
    """Secrets of the next members of each target's class, on a random circle; -2 where it has no further ones."""
    order = np.lexsort((dice.random(len(view.cell)), view.cell))
    owner = view.cell[order]
    sizes = np.bincount(owner)
    starts = (np.cumsum(sizes) - sizes)[owner][:, None]
    step = np.arange(1, min(number, int(sizes.max()) - 1) + 1)
    place = np.arange(len(order))[:, None] - starts + step
    many = sizes[owner][:, None]
    known = np.empty((len(order), len(step)), dtype=np.int64)
    known[order] = np.where(step < many, view.secret[order[starts + place % many]], -2)
    return known


def _first_left(ranking: Codes, out: Codes) -> Codes:
    """First secret of a ranking that is not ruled out, for each target."""
    gone = np.zeros((len(out), len(ranking)), dtype=bool)
    np.put_along_axis(gone, np.argsort(ranking)[out], True, axis=1)
    return np.asarray(ranking[gone.argmin(axis=1)])
