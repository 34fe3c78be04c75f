"""One suite over every mechanism: the law is the claimed one, the loss is that of the law, an audit agrees.

All draws come from a deterministic stream, so a result is the same at every run; the rates below say how seldom a
correct mechanism would fail for a random seed.

The second route to every law stands in `tests/mechanisms/<family>/laws.py`, as `LAWS` (the output law of a mechanism
on an input, written from its docstring) and `WEAKER` (the same mechanism with less noise than it should have).
"""

import importlib
import math
from dataclasses import fields, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.audit import measure
from deniable.errors import InvalidParameterError
from deniable.mechanisms import MECHANISMS, Mechanism
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.base import WorstCase
from deniable.noise.bits import DeterministicBits
from deniable.privacy import PrivacyLoss, Sensitivity
from tests.mechanisms.laws import CODES, Law, Weaker, input_of, public_law

FALSE_ALARM = 1e-6  # of one audit or one chi-square test
MOST_FOUND = 5.0  # the epsilon that an audit finds of an infinite loss of probability 0.02
DELTAS = [0.0, 1e-3, 0.05]
FOLDERS = sorted({mechanism.__module__.split(".")[2] for mechanism in MECHANISMS.values()})
LAWS: dict[str, Law] = {}
WEAKER: dict[str, Weaker] = {}
RUNS: dict[str, int] = {}
for _folder in FOLDERS:
    _module = importlib.import_module(f"tests.mechanisms.{_folder}.laws")
    LAWS |= _module.LAWS
    WEAKER |= _module.WEAKER
    RUNS |= getattr(_module, "RUNS", {})

every = pytest.mark.parametrize("name", sorted(MECHANISMS))
every_additive = pytest.mark.parametrize(
    "name", sorted(k for k, m in MECHANISMS.items() if issubclass(m, AdditiveNoise))
)


def runs_of(name: str) -> int:
    return RUNS.get(name, 400_000)


def case_of(name: str) -> WorstCase:
    return MECHANISMS[name].worst_case()


def loss_of(case: WorstCase) -> PrivacyLoss:
    return case.mechanism.privacy_loss(case.sensitivity)


def chi_square(name: str, mechanism: Mechanism, seed: int) -> float:
    """p-value of outcomes of `mechanism` against the law claimed for `name`; rare outcomes are pooled."""
    case = case_of(name)
    runs = runs_of(name)
    outcomes, chances = LAWS[name](case.mechanism, case.exact)
    assert chances.sum() == pytest.approx(1, abs=1e-9)
    drawn = mechanism.outcomes(case.exact, runs, bits=DeterministicBits(seed))
    places = np.searchsorted(outcomes, drawn)
    places[places == len(outcomes)] = 0
    known = outcomes[places] == drawn
    expected = runs * chances
    often = expected >= 50
    observed = np.bincount(places[known], minlength=len(outcomes)).astype(np.float64)
    pooled = np.append(observed[often], runs - observed[often].sum())
    hoped = np.append(expected[often], runs - expected[often].sum())
    if hoped[-1] < 5:  # nothing to pool, or too little for a test: then what lies there must be as rare
        if pooled[-1] > 40:
            return 0.0
        pooled, hoped = pooled[:-1], hoped[:-1] * pooled[:-1].sum() / hoped[:-1].sum()
    statistic = ((pooled - hoped) ** 2 / hoped).sum()
    return float(stats.chi2.sf(statistic, len(hoped) - 1))


def audited_epsilon(case: WorstCase, runs: int, delta: float, seed: int) -> float:
    """A lower bound on epsilon at `delta`, wrong with probability FALSE_ALARM."""
    bits = DeterministicBits(seed)
    found = measure(
        lambda exact, count: case.mechanism.outcomes(exact, count, bits=bits),
        case.exact,
        case.neighbour,
        delta=delta,
        confidence=1 - FALSE_ALARM,
        runs=runs,
        batched=True,
        low_bits=False,
    )
    return found.epsilon


@every
def test_a_new_mechanism_brings_its_second_route(name: str) -> None:
    assert name in LAWS
    assert name in WEAKER


