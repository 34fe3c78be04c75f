"""Generalisation bounds for questions that a private mechanism chose.

They bound the distance between an average over a sample and over its population.

Rows are drawn independently from one population, questions ask for the mean of a value in [0, 1], and losses are under
replace. All proofs: docs/theory/adaptive/generalisation.md.
"""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import Real, positive_integer, probability, shown
from deniable.privacy import PrivacyLoss, Replace
from deniable.privacy.budget.filter import proved_for

_ROUND_UP = 1 + 1e-9  # of every bound, whose floats are good to far more digits


def uniform_stability(loss: PrivacyLoss) -> float:
    """Bound the uniform stability of a private mechanism.

    That is the change of the expected value of the outcome on any one row, when a row of the sample is replaced.

    Args:
        loss: of the mechanism that makes the outcome, proved under replace; values of outcomes on rows lie in [0, 1].

    Guarantee: at most delta(0), the total variation distance: tanh(epsilon / 2) for pure losses, and never above
        e^epsilon - 1 + delta. Randomized response attains it.
    Source: Bousquet, Elisseeff (2002), who define it.

    >>> from deniable.privacy import PureLoss
    >>> round(uniform_stability(PureLoss("0.2")), 4)
    0.0997
    """
    return min(1.0, proved_for(Replace, loss).delta(0).upper * _ROUND_UP)


def expected_gap(loss: PrivacyLoss) -> float:
    """Bound the expected gap between sample and population for a private question.

    Args:
        loss: of the mechanism that chose the question, proved under replace.

    Guarantee: |E[q(S) - q(P)]| <= uniform stability, and <= tanh(epsilon / 4) for pure losses, which is attained.
    Source: Dwork, Feldman, Hardt, Pitassi, Reingold, Roth (2015), arXiv:1411.2664, with e^epsilon - 1 + delta.

    >>> from deniable.privacy import PureLoss
    >>> round(expected_gap(PureLoss("0.2")), 4)      # e^0.2 - 1 = 0.2214
    0.05
    """
    return min([uniform_stability(loss), *(_leaning(epsilon) for epsilon, delta in _pairs(loss) if delta == 0)])


def stable_gap(stability: Real, *, rows: int, failure: Real) -> float:
    """Bound the excess of the population error of a stable algorithm.

    The excess is over its error on the sample.

    Args:
        stability: of errors in [0, 1] averaged over the algorithm's coins, under replacement of a row, in [0, 1).
        rows: in the sample.
        failure: probability that the bound fails.

    Guarantee: stability + (2 rows stability + 1) sqrt(ln(1 / failure) / (2 rows)); useful where the stability is of
        the order 1 / rows.
    Source: Bousquet, Elisseeff (2002), theorem 12, for removal of a row.

    >>> round(stable_gap(0, rows=10_000, failure="0.05"), 4)       # Hoeffding's
    0.0122
    """
    beta = float(probability("stability", stability))
    count = positive_integer("rows", rows)
    spread = math.sqrt(-math.log(float(failure_of(failure))) / (2 * count))
    return (beta + (2 * count * beta + 1) * spread) * _ROUND_UP


def described_gap(questions: int, *, rows: int, failure: Real) -> float:
    """Bound the gap between sample and population for finitely many questions.

    Args:
        questions: number of questions that could be asked at all, whatever the answers to earlier ones were. A
            conversation of k questions with v possible answers each can come to fewer than v^k.
        rows: in the sample.
        failure: probability that the gap of some question is larger.

    Guarantee: sqrt(ln(2 questions / failure) / (2 rows)), by Hoeffding's bound for each.
    Source: Dwork, Feldman, Hardt, Pitassi, Reingold, Roth (2015), arXiv:1506.02629, section 3 (description length).

    >>> round(described_gap(1_000_000, rows=10_000, failure="0.05"), 3)
    0.03
    """
    asked = math.log(positive_integer("questions", questions))
    return union_gap(asked, rows=positive_integer("rows", rows), failure=failure_of(failure))


