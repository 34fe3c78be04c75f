"""Sparse ratings without names, matched with a few known ratings of a person."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from deniable.attacks.chunks import stretches
from deniable.attacks.numbers import Floats, Indices, real, start_dice, whole
from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError

NETFLIX_DENSITY = 100_480_507 / (480_189 * 17_770)
"""Ratings over users times films in the Netflix Prize data set: 1.18%."""

_MAX_SCORES = 1 << 23  # computed at once: 64 MB
_DAYS = 2_242  # that the Netflix ratings span
_STARS_APART = 1.5  # rho_0 of the paper
_DAYS_APART = 30.0  # d_0 of the paper
_STAR_ERROR = 1.0  # of what an attacker knows
_DAY_ERROR = 14.0


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings of items by users, with their days.

    Args:
        stars: sparse, shape (users, items); a number > 0 where there is a rating.
        days: day of each stored entry of `stars`, in its order; shape (ratings,).

    >>> from deniable.attacks.linkage import Ratings
    >>> Ratings(csr_array([[5.0, 0.0], [0.0, 3.0]]), np.array([1.0, 2.0])).stars.nnz
    2
    """

    stars: csr_array
    days: NDArray[np.float64]

    def __repr__(self) -> str:
        users, items = self.stars.shape
        return f"<Ratings: {len(self.days):,} by {users:,} users of {items:,} items>"

    def __post_init__(self) -> None:
        if not isinstance(self.stars, csr_array) or self.stars.nnz != len(self.days) or 0 in self.stars.shape:
            raise InvalidParameterError("stars must be a csr_array, and days hold one day for each of its entries")


def link_ratings(
    released: Ratings,
    known: Ratings,
    truth: ArrayLike,
    *,
    dates: bool = True,
    eccentricity: float = 1.5,
) -> AttackResult:
    """Find the rows of people of whom a few approximate ratings are known.

    It is the scoreboard of Narayanan and Shmatikov. Every row gets the score sum of w (exp(-|stars apart| / 1.5) +
    exp(-|days apart| / 30)) over the known ratings of items that it has too, with w = 1 / ln(raters of the item). The
    best is claimed if it is more than `eccentricity` standard deviations of all scores above the second best. An item
    with one rater is weighed as if it had two. The numbers are those of the paper's section 5.

    Args:
        released: shape (users, items); no names.
        known: ratings that the attacker knows, shape (targets, items).
        truth: row of each target in `released`, shape (targets,); -1 for somebody who is not in it.
        dates: whether the days are used.
        eccentricity: phi; larger values make claims rarer and surer.

    Returns: `learned` is the row claimed for each target, -1 for none.
    Raises: InvalidParameterError for shapes that do not fit.
    Source: Narayanan, Shmatikov (2008), "Robust de-anonymization of large sparse datasets".

    >>> from deniable.attacks.linkage import make_ratings, observe_ratings
    >>> ratings = make_ratings(users=300, items=200, density=0.05)
    >>> targets = np.arange(20)
    >>> link_ratings(ratings, observe_ratings(ratings, targets, count=6), targets).success.value > 0.8
    True
    """
    people, items = released.stars.shape
    right_row = np.asarray(truth)
    if known.stars.shape[1] != items or right_row.shape != (known.stars.shape[0],) or people < 2:
        raise InvalidParameterError(
            f"known must have the {items} items of released, and truth one row of its users for each target; "
            f"got {known.stars.shape} and {right_row.shape} for {people} users"
        )
    if not real("eccentricity", eccentricity) >= 0:
        raise InvalidParameterError(f"eccentricity must be at least 0, got {eccentricity}")
    best, lead = _best_rows(released, known, dates=dates)
    claims = np.where(lead > eccentricity, best, -1)
    claimed = claims >= 0
    right = claimed & (claims == right_row)
    return AttackResult(
        attack="Matching sparse ratings",
        target="row of a person",
        success=Share(right=int(right.sum()), attempts=len(claims)),
        baseline=1 / people,
        guess="a row drawn at random",
        learned=claims,
        facts={
            "known ratings of a target": f"{known.stars.nnz / len(claims):.1f}",
            "rows claimed": int(claimed.sum()),
            "wrong claims": int((claimed & ~right).sum()),
            "median eccentricity": f"{np.median(lead):.2f}",
        },
    )


def _best_rows(released: Ratings, known: Ratings, *, dates: bool) -> tuple[Indices, Floats]:
    """Return the best row of each target, and its lead over the second best.

    Leads are in standard deviations of all scores of the target.
    """
    people = released.stars.shape[0]
    targets = known.stars.shape[0]
    entries = np.arange(1, released.stars.nnz + 1)
    by_item = csr_array((entries, released.stars.indices, released.stars.indptr), released.stars.shape).tocsc()
    raters = np.diff(by_item.indptr)
    starts = known.stars.indptr
    item = known.stars.indices
    weight = 1 / np.log(np.maximum(raters, 2))[item]
    best = np.empty(targets, dtype=np.int64)
    lead = np.zeros(targets)
    work = np.diff(np.concatenate([[0], np.cumsum(raters[item])])[starts]) + people
    for first, last in stretches(work, _MAX_SCORES):
        ours = np.arange(starts[first], starts[last])  # known ratings of these targets
        # Each known rating is compared with all ratings of its item.
        counts = raters[item[ours]]
        mine = np.repeat(ours, counts)
        position = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts - by_item.indptr[item[ours]], counts)
        theirs = by_item.data[position] - 1
        similarity = np.exp(-np.abs(known.stars.data[mine] - released.stars.data[theirs]) / _STARS_APART)
        if dates:
            similarity += np.exp(-np.abs(known.days[mine] - released.days[theirs]) / _DAYS_APART)
        target = np.searchsorted(starts, mine, side="right") - 1 - first
        cells = target * people + by_item.indices[position]
        scores = np.bincount(cells, similarity * weight[mine], (last - first) * people).reshape(-1, people)
        best[first:last] = scores.argmax(axis=1)
        second, top = np.partition(scores, -2, axis=1)[:, -2:].T
        np.divide(top - second, scores.std(axis=1), out=lead[first:last], where=top > second)
    return best, lead


