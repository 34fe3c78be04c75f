"""Fingerprinting codes: published constants, quadrature, simulation; the lemma by a linear program over all inputs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import linprog

from deniable.attacks import trace_colluders
from deniable.attacks.tracing import FingerprintingCode, code_length, collude, draw_code, least_correlation
from deniable.attacks.tracing.fingerprinting import Collusion, collective_score
from deniable.errors import InvalidParameterError
from deniable.mechanisms import Laplace
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove
from deniable.privacy.sensitivity.aggregates import of_count

STRATEGIES: tuple[Collusion, ...] = ("majority", "minority", "random", "interleaving")
CODE = draw_code(users=60, coalition=4, seed=1)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_some_colluder_and_no_innocent_is_accused(strategy: Collusion) -> None:
    for seed in range(5):
        guilty = np.random.default_rng(seed).choice(60, 4, replace=False)
        result = trace_colluders(CODE, collude(CODE.words[guilty], strategy, seed=seed), colluders=guilty)
        assert result.success.right >= 1
        assert result.facts is not None
        assert result.facts["innocent users accused"] == 0
        assert result.bound is not None


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_copies_keep_the_bits_on_which_all_agree(strategy: Collusion) -> None:
    words = np.random.default_rng(2).integers(0, 2, (3, 200)).astype(bool)
    agreed = (words == words[0]).all(axis=0)
    assert np.array_equal(collude(words, strategy)[agreed], words[0][agreed])


def test_innocent_scores_have_mean_zero_and_variance_length() -> None:
    """Of 4,000 users; standard errors: 0.016 of the mean and 0.023 of the variance, in units of the law."""
    code = draw_code(users=4000, coalition=3, length=800, seed=4)
    scores = code.scores(np.random.default_rng(0).integers(0, 2, 800)) / math.sqrt(800)
    assert abs(scores.mean()) < 0.07
    assert abs(scores.var() - 1) < 0.12


def test_innocents_are_accused_no_more_often_than_stated_and_more_below_a_third_of_it() -> None:
    code = draw_code(users=400, coalition=2, length=300, seed=5)
    copies = np.random.default_rng(1).integers(0, 2, (200, 300))
    highest = np.array([code.scores(copy).max() for copy in copies])
    assert np.mean(highest > code.threshold(0.05)) <= 0.08  # two standard errors above 5%
    assert np.mean(highest > code.threshold(0.05) / 3) > 0.05  # twin


@pytest.mark.parametrize("coalition", [2, 5, 20])
def test_bernstein_confirms_tardos_constants(coalition: int) -> None:
    """Length 100 c^2 L and threshold 20 c L, with L = ln(1/error) and cutoff 1/(300 c): Tardos (2008)."""
    logarithm = math.log(1e4)
    length, threshold = 100 * coalition**2 * logarithm, 20 * coalition * logarithm
    reach = math.sqrt(300 * coalition - 1)
    assert threshold**2 / (2 * (length + reach * threshold / 3)) >= logarithm


def test_codes_are_shorter_than_tardos_and_grow_with_the_square() -> None:
    for coalition in (2, 8, 32):
        assert code_length(users=100, coalition=coalition) < 100 * coalition**2 * math.log(1e4)
    assert 3 < code_length(users=100, coalition=64) / code_length(users=100, coalition=32) < 4.2
    assert code_length(users=10**6, coalition=4) > code_length(users=100, coalition=4)


@pytest.mark.parametrize("coalition", [1, 2, 3, 6])
def test_the_smallest_collective_score_is_the_minoritys_by_quadrature(coalition: int) -> None:
    edge = math.asin(math.sqrt(1 / (300 * coalition)))

    def at(angle: float) -> float:
        p, total = math.sin(angle) ** 2, 0.0
        for z in range(coalition + 1):
            one = z == coalition or (0 < z <= coalition / 2)
            weight = math.comb(coalition, z) * p**z * (1 - p) ** (coalition - z)
            total += (1 if one else -1) * weight * (z - coalition * p) / math.sqrt(p * (1 - p))
        return total

    value = quad(at, edge, math.pi / 2 - edge, limit=200)[0] / (math.pi / 2 - 2 * edge)
    assert value == pytest.approx(collective_score(coalition), rel=1e-6)
    assert value == pytest.approx(2 / math.pi, abs=0.05)


def test_the_words_as_rows_are_traced_from_exact_averages_and_not_from_private_ones() -> None:
    rows = CODE.words[:4]
    exact = rows.sum(axis=0)
    mechanism = Laplace.calibrated(of_count(rows=1, groups=len(exact), relation=AddRemove), epsilon=1)
    private = np.asarray(mechanism.release(exact, bits=DeterministicBits(9)).value)
    from_exact, from_private = (
        trace_colluders(CODE, 2 * counts > 4, colluders=range(4)) for counts in (exact, private)
    )
    assert from_exact.succeeded
    assert from_exact.success.value == 1
    assert (from_private.success.right, from_private.succeeded) == (0, False)


@pytest.mark.parametrize("people", range(1, 7))
def test_a_linear_program_over_all_inputs_finds_two_thirds(people: int) -> None:
    """One f(x) for each of the 2^n inputs, and one bound t(x) >= |f(x) - mean(x)|: nothing is symmetrised."""
    inputs = np.array(list(itertools.product((-1, 1), repeat=people)))
    ones = [int(k) for k in (inputs == 1).sum(axis=1)]

    def integral(a: int, b: int) -> Fraction:  # of u^a (1 - u)^b over [0, 1]
        return Fraction(math.factorial(a) * math.factorial(b), math.factorial(a + b + 1))

    weights = np.array([float(integral(k, people - k)) for k in ones])
    biases = np.array([float(2 * integral(k + 1, people - k) - integral(k, people - k)) for k in ones])
    slopes = weights * inputs.sum(axis=1) - people * biases
    size, means = len(inputs), inputs.mean(axis=1)
    one = np.eye(size)
    found = linprog(
        np.concatenate([slopes, 2 * weights]),
        A_ub=np.block([[one, -one], [-one, -one]]),
        b_ub=np.concatenate([means, -means]),
        bounds=[(-1, 1)] * size + [(0, None)] * size,
    )
    assert found.fun == pytest.approx(float(least_correlation(people)), abs=1e-9)
    assert least_correlation(people) == Fraction(2, 3)


def test_the_lemma_is_two_thirds_for_many_people() -> None:
    assert {least_correlation(people) for people in (10, 55, 200)} == {Fraction(2, 3)}


def test_bad_input_is_refused() -> None:
    code = FingerprintingCode(words=np.ones((2, 3), dtype=bool), bias=np.full(3, 0.5), cutoff=0.01)
    with pytest.raises(InvalidParameterError, match="vector of 3 bits"):
        code.scores([0, 1])
    with pytest.raises(InvalidParameterError, match="vector of 3 bits"):
        code.scores([0, 1, np.nan])
    with pytest.raises(InvalidParameterError, match=r"rows in 0\.\.1"):
        trace_colluders(code, [0, 1, 1], colluders=[2])
    with pytest.raises(InvalidParameterError, match=r"rows in 0\.\.1"):
        trace_colluders(code, [0, 1, 1], colluders=[])
    with pytest.raises(InvalidParameterError, match="table of bits"):
        collude([[2, 0]], "random")
    with pytest.raises(InvalidParameterError, match="strategy must"):
        collude([[1, 0]], "magic")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="users must"):
        draw_code(users=1, coalition=1)
    with pytest.raises(InvalidParameterError, match="length must"):
        draw_code(users=2, coalition=1, length=0)
    with pytest.raises(InvalidParameterError, match="people must"):
        least_correlation(0)
    with pytest.raises(InvalidParameterError, match="escape must"):
        code_length(users=3, coalition=1, escape=0)