def union_gap(logarithm: float, *, rows: int, failure: Fraction) -> float:
    """Bound the gap as `described_gap`, from the logarithm of the number of questions."""
    return math.sqrt((logarithm + math.log(2) - math.log(failure)) / (2 * rows)) * _ROUND_UP


def posterior_gap(loss: PrivacyLoss, *, failure: Real) -> float:
    """Bound the gap between the posterior of the sample and the population.

    It bounds |E[q(S) given the answers] - q(P)| for every question q that was asked. Add the error of the answers on
    the sample for a bound between answers and population, as `GaussianAnswers` does.

    Args:
        loss: of the answers, proved under replace.
        failure: probability that the gap of some question is larger.

    Guarantee: tanh(epsilon / 4) for pure losses, always, and attained; else tanh(epsilon / 2) + d with
        4 delta / ((1 + e^epsilon) d) <= failure, for the best of some pairs of the curve.
    Source: Jung, Ligett, Neel, Roth, Sharifi-Malvajerdi, Shenfeld (2020), arXiv:1909.03577, with larger constants.

    >>> from deniable.privacy import PureLoss
    >>> round(posterior_gap(PureLoss("0.2"), failure="0.05"), 4)
    0.05
    """
    spare = float(failure_of(failure))
    gaps = [1.0]
    for epsilon, delta in _pairs(loss):
        sure = _leaning(epsilon) if delta == 0 else math.tanh(epsilon / 2)
        gaps.append((sure + 4 * delta / (1 + math.exp(epsilon)) / spare) * _ROUND_UP)
    return min(gaps)


def selected_gap(loss: PrivacyLoss, *, rows: int, failure: Real) -> float:
    """Bound the gap between sample and population for one question chosen privately.

    Args:
        loss: of the mechanism that chose the question: training, selection, a conversation; proved under replace.
        rows: in the sample.
        failure: probability that the gap is larger.

    Guarantee: |q(S) - q(P)| is at most this with probability 1 - failure. One more answer, with Laplace noise of
        another epsilon e, is imagined: 2 ln(1 / b) / (rows e) + c + the posterior's gap of loss and e together, with
        b + b / c as its part of the failure; the best e, b and c are taken.
    Source: derived in docs/theory/adaptive/generalisation.md; Bassily, Nissim, Smith, Steinke, Stemmer, Ullman (2016),
        arXiv:1511.02513, with 18 epsilon.

    >>> from deniable.privacy import PureLoss
    >>> round(selected_gap(PureLoss("0.1"), rows=100_000, failure="0.01"), 3)
    0.041
    """
    count = positive_integer("rows", rows)
    spare = float(failure_of(failure))
    extra = np.geomspace(1e-6, 4, 400)[:, None]
    c = np.geomspace(1e-8, 0.5, 120)[None, :]
    best = 1.0
    for epsilon, delta in _pairs(loss):
        share, part = (spare, 4) if delta == 0 else (spare / 2, 2)
        noise = -np.log(share / (1 + 1 / c)) / (count * extra)
        d = 4 * delta / (1 + np.exp(np.minimum(epsilon + extra, 700))) / (spare / 2)
        best = min(best, float((2 * noise + c + np.tanh((epsilon + extra) / part) + d).min()) * _ROUND_UP)
    return best


def _leaning(epsilon: float) -> float:
    """Bound the shift of a mean by likelihoods within e^epsilon of each other."""
    return math.tanh(epsilon / 4) * _ROUND_UP


def _pairs(loss: PrivacyLoss) -> Iterator[tuple[float, float]]:
    """Yield some pairs (epsilon, delta) on the privacy curve of a loss."""
    pure = proved_for(Replace, loss).pure_epsilon
    if pure is not None:
        yield min(float(pure), 700.0), 0.0
    for power in range(3, 16):
        delta = Fraction(1, 10**power)
        epsilon = loss.epsilon(delta).upper
        if epsilon < 700:
            yield epsilon, float(delta)
    yield 700.0, 1.0


def failure_of(value: Real) -> Fraction:
    """Return a probability of failure, which must be above 0."""
    share = probability("failure", value)
    if share == 0:
        raise InvalidParameterError(
            f"failure must be above 0, got {shown(value)}: no sample is certain to resemble its population"
        )
    return share
