"""RAPPOR: its two guarantees by enumeration, and counts of candidates."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.local.codes import of_bytes
from deniable.local.deployed import Rappor
from deniable.local.deployed.rappor import log_above
from deniable.noise.bits import DeterministicBits

BITS = DeterministicBits(6)
WORDS = ["tea", "coffee", "mate", "water", "juice"]


def chances(filters: np.ndarray, one: Fraction, zero: Fraction) -> dict[tuple[int, ...], Fraction]:
    """The law of a row whose bits are 1 with probability `one` where the filter has 1, `zero` elsewhere."""
    found = {}
    for row in product((0, 1), repeat=len(filters)):
        parts = [one if held else zero for held in filters]
        found[row] = math.prod((p if bit else 1 - p for p, bit in zip(parts, row, strict=True)), start=Fraction(1))
    return found


def test_epsilons_are_those_of_the_paper() -> None:
    """f = 1/2, p = 1/2, q = 3/4, two hashes: epsilon for ever 4.394449, of one report 1.074286."""
    rappor = Rappor(hashes=2, f="0.5", p="0.5", q="0.75")
    assert float(rappor.epsilon) == pytest.approx(4.394449, abs=1e-6)
    assert float(rappor.report_epsilon) == pytest.approx(1.074286, abs=1e-6)


@pytest.mark.parametrize("given", [{}, {"f": "1/3", "p": "0.1", "q": "0.9"}])
def test_no_pair_of_values_exceeds_either_claim_and_one_attains_it(given: dict[str, str]) -> None:
    """Over all filters of up to two bits of five, answers and reports; a report's law is summed over all answers."""
    rappor = Rappor(cells=5, hashes=2, cohorts=1, **given)
    one, zero = rappor.chances
    rows = [row for row in product((0, 1), repeat=5) if 1 <= sum(row) <= 2]
    answers = [chances(np.array(row), 1 - rappor.f / 2, rappor.f / 2) for row in rows]
    told = {answer: chances(np.array(answer), rappor.q, rappor.p) for answer in product((0, 1), repeat=5)}
    reports = [{y: sum(law[m] * told[m][y] for m in law) for y in told} for law in answers]
    for laws, odds, epsilon in (
        (answers, ((2 - rappor.f) / rappor.f) ** 4, rappor.epsilon),
        (reports, (one * (1 - zero) / (zero * (1 - one))) ** 2, rappor.report_epsilon),
    ):
        worst = max(one[y] / other[y] for one in laws for other in laws for y in one)
        assert worst == odds
        assert 0 <= float(epsilon) - math.log(worst) < 1e-9


def test_draws_follow_both_steps() -> None:
    """40,000 clients of one value in one cohort: five standard errors for each bit, of answers and reports."""
    rappor, people = Rappor(cells=12, hashes=2, cohorts=1), 40_000
    settled = rappor.settle(people, bits=BITS)
    keys = rappor.keys(rappor._indices(["tea"] * people), settled)
    answers = rappor.remember(keys, settled, bits=BITS)
    reports = rappor.report(answers, settled, bits=BITS)
    held = rappor._filters(np.array([0]), keys[:1])[0]
    one, zero = map(float, rappor.chances)
    for rows, ones, zeros in ((answers, 0.75, 0.25), (reports[:, 2:], one, zero)):
        found = np.unpackbits(rows, axis=1, count=12, bitorder="little").mean(axis=0)
        assert found == pytest.approx(np.where(held, ones, zeros), abs=5 * 0.5 / math.sqrt(people))


def test_counts_have_no_bias_and_intervals_that_cover() -> None:
    """60 runs of 3,000 people, 600 of them with values that nobody asks about: means within five standard errors, 90%
    intervals of 6 rows cover at least 84% (360 intervals: 3.8 standard errors below)."""
    rappor, runs, covered, all_found = Rappor(cells=64, cohorts=16), 60, [], []
    held = [1200, 700, 400, 100, 0, 600]
    others = [f"other {place}" for place in range(600)]
    values = [word for word, count in zip(WORDS, held, strict=False) for _ in range(count)] + others
    for _ in range(runs):
        answer = rappor.estimate(rappor.encode(values, bits=BITS), candidates=WORDS)
        all_found.append(answer["count"])
        ends = answer.intervals(0.9)["count"]
        covered.append((ends.lower <= held) & (ends.upper >= held))
    error = np.std(all_found, axis=0) / math.sqrt(runs)
    assert (
        np.abs(np.mean(all_found, axis=0) - held) <= 5 * error + 20
    ).all()  # 20: filters of the others, once for all
    assert np.mean(covered) >= 0.84
    half = (ends.upper - ends.lower) / 2 / 1.645
    assert half == pytest.approx(np.std(all_found, axis=0), rel=0.5)


def test_cohorts_are_drawn_and_kept() -> None:
    settled = Rappor(cohorts=8).settle(4000, bits=BITS)
    assert np.bincount(of_bytes(settled), minlength=8) == pytest.approx(500, abs=5 * math.sqrt(500))


@pytest.mark.parametrize("wrong", [{"f": 0}, {"p": "0.8"}, {"cells": 1}, {"cohorts": 0}, {"hashes": 2.5}, {"q": 1}])
def test_filters_that_cannot_be_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        Rappor(**wrong)


def test_what_cannot_be_decoded_is_refused() -> None:
    rappor = Rappor(cells=4, cohorts=1)
    reports = rappor.encode(WORDS, bits=BITS)
    with pytest.raises(InvalidParameterError, match="cannot distinguish"):
        rappor.estimate(reports, candidates=WORDS)
    with pytest.raises(InvalidParameterError, match="needs candidates"):
        rappor.estimate(reports)
    with pytest.raises(InvalidParameterError, match="all people"):
        rappor.estimate(rappor.supports(reports), people=9, candidates=WORDS[:1])
    with pytest.raises(InvalidParameterError, match="at least one"):
        rappor.estimate(reports[:0], candidates=WORDS)
    reports[0, 0] = 1
    with pytest.raises(InvalidParameterError, match="invalid report"):
        rappor.supports(reports)


def test_a_loss_is_rounded_up() -> None:
    for odds in (Fraction(2), Fraction(10**9, 7), Fraction(1)):
        assert 0 <= float(log_above(odds)) - math.log(odds) <= 2**-32 + 1e-12
