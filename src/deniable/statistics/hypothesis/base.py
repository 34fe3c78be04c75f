"""Base of hypothesis tests: a noisy statistic, and a p-value from simulations.

Every simulated data set goes through the mechanism that made the answer, so the noise is part of the null law. Where
the null law has no unknown parameter, the p-value is exact: under the null hypothesis P(p <= level) <= level for every
level. Elsewhere unknown parameters are filled in from the noisy answer (a parametric bootstrap), and the docstring of
the test says so; docs/theory/statistics/hypothesis.md has the measured error rates.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.noise.bits import Bits
from deniable.noise.simulation import uniforms
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import whole_number
from deniable.release.columns import Estimate
from deniable.statistics.statistic import Answer, Options, Statistic

Alternative = Literal["two-sided", "greater", "less"]

ALTERNATIVES = ("two-sided", "greater", "less")


class TestOptions(Options, total=False):
    """Options that every test takes besides its own parameters and those of `Options`.

    Args:
        simulations: of the null hypothesis, at most 10^7; no p-value is below 1 / (simulations + 1).
    """

    simulations: int


_MAX_SIMULATIONS = 10**7  # simulations


@dataclass(frozen=True, kw_only=True)
class HypothesisTest(Statistic):
    """A test of a null hypothesis: a noisy statistic and its p-value.

    The expected error is the standard deviation that the noise adds to the statistic; compare it with what the
    statistic would be without noise.

    Args:
        simulations: of the null hypothesis, at most 10^7; no p-value is below 1 / (simulations + 1).
    """

    null: ClassVar[str]  # the null hypothesis in words

    simulations: Annotated[int, partial(whole_number, lower=1, upper=_MAX_SIMULATIONS)] = 9999

    def _tested(self, statistic: float, p_value: float, *, notes: tuple[str, ...] = ()) -> Answer:
        return Answer(
            parts=(
                Estimate(name="statistic", estimates=np.array([statistic])),
                Estimate(name="p_value", estimates=np.array([p_value]), digits=4),
            ),
            notes=(f"null hypothesis: {self.null}", *notes),
        )


def p_value(observed: float | Floats, simulated: Floats) -> float:
    """Return the Monte Carlo p-value: the share of values that are as large.

    The observed value is counted among them.

    Guarantee: exact if the observed value has the law of the simulated ones under the null hypothesis.
    Source: Barnard (1963); Phipson, Smyth (2010), arXiv:1603.05766.
    """
    return float((1 + np.count_nonzero(simulated >= observed)) / (1 + len(simulated)))


def directed(values: Floats, alternative: Alternative) -> Floats:
    """Return values of which the largest speak most against the null hypothesis."""
    if alternative == "two-sided":
        return np.abs(values)
    return values if alternative == "greater" else -values


def checked_alternative(name: str, value: object) -> object:
    """Return one of `ALTERNATIVES`."""
    if value not in ALTERNATIVES:
        raise InvalidParameterError(f"{name} must be one of {', '.join(ALTERNATIVES)}, got {value!r}")
    return value


def noise(mechanism: AdditiveNoise, shape: tuple[int, ...], bits: Bits) -> Floats:
    """Draw the actual noise, for simulations."""
    return mechanism.release(np.zeros(shape, dtype=np.int64), bits=bits).value.astype(np.float64)


def multinomials(count: int, chances: Floats, runs: int, bits: Bits) -> NDArray[np.int64]:
    """Draw `runs` tables of `count` rows in cells with these chances.

    Shape (runs, cells).

    Cell after cell, each binomial given what is left: the exact law, up to the rounding of scipy's inverse.
    """
    from scipy.stats import binom

    left = np.full(runs, count, dtype=np.int64)
    tables = np.zeros((runs, len(chances)), dtype=np.int64)
    rest = np.concatenate([np.cumsum(chances[::-1])[::-1], [0.0]])
    for cell, chance in enumerate(chances[:-1]):
        share = min(1.0, chance / rest[cell]) if rest[cell] > 0 else 0.0
        tables[:, cell] = binom.ppf(uniforms((runs,), bits=bits), left, share)
        left -= tables[:, cell]
    tables[:, -1] = left
    return tables
