"""What every mechanism is as data."""

import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import MECHANISMS, Mechanism


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
