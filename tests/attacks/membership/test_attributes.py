"""Attribute inference from a model that remembers its rows, and from one that learned the population alone."""

import numpy as np
import pytest

from deniable.attacks import infer_attribute
from deniable.attacks.numbers import Floats
from deniable.errors import InvalidParameterError
from deniable.mechanisms import Laplace
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove
from deniable.privacy.sensitivity.aggregates import of_count

DICE = np.random.default_rng(12)
CELLS = 512


def people(count: int) -> Floats:
    """A cell that everybody knows, a secret that is 1 in three of ten cases, and an outcome of eight kinds."""
    secret = DICE.random(count) < 0.3
    return np.column_stack([DICE.integers(0, CELLS, count), secret, DICE.integers(0, 8, count)]).astype(float)


ROWS, STRANGERS = people(300), people(3000)


def counted(rows: Floats) -> np.ndarray:
    return np.bincount((rows @ [16, 8, 1]).astype(int), minlength=16 * CELLS)


def loss_of(counts: np.ndarray, blur: float) -> object:
    """The model predicts an outcome by the share among rows that look alike, blurred."""
    table = np.maximum(counts.reshape(CELLS, 2, 8), 0) + blur

    def loss(rows: Floats) -> Floats:
        cell, secret, outcome = rows.astype(int).T
        return -np.log(table[cell, secret, outcome] / table[cell, secret].sum(axis=1))

    return loss


def test_a_model_that_remembers_gives_secrets_away() -> None:
    result = infer_attribute(loss_of(counted(ROWS), 0.01), ROWS, strangers=STRANGERS, column=1)  # type: ignore[arg-type]
    assert result.succeeded
    assert result.success.value > 0.9 > result.baseline


def test_private_counts_give_no_more_than_the_commonest_value() -> None:
    mechanism = Laplace.calibrated(of_count(rows=1, groups=1, relation=AddRemove), epsilon="0.1")
    noisy = np.asarray(mechanism.release(counted(ROWS), bits=DeterministicBits(3)).value)
    result = infer_attribute(loss_of(noisy, 0.5), ROWS, strangers=STRANGERS, column=1)  # type: ignore[arg-type]
    assert not result.succeeded
    assert result.baseline == pytest.approx(0.7, abs=0.06)


def test_knowledge_of_the_population_is_no_success() -> None:
    """The outcome gives the secret away for members and strangers alike; the commonest value would call it success."""
    rows, others = people(300), people(2000)
    rows[:, 2], others[:, 2] = rows[:, 1], others[:, 1]
    result = infer_attribute(lambda r: 5.0 * (r[:, 1] != r[:, 2]), rows, strangers=others, column=1)
    assert result.success.value == 1 == result.baseline
    assert not result.succeeded


def test_the_share_among_strangers_counts() -> None:
    result = infer_attribute(lambda r: np.zeros(len(r)), ROWS, strangers=STRANGERS, column=1)
    assert result.success.value == np.mean(ROWS[:, 1] == 0)
    assert result.baseline == np.mean(STRANGERS[:, 1] == 0)


@pytest.mark.parametrize("bad", [np.zeros((0, 3)), np.full((2, 3), np.nan), np.zeros(3), np.zeros((4, 2))])
def test_bad_tables_are_refused(bad: Floats) -> None:
    with pytest.raises(InvalidParameterError):
        infer_attribute(lambda r: np.zeros(len(r)), bad, strangers=STRANGERS, column=1)


@pytest.mark.parametrize("loss", [lambda r: 0.0, lambda r: np.full(len(r), np.nan)])
def test_a_loss_of_another_shape_is_refused(loss: object) -> None:
    with pytest.raises(InvalidParameterError, match="loss must return"):
        infer_attribute(loss, ROWS, strangers=STRANGERS, column=1)  # type: ignore[arg-type]
