"""The laws of noise fitted to the data, written from the docstrings."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, stats

from deniable.mechanisms.instance.distance import NO
from tests.mechanisms.additive.laws import of_weights
from tests.mechanisms.instance.tables import multisets
from tests.mechanisms.laws import Law, Weaker


def cdf_of(noise: Any, z: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distribution function of the noise Z."""
    if noise.kind == "smooth_student_t":
        return stats.t(float(noise.degrees)).cdf(z)
    if noise.kind == "smooth_laplace":
        return stats.laplace.cdf(z)
    if noise.kind == "smooth_gaussian":
        return stats.norm.cdf(z)
    if noise.kind == "smooth_pareto":
        tail = float(noise.epsilon / noise.beta)
        beyond = stats.lomax.sf(np.abs(z), tail, scale=tail + 1) / 2
        return np.where(z < 0, beyond, 1 - beyond)
    nodes = np.linspace(-9, 9, 2001)
    inner = stats.laplace.cdf(z[:, None] * np.exp(-float(noise.spread) * nodes))
    return integrate.simpson(inner * stats.norm.pdf(nodes), x=nodes, axis=1)


def shift_of(noise: Any) -> float:
    """How far the statistic may move, in units of the noise, from the formula in the docstring."""
    beta = float(noise.beta)
    if noise.kind == "smooth_student_t":
        degrees = float(noise.degrees)
        reach = [(2 * float(noise.epsilon) - (degrees - 1) * b) / (degrees + 1) for b in (0, beta)]
        squares = [math.exp(b) * (math.cosh(r) - math.cosh(b)) for b, r in zip((0, beta), reach, strict=True)]
        return math.sqrt(2 * degrees * min(squares))
    if noise.kind == "smooth_pareto":
        g = 1 + float(noise.epsilon) / beta
        return min(g * math.exp(b) * math.expm1((float(noise.epsilon) - b) / g) for b in (0, beta))
    if noise.kind == "smooth_gaussian":
        return float(noise.shift)  # whose condition tests/mechanisms/instance/test_smooth_gaussian.py has
    if noise.kind == "smooth_laplace":
        epsilon, delta = float(noise.epsilon), float(noise.delta)
        c = math.expm1(beta)
        tail = c * math.acosh(delta * math.exp((epsilon + beta) / c) / -math.expm1(-beta))
        return min(epsilon, math.exp(beta) * (epsilon - beta), tail)
    spread = float(noise.spread)
    return math.exp(-1.5 * spread**2) * (math.sqrt(2 * float(noise.rho)) - beta / spread)


