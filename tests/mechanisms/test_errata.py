"""What the source documents get wrong about mechanisms, with the numbers that refute it."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import integrate, stats

from deniable.mechanisms import Gaussian, Laplace
from deniable.mechanisms.wrappers import PoissonSampled
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, ConcentratedLoss, FiniteLoss, of_count
from deniable.privacy.notions.conversion import concentrated_epsilon_classic

REACH = of_count(rows=1, groups=1, relation=AddRemove)


def test_errata_e04_constant_maps_are_private() -> None:
    """The notes: "any deterministic mechanism cannot be differentially private". All 27 maps of 3 inputs: 3 are 0-DP,
    and the 24 that are not constant have no epsilon at any delta below 1."""
    private = 0
    for outputs in product(range(3), repeat=3):
        channel = FiniteLoss.of_channel([[int(output == place) for place in range(3)] for output in outputs])
        if channel.delta(0).upper == 0:
            private += 1
            assert len(set(outputs)) == 1
            assert channel.epsilon(0).upper == 0
        else:
            assert channel.delta(100).lower == 1
            assert channel.epsilon("0.99").lower == math.inf
    assert private == 3


def test_errata_e56_noise_of_a_small_seed_is_found_by_trying_all() -> None:
    """Ten releases about a known table give one of 2^11 seeds away. So what they touch is marked."""
    mechanism, secret_seed = Laplace(scale=20), 1234
    told = mechanism.release([0] * 10, bits=DeterministicBits(secret_seed))
    found = [
        seed
        for seed in range(2**11)
        if np.array_equal(mechanism.release([0] * 10, bits=DeterministicBits(seed)).value, told.value)
    ]
    assert found == [secret_seed]
    assert not told.safe


SAMPLED = PoissonSampled(base=Gaussian(sigma_squared=2500), rate=Fraction(3, 5))


def test_errata_e58_a_sum_divided_by_the_size_of_its_sample_tells_it() -> None:
    """Zeros of one unit against two, rate 0.6, noise 50: divided by its size, and nothing for an empty sample."""

    def density(x: np.ndarray, units: int) -> np.ndarray:
        return sum(
            stats.binom.pmf(size, units, 0.6) * stats.norm.pdf(x, scale=50 / size) for size in range(1, units + 1)
        )

    x = np.linspace(-500, 500, 200_001)
    atoms = [stats.binom.pmf(0, units, 0.6) for units in (1, 2)]
    gap = np.maximum(density(x, 1) - math.exp(0.1) * density(x, 2), 0)
    told = max(atoms[0] - math.exp(0.1) * atoms[1], 0) + integrate.trapezoid(gap, x=x)
    assert told == pytest.approx(0.2330, abs=1e-4)
    assert SAMPLED.privacy_loss(REACH).delta("0.1").upper < 1e-15


def test_errata_e58_the_noise_of_a_sample_does_not_depend_on_its_size() -> None:
    """Kolmogorov and Smirnov, 40,000 draws each; false alarm 10^-6. The twin divides by the size of its sample."""
    one, six = (SAMPLED.outcomes((0,) * units, 40_000, bits=DeterministicBits(units)) for units in (1, 6))
    assert stats.ks_2samp(one, six).pvalue > 1e-6
    sizes = np.random.default_rng(1).binomial(6, 0.6, 40_000)
    assert stats.ks_2samp(one, six / np.maximum(sizes, 1)).pvalue < 1e-12


def test_errata_e59_an_empty_sample_is_answered_with_noise_as_any_other() -> None:
    """Skipped when empty, five units against six lose ln 2.5; here the answer to nobody has the law of the noise."""
    assert math.log(0.4**5 / 0.4**6) == pytest.approx(0.916, abs=1e-3)
    nobody = SAMPLED.outcomes((), 40_000, bits=DeterministicBits(1))
    bare = SAMPLED.base.outcomes((0,), 40_000, bits=DeterministicBits(2))
    assert stats.ks_2samp(nobody, bare).pvalue > 1e-6
    assert (nobody == 0).mean() < 0.02  # a Gaussian of 50 is 0 once in 125
    seldom = PoissonSampled(base=SAMPLED.base, rate=Fraction(1, 10**6)).outcomes(
        (9, 9), 40_000, bits=DeterministicBits(3)
    )
    assert stats.ks_2samp(seldom, bare).pvalue > 1e-6


def test_errata_e74_the_census_total_is_not_small() -> None:
    """rho = (542/339)^2 = 2.5562 for persons, at delta = 10^-10: epsilon is at most 17.14, the published figure."""
    rho = Fraction(542, 339) ** 2
    found = ConcentratedLoss(rho).epsilon(1e-10)
    assert found.upper == pytest.approx(17.14, abs=0.005)
    simple = float(rho) + 2 * math.sqrt(rho * math.log(1e10))
    assert concentrated_epsilon_classic(rho, 1e-10) == pytest.approx(simple)
    mechanism = Gaussian.calibrated(REACH, rho=rho)
    assert 10 < mechanism.privacy_loss(REACH).epsilon(1e-10).lower < found.upper


def test_errata_e75_identical_priors_say_less_than_differential_privacy() -> None:
    """Three bits x: P(1) is 0.9 or 0.1 by the first if the others are (0, 1), reversed if (1, 0), else 0.5.

    Of the first bit, among all priors that draw each bit alike, the answer tells ln 5; among all that draw them
    independently it tells ln 9, which is what differential privacy says.
    """
    tables = list(product((0, 1), repeat=3))

    def chance(x: tuple[int, ...]) -> Fraction:
        if x[1:] not in ((0, 1), (1, 0)):
            return Fraction(1, 2)
        return Fraction(9 if x[0] == x[2] else 1, 10)

    neighbours = [
        (i, j)
        for i, x in enumerate(tables)
        for j, y in enumerate(tables)
        if i < j and sum(map(abs, np.subtract(x, y))) == 1
    ]
    channel = FiniteLoss.of_channel([(chance(x), 1 - chance(x)) for x in tables], neighbours=neighbours)
    assert channel.epsilon(0).upper == pytest.approx(math.log(9))

    def told(secret: int, shares: tuple[float, ...]) -> float:
        """The largest log-ratio of the answer's probabilities, given that bit is 1, or 0."""
        given = []
        for bit in (0, 1):
            others = [k for k in range(3) if k != secret]
            mass = 0.0
            for values in product((0, 1), repeat=2):
                x = [bit] * 3
                for k, value in zip(others, values, strict=True):
                    x[k] = value
                weight = math.prod(shares[k] if x[k] else 1 - shares[k] for k in others)
                mass += weight * float(chance(tuple(x)))
            given.append(mass)
        return max(abs(math.log(given[1] / given[0])), abs(math.log((1 - given[1]) / (1 - given[0]))))

    alike = max(told(k, (share,) * 3) for k in range(3) for share in np.linspace(1e-9, 1 - 1e-9, 2001))
    assert alike == pytest.approx(math.log(5), abs=1e-5)
    independent = max(told(k, shares) for k in range(3) for shares in product((1e-12, 0.5, 1 - 1e-12), repeat=3))
    assert independent == pytest.approx(math.log(9), abs=1e-9)
