"""Search queries under a number in place of a name, in which people give their own names away."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError

_WORD = re.compile(r"\w+")
_TIE = 1e-9
_CELLS = 1 << 22


@dataclass(frozen=True, kw_only=True)
class QueryLog:
    """Queries of people who stand under numbers, beside a public roll of people.

    Args:
        users: number of the user of each query.
        texts: what was asked.
        roll: what is public about each person, such as "thelma arnold lilburn".
        truth: place in the roll of each user, in rising order of the users' numbers.
    """

    users: tuple[int, ...]
    texts: tuple[str, ...]
    roll: tuple[str, ...]
    truth: tuple[int, ...]


def link_queries(
    users: Sequence[int],
    texts: Sequence[str],
    roll: Sequence[str],
    *,
    truth: Sequence[int] | None = None,
    bits: float = 3.0,
) -> AttackResult:
    """Find the people of a public roll whose names and places stand in the queries of one user.

    People search for their own name, their relatives and their town: so user 4417749 of the AOL log was found to be
    Thelma Arnold of Lilburn. A word that p of n people in the roll have counts log2(n / p) bits for each of them; the
    person with most bits is claimed if the second has fewer by more than `bits`.

    Args:
        users: number of the user of each query.
        texts: what was asked.
        roll: what is public about each person, as words.
        truth: place in the roll of each user, in rising order of the users' numbers, -1 for none; None: whoever is
            claimed counts as found.
        bits: lead that a claim needs, at least 0.

    Returns: `learned` is the place in the roll claimed for each user, -1 where none is.
    Raises: InvalidParameterError for texts and users of different number, an empty roll, or a truth of another length.
    Source: Barbaro, Zeller (New York Times, 9 August 2006), for the event; the score is the self-information of words.

    >>> roll = ["thelma arnold lilburn", "jack arnold boston", "ann lee lilburn", "joe doe boston"]
    >>> texts = ["60 single men", "landscapers in Lilburn", "arnold family tree", "weather"]
    >>> link_queries([4417749, 4417749, 4417749, 7], texts, roll, bits=0.5).learned.tolist()
    [-1, 0]
    """
    if len(users) != len(texts) or not len(texts) or len(roll) < 2 or not bits >= 0:
        raise InvalidParameterError("a log needs one user for each text, a roll at least two people, and bits >= 0")
    numbers, user = np.unique(np.asarray(users), return_inverse=True)
    if truth is not None and len(truth) != len(numbers):
        raise InvalidParameterError(f"truth must have one place for each of {len(numbers)} users, got {len(truth)}")
    words: dict[str, int] = {}
    public = _table(range(len(roll)), roll, words, grow=True)
    asked = _table(user.tolist(), texts, words, grow=False, rows=len(numbers))
    sharing = public.sum(axis=0)
    weighted = (asked @ csr_array(public.multiply(np.log2(len(roll) / sharing)[None, :])).T).tocsr()
    claims = np.full(len(numbers), -1)
    size = max(1, _CELLS // len(roll))
    for start in range(0, len(numbers), size):
        scores = weighted[start : start + size].toarray()
        two = -np.partition(-scores, 1, axis=1)[:, :2]
        sure = (two[:, 0] - two[:, 1] > bits) & (two[:, 0] > _TIE)
        claims[start : start + size] = np.where(sure, scores.argmax(axis=1), -1)
    claimed = claims >= 0
    right = claimed if truth is None else claimed & (claims == np.asarray(truth))
    return AttackResult(
        attack="Names in a query log",
        target="name of a user",
        success=Share(right=int(right.sum()), attempts=len(numbers)),
        baseline=1 / len(roll),
        guess="a name from the roll",
        learned=claims,
        facts={
            "users claimed": int(claimed.sum()),
            "wrong claims": "not checked" if truth is None else int((claimed & ~right).sum()),
            "queries of a user": f"{len(texts) / len(numbers):.1f}",
        },
    )


def make_query_log(*, people: int, queries: int, own: float = 0.05, seed: int = 0) -> QueryLog:
    """Draw a log in which each person searches mostly for anything, and at times for their own name, kin or town.

    Args:
        people: at least 2, all of them in the roll; half of them are users of the log.
        queries: of each user, at least 1.
        own: share of queries that are about the person's own name or town, in [0, 1].

    Raises: InvalidParameterError for numbers outside these ranges.

    >>> log = make_query_log(people=100, queries=50)
    >>> len(log.texts), len(log.roll)
    (2500, 100)
    """
    if people < 2 or queries < 1 or not 0 <= own <= 1:
        raise InvalidParameterError("people must be at least 2, queries at least 1 and own in [0, 1]")
    dice = np.random.default_rng(seed)
    given, family, town = (_names(dice, people, kind) for kind in ("given", "family", "town"))
    here = np.sort(dice.choice(people, size=people // 2, replace=False))
    number = dice.choice(10**7, size=len(here), replace=False)
    user = np.repeat(np.arange(len(here)), queries)
    kind = np.where(dice.random(len(user)) < own, dice.integers(1, 4, size=len(user)), 0)
    topic = dice.zipf(1.5, size=len(user)) % 5000
    kin = dice.integers(people, size=len(user))
    texts = [
        (
            f"topic{topic[at]}",
            f"{given[who]} {family[who]}",
            f"{given[kin[at]]} {family[who]}",
            f"topic{topic[at]} in {town[who]}",
        )[kind[at]]
        for at, who in enumerate(here[user])
    ]
    order = np.argsort(number)
    roll = tuple(f"{a} {b} {c}" for a, b, c in zip(given, family, town, strict=True))
    return QueryLog(
        users=tuple(number[user].tolist()), texts=tuple(texts), roll=roll, truth=tuple(here[order].tolist())
    )


def _names(dice: np.random.Generator, people: int, kind: str) -> list[str]:
    """Names of which a few are common."""
    many = {"given": 200, "family": max(2, people // 3), "town": max(2, people // 20)}[kind]
    rank = np.arange(1, many + 1)
    chance = 1 / (rank + 10)
    return [f"{kind}{one}" for one in dice.choice(many, size=people, p=chance / chance.sum())]


def _table(
    owners: Sequence[int], texts: Sequence[str], words: dict[str, int], *, grow: bool, rows: int | None = None
) -> csr_array:
    """Which owner has which word, 0 or 1; words of the roll alone count."""
    found = [
        (owner, words.setdefault(word, len(words)) if grow else words.get(word, -1))
        for owner, text in zip(owners, texts, strict=True)
        for word in set(_WORD.findall(text.casefold()))
    ]
    pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
    pairs = np.unique(pairs[pairs[:, 1] >= 0], axis=0)
    shape = (rows or len(texts), max(1, len(words)))
    return coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=shape).tocsr()
