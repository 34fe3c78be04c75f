"""The closed shuffle bound: published values, its range, and that the certified bound lies below it."""

import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import ShuffledLoss
from deniable.privacy.amplification.shuffling.closed_forms import clones_epsilon
from deniable.privacy.amplification.shuffling.randomizers import AnyRandomizer


def test_the_closed_form_of_clones() -> None:
    """golden.md G55; errata.md E72."""
    assert clones_epsilon(epsilon=1, users=10_000, delta="1e-6") == pytest.approx(0.21402565193083782673, rel=1e-14)


def test_the_closed_form_is_refused_outside_its_range() -> None:
    with pytest.raises(UnprovedError, match="is proved for epsilon <= ln"):
        clones_epsilon(epsilon=4, users=10_000, delta="1e-6")  # the largest is 3.76


@pytest.mark.parametrize("users", [1000, 10**6])
def test_the_certified_bound_is_tighter_than_the_closed_form(users: int) -> None:
    local = "0.4"
    certified = ShuffledLoss(AnyRandomizer(epsilon=local), users=users).epsilon("1e-6").upper
    assert certified < clones_epsilon(epsilon=local, users=users, delta="1e-6")


def test_delta_of_zero_is_refused() -> None:
    with pytest.raises(UnprovedError, match="delta > 0"):
        clones_epsilon(epsilon=1, users=10, delta=0)
    with pytest.raises(InvalidParameterError, match="users"):
        clones_epsilon(epsilon=1, users=0, delta="1e-6")
