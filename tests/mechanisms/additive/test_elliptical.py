"""The matrix mechanism: sensitivity through the strategy, reconstruction, covariance, bad input."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import EllipticalGaussian, Gaussian, Mechanism
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, of_count

REACH = of_count(rows=1, groups=1, relation=AddRemove)
PREFIXES = np.tril(np.ones((8, 8), dtype=int))


def hierarchy() -> list[list[int]]:
    """Sums over 8, 4, 2 and 1 neighbouring entries: every entry is in four of them."""
    return [[int(start <= j < start + size) for j in range(8)] for size in (8, 4, 2, 1) for start in range(0, 8, size)]


def test_the_loss_is_that_of_the_largest_column() -> None:
    mechanism = EllipticalGaussian(strategy=tuple(map(tuple, hierarchy())), sigma_squared=8)
    assert mechanism.privacy_loss(REACH).rho == Fraction(4, 16)
    assert EllipticalGaussian.calibrated(hierarchy(), REACH, rho="1/4") == mechanism
    assert EllipticalGaussian.calibrated(np.array(hierarchy()), REACH, rho="1/4") == mechanism


def test_a_hierarchy_answers_prefix_sums_better_than_the_entries_do() -> None:
    """Equal rho: the worst prefix sum of 64 entries; published idea of Hay et al. (2010)."""
    n = 64
    sizes = [2**k for k in range(7)]
    tree = [[int(start <= j < start + size) for j in range(n)] for size in sizes for start in range(0, n, size)]
    workload = np.tril(np.ones((n, n)))
    worst = {
        name: EllipticalGaussian.calibrated(strategy, REACH, rho="1/2").covariance(workload).diagonal().max()
        for name, strategy in (("entries", np.eye(n, dtype=int)), ("tree", tree))
    }
    assert worst["tree"] < 0.4 * worst["entries"]


def test_answers_have_no_bias_and_the_stated_covariance() -> None:
    """1500 releases; means and covariances within six standard errors: one seed in 10^6 for all 72 of them."""
    mechanism = EllipticalGaussian(strategy=tuple(map(tuple, hierarchy())), sigma_squared=25)
    exact, bits, runs = np.array([3, 1, 4, 1, 5, 9, 2, 6]), DeterministicBits(1), 1500
    answers = np.array([mechanism.answer(mechanism.release(exact, bits=bits), PREFIXES) for _ in range(runs)])
    stated = mechanism.covariance(PREFIXES)
    spread = np.sqrt(stated.diagonal())
    assert (np.abs(answers.mean(axis=0) - PREFIXES @ exact) < 6 * spread / np.sqrt(runs)).all()
    correlation = (np.cov(answers.T) - stated) / np.outer(spread, spread)
    assert np.abs(correlation).max() < 6 * np.sqrt(2 / runs)
    wrong = (np.cov(answers.T) - 1.7 * stated) / np.outer(spread, spread)
    assert np.abs(wrong).max() > 6 * np.sqrt(2 / runs)


def test_the_identity_is_plain_gaussian_noise() -> None:
    plain, whole = Gaussian(sigma_squared=9), EllipticalGaussian(strategy=((1, 0), (0, 1)), sigma_squared=9)
    reach = of_count(rows=2, groups=2, relation=AddRemove)
    assert whole.privacy_loss(reach).rho == plain.privacy_loss(reach).rho
    assert np.array_equal(
        whole.release([5, 7], bits=DeterministicBits(2)).value, plain.release([5, 7], bits=DeterministicBits(2)).value
    )


def test_large_sums_do_not_wrap() -> None:
    mechanism = EllipticalGaussian(strategy=((2, 2), (1, 0)), sigma_squared=1)
    noisy = mechanism.release(np.array([2**63 - 1, 2**63 - 1]), bits=DeterministicBits(3))
    assert noisy.value.dtype == object
    assert abs(int(noisy.value[0]) - 4 * (2**63 - 1)) < 50
    assert not noisy.safe


def test_a_workload_that_the_strategy_does_not_determine_is_refused() -> None:
    mechanism = EllipticalGaussian(strategy=((1, 1, 0),), sigma_squared=1)
    noisy = mechanism.release([1, 2, 3], bits=DeterministicBits(4))
    assert mechanism.answer(noisy, [2, 2, 0])[0] == pytest.approx(2 * float(noisy.value[0]))
    with pytest.raises(InvalidParameterError, match="does not determine the workload"):
        mechanism.answer(noisy, [[1, 0, 0]])
    for wrong in ([[1, 0]], [[1, 0, np.nan]], np.zeros((1, 2, 3))):
        with pytest.raises(InvalidParameterError, match="workload must be a finite matrix with 3 columns"):
            mechanism.covariance(wrong)


def test_a_secret_of_the_wrong_shape_is_refused() -> None:
    mechanism = EllipticalGaussian(strategy=((1, 1),), sigma_squared=1)
    for wrong in ([1], [[1, 2]], 3):
        with pytest.raises(InvalidParameterError, match="takes a vector of 2 integers"):
            mechanism.release(wrong)
        with pytest.raises(InvalidParameterError, match="takes a vector of 2 integers"):
            mechanism.outcomes(wrong, 5, bits=DeterministicBits(1))
    with pytest.raises(InvalidParameterError, match="exact must hold integers"):
        mechanism.release([0.5, 1.0])


@pytest.mark.parametrize("given", [{"strategy": ((0.5,),)}, {"strategy": ()}, {"sigma_squared": 0}])
def test_bad_parameters_are_refused_before_anything_is_spent(given: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError, match="must be"):
        EllipticalGaussian(**{"strategy": ((1, 1),), "sigma_squared": 1, **given})


def test_json_keeps_the_strategy() -> None:
    mechanism = EllipticalGaussian(strategy=((1, -2), (0, 3)), sigma_squared="5/2")
    assert Mechanism.from_json(mechanism.to_json()) == mechanism


def test_other_releases_and_workloads_are_refused_in_words() -> None:
    """They used to be errors of Python or numpy."""
    mechanism = EllipticalGaussian(strategy=((1, 1), (1, 0)), sigma_squared=1)
    for wrong in (None, [1, 2], Gaussian(sigma_squared=1).release([1, 2, 3]), Gaussian(sigma_squared=1).release(3)):
        with pytest.raises(InvalidParameterError, match="noisy must be a release of this mechanism"):
            mechanism.answer(wrong, [[1, 1]])  # type: ignore[arg-type]
    for workload in ("x", None, [["a"]], [[1], [1, 2]], 1j, np.datetime64(1, "D"), {}, [[1, 2, 3]], [[np.nan, 1]]):
        with pytest.raises(InvalidParameterError, match="workload must be"):
            mechanism.covariance(workload)  # type: ignore[arg-type]
    assert mechanism.covariance(np.array([True, False])).shape == (1, 1)
