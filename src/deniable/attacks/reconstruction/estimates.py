"""Secret bits from answers to subset queries, by least squares: for 10^5 people in seconds."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import lsmr

from deniable.attacks.reconstruction.queries import Subsets
from deniable.errors import InvalidParameterError


def estimate_by_least_squares(
    subsets: Subsets, answers: ArrayLike, *, share: float = 0.5, noise: float = 0.0
) -> NDArray[np.float64]:
    """Estimate every person's secret bit by the column that fits the answers best in squares; round at 1/2 for the bit.

    With noise it is the mean of Bayes' rule for bits that were normal around `share` with variance share (1 - share):
    where the answers say nothing, the estimate stays at the share, and rounding gives the majority's bit.

    Args:
        subsets: shape (queries, people), of 0 and 1; a sparse array or LinearOperator where they are many.
        answers: shape (queries,); NaN for those that were withheld, which are left out.
        share: of the people who have the secret, as the attacker guesses it, in (0, 1).
        noise: standard deviation of the answers' errors, as the attacker knows it.

    Returns: shape (people,).
    Raises: InvalidParameterError if shapes differ, or every answer was withheld.
    Source: Dwork and Yekhanin (2008); LSMR by Fong and Saunders (2011).

    >>> from deniable.attacks import answer_exactly, random_subsets
    >>> groups = random_subsets(people=5, queries=20)
    >>> estimate_by_least_squares(groups, answer_exactly([1, 0, 0, 1, 1])(groups)).round().tolist()
    [1.0, 0.0, 0.0, 1.0, 1.0]
    """
    if not 0 < share < 1:
        raise InvalidParameterError(f"share must be in (0, 1), got {share}")
    if not 0 <= noise < np.inf:
        raise InvalidParameterError(f"noise must be finite and >= 0, got {noise}")
    given, known = read_answers(subsets, answers)
    start = np.full(subsets.shape[1], share)
    if isinstance(subsets, np.ndarray):
        subsets = subsets.astype(np.float64)
    residual = np.where(known, given - np.asarray(subsets @ start), 0.0)
    damping = noise / np.sqrt(share * (1 - share))
    asked = subsets if known.all() else _only(subsets, known)
    moved = lsmr(asked, residual, damp=damping, atol=1e-9, btol=1e-9, maxiter=4 * subsets.shape[1])[0]
    found: NDArray[np.float64] = start + moved
    return found


def read_answers(subsets: Subsets, answers: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The answers with 0 for those that were withheld, and which of them were given.

    Raises: InvalidParameterError if they are not one a query, some are infinite, or none was given.
    """
    given = np.asarray(answers, dtype=np.float64)
    if given.shape != (subsets.shape[0],):
        raise InvalidParameterError(f"{subsets.shape[0]} queries need as many answers, got shape {given.shape}")
    known = ~np.isnan(given)
    if not known.any():
        raise InvalidParameterError("no query was answered")
    if np.isinf(given).any():
        raise InvalidParameterError("answers must be finite, or NaN where they were withheld")
    return np.where(known, given, 0.0), known


def _only(subsets: Subsets, known: NDArray[np.bool_]) -> Subsets:
    """The queries with a row of zeros for each that was not answered."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import aslinearoperator

    kept: Subsets = aslinearoperator(diags_array(known.astype(np.float64))) @ aslinearoperator(subsets)
    return kept