@pytest.mark.parametrize("name", sorted(CODES))
def test_the_public_law_is_the_enumerated_one(name: str) -> None:
    """Fractions that sum to 1, or certified intervals around a law that does."""
    case = case_of(name)
    for exact in (case.exact, case.neighbour):
        codes, found = public_law(name, case.mechanism, exact)
        kinds, wanted = LAWS[name](case.mechanism, exact)
        assert np.array_equal(codes, kinds)
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-13)
        law = case.mechanism.pmf(input_of(name, exact)).values()
        rational = [mass for mass in law if isinstance(mass, Fraction)]
        assert len(rational) in (0, len(law))
        if rational:
            assert sum(rational) == 1
        else:
            assert sum(Fraction(mass.lower) for mass in law) <= 1 <= sum(Fraction(mass.upper) for mass in law)
            assert max(mass.width / mass.upper for mass in law) < 1e-14


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - set(CODES)))
def test_a_law_that_is_not_finite_is_refused(name: str) -> None:
    case = case_of(name)
    with pytest.raises(InvalidParameterError, match="no finite law is known"):
        case.mechanism.pmf(case.exact)


@every
def test_the_loss_is_that_of_the_law(name: str) -> None:
    """Sum of (p - e^epsilon q)_+ over all outcomes, for twenty epsilons, both ways: never above the claim.

    The law is the public one where there is one, else the enumeration.

    Where the pair attains the loss, the worse direction is equal to it.
    """
    case = case_of(name)
    loss = loss_of(case)
    law = partial(public_law, name) if name in CODES else LAWS[name]
    (kinds, ours), (other_kinds, theirs) = (law(case.mechanism, data) for data in (case.exact, case.neighbour))
    every_kind = np.union1d(kinds, other_kinds)
    p, q = np.zeros(len(every_kind)), np.zeros(len(every_kind))
    p[np.searchsorted(every_kind, kinds)] = ours
    q[np.searchsorted(every_kind, other_kinds)] = theirs
    for epsilon in np.linspace(0, 3, 20):
        truth = max(float(np.maximum(a - math.exp(epsilon) * b, 0).sum()) for a, b in ((p, q), (q, p)))
        found = loss.delta(float(epsilon))
        assert truth <= found.upper * (1 + 1e-9) + 1e-13
        if case.attains:
            assert found.lower == pytest.approx(truth, rel=1e-9, abs=1e-13)
            assert found.upper == pytest.approx(truth, rel=1e-9, abs=1e-13)


@every
def test_releases_follow_the_law(name: str) -> None:
    """Chi-square; a correct mechanism fails for one seed in a million."""
    assert chi_square(name, case_of(name).mechanism, seed=11) > FALSE_ALARM


@every
def test_less_noise_than_claimed_is_rejected_by_the_law(name: str) -> None:
    """The twin of the test above: 0.7 times the noise is caught with certainty for all practical purposes."""
    assert chi_square(name, WEAKER[name](case_of(name).mechanism), seed=12) < 1e-12


@every
@pytest.mark.parametrize("delta", DELTAS)
def test_an_audit_does_not_exceed_the_claim(name: str, delta: float) -> None:
    """A correct mechanism fails for one seed in a million."""
    case = case_of(name)
    claim = loss_of(case).epsilon(delta)
    assert audited_epsilon(case, runs_of(name), delta, seed=13) <= claim.upper


@every
@pytest.mark.parametrize("delta", [0.05])
def test_an_audit_comes_close_to_the_claim(name: str, delta: float) -> None:
    """The pair attains the loss: the audit finds nine tenths of it, and misses that for less than one seed in 10^6.

    Where it does not attain the loss, it finds nine tenths of what the law of the pair itself allows. An infinite loss
    of small probability is looked for at half of that, and shows as what so many runs can show.
    """
    case = case_of(name)
    delta = min(delta, loss_of(case).delta(0).lower / 2 or delta)
    law = partial(public_law, name) if name in CODES else LAWS[name]
    (kinds, ours), (other_kinds, theirs) = (law(case.mechanism, data) for data in (case.exact, case.neighbour))
    every_kind = np.union1d(kinds, other_kinds)
    p, q = np.zeros(len(every_kind)), np.zeros(len(every_kind))
    p[np.searchsorted(every_kind, kinds)] = ours
    q[np.searchsorted(every_kind, other_kinds)] = theirs
    grid = np.linspace(0, 10, 1001)
    enough = [x for x in grid if np.maximum(p - math.exp(x) * q, 0).sum() <= delta]
    possible = min(enough, default=MOST_FOUND)
    hoped = min(loss_of(case).epsilon(delta).lower, possible) if case.attains else possible
    assert audited_epsilon(case, runs_of(name), delta, seed=14) >= 0.9 * hoped > 0


