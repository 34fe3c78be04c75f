"""Selection mechanisms against their exact output laws."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.privacy import AddRemove, ExponentialMechanismLoss, PrivacyLoss, PureLoss
from deniable.privacy.constructors import PermuteAndFlipLoss
from deniable.privacy.notions.gaussian_dp import gaussian_delta

Scores = list[float]


def exponential(scores: Scores, rate: float) -> np.ndarray:
    weights = np.exp(rate * (np.array(scores) - max(scores)))
    return weights / weights.sum()


def permute_and_flip(scores: Scores, rate: float) -> np.ndarray:
    """p_i * sum over sets S of other candidates of (-1)^|S| / (|S| + 1) * prod p_j; golden.md G45."""
    p = np.exp(rate * (np.array(scores) - max(scores)))
    found = []
    for i in range(len(scores)):
        others = [p[j] for j in range(len(scores)) if j != i]
        sets = [s for size in range(len(others) + 1) for s in combinations(others, size)]
        found.append(p[i] * math.fsum((-1) ** len(s) / (len(s) + 1) * math.prod(s) for s in sets))
    return np.array(found)


def curve(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


KINDS = [(ExponentialMechanismLoss, exponential), (PermuteAndFlipLoss, permute_and_flip)]
scores = st.lists(st.tuples(st.floats(-3, 3), st.floats(-1, 1)), min_size=2, max_size=4)


@pytest.mark.parametrize(("kind", "law"), KINDS)
@given(moved=scores, rate=st.floats(0.05, 2), share=st.floats(0, 1))
def test_no_two_neighbours_exceed_the_curve(kind: type, law: object, moved: list, rate: float, share: float) -> None:
    before, after = [s for s, _ in moved], [s + d for s, d in moved]
    loss = kind.of_scores(rate=rate, sensitivity=1)
    epsilon = float(loss.statement.limit) * share
    p, q = law(before, rate), law(after, rate)
    assert max(curve(p, q, epsilon), curve(q, p, epsilon)) <= loss.delta(epsilon).upper + 1e-12


@pytest.mark.parametrize(("kind", "law"), KINDS)
@given(moved=scores, rate=st.floats(0.05, 2), share=st.floats(0, 1))
def test_monotone_scores_cost_half(kind: type, law: object, moved: list, rate: float, share: float) -> None:
    before, after = [s for s, _ in moved], [s + abs(d) for s, d in moved]
    loss = kind.of_scores(rate=rate, sensitivity=1, monotone=True)
    assert loss.statement.limit * 2 == kind.of_scores(rate=rate, sensitivity=1).statement.limit
    epsilon = float(loss.statement.limit) * share
    p, q = law(before, rate), law(after, rate)
    assert max(curve(p, q, epsilon), curve(q, p, epsilon)) <= loss.delta(epsilon).upper + 1e-12


@pytest.mark.parametrize(("kind", "law"), KINDS)
@pytest.mark.parametrize("limit", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_two_candidates_attain_the_curve(kind: type, law: object, limit: float, share: float) -> None:
    """Scores (g, 0) against (g - 2, 0), over g; sensitivity 1 moves both candidates by 1."""
    rate, epsilon = limit / 2, limit * share
    starts = np.concatenate((np.linspace(-40, 40, 2001) / limit, np.linspace(-1, 3, 1001)))
    best = max(curve(law([g, 0.0], rate), law([g - 2, 0.0], rate), epsilon) for g in starts)
    assert best == pytest.approx(kind(limit).delta(epsilon).upper, rel=1e-3)


def test_golden_selection_probability() -> None:
    """golden.md G45: rate = epsilon / (2 sensitivity) = 1/2."""
    assert permute_and_flip([3, 2, 0], 0.5)[0] == pytest.approx(0.63028135114833927103, rel=1e-9)


@pytest.mark.parametrize(("kind", "law"), KINDS)
def test_compositions_hold_what_two_candidates_attain(kind: type, law: object) -> None:
    """Three runs with starts of each own; and never more than a pure loss of that epsilon."""
    rate = 0.5
    shares = (0.6, 0.75, 0.9)  # of losses above 0; the score from which a step down by 2 has them
    tuned = [2 * math.log(-math.expm1(share - 1) / (1 - math.exp(-1) + math.expm1(share - 1))) for share in shares]
    composed, pure = kind(1) * 3, PureLoss(1) * 3
    for epsilon in (0.2, 1.0, 2.0):
        found = composed.delta(epsilon)
        assert found.upper < pure.delta(epsilon).lower
        best = 0.0
        for starts in product((0.0, 0.4, 1.0, 2.0, 3.0, *tuned), repeat=3):
            p = q = np.ones(1)
            for g in starts:
                p = np.outer(p, law([g, 0.0], rate)).ravel()
                q = np.outer(q, law([g - 2, 0.0], rate)).ravel()
            best = max(best, curve(p, q, epsilon))
        assert found.lower <= best * (1 + 1e-9) + 1e-12
        assert best <= found.upper * (1 + 1e-9)


def test_an_eighth_holds_for_bounded_range_alone() -> None:
    """noise.md, trap 12: epsilon^2/8 fails for permute-and-flip, whose order-2 divergence is far above it."""
    limit, order = 0.5, 2.0
    p, q = permute_and_flip([0.5, -0.5], limit / 2), permute_and_flip([-0.5, 0.5], limit / 2)
    divergence = math.log(float((p**order * q ** (1 - order)).sum())) / (order - 1)
    assert divergence > 2 * order * limit**2 / 8
    assert divergence <= order * float(PermuteAndFlipLoss(limit).rho)
    for start in np.linspace(-6, 6, 200):
        p, q = exponential([start, 0.0], limit / 2), exponential([start - 2, 0.0], limit / 2)
        assert math.log(float((p**order / q ** (order - 1)).sum())) <= order * float(
            ExponentialMechanismLoss(limit).rho
        ) * (1 + 1e-12)


@pytest.mark.parametrize("limit", ["1/10", "1", "4", "12"])
def test_the_gaussian_curve_of_mu_is_above(limit: str) -> None:
    for kind in (ExponentialMechanismLoss, PermuteAndFlipLoss):
        loss = kind(limit)
        for share in (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)):
            assert (
                loss.delta(loss.statement.limit * share).lower
                <= gaussian_delta(loss.mu_squared, loss.statement.limit * share).upper
            )


def test_a_smaller_mu_fails() -> None:
    """The twin: 1% less than the stated mu^2 of the exponential mechanism is refuted at epsilon = 0."""
    loss = ExponentialMechanismLoss(1)
    assert loss.delta(0).lower > gaussian_delta(loss.mu_squared * Fraction(99, 100), Fraction(0)).upper


def test_the_curve_falls_to_nothing_at_epsilon() -> None:
    for kind in (ExponentialMechanismLoss, PermuteAndFlipLoss):
        assert kind(1).delta(1).upper == 0
        assert kind(1).delta("0.999").lower > 0
        assert kind(1).epsilon(0).upper == 1


def test_relations_json_and_refusals() -> None:
    for kind in (ExponentialMechanismLoss, PermuteAndFlipLoss):
        loss = kind("1/3", monotone=True)
        assert loss.relations == frozenset({AddRemove})
        assert PrivacyLoss.from_json(loss.to_json()) == loss
        assert eval(repr(loss)) == loss
        assert len(kind(1).relations) == 2
        with pytest.raises(InvalidParameterError, match="epsilon must be > 0"):
            kind(0)
        with pytest.raises(InvalidParameterError, match="monotone"):
            kind(1, monotone=1)
        with pytest.raises(InvalidParameterError, match="sensitivity must be > 0"):
            kind.of_scores(rate=1, sensitivity=-1)
    assert ExponentialMechanismLoss(1) != PermuteAndFlipLoss(1)


def test_large_epsilons_of_rounds_with_exponential_noise_are_bounded() -> None:
    """The chance e^-774 of a tail was 0 in floats, and a divisor: a ZeroDivisionError of Python."""
    rounds = PermuteAndFlipLoss(1000) * 2
    assert rounds.proves(Fraction(2000), Fraction(1, 10**6))
    assert not rounds.proves(Fraction(999), Fraction(1, 10**6))
    assert rounds.epsilon("1e-6", tolerance=1).upper <= 2000
