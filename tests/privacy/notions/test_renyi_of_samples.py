"""Rényi divergences where sampling meets groups, allocation and shuffling, against sums and integrals by numpy."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable.privacy import (
    AddRemove,
    ExponentialMechanismLoss,
    FiniteLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    PureLoss,
    ShuffledLoss,
)
from deniable.privacy.amplification.shuffling.randomizers import KaryResponse
from deniable.privacy.notions.renyi import directed

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


def moment(p: Floats, q: Floats, order: float) -> float:
    """The divergence of two lists of masses."""
    seen = (p > 1e-250) & (q > 1e-250)
    loss, p = np.log(p[seen] / q[seen]), p[seen]
    return (
        float(np.sum(p * loss)) if order == 1 else math.log(float(np.sum(p * np.exp((order - 1) * loss)))) / (order - 1)
    )


def densities(mixture: list[tuple[float, float]], step: float = 1e-3) -> Floats:
    places = np.arange(-25.0, 33.0, step)
    return np.asarray(sum(w * np.exp(-((places - c) ** 2) / 2) for w, c in mixture)) * step / math.sqrt(2 * math.pi)


def binomial(units: int, rate: float, side: int, noise: float) -> list[tuple[float, float]]:
    return [(math.comb(units, i) * rate**i * (1 - rate) ** (units - i), side * i / noise) for i in range(units + 1)]


@pytest.mark.parametrize("order", ["1", "3/2", "8"])
def test_two_units_in_a_sample_are_an_integral(order: str) -> None:
    """One unit costs 0.00032 at order 8, and two were said to cost what they cost in every sample: 16."""
    group, a = GaussianLoss(1).poisson_sampled(rate="0.0064").group(2), float(Fraction(order))
    splits = [(densities(binomial(2 - b, 0.0064, 1, 1)), densities(binomial(b, 0.0064, -1, 1))) for b in (0, 1)]
    found = directed(group.statement, Fraction(order))
    for way in (0, 1):
        exact = max(moment(*(pair[::-1] if way else pair), a) for pair in splits)
        assert found[way].lower <= exact * (1 + 1e-7)
        assert exact * (1 - 1e-7) <= found[way].upper <= exact * (1 + 1e-6)
    replaced = GaussianLoss(1).poisson_sampled(rate="0.0064").under_replace().renyi(order)
    assert replaced.upper >= moment(*splits[1], a) * (1 - 1e-7)


@pytest.mark.parametrize("order", ["1", "5/4", "2", "30", "2000"])
def test_two_sided_mixtures(order: str) -> None:
    p, q = [(0.25, 0.0), (0.5, 1.0), (0.25, 2.5)], [(0.5, 0.0), (0.5, -1.0)]
    shown = ([(str(w), str(c)) for w, c in side] for side in (p, q))
    loss = GaussianMixtureLoss(next(shown), against=next(shown), sigma=1, relation=AddRemove)
    found, a = directed(loss.statement, Fraction(order)), float(Fraction(order))
    if a < 10:
        for way, exact in enumerate((moment(densities(p), densities(q), a), moment(densities(q), densities(p), a))):
            assert found[way].lower <= exact * (1 + 1e-9)
            assert exact * (1 - 1e-9) <= found[way].upper <= exact * (1 + 1e-9)
    else:  # far to the right, 0.25 N(2.5, 1) against 0.5 N(0, 1)
        least = a * 2.5**2 / 2 + (a * math.log(0.25) - (a - 1) * math.log(0.5)) / (a - 1)
        assert found[0].upper >= least * (1 - 1e-6)
        assert found[0].upper <= 1.01 * least + 1


@pytest.mark.parametrize("order", ["1", "3/2", "2", "5"])
def test_a_small_allocation_is_written_out(order: str) -> None:
    """All 2^4 answers of four runs, of which one asks the unit."""
    base = FiniteLoss.of_pairs([(["1/4", "3/4"], ["3/5", "2/5"])], relation=AddRemove)
    loss, a = base.randomly_allocated(of=4), float(Fraction(order))
    ours, theirs = (0.25, 0.75), (0.6, 0.4)
    answers = list(product((0, 1), repeat=4))
    q = np.array([math.prod(theirs[y] for y in answer) for answer in answers])
    p = q * np.array([sum(ours[y] / theirs[y] for y in answer) / 4 for answer in answers])
    found = directed(loss.statement, Fraction(order))
    for way, exact in enumerate((moment(p, q, a), moment(q, p, a))):
        assert found[way].lower <= exact * (1 + 1e-6)
        assert exact * (1 - 1e-6) <= found[way].upper <= exact * 1.01


def test_allocated_noise_costs_a_hundredth_of_it_about() -> None:
    """A closed form for two runs: E (X + Y)^2/4 = (1 + e^(mu^2))/2; it was 4/2, what one run costs."""
    noise = GaussianLoss(1)
    exact = math.log((1 + math.e) / 2)
    found = noise.randomly_allocated(of=2).renyi(2)
    assert exact * (1 - 1e-9) <= found.upper <= exact * (1 + 1e-9)
    assert noise.randomly_allocated(of=100).renyi(4).upper < 0.036


@pytest.mark.parametrize("order", ["1", "2", "8"])
def test_shuffled_reports_cost_less_than_one(order: str) -> None:
    """The counts of ones among 400 reports, one of which changes: at most what is stated, which was 4 times more."""
    loss, a = ShuffledLoss(KaryResponse(epsilon=1, categories=2), users=400), float(Fraction(order))
    one = math.e / (1 + math.e)
    counts = np.array([math.comb(399, k) * (1 - one) ** k * one ** (399 - k) for k in range(400)])
    p, q = (np.append(counts, 0) * (1 - share) + np.append(0, counts) * share for share in (one, 1 - one))
    exact, found = moment(p, q, a), loss.renyi(order)
    assert exact <= found.upper
    assert found.upper <= 4 * exact
    assert found.upper < 0.1 * PureLoss(1).renyi(order).upper


@pytest.mark.parametrize("order", ["1", "3/2", "4"])
def test_the_exponential_mechanism_has_a_closed_form(order: str) -> None:
    """The worst of all pairs of two losses that are 1 apart."""
    a = float(Fraction(order))
    greatest = np.linspace(1e-6, 1 - 1e-6, 20_001)
    q = (np.exp(-greatest) - math.exp(-1)) / (1 - math.exp(-1))  # of the greater loss
    top, low = q * np.exp(a * greatest), (1 - q) * np.exp(a * (greatest - 1))
    each = (
        q * np.exp(greatest) * greatest + (1 - q) * np.exp(greatest - 1) * (greatest - 1)
        if a == 1
        else np.log(top + low) / (a - 1)
    )
    found = ExponentialMechanismLoss(1).renyi(order)
    assert found.lower <= each.max() * (1 + 1e-7)
    assert found.upper >= each.max() * (1 - 1e-12)
    assert found.width < 1e-12
