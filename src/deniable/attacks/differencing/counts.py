"""Attacks by counts of one person, and by two counts that differ by one person."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.attacks.numbers import MAX_ROUNDS, nonnegative, read_bits, real, start_dice, whole
from deniable.attacks.result import AttackResult, Curve, Share, TheoremBound
from deniable.errors import InvalidParameterError

CountAnswers = Callable[[NDArray[np.bool_]], ArrayLike]
"""Groups, shape (queries, people), to counts of their secrets, shape (queries,). NaN: withheld."""

_MAX_CELLS = 1 << 24  # of a matrix of groups that is asked about at once: 16 MB
_CUT = 0.5  # between the counts 0 and 1


def isolate_people(answer: CountAnswers, secrets: ArrayLike, *, targets: ArrayLike | None = None) -> AttackResult:
    """Count the secrets in the group of each target alone.

    A steward who counts "born on this day, living in this ZIP code, with this condition" answers such a query where
    one person fits the first two: the answer 1 is a diagnosis. A withheld answer is guessed as the commoner value.

    Args:
        answer: takes groups, booleans of shape (queries, people), and returns counts of those with the secret, shape
            (queries,). NaN is an answer that was withheld.
        secrets: shape (people,), 0 or 1; used to judge the attack.
        targets: positions of people, shape (targets,); None: everybody.

    Raises: InvalidParameterError for secrets other than 0 and 1, targets that do not exist, or answers of other shape.

    >>> isolate_people(lambda groups: groups @ [0, 1, 1, 0], [0, 1, 1, 0]).success.value
    1.0
    """
    truth, people = _read(secrets, targets)
    single = np.concatenate([_ask(answer, own) for own in _batches(people, len(truth))])
    return _scored("Counting one person", truth, people, single[:, None], queries=len(people))


def subtract_counts(
    answer: CountAnswers,
    secrets: ArrayLike,
    *,
    targets: ArrayLike | None = None,
    share: float = 0.5,
    repeats: int = 1,
    deviation: float | None = None,
    seed: int = 0,
) -> AttackResult:
    """Count a group with and without each target, subtract, and average.

    Withholding small counts does not help: the groups are large. Where a count is published with the target and
    withheld without, the target has moved it over the threshold, which is an answer too. Noise that is drawn afresh
    averages out: with standard deviation s, r repetitions err with probability at most 1/(1 + r/(8 s^2)).

    Args:
        answer, secrets, targets: as for `isolate_people`; answers may be noisy.
        share: probability of every other person to be in the group, in (0, 1]; 1: everybody else is.
        repeats: number of times that each count is asked for, at least 1.
        deviation: standard deviation of the noise of one answer, if it is known; 0: exact. It gives the theorem.
        seed: of the attacker's choice of groups.

    Raises: InvalidParameterError for secrets other than 0 and 1, targets that do not exist, or answers of other shape.
    Source: Cantelli's inequality, for a difference of two means of r answers: variance 2 s^2 / r, distance 1/2.

    >>> secrets = np.arange(40) % 3 == 0
    >>> def fewer_than_5_withheld(groups):
    ...     counts = groups @ secrets.astype(float)
    ...     return np.where(counts < 5, np.nan, counts)
    >>> isolate_people(fewer_than_5_withheld, secrets).succeeded
    False
    >>> subtract_counts(fewer_than_5_withheld, secrets, share=1.0).success.value
    1.0
    """
    truth, people = _read(secrets, targets)
    dice = start_dice(seed)
    repeats = whole("repeats", repeats, upper=MAX_ROUNDS)
    if not 0 < real("share", share) <= 1:
        raise InvalidParameterError(f"share must be in (0, 1], got {share}")

    differences = []
    for own in _batches(people, len(truth)):
        others = (dice.random(own.shape) < share) & ~own
        pairs = np.concatenate([others | own, others])
        answers = np.stack([_ask(answer, pairs) for _ in range(repeats)], axis=1)
        differences.append(_differences(*np.split(answers, 2)))
    bound = None
    if deviation is not None:
        probability = 1 / (1 + 8 * nonnegative("deviation", deviation) ** 2 / repeats)
        bound = TheoremBound(
            share=probability,
            theorem=f"with {repeats} repetitions of independent noise of standard deviation {deviation:g}, each "
            f"secret is found with probability at least {probability:.4g} (Cantelli's inequality)",
        )
    means = np.concatenate(differences)
    return _scored("Differencing", truth, people, means, queries=2 * repeats * len(people), bound=bound)


def _differences(joined: NDArray[np.float64], without: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return mean differences after each repetition, shape (targets, repeats).

    NaN while nothing was learned.
    """
    crossed = np.where(np.isnan(without) & ~np.isnan(joined), 1.0, joined - without)
    known = ~np.isnan(crossed)
    with np.errstate(invalid="ignore"):
        mean: NDArray[np.float64] = np.cumsum(np.where(known, crossed, 0), axis=1) / np.cumsum(known, axis=1)
    return mean


def _scored(
    name: str,
    truth: NDArray[np.bool_],
    people: NDArray[np.int64],
    means: NDArray[np.float64],
    *,
    queries: int,
    bound: TheoremBound | None = None,
) -> AttackResult:
    """Judge the secrets that mean differences give, shape (targets, repeats)."""
    commoner = truth.mean() > _CUT
    guesses = np.where(np.isnan(means), commoner, means > _CUT)  # (targets, repeats)
    right = (guesses == truth[people][:, None]).sum(axis=0)
    hit = max(float((truth[people] == value).mean()) for value in (False, True))
    curves: tuple[Curve, ...] = ()
    if len(right) > 1:
        times = np.arange(1.0, len(right) + 1)
        curves = (
            Curve(label="attack", x=times, y=right / len(people)),
            Curve(label="guess without the release", x=times, y=np.full(len(times), hit)),
        )
    return AttackResult(
        attack=name,
        target="secret bit",
        success=Share(right=int(right[-1]), attempts=len(people)),
        baseline=hit,
        guess="a guess of the commoner value",
        bound=bound,
        learned=guesses[:, -1],
        facts={"queries": queries, "undecided": int(np.isnan(means[:, -1]).sum())},
        curves=curves,
        axes=("repetitions of each query", "share of secret bits right"),
    )


def _batches(people: NDArray[np.int64], everybody: int) -> Iterator[NDArray[np.bool_]]:
    """Yield groups of one person each, shape (batch, everybody)."""
    for batch in np.array_split(people, -(-len(people) * everybody // _MAX_CELLS)):
        yield np.equal.outer(batch, np.arange(everybody))


def _ask(answer: CountAnswers, groups: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the answers, shape (groups,), or refuse another shape."""
    answers = np.asarray(answer(groups), dtype=np.float64)
    if answers.shape != (len(groups),):
        raise InvalidParameterError(
            f"answer must return one number for each of {len(groups)} groups, got the shape {answers.shape}"
        )
    return answers


def _read(secrets: ArrayLike, targets: ArrayLike | None) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return the secrets, and the positions of the targets."""
    bits = read_bits(secrets)
    people = np.arange(len(bits)) if targets is None else np.asarray(targets)
    wrong = people.ndim != 1 or not people.size or people.dtype.kind not in "iu"
    if wrong or not 0 <= people.min() <= people.max() < len(bits):
        raise InvalidParameterError(f"targets must be positions of people, whole numbers in 0..{len(bits) - 1}")
    return bits, people.astype(np.int64)
