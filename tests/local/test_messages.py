"""Headers of messages: what they name, and which are refused."""

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.local import DirectResponse, UnaryEncoding, pack, unpack

PROTOCOL = DirectResponse(values=["a", "b", "c"], epsilon=1)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (b"", "too short"),
        ("text", "too short"),
        (b"x" * 40, "not a valid message"),
        (pack(UnaryEncoding(values=["a", "b", "c"], epsilon=1), np.zeros((1, 1), dtype=np.uint8)), "another protocol"),
        (pack(PROTOCOL, np.zeros((2, 1), dtype=np.uint8))[:-1], "should hold 2"),
        (pack(PROTOCOL, np.zeros((1, 1), dtype=np.uint8))[:-1] + b"\x03", "invalid report"),
    ],
)
def test_messages_that_are_none_are_refused_by_name(message: bytes, said: str) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        unpack(PROTOCOL, message)


def test_another_version_is_refused() -> None:
    message = bytearray(pack(PROTOCOL, np.zeros((1, 1), dtype=np.uint8)))
    message[4] += 1
    with pytest.raises(InvalidParameterError, match="version 2"):
        unpack(PROTOCOL, bytes(message))
