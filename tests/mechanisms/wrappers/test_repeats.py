"""The best of a random number of runs: the numbers of runs, the choice, and why a fixed number is not free."""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Laplace
from deniable.mechanisms.base import NO_ANSWER, Released
from deniable.mechanisms.wrappers import BestOf, BestOfPoisson, Mixed, PostProcessed
from deniable.mechanisms.wrappers.post_processed import Function, define
from deniable.mechanisms.wrappers.repeats import chain
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, of_count
from tests.mechanisms.wrappers.laws import noisy

QUIET = Laplace(scale=Fraction(1, 1000))
FUNCTIONS: dict[str, Function] = {
    "half of it": lambda values: values / 2,
    "times 2^70": lambda values: values.astype(object) * 2**70,
    "beyond 2^63": lambda values: values.astype(np.uint64) + np.uint64(2**63 + 2),
    "unless seven": lambda values: np.where(values == 7, np.nan, values),
    "one for even numbers": lambda values: np.where(values % 2 == 0, 1.0, np.nan),
}
for name, function in FUNCTIONS.items():
    define(name, function)
REACH = of_count(rows=1, groups=1, relation=AddRemove)


def test_the_best_of_a_fixed_number_of_runs_is_not_private_as_one_run() -> None:
    """The negative: the largest of 20 counts with epsilon = 1/2 loses 8 on a small value, 1.5 at most is claimed."""
    base = Laplace(scale=Fraction(2))
    upto = [np.cumsum(noisy(base, count)) for count in (0, 1)]
    laws = [np.diff(side**20) for side in upto]
    small = np.argmin(np.abs(np.arange(-199, 201) + 10))
    assert math.log(laws[0][small] / laws[1][small]) > 8
    assert float(BestOf(base=base, stop=Fraction(1, 20)).privacy_loss(REACH).pure_epsilon or 0) < 1.5


def test_the_chain_has_the_law_of_its_products() -> None:
    """100,000 numbers: P(k) proportional to (2/3)^k / k, each within six standard deviations."""
    found = chain(100_000, first=1, stop=Fraction(1, 3), keep=lambda k: Fraction(k, k + 1), bits=DeterministicBits(5))
    k = np.arange(1, 60)
    chances = (2 / 3) ** k / k / math.log(3)
    counts = np.bincount(found, minlength=60)[1:60]
    assert (np.abs(counts - 100_000 * chances) <= 6 * np.sqrt(100_000 * chances) + 2).all()


def test_the_best_trial_is_returned_by_its_score() -> None:
    mechanism = BestOf(base=QUIET, stop=Fraction(1, 50))
    for seed in range(20):
        trials: list[int] = []

        def trial(trials: list[int] = trials) -> int:
            trials.append(len(trials) * 7 % 11)
            return trials[-1]

        assert mechanism.best_of(trial, score=float, bits=DeterministicBits(seed)) == max(trials)


def test_a_score_that_is_no_number_is_the_least() -> None:
    mechanism = BestOf(base=QUIET, stop=Fraction(1, 50))
    for scores in ([math.nan, -5.0, 1.0, math.nan], [1.0, math.nan, -5.0, 0.5]):
        stream = iter(scores * 1000)
        found = mechanism.best_of(lambda stream=stream: next(stream), score=float, bits=DeterministicBits(1))
        assert found == 1.0
    only = mechanism.best_of(lambda: math.nan, score=float)
    assert only is not None
    assert math.isnan(only)


@pytest.mark.parametrize("wrong", [None, "a", math.nan, 1j, np.array([1, 2]), Decimal("sNaN")])
def test_a_score_of_another_kind_is_the_least(wrong: object) -> None:
    """It used to be an error of Python, after the budget was spent."""
    mechanism = BestOf(base=QUIET, stop=Fraction(1, 50))
    for better in (-5, 0.5, Fraction(1, 3), Decimal("-1e400"), np.float32(2), np.array([7]), -(2**2000)):
        stream = iter([wrong, better, wrong, better] * 1000)
        found = mechanism.best_of(lambda stream=stream: next(stream), score=lambda x: x, bits=DeterministicBits(1))
        assert found is better
    assert mechanism.release([1], score=lambda release: wrong) is not None


def test_what_a_release_takes_is_checked_even_where_none_is_made() -> None:
    mechanism = BestOfPoisson(base=Mixed(parts=((1, QUIET),)), mean=Fraction(1, 10**6))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match=r"release takes no scor\. Did you mean score\?"):
        mechanism.release([1], scor=float)
    with pytest.raises(InvalidParameterError, match="score must be"):
        mechanism.release([1], score=5)  # type: ignore[arg-type]


def test_hyper_parameters_are_drawn_in_each_run() -> None:
    """Coarse or fine noise by a fair coin, the one with the smaller error wins: public scores of public releases."""
    base = Mixed(parts=(("1/2", Laplace(scale=Fraction(1000))), ("1/2", QUIET)))  # type: ignore[arg-type]
    mechanism = BestOf(base=base, stop=Fraction(1, 100))
    found = mechanism.release([500], score=lambda release: -abs(int(release.value[0]) - 500), bits=DeterministicBits(1))
    assert found.value.tolist() == [500]


def test_without_a_score_a_release_is_one_number() -> None:
    mechanism = BestOf(base=QUIET, stop=Fraction(1, 2))
    found = mechanism.release([3])
    assert found.value.tolist() == [3]
    with pytest.raises(InvalidParameterError, match="score"):
        mechanism.release([3, 4])
    large = mechanism.release([2**2000])  # beyond floats
    assert abs(int(large.value[0]) - 2**2000) < 1000


@pytest.mark.parametrize("mechanism", [BestOf(base=QUIET, stop="1/2"), BestOfPoisson(base=QUIET, mean=1)])  # type: ignore[arg-type]
def test_outcomes_keep_their_kind(mechanism: BestOf | BestOfPoisson) -> None:
    """Halves were cut to integers, and what is beyond 64 bits was an error of Python."""
    for name, exact, best in (
        ("half of it", 7, 3.5),
        ("times 2^70", 7, 7 * 2**70),
        ("beyond 2^63", 7, 2**63 + 9),
        ("unless seven", 8, 8.0),
    ):
        base = PostProcessed(base=QUIET, function=name)
        found = replace(mechanism, base=base).outcomes((exact,), 50, bits=DeterministicBits(3))
        assert set(found.tolist()) - {NO_ANSWER} == {best}


def test_an_outcome_that_is_no_number_is_the_least() -> None:
    """As in a release: half of the runs give NaN, and hardly any of 1,000 best ones does."""
    base = PostProcessed(base=Laplace(scale=Fraction(50)), function="one for even numbers")
    found = BestOf(base=base, stop=Fraction(1, 50)).outcomes((0,), 1000, bits=DeterministicBits(6))
    assert np.isnan(found).mean() < 0.1


def test_no_run_gives_nothing() -> None:
    mechanism = BestOfPoisson(base=QUIET, mean=Fraction(1, 10**5))
    assert mechanism.release([3], bits=DeterministicBits(1)) == Released(None, False)
    assert (mechanism.outcomes((3,), 5, bits=DeterministicBits(1)) == NO_ANSWER).all()
