"""The answers inside releases, and those that are missing."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable.mechanisms import Laplace, Mechanism
from deniable.mechanisms.base import NO_ANSWER, Released
from deniable.mechanisms.tested import ProposeTestRelease, StableSelection
from deniable.mechanisms.wrappers import BestOf, BestOfPoisson, PostProcessed
from deniable.noise.bits import DeterministicBits

SELECTION = StableSelection(test=Laplace(scale=Fraction(2)), threshold=3)
VALUE = ProposeTestRelease(test=Laplace(scale=Fraction(2)), threshold=3, noise=Laplace(scale=Fraction(2)), bound=2)
SOMETIMES = BestOfPoisson(base=Laplace(scale=Fraction(2)), mean=Fraction(1, 2))
SILENT: list[tuple[Mechanism, tuple[int, ...]]] = [(SELECTION, (1, 4, 1)), (VALUE, (-2, 3)), (SOMETIMES, (-2,))]
by_kind = pytest.mark.parametrize(("base", "exact"), SILENT, ids=lambda value: getattr(value, "kind", ""))


def test_no_answer_stays_no_answer() -> None:
    assert Released(3, True).map(lambda value: -value) == Released(-3, True)
    assert Released(None, False).map(abs) == Released(None, False)


def answers(mechanism: Any, exact: tuple[int, ...], runs: int, **inputs: object) -> list[object]:
    """Of releases; with the number that stands for no answer where there is none."""
    bits, found = DeterministicBits(3), []
    for _ in range(runs):
        answer = mechanism.release(exact, bits=bits, **inputs).value
        found.append(NO_ANSWER if answer is None else int(np.asarray(answer).item()))
    return found


@by_kind
@pytest.mark.parametrize("function", ["absolute", "nonnegative", "parity", "sign"])
def test_releases_and_outcomes_of_a_function_have_one_law(
    base: Mechanism, exact: tuple[int, ...], function: str
) -> None:
    """Every function used to fail on no answer, and outcomes to be about a number that stands for it.

    1,000 releases against 40,000 outcomes: each share within six standard deviations, one seed in 10^7.
    """
    mechanism = PostProcessed(base=base, function=function)
    found = np.array(answers(mechanism, exact, 1000))
    drawn = mechanism.outcomes(exact, 40_000, bits=DeterministicBits(4))
    assert (found == NO_ANSWER).any()
    for kind in np.union1d(found, drawn):
        share = float((drawn == kind).mean())
        assert abs((found == kind).mean() - share) <= 6 * np.sqrt((share + 1e-3) / 1000)
    silent = base.outcomes(exact, 40_000, bits=DeterministicBits(4))
    assert (drawn == NO_ANSWER).mean() == pytest.approx((silent == NO_ANSWER).mean(), abs=0.02)


@by_kind
def test_no_answer_is_the_least_of_all(base: Mechanism, exact: tuple[int, ...]) -> None:
    """By exact arithmetic: no answer only where no run had one. Six standard deviations of 800 releases."""
    mechanism = BestOf(base=base, stop=Fraction(1, 3))
    none = (base.outcomes(exact, 50_000, bits=DeterministicBits(5)) == NO_ANSWER).mean()
    wanted = none / 3 / (1 - none * 2 / 3)  # sum over k of (2/3)^(k-1) / 3 none^k
    for inputs in ({}, {"score": lambda release: -int(np.asarray(release.value).item())}):
        found = np.array(answers(mechanism, exact, 800, **inputs)) == NO_ANSWER
        assert found.mean() == pytest.approx(wanted, abs=6 * np.sqrt(wanted / 800) + 0.01)
