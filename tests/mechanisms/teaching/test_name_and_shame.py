"""Name and shame: what (0, delta) permits."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import NameAndShame
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Sensitivity


def test_some_record_is_published_almost_surely_when_delta_is_one_over_n() -> None:
    """Inventory 10: 1 - (1 - delta)^n, in 2,000 tables of 1,000 records up to six standard deviations.

    The twin: the chance that would go with delta/2 is rejected.
    """
    mechanism = NameAndShame(delta=Fraction(1, 1000))
    chance = float(mechanism.exposure(records=1000))
    assert chance == pytest.approx(1 - (1 - 1e-3) ** 1000)
    bits = DeterministicBits(2)
    shown = np.mean([mechanism.release(np.zeros(1000, dtype=np.int64), bits=bits).value.size > 0 for _ in range(2000)])
    slack = 6 * np.sqrt(chance * (1 - chance) / 2000)
    assert abs(shown - chance) < slack
    assert abs(shown - (1 - (1 - 5e-4) ** 1000)) > slack


def test_units_of_many_records_are_shown_more_often() -> None:
    of_three = Sensitivity(l1=3, l2_squared=3, linf=1, relation=AddRemove, coordinates=3)  # type: ignore[arg-type]
    assert NameAndShame(delta=Fraction(1, 10)).privacy_loss(of_three).delta(1).contains(0.271)


def test_nothing_is_shown_of_an_empty_table() -> None:
    assert NameAndShame(delta=Fraction(1, 2)).release([]).value.size == 0


@pytest.mark.parametrize("delta", [0, 1, -1, "nan"])
def test_delta_is_a_probability(delta: object) -> None:
    with pytest.raises(InvalidParameterError):
        NameAndShame(delta=delta)  # type: ignore[arg-type]
