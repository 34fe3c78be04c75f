"""Protocols with a memory: what is drawn anew, and what is not."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.local import LongitudinalUnary, Rappor
from deniable.local.deployed.memo import log_above
from deniable.noise.bits import DeterministicBits


@pytest.mark.parametrize("protocol", [LongitudinalUnary(values=9, epsilon=3, report_epsilon=1), Rappor(cells=20)])
def test_reports_of_one_answer_differ_and_average_to_it(protocol: LongitudinalUnary | Rappor) -> None:
    """A memo that were drawn anew with each report (as a published library does) would average to the value itself:
    2,000 reports of one answer tell the answer, bit by bit, and the answers of 50 clients differ."""
    bits = DeterministicBits(5)
    settled = protocol.settle(1, bits=bits)
    answer = protocol.remember(protocol.keys([1], settled), settled, bits=bits)
    many = (np.repeat(answer, 2000, axis=0), np.repeat(settled, 2000, axis=0))
    told = np.unpackbits(protocol.tell(*many, bits=bits)[:, settled.shape[1] :], axis=1, bitorder="little").mean(axis=0)
    kept = np.unpackbits(answer, axis=1, bitorder="little")[0].astype(bool)
    columns = 9 if isinstance(protocol, LongitudinalUnary) else 20
    assert told[:columns][kept[:columns]].min(initial=1) > told[:columns][~kept[:columns]].max(initial=0)
    assert len(np.unique(protocol.encode([1] * 50, bits=bits), axis=0)) > 25


def test_a_loss_is_rounded_up() -> None:
    for odds in (Fraction(2), Fraction(10**9, 7), Fraction(1)):
        assert 0 <= float(log_above(odds)) - math.log(odds) <= 2**-32 + 1e-12
