"""One row decides about the rows of others, and the audit sees it; see test_specimen.py for all of the gallery."""

import math

import pytest

from tests.audit.gallery.judging import epsilon


def test_one_row_turns_every_zero_or_ends_the_question() -> None:
    """Five units count 5, and beside one more row -5 and its own 1: nine steps of log 2 each."""
    assert epsilon("equal keys that differ") == pytest.approx(9 * math.log(2))
    assert epsilon("memory that one row needs") == math.inf
