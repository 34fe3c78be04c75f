"""The whole attack: ask, reconstruct, and compare with the truth."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.attacks.reconstruction.answers import Answerer, secret_bits
from deniable.attacks.reconstruction.estimates import estimate_by_least_squares
from deniable.attacks.reconstruction.queries import Subsets, hadamard_subsets, random_subsets
from deniable.attacks.result import AttackResult, Bound, Share
from deniable.errors import InvalidParameterError

FEW = 512  # people: up to here the groups are drawn at random, a dense matrix

Estimator = Callable[[Subsets, NDArray[np.float64]], NDArray[np.float64]]


def attack_by_reconstruction(
    answerer: Answerer,
    secrets: ArrayLike,
    *,
    subsets: Subsets | None = None,
    estimate: Estimator = estimate_by_least_squares,
    bound: Bound | None = None,
    seed: int = 0,
) -> AttackResult:
    """Ask for the counts of many groups, and compute every person's secret bit from the answers.

    Args:
        answerer: what answers: a release, a simulation (`answer_rounded`), or a private service.
        secrets: the truth, 0 or 1 a person, shape (people,). It only marks the attack, which never looks at it.
        subsets: the groups, shape (queries, people); by default those of `choose_subsets`.
        estimate: from groups and answers to one number a person, which is rounded at 1/2.
        bound: the theorem that holds for these answers, if one does.

    Raises: InvalidParameterError if the answers or estimates do not have the right shape.

    >>> from deniable.attacks import answer_exactly
    >>> truth = [1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0]
    >>> print(attack_by_reconstruction(answer_exactly(truth), truth).success.value)
    1.0
    """
    truth = secret_bits(secrets)
    asked = choose_subsets(people=len(truth), seed=seed) if subsets is None else subsets
    answers = np.asarray(answerer(asked), dtype=np.float64)
    found = np.asarray(estimate(asked, answers), dtype=np.float64)
    if found.shape != truth.shape:
        raise InvalidParameterError(f"the estimator needs to give {len(truth)} numbers, got shape {found.shape}")
    learned = found > 0.5
    exact = np.asarray(asked @ truth)
    told = ~np.isnan(answers)
    error = float(np.abs(answers - exact)[told].max()) if told.any() else np.nan
    share = float(truth.mean())
    return AttackResult(
        attack="Reconstruction",
        target="secret bit",
        success=Share(right=int((learned == (truth > 0.5)).sum()), attempts=len(truth)),
        baseline=max(share, 1 - share),
        guess="guessing what most people have",
        bound=bound,
        learned=learned,
        facts={
            "people": len(truth),
            "queries": int(asked.shape[0]),
            "withheld": int((~told).sum()),
            "largest error of an answer": round(error, 3),
            "square root of the people": round(float(np.sqrt(len(truth))), 1),
        },
    )


def choose_subsets(*, people: int, seed: int = 0) -> Subsets:
    """Groups of about half the people: 4 random ones a person, or for more than 512 people those of `hadamard_subsets`.

    >>> choose_subsets(people=100).shape
    (400, 100)
    """
    if people <= FEW:
        return random_subsets(people=people, queries=4 * people, seed=seed)
    groups: Subsets = hadamard_subsets(people=people, seed=seed)
    return groups