def rounded(noise: Any, value: float, bound: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The law of value + bound / shift * Z, clamped and rounded."""
    k = np.arange(noise.lower, noise.upper + 1)
    edges = cdf_of(noise, (k[:-1] + 0.5 - value) * shift_of(noise) / bound)
    return k, np.diff(np.concatenate([[0.0], edges, [1.0]]))


def of_bounds(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    value, *local = exact
    bound = max(a * math.exp(-float(mechanism.beta) * k) for k, a in enumerate(local))
    return rounded(mechanism, value, bound)


def of_quantile(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Of three records with the median at an end of the domain: one change moves it to the other end."""
    return rounded(mechanism.noise, sorted(exact)[1], 12)


def of_median(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The median of (0, 12) and (0, 12, 12): one record less or more moves it across the domain."""
    return rounded(mechanism.noise, sorted(exact)[(len(exact) - 1) // 2], 12)


def of_trimmed_mean(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Of four records: one change moves one of the two middle ones across the domain."""
    return rounded(mechanism.noise, sum(sorted(exact)[1:-1]) / 2, 6)


def of_central_mean(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Of (0, 0, 12, 12) or (0, 0, 12), one record of which is left: that can be anything within the bounds."""
    if len(exact) == 3:
        return rounded(mechanism.noise, sorted(exact)[1], 12)
    return rounded(mechanism.noise, sum(sorted(exact)[1:-1]) / 2, max(12 * math.exp(-float(mechanism.noise.beta)), 6))


def of_triangles(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The two vertices have all others as neighbours."""
    return rounded(mechanism.noise, 5 * (exact[:2] == (0, 1)), 5)


def laplace_tail(mechanism: Any, margin: int) -> float:
    """P(test noise > margin), summed."""
    k = np.arange(-2000, 2001)
    mass = np.exp(-np.abs(k) / float(mechanism.test.scale))
    return float(mass[k > margin].sum() / mass.sum())


def of_proposal(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    value, distance = exact
    passes = laplace_tail(mechanism, mechanism.threshold - distance)
    k = np.arange(-200, 201)
    mass = np.exp(-np.abs(k) / float(mechanism.noise.scale))
    return np.append(NO, value + k), np.append(1 - passes, passes * mass / mass.sum())


def of_lead(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    second, first = np.sort(exact)[-2:]
    passes = laplace_tail(mechanism, mechanism.threshold - (first - second))
    return np.array([NO, exact.index(first)]), np.array([1 - passes, passes])


def of_lengths(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    mass = np.exp(-float(mechanism.rate) * np.array(exact))
    return np.arange(mechanism.lower, mechanism.upper + 1), mass / mass.sum()


def of_inverse_quantile(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """len by trying all tables: the least number of records to replace, for a quantile within `smoothing`."""
    domain = range(mechanism.lower, mechanism.upper + 1)
    rank = math.ceil(mechanism.quantile * len(exact))
    lengths = dict.fromkeys(domain, len(exact) + 1)
    for table in multisets(domain, len(exact)):
        changes = len(exact) - sum((Counter(table) & Counter(exact)).values())
        for t in domain:
            if abs(table[rank - 1] - t) <= mechanism.smoothing:
                lengths[t] = min(lengths[t], changes)
    return of_lengths(mechanism, tuple(lengths[t] for t in domain))


def of_inverse_median(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """len by trying all tables that are larger or smaller by few records: the least number added and removed."""
    domain = range(mechanism.lower, mechanism.upper + 1)
    lengths = dict.fromkeys(domain, len(exact) + 2)
    for size in range(1, 2 * len(exact) + 2):
        for table in multisets(domain, size):
            changes = len(exact) + size - 2 * sum((Counter(table) & Counter(exact)).values())
            for t in domain:
                if abs(table[(size - 1) // 2] - t) <= mechanism.smoothing:
                    lengths[t] = min(lengths[t], changes)
    return of_lengths(mechanism, tuple(lengths[t] for t in domain))


def of_blocks(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """All ways to put the units into blocks, whose values are sums; the inner law is written here too."""
    found: Counter[int] = Counter()
    ways = list(product(range(mechanism.blocks), repeat=len(exact)))
    for way in ways:
        sums = np.zeros(mechanism.blocks, dtype=np.int64)
        np.add.at(sums, list(way), np.array(exact, dtype=np.int64))
        records = np.clip(sums, mechanism.lower, mechanism.upper)
        if mechanism.inner.kind == "laplace":
            outcomes, chances = of_weights(lambda noise, k: np.exp(-np.abs(k) / float(noise.scale)))(
                mechanism.inner, (int(records.sum()),)
            )
        else:
            outcomes, chances = of_inverse_quantile(mechanism.inner, tuple(records.tolist()))
        for outcome, chance in zip(outcomes.tolist(), chances.tolist(), strict=True):
            found[outcome] += chance / len(ways)
    return np.array(sorted(found)), np.array([found[outcome] for outcome in sorted(found)])


def weaker_test(mechanism: Any) -> Any:
    """0.7 times the noise of the distance."""
    return replace(mechanism, test=replace(mechanism.test, scale=mechanism.test.scale * Fraction(7, 10)))


def weaker_rate(mechanism: Any) -> Any:
    return replace(mechanism, rate=mechanism.rate * Fraction(10, 7))


def weaker_noise(noise: Any) -> Any:
    """About 0.7 times the noise."""
    if noise.kind == "smooth_log_normal":
        return replace(noise, rho=2 * noise.rho)
    return replace(noise, epsilon=noise.epsilon * Fraction(7, 5))


def weaker_statistic(mechanism: Any) -> Any:
    return replace(mechanism, noise=weaker_noise(mechanism.noise))


LAWS: dict[str, Law] = {
    "smooth_student_t": of_bounds,
    "smooth_pareto": of_bounds,
    "smooth_gaussian": of_bounds,
    "smooth_laplace": of_bounds,
    "smooth_log_normal": of_bounds,
    "smooth_median": of_median,
    "smooth_quantile": of_quantile,
    "smooth_trimmed_mean": of_trimmed_mean,
    "smooth_central_mean": of_central_mean,
    "smooth_triangles": of_triangles,
    "propose_test_release": of_proposal,
    "stable_selection": of_lead,
    "inverse_sensitivity": of_lengths,
    "inverse_median": of_inverse_median,
    "inverse_quantile": of_inverse_quantile,
    "sample_and_aggregate": of_blocks,
}
WEAKER: dict[str, Weaker] = {
    "smooth_student_t": weaker_noise,
    "smooth_pareto": weaker_noise,
    "smooth_gaussian": weaker_noise,
    "smooth_laplace": weaker_noise,
    "smooth_log_normal": weaker_noise,
    "smooth_median": weaker_statistic,
    "smooth_quantile": weaker_statistic,
    "smooth_trimmed_mean": weaker_statistic,
    "smooth_central_mean": weaker_statistic,
    "smooth_triangles": weaker_statistic,
    "propose_test_release": weaker_test,
    "stable_selection": weaker_test,
    "inverse_sensitivity": weaker_rate,
    "inverse_median": weaker_rate,
    "inverse_quantile": weaker_rate,
    "sample_and_aggregate": lambda mechanism: replace(
        mechanism, inner=replace(mechanism.inner, scale=mechanism.inner.scale * Fraction(7, 10))
    ),
}
RUNS = dict.fromkeys(LAWS, 80_000) | {"smooth_gaussian": 300_000}  # whose tails show less of the claim
