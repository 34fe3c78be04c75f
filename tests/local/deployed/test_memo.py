"""Protocols with a memory: what is drawn anew, and what is not."""

import numpy as np

from deniable.local import Rappor
from deniable.noise.bits import DeterministicBits


def test_reports_of_one_answer_differ_and_average_to_it() -> None:
    """A memo that were drawn anew with each report (as a published library does) would average to the value itself:
    2,000 reports of one answer tell the answer, bit by bit, and the answers of 50 clients differ."""
    protocol, bits = Rappor(cells=20), DeterministicBits(5)
    settled = protocol.settle(1, bits=bits)
    answer = protocol.remember(protocol.keys(protocol._places([1]), settled), settled, bits=bits)
    many = (np.repeat(answer, 2000, axis=0), np.repeat(settled, 2000, axis=0))
    told = np.unpackbits(protocol.tell(*many, bits=bits)[:, settled.shape[1] :], axis=1, bitorder="little").mean(axis=0)
    kept = np.unpackbits(answer, axis=1, bitorder="little")[0].astype(bool)
    assert told[:20][kept[:20]].min() > told[:20][~kept[:20]].max()
    assert len(np.unique(protocol.encode([1] * 50, bits=bits), axis=0)) > 25
