"""Background knowledge: an attacker who can rule out secrets, or knows neighbours."""

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
    """Guess everybody's secret from their class, with background knowledge.

    The guesser without the release rules out the same secrets, and takes the most frequent of the others.

    Args:
        release, quasi, sensitive, people, count: as for `attack_homogeneity`.
        ruled_out: number of wrong secrets that the attacker can rule out for each target, drawn at random.
        neighbours: number of other members of the target's class, drawn at random, whose secrets the attacker knows and
            takes away from the counts of the class.
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
    """Guess the most frequent secret that is left in each target's class."""
    distinct = len(view.values)
    whole("ruled_out", ruled_out, lower=0, upper=distinct - 1)
    whole("neighbours", neighbours, lower=0)
    dice = start_dice(seed)
    out = _draw_wrong(view, ruled_out, dice)
    known = _draw_neighbours(view, neighbours, dice)
    # What is left of a class has its maximum among its first secrets: each thing known moves one of them down.
    width = min(ruled_out + known.shape[1] + 1, distinct)
    codes, left = view.first(width)
    for beside in known.T:
        left -= codes == beside[:, None]
    for wrong in out.T:
        left[codes == wrong[:, None]] = 0
    left[codes < 0] = 0
    counts = left.max(axis=1)
    best = np.where(left == counts[:, None], codes, distinct).min(axis=1)
    guess = np.where(counts > 0, best, _first_left(view.commonest, out))
    certain = ((left > 0).sum(axis=1) == 1) & (view.held <= width)
    ranking = np.argsort(-np.bincount(view.secret, minlength=distinct), kind="stable")
    facts: dict[str, object] = {
        "secrets ruled out for a person": ruled_out,
        "neighbours known": neighbours,
        "people with one secret left": int(certain.sum()),
        "of these, right": int((certain & (guess == view.secret)).sum()),
    }
    share = float((_first_left(ranking, out) == view.secret).mean())
    blind = (share, "the most frequent secret that is not ruled out")
    return view.judge("Background knowledge attack", guess, facts=facts, blind=blind)


def _draw_wrong(view: View, number: int, dice: np.random.Generator) -> Codes:
    """Draw wrong secrets of each target, shape (targets, number).

    They are a window on a random circle of the secrets.
    """
    distinct = len(view.values)
    circle = dice.permutation(distinct)
    start = np.argsort(circle)[view.secret] + dice.integers(1, distinct - number + 1, len(view.secret))
    return np.asarray(circle[(start[:, None] + np.arange(number)) % distinct])


def _draw_neighbours(view: View, number: int, dice: np.random.Generator) -> Codes:
    """Draw secrets of other members of each target's class; -2 for none.

    They are the next members on a random circle.
    """
    order = np.lexsort((dice.random(len(view.cell)), view.cell))
    owner = view.cell[order]
    sizes = np.bincount(owner)
    starts = (np.cumsum(sizes) - sizes)[owner][:, None]
    step = np.arange(1, min(number, int(sizes.max()) - 1) + 1)
    position = np.arange(len(order))[:, None] - starts + step
    size = sizes[owner][:, None]
    known = np.empty((len(order), len(step)), dtype=np.int64)
    known[order] = np.where(step < size, view.secret[order[starts + position % size]], -2)
    return known


def _first_left(ranking: Codes, out: Codes) -> Codes:
    """Return the first secret of a ranking that is not ruled out, for each target."""
    gone = np.zeros((len(out), len(ranking)), dtype=bool)
    np.put_along_axis(gone, np.argsort(ranking)[out], True, axis=1)
    return np.asarray(ranking[gone.argmin(axis=1)])
