from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import ExponentialMechanism
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, of_count
from tests.mechanisms.laws import chances
from tests.noise.streams import ScriptedBits

COUNT = of_count(rows=1, groups=1, relation=AddRemove)


def test_probabilities_are_the_soft_maximum_whatever_the_size_of_scores() -> None:
    mechanism = ExponentialMechanism(rate=Fraction(1, 2), weights=(2, 5, 1, 0))
    mass = np.array([2 * np.exp(1.5), 5 * np.exp(1.0), 1.0, 0.0])
    assert chances(mechanism, [3, 2, 0, 100]) == pytest.approx(mass / mass.sum(), rel=1e-14)
    far = chances(ExponentialMechanism(rate=Fraction(1, 2)), [2**62 + 3, 2**62 + 2, 2**62, -(2**62)])
    assert far[:3] == pytest.approx(np.exp([1.5, 1.0, 0.0]) / np.exp([1.5, 1.0, 0.0]).sum(), rel=1e-14)


def test_a_weight_that_underflows_as_a_float_still_has_its_chance() -> None:
    """E57: with epsilon 0.8 a gap of 1866 has the float weight 0, which makes the loss infinite. Here words decide.

    The second candidate's number begins with 1,088 ones, which happens with probability e^-754, and it wins.
    """
    assert np.exp(-0.4 * 1866) == 0.0
    assert chances(ExponentialMechanism(rate=Fraction(4, 10)), [1866, 0])[1] == 0.0  # so these are no weights
    rounds = [word for _ in range(17) for word in (1, 2**64 - 1)]
    bits = ScriptedBits([*rounds, 1, 2**63])
    assert ExponentialMechanism(rate=Fraction(4, 10)).release([1866, 0], bits=bits).value == 1
    assert bits.used == 36


def test_counts_under_add_remove_are_monotone_and_cost_half() -> None:
    """E57: adding a row raises counts and lowers none."""
    usual = ExponentialMechanism.calibrated(COUNT, epsilon=1)
    monotone = ExponentialMechanism.calibrated(COUNT, epsilon=1, monotone=True)
    assert monotone.rate == 2 * usual.rate
    for scores, more in (([3, 5, 5], [3, 6, 5]), ([0, 0], [1, 1]), ([2, 0, 9], [3, 0, 10])):
        loss = np.log(chances(monotone, more) / chances(monotone, scores))
        assert np.abs(loss).max() <= 1 + 1e-12


def test_the_law_has_the_most_free_energy() -> None:
    """Boltzmann: of all laws P it has the largest E[score] + temperature * entropy(P), which is T ln sum exp(s / T)."""
    scores, temperature = np.array([3.0, 2.0, 0.0, 1.0]), 2.0
    p = chances(ExponentialMechanism(rate=Fraction(1, 2)), [3, 2, 0, 1])

    def energy(law: np.ndarray) -> float:
        return float((law * scores).sum() - temperature * (law * np.log(law)).sum())

    assert energy(p) == pytest.approx(temperature * np.log(np.exp(scores / temperature).sum()), rel=1e-12)
    for other in np.random.default_rng(1).dirichlet(np.ones(4), 200):
        assert energy(other) < energy(p)


def test_weighted_choices_from_pieces_and_from_one_array_agree() -> None:
    mechanism = ExponentialMechanism(rate=Fraction(1), weights=(1, 2, 3, 4))
    scores = np.array([3, 2, 2, 0])
    for seed in range(30):
        whole = mechanism.release(scores, bits=DeterministicBits(seed))
        pieces = mechanism.release(iter([scores[:1], scores[1:]]), bits=DeterministicBits(seed))
        assert whole == pieces


@pytest.mark.parametrize("weights", [(), (0, 0), (1, -1), (1.0, 2), (True, 1), (2**63,), (np.int64(3), 1)])
def test_wrong_weights_are_refused(weights: tuple[int, ...]) -> None:
    with pytest.raises(InvalidParameterError, match="weights must be ints"):
        ExponentialMechanism(rate=Fraction(1), weights=weights)


def test_weights_may_be_an_array() -> None:
    taken = ExponentialMechanism(rate=Fraction(1), weights=np.array([1, 2]))  # type: ignore[arg-type]
    assert taken == ExponentialMechanism(rate=Fraction(1), weights=(1, 2))
    for wrong in (np.array([1.0, 2]), np.array([[1, 2]]), np.array(5), np.array([True, False])):
        with pytest.raises(InvalidParameterError, match="weights must be ints"):
            ExponentialMechanism(rate=Fraction(1), weights=wrong)


def test_weights_must_be_as_many_as_candidates() -> None:
    mechanism = ExponentialMechanism(rate=Fraction(1), weights=(1, 2))
    for scores in ([1, 2, 3], [1]):
        with pytest.raises(InvalidParameterError, match="weights must be as many as scores"):
            mechanism.release(scores)
    with pytest.raises(InvalidParameterError, match="2 weights for 3 candidates"):
        chances(mechanism, [1, 2, 3])
    with pytest.raises(InvalidParameterError, match="2 weights for 3 candidates"):
        mechanism.gap_bound(3, failure=0.1)
    assert ExponentialMechanism.calibrated(COUNT, epsilon=1, weights=(1, 2)).weights == (1, 2)


def test_large_sets_have_no_list_of_probabilities() -> None:
    with pytest.raises(InvalidParameterError, match="at most 100000 candidates"):
        chances(ExponentialMechanism(rate=Fraction(1)), np.zeros(10**5 + 1, dtype=np.int64))
