"""Background knowledge: an attacker who can rule out secrets, or knows neighbours, narrows a class further."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.attacks.anonymity.columns import Codes
from deniable.attacks.anonymity.view import View, see
from deniable.attacks.result import AttackResult
from deniable.errors import InvalidParameterError


def attack_with_background(
    release: Any,
    *,
    quasi: str | Sequence[str],
    sensitive: str,
    ruled_out: int | Sequence[Any] = 1,
    neighbours: int = 0,
    people: Any = None,
    count: str | None = None,
    seed: int = 0,
) -> AttackResult:
    """Guess everybody's secret by their class, less what the attacker knows is not theirs.

    The guesser without the release rules out the same secrets, and takes the most frequent of the others.

    Args:
        release, quasi, sensitive, people, count: as for `attack_homogeneity`.
        ruled_out: how many wrong secrets the attacker can rule out for each target, drawn at random; or the secrets
            that are ruled out for everybody who does not have them.
        neighbours: how many other members of the target's class, drawn at random, the attacker knows the secrets of:
            they are taken away from the class's counts.
        seed: of the draws.

    Raises: InvalidParameterError as `attack_homogeneity`; or if too many secrets are ruled out, or an unknown one.
    Source: Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam (2007); Martin and others (2007), "Worst-case background
        knowledge".

    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["30 to 39"] * 3, "ill": ["flu", "flu", "cold"]})
    >>> attack_with_background(table, quasi="age", sensitive="ill", ruled_out=["flu"]).success.right
    3
    """
    view = see(release, quasi=quasi, sensitive=sensitive, people=people, count=count)
    return guess_with_background(view, ruled_out=ruled_out, neighbours=neighbours, seed=seed)


def guess_with_background(view: View, *, ruled_out: int | Sequence[Any], neighbours: int, seed: int) -> AttackResult:
    """Guess the most frequent secret that is left of each target's class."""
    if neighbours < 0:
        raise InvalidParameterError(f"neighbours must be at least 0, got {neighbours}")
    rng = np.random.default_rng(seed)
    out = _draw_wrong(view, ruled_out, rng) if isinstance(ruled_out, int) else _name_wrong(view, ruled_out)
    known = _draw_neighbours(view, neighbours, rng)
    # What is left of a class has its maximum among its first secrets: each thing known moves one of them down.
    width = min(out.shape[1] + known.shape[1] + 1, len(view.values))
    codes, weights = (part[view.cell] for part in view.first(width))
    left = weights.copy()
    for beside in known.T:
        left -= codes == beside[:, None]
    for wrong in out.T:
        left[codes == wrong[:, None]] = 0
    left[codes < 0] = 0
    most = left.max(axis=1)
    best = np.where(left == most[:, None], codes, len(view.values)).min(axis=1)
    guess = np.where(most > 0, best, _most_frequent_left(view.commonest, out))
    certain = ((left > 0).sum(axis=1) == 1) & (view.held[view.cell] <= width)
    ranking = np.argsort(-np.bincount(view.secret, minlength=len(view.values)), kind="stable")
    return view.judge(
        "Background knowledge attack",
        guess,
        baseline=float((_most_frequent_left(ranking, out) == view.secret).mean()),
        says="guessing the most frequent secret that is not ruled out",
        facts={
            "secrets ruled out for a person": f"{(out >= 0).sum(axis=1).mean():.3g} on average",
            "neighbours known": neighbours,
            "people with one secret left": int(certain.sum()),
            "of these, right": int((certain & (guess == view.secret)).sum()),
        },
    )


def _draw_wrong(view: View, number: int, rng: np.random.Generator) -> Codes:
    """Wrong secrets of each target, shape (targets, number): a window on a random circle of the secrets."""
    distinct = len(view.values)
    if not 0 <= number < distinct:
        raise InvalidParameterError(f"ruled_out must be from 0 to {distinct - 1}, the wrong secrets, got {number}")
    circle = rng.permutation(distinct)
    start = np.argsort(circle)[view.secret] + rng.integers(1, distinct - number + 1, len(view.secret))
    return np.asarray(circle[(start[:, None] + np.arange(number)) % distinct])


def _name_wrong(view: View, ruled_out: Sequence[Any]) -> Codes:
    place = {value: code for code, value in enumerate(view.values)}
    if isinstance(ruled_out, str) or any(value not in place for value in ruled_out):
        raise InvalidParameterError(f"ruled_out must be a number or a list of values of {view.name}")
    out = np.tile(np.array([place[value] for value in ruled_out], dtype=np.int64), (len(view.secret), 1))
    out[out == view.secret[:, None]] = -1
    return out


def _draw_neighbours(view: View, number: int, rng: np.random.Generator) -> Codes:
    """Secrets of the next members of each target's class, on a random circle; -2 where it has no further ones."""
    order = np.lexsort((rng.random(len(view.cell)), view.cell))
    owner = view.cell[order]
    sizes = np.bincount(owner)
    starts = np.cumsum(sizes) - sizes
    place = np.arange(len(order)) - starts[owner]
    number = min(number, int(sizes.max()) - 1)
    known = np.full((len(order), number), -2)
    for step in range(1, number + 1):
        after = order[starts[owner] + (place + step) % sizes[owner]]
        known[order, step - 1] = np.where(step < sizes[owner], view.secret[after], -2)
    return known


def _most_frequent_left(commonest: Codes, out: Codes) -> Codes:
    """First secret of a ranking that is not ruled out, for each target."""
    rank = np.append(np.argsort(commonest), len(commonest))  # the last place is that of -1, nothing
    gone = np.zeros((len(out), len(commonest) + 1), dtype=bool)
    gone[np.arange(len(out))[:, None], rank[out]] = True
    return np.asarray(commonest[gone[:, :-1].argmin(axis=1)])
