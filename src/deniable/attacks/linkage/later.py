"""Attack on an old release by data that become known later."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.attacks.numbers import MAX_ROUNDS, read_bits, real, start_dice, whole
from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError


def learn_from_later_data(
    release: Callable[[NDArray[np.int64]], ArrayLike],
    secrets: ArrayLike,
    groups: ArrayLike,
    *,
    runs: int = 1,
    epsilon: float | None = None,
    delta: float = 0.0,
    seed: int = 0,
) -> AttackResult:
    """Subtract secrets that become known later from a published count.

    The attacker waits until the secrets of all but one member of a group are known. Groups of k people, each with the
    same quasi-identifiers and a published count of the secret, are k-anonymous; the count gives the last member away
    all the same. For an (epsilon, delta)-DP release, later data are side information: right guesses a of 1 and b of 0
    obey a <= e^epsilon (1 - b) + delta and b <= e^epsilon (1 - a) + delta, so p a + (1 - p) b is at most the greatest
    of p + (1 - p) delta, 1 - p + p delta and (e^epsilon + delta) / (1 + e^epsilon), the values at the corners of that
    region.

    Args:
        release: takes the secrets, and returns their count in each group, shape (groups,), exact or noisy.
        secrets: shape (people,), 0 or 1.
        groups: group of each person, shape (people,), whole numbers 0..groups - 1, none empty.
        runs: number of releases that are made and attacked; the last member of every group is drawn anew.
        epsilon, delta: as the release claims; the limit for every attack is then stated among the facts.
        seed: of the draws of last members.

    Returns: `learned` are the guesses of the last run.
    Raises: InvalidParameterError for secrets other than 0 and 1, groups or answers of another shape, or a claim outside
        its range.

    >>> secrets, groups = np.arange(60) % 3 == 0, np.arange(60) // 5
    >>> learn_from_later_data(lambda bits: np.bincount(groups, bits), secrets, groups).success.value
    1.0
    """
    bits = read_bits(secrets).astype(np.int64)
    members = np.asarray(groups)
    if members.shape != bits.shape or members.dtype.kind not in "iu" or members.min() < 0:
        raise InvalidParameterError("groups must hold a whole number >= 0 for each person")
    sizes = np.bincount(members)
    whole("runs", runs, upper=MAX_ROUNDS)
    if not sizes.all():
        raise InvalidParameterError("groups must have at least one member each")
    if epsilon is not None and not (real("epsilon", epsilon) >= 0 and 0 <= real("delta", delta) <= 1):
        raise InvalidParameterError(f"epsilon must be >= 0 and delta in [0, 1], got {epsilon} and {delta}")
    dice = start_dice(seed)
    right = ones = 0
    for _ in range(runs):
        order = np.lexsort((dice.random(len(bits)), members))
        last = order[np.cumsum(sizes) - 1]  # of each group, one member at random
        counts = np.asarray(release(bits.copy()), dtype=np.float64)
        if counts.shape != sizes.shape:
            raise InvalidParameterError(f"release must return {len(sizes)} numbers, got the shape {counts.shape}")
        others = np.bincount(members, weights=bits) - bits[last]
        guesses = counts - others > 1 / 2
        right += int((guesses == bits[last]).sum())
        ones += int(bits[last].sum())
    rate = ones / (runs * len(sizes))
    facts: dict[str, object] = {"people in the smallest group": int(sizes.min())}
    if epsilon is not None:
        pair = 1.0 if math.isinf(epsilon) else (1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon))
        limit = min(1.0, max(rate + (1 - rate) * delta, 1 - rate + rate * delta, pair))
        facts["most that any attack expects, by the claim"] = f"{limit:.1%}"
    return AttackResult(
        attack="Waiting for later data",
        target="secret bit of the last member of a group",
        success=Share(right=right, attempts=runs * len(sizes)),
        baseline=max(rate, 1 - rate),
        guess="a guess of the commoner value",
        learned=guesses,
        facts=facts,
    )
