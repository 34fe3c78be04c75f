"""Search queries under numbers, in which people reveal their own names."""

import re
from collections.abc import Iterable, Sequence

import numpy as np
from scipy.sparse import coo_array, csr_array

from deniable.attacks.chunks import stretches
from deniable.attacks.numbers import real
from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError

_MAX_CELLS = 1 << 22  # of a dense part of the scores: 32 MB
_ROUNDING = 1e-9  # of sums of bits, so that equal scores tie


def link_queries(
    users: Sequence[int],
    texts: Sequence[str],
    roll: Sequence[str],
    *,
    truth: Sequence[int] | None = None,
    bits: float = 3.0,
) -> AttackResult:
    """Find people of a public roll whose names and towns are in a user's queries.

    People search for their own name, their relatives and their town: so user 4417749 of the AOL log was found to be
    Thelma Arnold of Lilburn. A word that p of n people in the roll have counts log2(n / p) bits for each of them; the
    person with most bits is claimed if the second has fewer by more than `bits`.

    Args:
        users: number of the user of each query.
        texts: the queries.
        roll: public facts about each person, as words.
        truth: index in the roll of each user, in rising order of the users' numbers, -1 for none; None: every claim
            counts as right.
        bits: lead that a claim needs, at least 0.

    Returns: `learned` is the index in the roll claimed for each user, -1 for none.
    Raises: InvalidParameterError for texts and users of different number, an empty roll, or a truth of another length.
    Source: Barbaro, Zeller (New York Times, 9 August 2006), for the event; the score is the self-information of words.

    >>> roll = ["thelma arnold lilburn", "jack arnold boston", "ann lee lilburn", "joe doe boston"]
    >>> texts = ["60 single men", "landscapers in Lilburn", "arnold family tree", "weather"]
    >>> link_queries([4417749, 4417749, 4417749, 7], texts, roll, bits=0.5).learned.tolist()
    [-1, 0]
    """
    if len(users) != len(texts) or not len(texts) or len(roll) < 2 or not real("bits", bits) >= 0:
        raise InvalidParameterError(
            "users and texts must have one length >= 1, roll at least two people, and bits must be >= 0"
        )
    numbers, user = np.unique(np.asarray(users), return_inverse=True)
    if truth is not None and len(truth) != len(numbers):
        raise InvalidParameterError(f"truth must have one index for each of {len(numbers)} users, got {len(truth)}")
    vocabulary = sorted({word for text in roll for word in _words(text)})
    words = {word: index for index, word in enumerate(vocabulary)}
    public = _table(range(len(roll)), roll, words)
    scores = _table(user.tolist(), texts, words) @ (public * np.log2(len(roll) / public.sum(axis=0))).T
    claims = np.full(len(numbers), -1)
    for start, stop in stretches(np.full(len(numbers), len(roll)), _MAX_CELLS):
        part = scores[start:stop].toarray()
        second, first = np.partition(part, -2, axis=1)[:, -2:].T
        claims[start:stop] = np.where(first - second > bits + _ROUNDING, part.argmax(axis=1), -1)
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


def _words(text: str) -> Iterable[str]:
    """Return the words of a text, in lower case."""
    return set(re.findall(r"\w+", text.casefold()))


def _table(owners: Iterable[int], texts: Sequence[str], words: dict[str, int]) -> csr_array:
    """Return which owner has which word of the roll, 0 or 1, shape (texts, words)."""
    pairs = {
        (at, words[word]) for at, text in zip(owners, texts, strict=True) for word in _words(text) if word in words
    }
    rows, columns = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T
    return coo_array((np.ones(len(rows)), (rows, columns)), (len(texts), max(1, len(words)))).tocsr()