@every
@pytest.mark.parametrize("delta", [0.05])
def test_an_audit_catches_a_mechanism_with_less_noise(name: str, delta: float) -> None:
    """The twin: less noise under the old claim."""
    case = case_of(name)
    if not case.attains:
        pytest.skip("the pair does not attain the claim; the law's own twin above is the test")
    claim = loss_of(case).epsilon(delta)
    broken = replace(case, mechanism=WEAKER[name](case.mechanism))
    assert audited_epsilon(broken, runs_of(name), delta, seed=15) > claim.upper


@every_additive
def test_error_bars_hold_the_stated_share_of_the_noise(name: str) -> None:
    """Binomial with 400,000 draws: six standard deviations, one seed in 10^9. At most one atom more than needed."""
    mechanism = case_of(name).mechanism
    assert isinstance(mechanism, AdditiveNoise)
    noise = mechanism.release(np.zeros(400_000, dtype=np.int64), bits=DeterministicBits(16)).value.astype(np.int64)
    for level in (0.5, 0.8, 0.95, 0.999):
        t = mechanism.half_width(level)
        slack = 6 * math.sqrt(level * (1 - level) / 400_000)
        assert (np.abs(noise) <= t).mean() >= level - slack
        assert (np.abs(noise) <= t - 2).mean() < level + slack
    spread = mechanism.standard_deviation()
    assert noise.std() == pytest.approx(spread, rel=0.02)
    p = np.array([0.1, 0.5, 0.9])
    assert np.abs(mechanism.quantile(p) - np.quantile(noise, p)).max() <= 1


@every_additive
def test_noise_is_fresh_in_every_cell_and_release(name: str) -> None:
    mechanism = case_of(name).mechanism
    assert isinstance(mechanism, AdditiveNoise)
    bits = DeterministicBits(17)
    zeros = np.zeros((2, 1000), dtype=np.int64)
    first, second = mechanism.release(zeros, bits=bits).value, mechanism.release(zeros, bits=bits).value
    assert not np.array_equal(first, second)
    assert not np.array_equal(first[0], first[1])
    correlation = np.corrcoef(np.concatenate([first, second]).astype(np.float64))
    assert np.abs(correlation - np.eye(4)).max() < 0.2  # six standard deviations of 1/sqrt(1000)


EXACT = (Fraction, int, bool, str, tuple, Mechanism, PrivacyLoss, Sensitivity, type(None))


@every
def test_parameters_are_public_frozen_and_exact(name: str) -> None:
    mechanism = case_of(name).mechanism
    for field in fields(mechanism):
        value: Any = getattr(mechanism, field.name)
        assert isinstance(value, EXACT), "a float is not exact"
        with pytest.raises(AttributeError):
            setattr(mechanism, field.name, value)
    assert MECHANISMS[name].kind == name
    assert "\n    Guarantee: " in (MECHANISMS[name].__doc__ or "")
    assert "\n    Source: " in (MECHANISMS[name].__doc__ or "")


@every
def test_outcomes_are_fresh_and_follow_the_stream(name: str) -> None:
    case = case_of(name)
    first, again = (case.mechanism.outcomes(case.exact, 200, bits=DeterministicBits(18)) for _ in range(2))
    other = case.mechanism.outcomes(case.exact, 200, bits=DeterministicBits(19))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_audit_of_a_noiseless_count_is_unbounded() -> None:
    """The audit itself: it finds about ln(runs / 30) where nothing hides the difference."""

    class Bare:
        def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: object) -> NDArray[np.int64]:
            return np.full(runs, exact[0])

    case = replace(case_of("laplace"), mechanism=Bare())  # type: ignore[arg-type]
    assert audited_epsilon(case, 400_000, 0.0, seed=1) > 8