def make_ratings(*, users: int, items: int, density: float = NETFLIX_DENSITY, seed: int = 0) -> Ratings:
    """Draw ratings with few popular items and few busy users.

    By default they are as sparse as those of Netflix.

    The popularity of items falls as 1 / rank, how much users rate is lognormal. Stars lie around a mean of
    the item and one of the user. A user's days lie around a few evenings.

    Args:
        users: number of users, at least 2.
        items: number of items, at least 2.
        density: ratings over users times items, in (0, 1/2]; a little less is drawn, since nobody rates an item twice.
        seed: of the draws.

    Raises: InvalidParameterError for numbers outside these ranges.

    >>> ratings = make_ratings(users=1000, items=500)
    >>> ratings.stars.shape, bool(0.006 < ratings.stars.nnz / 500_000 < 0.013)
    ((1000, 500), True)
    """
    whole("users", users, lower=2)
    whole("items", items, lower=2)
    if not 0 < real("density", density) <= 1 / 2:
        raise InvalidParameterError(f"density must be in (0, 1/2], got {density}")
    dice = start_dice(seed)
    activity = dice.lognormal(sigma=1.0, size=users)
    counts = np.maximum(1, dice.poisson(activity / activity.mean() * density * items))
    popularity = 1 / (np.arange(items) + items / 200)
    user = np.repeat(np.arange(users), counts)
    item = dice.choice(items, size=len(user), p=popularity / popularity.sum())
    rated = np.unique(user * items + item)
    user = rated // items
    item = rated % items
    liked = 3.5 + 0.6 * dice.normal(size=items)[item] + 0.4 * dice.normal(size=users)[user]
    stars = np.clip(np.round(liked + 0.8 * dice.normal(size=len(user))), 1, 5)
    evenings = dice.uniform(0, _DAYS, size=(users, 8))
    days = np.floor(evenings[user, dice.integers(8, size=len(user))] + dice.exponential(10, size=len(user)))
    starts = np.searchsorted(user, np.arange(users + 1))
    return Ratings(csr_array((stars, item, starts), shape=(users, items)), days)


def observe_ratings(ratings: Ratings, targets: ArrayLike, *, count: int, wrong: int = 0, seed: int = 0) -> Ratings:
    """Draw the ratings that an attacker knows of a few people.

    They are some of their ratings, with errors, and some that are made up. Stars are known up to 1, days up to 14.

    Args:
        ratings: of everybody.
        targets: rows, shape (targets,).
        count: number of ratings known of each target; all of them for a target with fewer.
        wrong: number of these that are of random items with random stars and days.
        seed: of the draws.

    Raises: InvalidParameterError if more are wrong than known, or a target does not exist.

    >>> ratings = make_ratings(users=50, items=80, density=0.2)
    >>> observe_ratings(ratings, [3, 4], count=5).stars.nnz
    10
    """
    people = np.asarray(targets)
    users, items = ratings.stars.shape
    whole("wrong", wrong, lower=0, upper=whole("count", count))
    given = people.ndim == 1 and len(people) and people.dtype.kind in "iu"
    if not given or people.min() < 0 or people.max() >= users:
        raise InvalidParameterError(f"targets must be rows in 0..{users - 1}")
    dice = start_dice(seed)
    starts = ratings.stars.indptr.astype(np.int64)
    counts = np.diff(starts)[people]
    target = np.repeat(np.arange(len(people)), counts)
    before = np.cumsum(counts) - counts
    entry = np.arange(counts.sum()) - np.repeat(before - starts[people], counts)
    order = np.lexsort((dice.random(len(entry)), target))
    rank = np.arange(len(entry)) - np.repeat(before, counts)
    kept = order[rank < count]
    false = rank[rank < count] < wrong
    target = target[kept]
    entry = entry[kept]
    size = len(entry)
    item = np.where(false, dice.integers(items, size=size), ratings.stars.indices[entry])
    close = np.clip(ratings.stars.data[entry] + np.round(dice.uniform(-_STAR_ERROR, _STAR_ERROR, size)), 1, 5)
    stars = np.where(false, dice.integers(1, 6, size=size), close)
    day = ratings.days[entry] + dice.uniform(-_DAY_ERROR, _DAY_ERROR, size)
    days = np.where(false, dice.uniform(0, _DAYS, size), day)
    cell, first = np.unique(target * items + item, return_index=True)
    ends = np.searchsorted(cell // items, np.arange(len(people) + 1))
    return Ratings(csr_array((stars[first], cell % items, ends), shape=(len(people), items)), days[first])
