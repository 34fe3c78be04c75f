"""Tails of tallies by Fourier inversion against sums of binomial laws; intervals against a search of all shares."""

import numpy as np
import pytest
from scipy import stats

from deniable.mechanisms import RandomizedResponse, Shares
from deniable.mechanisms.response.tally import at_least, shares_within


def tails(holders: int, count: int, p: float, q: float) -> np.ndarray:
    """P[X >= c] for c from 0 to count + 1, by convolution."""
    law = np.convolve(
        stats.binom.pmf(np.arange(holders + 1), holders, p),
        stats.binom.pmf(np.arange(count - holders + 1), count - holders, q),
    )
    return np.append(np.cumsum(law[::-1])[::-1], 0.0)


def test_tails_are_those_of_the_convolution() -> None:
    """Of random people and chances, some of them next to 0 or 1: all tallies of each."""
    generator = np.random.default_rng(1)
    for _ in range(150):
        count = int(generator.choice([1, 2, 5, 40, 300]))
        holders = int(generator.integers(0, count + 1))
        p, q = generator.choice(
            [generator.random(), 10 ** -generator.uniform(0, 12), 1 - 10 ** -generator.uniform(0, 10)], 2
        )
        tallies = np.arange(count + 2)
        found = at_least(tallies, np.full(count + 2, holders), count, float(p), float(q))
        truth = tails(holders, count, p, q)
        assert np.abs(found - truth).max() < 1e-12
        small = (truth > 1e-30) & (truth < 0.5)
        assert found[small] == pytest.approx(truth[small], rel=1e-9)


def test_many_people_take_no_more_digits_than_they_have() -> None:
    """Binomial tails of up to 10^12 people by the incomplete beta function; equal chances make the law binomial."""
    for count in (10**6, 10**9, 10**12):
        deviation = (count * 0.21) ** 0.5
        tallies = (count * 0.3 + deviation * np.array([-6, -2, 0, 2, 6])).astype(np.int64)
        found = at_least(tallies, np.full(5, count // 3), count, 0.3, 0.3)
        assert found == pytest.approx(stats.binom.sf(tallies - 1, count, 0.3), rel=1e-14 * count**0.5)


def test_a_tilt_too_small_would_be_seen() -> None:
    """The twin: tails of a chance that differs in the tenth digit are told apart at 10^9 people."""
    tallies, holders = np.array([3 * 10**8]), np.array([0])
    near, far = (at_least(tallies, holders, 10**9, q, q)[0] for q in (0.3, 0.3 + 1e-10))
    assert abs(near - stats.binom.sf(tallies[0] - 1, 10**9, 0.3)) < 1e-10 < abs(far - near)


@pytest.mark.parametrize(("p", "q"), [(0.75, 0.25), (0.2, 0.8), (0.6, 0.01), (0.999, 0.001)])
def test_intervals_hold_the_shares_that_leave_a_tally_likely_on_both_sides(p: float, q: float) -> None:
    """All shares of 60 people, one by one, for all tallies."""
    count, miss = 60, 0.1
    both = np.array([tails(holders, count, p, q) for holders in range(count + 1)])  # (holders, tally)
    likely = (both[:, :-1] >= miss / 2) & (1 - both[:, 1:] >= miss / 2)
    low, high = shares_within(np.arange(count + 1), count, p, q, miss)
    for tally in range(count + 1):
        kept = np.flatnonzero(likely[:, tally])
        if kept.size:
            assert (round(low[tally] * count), round(high[tally] * count)) == (kept[0], kept[-1])
        else:
            assert low[tally] == high[tally]


@pytest.mark.parametrize("reports", [10**7, 10**12])
def test_intervals_of_very_many_reports(reports: int) -> None:
    low, high = Shares(
        mechanism=RandomizedResponse(truth="3/4"), tally=(6 * reports // 10, 4 * reports // 10)
    ).interval()
    half = 1.959964 * (3 / 16 / reports) ** 0.5 / 0.5
    assert low == pytest.approx([0.7 - half, 0.3 - half], abs=max(1e-2 * half, 1 / reports))
    assert high == pytest.approx([0.7 + half, 0.3 + half], abs=max(1e-2 * half, 1 / reports))


def test_intervals_of_a_thousand_answers() -> None:
    tally = np.random.default_rng(2).multinomial(10**5, np.full(1000, 1e-3))
    low, high = Shares(mechanism=RandomizedResponse(choices=1000, epsilon=4), tally=tuple(tally.tolist())).interval()
    assert (low <= 1e-3).mean() > 0.95
    assert (high >= 1e-3).mean() > 0.95


def test_the_truth_itself_has_no_interval() -> None:
    """At epsilon = 1000 chances are 0 and 1 in floats."""
    low, high = Shares(mechanism=RandomizedResponse(epsilon=1000), tally=(600, 400)).interval()
    assert low.tolist() == high.tolist() == [0.6, 0.4]


@pytest.mark.parametrize(
    ("p", "q", "count"),
    [
        (0.02, 0.49, 1),
        (1 - 1e-16, 1e-16, 1),
        (0.001, 0.4995, 10),
        *[(p, q, n) for p in (0.01, 0.3, 0.99) for q in (0.02, 0.5, 0.98) for n in (1, 2, 3, 7)],
    ],
)
def test_few_reports_have_intervals_like_many(p: float, q: float, count: int) -> None:
    """All shares of all tallies at two levels; rows whose search ends early were once asked for count + 1 people."""
    both = np.array([tails(holders, count, p, q) for holders in range(count + 1)])
    for miss in (0.05, 0.45):
        likely = (both[:, :-1] >= miss / 2) & (1 - both[:, 1:] >= miss / 2)
        low, high = shares_within(np.arange(count + 1), count, p, q, miss)
        assert ((low >= 0) & (low <= high) & (high <= 1)).all()
        for tally in range(count + 1):
            kept = np.flatnonzero(likely[:, tally])
            if kept.size:
                assert (round(low[tally] * count), round(high[tally] * count)) == (kept[0], kept[-1])


@pytest.mark.parametrize(
    ("mechanism", "tally"),
    [
        (RandomizedResponse(choices=3, truth="1/50"), (0, 1, 0)),
        (RandomizedResponse(epsilon=37), (1, 0)),
        (RandomizedResponse(choices=3, truth="1/1000"), (0, 5, 5)),
    ],
)
def test_answers_that_are_found_early_wait_for_the_others(
    mechanism: RandomizedResponse, tally: tuple[int, ...]
) -> None:
    """Once "cannot convert float NaN to integer"; each answer has the interval that it has alone."""
    low, high = Shares(mechanism=mechanism, tally=tally).interval()
    assert ((low >= 0) & (low <= high) & (high <= 1)).all()
    p = float(mechanism.truth) if mechanism.truth else 1 / (1 + np.exp(-37.0))
    for answer, number in enumerate(tally):
        alone = shares_within(np.array([number]), sum(tally), p, (1 - p) / (mechanism.choices - 1), 0.05)
        assert (low[answer], high[answer]) == (alone[0][0], alone[1][0])
