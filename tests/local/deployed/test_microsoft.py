"""One bit of a number and bits of buckets: laws over all pairs, memory, and estimates."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.local import Collector, pack, protocol_of, unpack
from deniable.local.codes import to_bytes
from deniable.local.deployed import BitFlip, Client, OneBitMean
from deniable.noise.bits import DeterministicBits

BITS = DeterministicBits(14)
MEAN = OneBitMean(epsilon=1, bounds=(0, 12), steps=3)
FLIP = BitFlip(values=4, epsilon=2, chosen=2)


def test_the_bit_of_a_number_has_the_law_of_the_paper() -> None:
    """P(1) = 1 / (E + 1) + (x / M) (E - 1) / (E + 1) for every number and grid; five standard errors of 20,000."""
    people = 20_000
    for x in (0, 1, 3, 4, 7, 11, 12):
        expected = 1 / (math.e + 1) + x / 12 * (math.e - 1) / (math.e + 1)
        assert MEAN.encode([x] * people, bits=BITS).mean() == pytest.approx(expected, abs=5 * 0.5 / math.sqrt(people))


def test_no_pair_of_numbers_exceeds_the_claim_and_the_ends_attain_it() -> None:
    odds = MEAN.likelihood_ratio
    ones = [Fraction(x, 3) * odds / (odds + 1) + (1 - Fraction(x, 3)) / (odds + 1) for x in range(4)]
    assert [row[1] for row in MEAN.channel(range(4))] == ones  # the bits that are kept, of every grid point
    assert max(max(one / other, (1 - one) / (1 - other)) for one in ones for other in ones) == odds


def test_an_offset_rounds_without_bias_and_alike_every_day() -> None:
    offsets = np.arange(0, 2**16, 2**10)
    settled = to_bytes(offsets, 4)
    for x in range(13):
        ends = MEAN.keys(MEAN._indices([x] * len(offsets)), settled)
        assert np.mean(ends) == pytest.approx(x / 4, abs=1 / 64)
        assert set(ends.tolist()) <= {x // 4, -(-x // 4)}


def test_means_have_no_bias_the_stated_variance_and_intervals_that_cover() -> None:
    """400 runs of 300 people: five standard errors, variance within 35%, 90% intervals cover at least 84%."""
    values, runs = np.arange(300) % 10, 400
    answers = [MEAN.estimate(MEAN.encode(values, bits=BITS)) for _ in range(runs)]
    found = np.array([answer["mean"][0] for answer in answers])
    chance = 0.5 + (math.e - 1) / (math.e + 1) * (values / 12 - 0.5)
    expected = (chance * (1 - chance)).mean() * (12 * (math.e + 1) / (math.e - 1)) ** 2 / 300
    assert found.mean() == pytest.approx(4.5, abs=5 * math.sqrt(expected / runs))
    assert found.var() == pytest.approx(expected, rel=0.35)
    ends = [answer.intervals(0.9)["mean"] for answer in answers]
    assert np.mean([end.lower[0] <= 4.5 <= end.upper[0] for end in ends]) >= 0.84


def test_no_pair_of_buckets_exceeds_the_claim() -> None:
    """All pairs of values and rows of bits, given the two buckets drawn, of which every client draws any alike."""
    q = FLIP.row.q
    worst = Fraction(0)
    for group in range(4):
        cells = FLIP.keys(np.arange(4), to_bytes(np.full(4, group), 2))
        assert [cells[group], cells[(group + 1) % 4], cells[group - 1], cells[group - 2]] == [0, 1, 2, 2]
        laws = [
            {
                row: math.prod(
                    (1 - q if bit == (place == own) else q for place, bit in enumerate(row)), start=Fraction(1)
                )
                for row in product((0, 1), repeat=3)
            }
            for own in cells
        ]
        worst = max(worst, *(one[y] / other[y] for one in laws for other in laws for y in one))
    assert worst <= FLIP.likelihood_ratio
    assert math.log(worst) == pytest.approx(2, rel=1e-8)


def test_buckets_and_bits_are_drawn_from_the_law() -> None:
    """30,000 clients with value 1: each group 1/4, the own bit p, others q; five standard errors."""
    people = 30_000
    table = FLIP.supports(FLIP.encode([1] * people, bits=BITS)).reshape(4, 4)
    p, q = float(FLIP.row.p), float(FLIP.row.q)
    assert table[:, 0] == pytest.approx(people / 4, abs=5 * math.sqrt(people * 3 / 16))
    expected = [[q, p, q], [p, q, q], [q, q, p], [q, q, p]]
    assert table[:, 1:] / table[:, :1] == pytest.approx(np.array(expected), abs=5 * 0.5 / math.sqrt(people / 4))


def test_counts_have_no_bias_the_stated_variance_and_intervals_that_cover() -> None:
    """400 runs of 400 people: five standard errors, variances within 35%, 90% intervals cover at least 84%."""
    runs, held = 400, np.array([200, 150, 50, 0])
    values = np.repeat(np.arange(4), held)
    answers = [FLIP.estimate(FLIP.encode(values, bits=BITS)) for _ in range(runs)]
    found = np.array([answer["count"] for answer in answers])
    expected = FLIP.variance(held / 400, people=400) * 400**2
    assert found.mean(axis=0) == pytest.approx(held, abs=5 * math.sqrt(expected.max() / runs))
    assert found.var(axis=0) == pytest.approx(expected, rel=0.35)
    ends = [answer.intervals(0.9)["count"] for answer in answers]
    assert np.mean([(end.lower <= held) & (held <= end.upper) for end in ends], axis=0).min() >= 0.84


@pytest.mark.parametrize("protocol", [MEAN, FLIP], ids=lambda each: each.kind)
def test_a_client_that_donates_twice_sends_the_same_bits(protocol: Any) -> None:
    """A client without memory sends fresh bits, from which 200 days tell its value."""
    client = Client(protocol)
    messages = {client.donate(3, day=day, bits=BITS) for day in range(200)}
    assert len(messages) == 1
    assert client.paid == 1


@pytest.mark.parametrize("protocol", [MEAN, FLIP], ids=lambda each: each.kind)
def test_reports_survive_the_wire_and_hostile_ones_are_refused(protocol: Any) -> None:
    there, reports = protocol_of(protocol.to_json()), protocol.encode([1, None, 3], bits=BITS)
    message = pack(protocol, reports)
    assert (unpack(there, message) == reports).all()
    collector = Collector(there)
    collector.add(message)
    assert collector.estimate().cost == protocol.privacy_loss
    for hostile in (message[:-1] + b"\xff", message[:-1], message[:-1] + b"\x10"):
        with pytest.raises(InvalidParameterError):
            unpack(there, hostile)
    with pytest.raises(InvalidParameterError, match="at least one"):
        protocol.estimate(reports[:0])


def test_a_bit_of_two_columns_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="takes no columns"):
        OneBitMean(epsilon=1, bounds=(0, 1), columns=2)  # type: ignore[call-arg]


def test_buckets_that_cannot_be_are_refused() -> None:
    with pytest.raises(InvalidParameterError):
        BitFlip(values=3, epsilon=1, chosen=4)
    with pytest.raises(InvalidParameterError, match="all people"):
        FLIP.estimate(np.ones(16, dtype=np.int64), people=3)
