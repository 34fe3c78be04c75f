"""Rows drawn from a model: evenly, and the same for the same seed."""

import numpy as np
import pytest

from deniable.noise.bits import DeterministicBits
from deniable.synthesis.model import fitted
from deniable.synthesis.rows import levels_of_rows, spread
from tests.synthesis.tables import DOMAIN, measuring, rows


def test_columns_are_drawn_as_often_as_their_shares_say() -> None:
    shares = np.array([[0.5, 0.25, 0.25], [0.0, 0.9, 0.1], [1.0, 0.0, 0.0]])
    groups = np.repeat([0, 1, 2], [40, 31, 1])[np.random.default_rng(1).permutation(72)]
    drawn = spread(groups, shares, DeterministicBits(1))
    counts = np.array([np.bincount(drawn[groups == group], minlength=3) for group in range(3)])
    assert np.abs(counts - shares * [[40], [31], [1]]).max() < 1


@pytest.mark.parametrize("size", [0, 1, 7, 3_000])
def test_rows_are_in_the_domain_and_follow_their_seed(size: int) -> None:
    made = measuring(rho=5).measure(rows(3_000), None, DeterministicBits(1))
    model = fitted(made)
    drawn = levels_of_rows(made, model, size, seed=1)
    assert drawn.shape == (3, size)
    assert (drawn == levels_of_rows(made, model, size, seed=1)).all()
    assert all((column < attribute.size - 1).all() for column, attribute in zip(drawn, DOMAIN.attributes, strict=True))
    if size == 3_000:
        assert not (drawn == levels_of_rows(made, model, size, seed=2)).all()
        exact = np.bincount(rows(3_000)[0] * 20 + rows(3_000)[1], minlength=60)
        assert np.abs(np.bincount(drawn[0] * 20 + drawn[1], minlength=60) - exact).sum() / 2 < 0.05 * size


def test_given_levels_are_in_every_row_and_move_the_others() -> None:
    """Wards 0, 1 and 2 have ages from 0, 6 and 12 on; the measured tables say so."""
    made = measuring(rho=50).measure(rows(3_000), None, DeterministicBits(1))
    model = fitted(made)
    for ward in range(3):
        drawn = levels_of_rows(made, model, 2_000, seed=1, given={0: ward})
        assert (drawn[0] == ward).all()
        exact = rows(3_000)[1][rows(3_000)[0] == ward].mean()
        assert abs(drawn[1].mean() - exact) < 1.5
    missing = levels_of_rows(made, model, 50, seed=1, given={0: 3})
    assert (missing[0] == 3).all()
