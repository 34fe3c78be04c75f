"""Reconstruction attack: ask, estimate secret bits, and compare with the truth."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import diags_array
from scipy.sparse.linalg import aslinearoperator, lsmr

from deniable.attacks.numbers import Floats, check_probability, nonnegative
from deniable.attacks.reconstruction.answers import Answerer, secret_bits
from deniable.attacks.reconstruction.queries import Subsets, choose_subsets
from deniable.attacks.result import AttackResult, Share, TheoremBound
from deniable.errors import InvalidParameterError

BitEstimator = Callable[[Subsets, Floats], Floats]


def estimate_by_least_squares(
    subsets: Subsets, answers: ArrayLike, *, share: float = 0.5, noise: float = 0.0
) -> Floats:
    """Estimate every person's secret bit by least squares; round at 1/2 for the bit.

    With noise it is the mean of Bayes' rule for bits that were normal around `share` with variance share (1 - share):
    where the answers say nothing, the estimate stays at the share, and rounding gives the majority's bit.

    Args:
        subsets: shape (queries, people), of 0 and 1; a sparse array or LinearOperator where they are many.
        answers: shape (queries,); NaN for those that were withheld, which are left out.
        share: of the people who have the secret, as the attacker guesses it, in (0, 1).
        noise: standard deviation of the answers' errors, as the attacker knows it.

    Returns: shape (people,).
    Source: Dwork and Yekhanin (2008); LSMR by Fong and Saunders (2011).

    >>> from deniable.attacks.reconstruction import answer_exactly, random_subsets
    >>> groups = random_subsets(people=5, queries=20)
    >>> estimate_by_least_squares(groups, answer_exactly([1, 0, 0, 1, 1])(groups)).round().tolist()
    [1.0, 0.0, 0.0, 1.0, 1.0]
    """
    check_probability("share", share)
    damping = nonnegative("noise", noise) / np.sqrt(share * (1 - share))
    given, known = read_answers(subsets, answers)
    start = np.full(subsets.shape[1], share)
    if isinstance(subsets, np.ndarray):
        subsets = subsets.astype(np.float64)
    residual = np.where(known, given - np.asarray(subsets @ start), 0.0)
    if not known.all():  # a row of zeros for each that was withheld
        subsets = aslinearoperator(diags_array(known.astype(np.float64))) @ aslinearoperator(subsets)
    moved = lsmr(subsets, residual, damp=damping, atol=1e-9, btol=1e-9, maxiter=4 * len(start))[0]
    return np.asarray(start + moved)


def read_answers(subsets: Subsets, answers: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the answers, 0 for those withheld, and which of them were given."""
    given = np.asarray(answers, dtype=np.float64)
    if given.shape != (subsets.shape[0],):
        raise InvalidParameterError(
            f"answers must hold one number for each of {subsets.shape[0]} queries, got shape {given.shape}"
        )
    known = ~np.isnan(given)
    if not known.any():
        raise InvalidParameterError("answers must hold at least one that was not withheld")
    if np.isinf(given).any():
        raise InvalidParameterError("answers must be finite, or NaN where they were withheld")
    return np.where(known, given, 0.0), known


def attack_by_reconstruction(
    answerer: Answerer,
    secrets: ArrayLike,
    *,
    subsets: Subsets | None = None,
    estimate: BitEstimator = estimate_by_least_squares,
    bound: TheoremBound | None = None,
    seed: int = 0,
) -> AttackResult:
    """Ask for counts of groups, and compute every secret bit from the answers.

    Args:
        answerer: callable that answers: a release, a simulation (`answer_rounded`), or a private service.
        secrets: shape (people,), 0 or 1: the truth. It only judges the attack, which never reads it.
        subsets: the groups, shape (queries, people); by default those of `choose_subsets`.
        estimate: from groups and answers to one number for each person, which is rounded at 1/2.
        bound: of the theorem that holds for these answers, if one does.
        seed: of the groups.

    >>> from deniable.attacks.reconstruction import answer_exactly
    >>> truth = [1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0]
    >>> print(attack_by_reconstruction(answer_exactly(truth), truth).success.value)
    1.0
    """
    truth = secret_bits(secrets)
    asked = choose_subsets(people=len(truth), seed=seed) if subsets is None else subsets
    answers = np.asarray(answerer(asked), dtype=np.float64)
    estimates = np.asarray(estimate(asked, answers), dtype=np.float64)
    if estimates.shape != truth.shape:
        raise InvalidParameterError(f"estimate must return {len(truth)} numbers, got shape {estimates.shape}")
    learned = estimates > 0.5
    answered = ~np.isnan(answers)
    error = float(np.abs(answers - np.asarray(asked @ truth))[answered].max()) if answered.any() else np.nan
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
            "withheld": int((~answered).sum()),
            "largest error of an answer": round(error, 3),
            "square root of the people": round(float(np.sqrt(len(truth))), 1),
        },
    )
