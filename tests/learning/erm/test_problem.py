"""What is read of private rows: their direction, cut to a norm, and nothing of what is no number."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.learning.erm.problem import Problem
from deniable.learning.losses import Hinge, Squared
from deniable.learning.sets import L2Ball
from deniable.mechanisms.price import Price
from deniable.privacy import AddRemove


def problem(**changes: object) -> Problem:
    facts = {"loss": Squared(label_bound=1), "feasible": L2Ball(radius=1, columns=2), "start": np.zeros(2), "size": 10}
    others = {"row_norm": Fraction(2), "price": Price.of(1, 0, None), "relation": AddRemove}
    return Problem(**(facts | others | changes))  # type: ignore[arg-type]


def test_rows_are_cut_to_their_norm_and_short_ones_stay() -> None:
    rows, labels = problem().read([[30.0, 40.0], [0.3, 0.4], [0.0, 0.0]], [7.0, 0.5, -9.0])
    assert np.allclose(rows, [[1.2, 1.6], [0.3, 0.4], [0, 0]])
    assert labels.tolist() == [1.0, 0.5, -1.0]
    assert (np.linalg.norm(rows, axis=1) <= 2).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_a_row_that_holds_anything_else_is_zero_and_changes_no_other(bad: float) -> None:
    rows, labels = problem().read([[bad, 1e200], [3.0, 4.0]], [1.0, np.nan])
    assert np.array_equal(rows, np.zeros((2, 2)))
    assert np.isfinite(labels).all()


def test_constants_are_those_of_the_loss_and_no_lower() -> None:
    """|<w, x> - y| |x| with |w| <= 1, |x| <= 2, |y| <= 1 is at most 6; the second derivative |x|^2."""
    assert 6 <= problem().steep < 6 + 1e-9
    assert 4 <= problem().curved < 4 + 1e-9
    with pytest.raises(InvalidParameterError, match="has a corner"):
        _ = problem(loss=Hinge()).curved
