"""What every mechanism is as data."""

from fractions import Fraction

import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import MECHANISMS, BoundedLaplace, Mechanism


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_json_round_trip(name: str) -> None:
    mechanism = MECHANISMS[name].worst_case().mechanism
    assert Mechanism.from_json(mechanism.to_json()) == mechanism


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3",
        "{}",
        '{"mechanism": []}',
        '{"mechanism": "laplace", "scale": []}',
        '{"mechanism": "none"}',
        '{"mechanism": "laplace"}',
        '{"mechanism": "laplace", "scale": "0"}',
    ],
)
def test_text_that_is_no_mechanism_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameterError):
        Mechanism.from_json(text)


def test_bounds_are_two_fields_in_json() -> None:
    mechanism = BoundedLaplace(scale=Fraction(2), bounds=(-3, 4))
    assert mechanism.to_data() == {"mechanism": "bounded_laplace", "scale": "2", "lower": -3, "upper": 4}
    assert Mechanism.from_data(mechanism.to_data()) == mechanism
    assert (mechanism.lower, mechanism.upper) == (-3, 4)
    for wrong in ({"lower": -3}, {"bounds": [-3, 4], "lower": 0}):
        with pytest.raises(InvalidParameterError, match="not the parameters of BoundedLaplace"):
            Mechanism.from_data({"mechanism": "bounded_laplace", "scale": "2", **wrong})
