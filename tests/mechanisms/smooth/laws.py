"""The laws of noise in proportion to a smooth bound, written from the docstrings."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, stats

from tests.mechanisms.laws import Law, Weaker


def cdf_of(noise: Any, z: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distribution function of the noise Z."""
    if noise.kind == "smooth_student_t":
        return stats.t(float(noise.degrees)).cdf(z)
    if noise.kind == "smooth_laplace":
        return stats.laplace.cdf(z)
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
    "smooth_laplace": of_bounds,
    "smooth_log_normal": of_bounds,
    "smooth_median": of_median,
    "smooth_quantile": of_quantile,
    "smooth_trimmed_mean": of_trimmed_mean,
    "smooth_central_mean": of_central_mean,
    "smooth_triangles": of_triangles,
}
WEAKER: dict[str, Weaker] = {
    "smooth_student_t": weaker_noise,
    "smooth_pareto": weaker_noise,
    "smooth_laplace": weaker_noise,
    "smooth_log_normal": weaker_noise,
    "smooth_median": weaker_statistic,
    "smooth_quantile": weaker_statistic,
    "smooth_trimmed_mean": weaker_statistic,
    "smooth_central_mean": weaker_statistic,
    "smooth_triangles": weaker_statistic,
}
RUNS = dict.fromkeys(LAWS, 80_000)
