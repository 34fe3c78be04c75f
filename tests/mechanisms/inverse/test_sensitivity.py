import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms.inverse import InverseSensitivity
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, ExponentialMechanismLoss, Replace, of_count
from tests.mechanisms.inverse.laws import of_lengths


def test_smoothing_takes_the_least_length_nearby() -> None:
    lengths = np.array([5, 4, 9, 9, 0, 7, 3])
    mechanism = InverseSensitivity.calibrated(epsilon=2, bounds=(10, 16), smoothing=2)
    assert mechanism._smoothed(lengths).tolist() == [min(lengths[max(i - 2, 0) : i + 3]) for i in range(lengths.size)]
    wide = InverseSensitivity.calibrated(epsilon=2, bounds=(10, 16), smoothing=10**9)
    assert wide._smoothed(lengths).tolist() == [0] * 7


def test_one_release_follows_the_same_law_as_many() -> None:
    """Chi-square statistic of 1,000 single releases with 3 degrees of freedom: above 40 for one seed in 10^8."""
    mechanism = InverseSensitivity.calibrated(epsilon=2, bounds=(-1, 2))
    lengths, bits = (1, 0, 0, 2), DeterministicBits(1)
    drawn = np.array([mechanism.release(lengths, bits=bits).value for _ in range(1000)])
    expected = 1000 * of_lengths(mechanism, lengths)[1]
    assert (((np.bincount(drawn + 1, minlength=4) - expected) ** 2) / expected).sum() < 40
    assert ((np.bincount(drawn[drawn < 2] + 1, minlength=4) - expected) ** 2 / expected).sum() > 40


def test_the_loss_is_that_of_the_exponential_mechanism() -> None:
    mechanism = InverseSensitivity.calibrated(epsilon="0.5", bounds=(0, 9))
    for relation in (AddRemove, Replace):
        loss = mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=relation))
        assert loss == ExponentialMechanismLoss("0.5").under(relation)
    assert mechanism.privacy_loss(of_count(rows=3, groups=1, cells=1, relation=Replace)).pure_epsilon == 1.5


@pytest.mark.parametrize("lengths", [[1, 2], [[1, 2, 3]], [0.5, 1.0, 2.0]])
def test_other_inputs_are_refused(lengths: list[object]) -> None:
    with pytest.raises(InvalidParameterError):
        InverseSensitivity.calibrated(epsilon=1, bounds=(0, 2)).release(lengths)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="smoothing"):
        InverseSensitivity.calibrated(epsilon=1, bounds=(0, 2), smoothing=-1)
    with pytest.raises(InvalidParameterError, match="at most"):
        InverseSensitivity.calibrated(epsilon=1, bounds=(0, 2**40)).release([0])
    with pytest.raises(InvalidParameterError, match="rate"):
        InverseSensitivity(rate=0, bounds=(0, 2))
