"""The answers inside releases, and those that are missing."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable.mechanisms import (
    BestOf,
    BestOfPoisson,
    Laplace,
    Mechanism,
    PostProcessed,
    ProposeTestRelease,
    StableSelection,
)
from deniable.mechanisms.additive.base import Noisy
from deniable.mechanisms.records import Answer
from deniable.mechanisms.teaching import Exposed
from deniable.mechanisms.tested.distance import NO
from deniable.mechanisms.wrappers.answers import NOTHING, answer_of, missing, with_answer
from deniable.noise.bits import DeterministicBits

SELECTION = StableSelection(test=Laplace(scale=Fraction(2)), threshold=3)
VALUE = ProposeTestRelease(test=Laplace(scale=Fraction(2)), threshold=3, noise=Laplace(scale=Fraction(2)), bound=2)
SOMETIMES = BestOfPoisson(base=Laplace(scale=Fraction(2)), mean=Fraction(1, 2))
SILENT: list[tuple[Mechanism, tuple[int, ...]]] = [(SELECTION, (1, 4, 1)), (VALUE, (-2, 3)), (SOMETIMES, (-2,))]
by_kind = pytest.mark.parametrize(("base", "exact"), SILENT, ids=lambda value: getattr(value, "kind", ""))


def test_answers_are_found_inside_releases() -> None:
    release = Noisy(np.array([1, -2]), True)
    changed = with_answer(release, np.abs)
    assert isinstance(changed, Noisy)
    assert changed.values.tolist() == [1, 2]
    assert changed.safe
    assert answer_of(release) is release.values
    assert answer_of(7) == 7
    assert with_answer(-7, abs) == 7
    exposed = with_answer(Exposed(np.array([0]), np.array([-3])), np.abs)
    assert isinstance(exposed, Exposed)
    assert exposed.records.tolist() == [3]


def test_no_answer_stays_no_answer() -> None:
    silent = Answer(None, True)
    assert with_answer(silent, np.abs) is silent
    assert with_answer(None, np.abs) is None
    assert answer_of(silent) is answer_of(None) is None
    assert missing(np.array([NO, 0, NOTHING, 1])).tolist() == [True, False, True, False]
    assert missing(np.array([2**70, NO], dtype=object)).tolist() == [False, True]


def answers(mechanism: Any, exact: tuple[int, ...], runs: int, **inputs: object) -> list[object]:
    """Of releases; with the number that stands for no answer where there is none."""
    bits, found = DeterministicBits(3), []
    for _ in range(runs):
        answer = answer_of(mechanism.release(exact, bits=bits, **inputs))
        silent = NOTHING if isinstance(mechanism, BestOfPoisson) or mechanism.base is SOMETIMES else NO
        found.append(silent if answer is None else int(np.asarray(answer).item()))
    return found


@by_kind
@pytest.mark.parametrize("function", ["absolute", "nonnegative", "parity", "sign"])
def test_releases_and_outcomes_of_a_function_have_one_law(
    base: Mechanism, exact: tuple[int, ...], function: str
) -> None:
    """Every function used to fail on no answer, and outcomes to be about a number that stands for it.

    2,000 releases against 100,000 outcomes: each share within six standard deviations, one seed in 10^7.
    """
    mechanism = PostProcessed(base=base, function=function)
    found = np.array(answers(mechanism, exact, 2000))
    drawn = mechanism.outcomes(exact, 100_000, bits=DeterministicBits(4))
    assert missing(found).any()
    for kind in np.union1d(found, drawn):
        share = float((drawn == kind).mean())
        assert abs((found == kind).mean() - share) <= 6 * np.sqrt((share + 1e-3) / 2000)
    silent = base.outcomes(exact, 100_000, bits=DeterministicBits(4))
    assert missing(drawn).mean() == pytest.approx(missing(silent).mean(), abs=0.02)


@by_kind
def test_no_answer_is_the_least_of_all(base: Mechanism, exact: tuple[int, ...]) -> None:
    """By exact arithmetic: no answer only where no run had one. Six standard deviations of 2,000 releases."""
    mechanism = BestOf(base=base, stop=Fraction(1, 3))
    none = missing(base.outcomes(exact, 200_000, bits=DeterministicBits(5))).mean()
    wanted = none / 3 / (1 - none * 2 / 3)  # sum over k of (2/3)^(k-1) / 3 none^k
    for inputs in ({}, {"score": lambda release: -int(np.asarray(answer_of(release)).item())}):
        found = missing(np.array(answers(mechanism, exact, 2000, **inputs)))
        assert found.mean() == pytest.approx(wanted, abs=6 * np.sqrt(wanted / 2000) + 0.01)
