"""Attribute inference: a secret value, from the loss of a model on each candidate."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from deniable.attacks.numbers import Floats, read_numbers, whole
from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError


def infer_attribute(
    loss: Callable[[Floats], ArrayLike], rows: ArrayLike, *, strangers: ArrayLike, column: int, confidence: float = 0.95
) -> AttackResult:
    """Guess a secret column of the training rows from the loss of a model.

    The guess is the value with the least loss - ln(share among strangers). The baseline is the better of two guessers:
    the commonest value among strangers, and the same attack on strangers, whom the model did not see. Success above it
    comes from the training rows; success on strangers is a fact about the population, which private training does not
    hide.

    Args:
        loss: takes rows, shape (rows, columns), and returns shape (rows,): -ln of the probability that the model gives
            to the outcome, which is in the row too.
        rows: shape (people, columns), numbers: training rows with their true secrets, to judge the guesses.
        strangers: shape (strangers, columns), rows from the same population that the model was not trained on.
        column: index of the secret column. Its candidates are the values among strangers.
        confidence: of the interval of the success.

    Source: Fredrikson et al. (2014); Yeom et al. (2018), arXiv:1709.01604, for the comparison with strangers.

    >>> people, others = np.array([[0, 1], [1, 0], [1, 0]]), np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
    >>> infer_attribute(lambda rows: 9 * (rows[:, 0] == rows[:, 1]), people, strangers=others, column=0).success.right
    3
    """
    people = read_numbers("rows", rows, dimensions=2)
    others = read_numbers("strangers", strangers, dimensions=2)
    whole("column", column, lower=0)
    if people.shape[1] != others.shape[1] or column >= people.shape[1]:
        raise InvalidParameterError(
            f"rows and strangers must have the same columns and column be one of them, got {people.shape[1]}, "
            f"{others.shape[1]} and {column}"
        )
    candidates, counts = np.unique(others[:, column], return_counts=True)

    def guesses(table: Floats) -> Floats:
        losses = np.empty((len(candidates), len(table)))
        for index, value in enumerate(candidates):
            tried = table.copy()
            tried[:, column] = value
            values = np.asarray(loss(tried), dtype=np.float64)
            if values.shape != (len(table),) or np.isnan(values).any():
                raise InvalidParameterError(
                    f"loss must return {len(table)} numbers, none NaN, got shape {values.shape}"
                )
            losses[index] = values - np.log(counts[index] / counts.sum())
        return np.asarray(candidates[losses.argmin(axis=0)])

    def share(guessed: Floats, table: Floats) -> Share:
        return Share(right=int(np.sum(guessed == table[:, column])), attempts=len(table), confidence=confidence)

    learned = guesses(people)
    outside = share(guesses(others), others)
    commonest = float(np.mean(people[:, column] == candidates[counts.argmax()]))
    blind = commonest > outside.value
    return AttackResult(
        attack="Attribute inference",
        target="secret value",
        success=share(learned, people),
        baseline=max(commonest, outside.value),
        guess="the commonest value" if blind else "the same attack",
        sees="without the model" if blind else "on strangers",
        learned=learned,
        facts={"commonest value": f"{commonest:.1%}", "same attack on strangers": str(outside)},
    )
