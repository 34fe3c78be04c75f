"""What randomised answers say about the people who gave them: shares without bias, their variance, intervals."""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.response.randomized import RandomizedResponse
from deniable.noise import refine
from deniable.privacy.exact import exact_rational, positive_rational, shown

if TYPE_CHECKING:
    from flint import arb

Floats = NDArray[np.float64]
Inequality = Literal["hoeffding", "chebyshev"]
Method = Literal["exact"] | Inequality

_MOST_REPORTS = 10**8  # among which the exact number is searched
_WINDOW = 1000  # tallies on either side that are tried first
_REACH = 12  # standard deviations beyond which a binomial law is left out: below 10^-30


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Estimates from reports that are already public; all of it is post-processing.

    With p the probability that an answer is reported by those who hold it, and q by those who do not, a tally c of n
    reports gives the share (c/n - q)/(p - q), which has no bias. It may lie outside [0, 1].

    Args:
        mechanism: that made the reports.
        tally: how often each answer was reported.
    """

    mechanism: RandomizedResponse
    tally: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.tally) != self.mechanism.choices or sum(self.tally) < 1 or min(self.tally) < 0:
            raise InvalidParameterError(
                f"tally must hold a number >= 0 for each of {self.mechanism.choices} answers and at least one report, "
                f"got {shown(self.tally)}"
            )
        _require_information(self.mechanism)

    @classmethod
    def of_reports(cls, mechanism: RandomizedResponse, reports: ArrayLike) -> "Shares":
        """The estimate from reports, an array of codes 0, ..., choices - 1."""
        codes = np.asarray(reports).ravel()
        if not codes.size:
            raise InvalidParameterError("reports must hold at least one report, got none")
        if codes.dtype.kind not in "iu" or not 0 <= codes.min() <= codes.max() < mechanism.choices:
            raise InvalidParameterError(f"reports must be integers from 0 to {mechanism.choices - 1}")
        return cls(mechanism=mechanism, tally=tuple(np.bincount(codes, minlength=mechanism.choices).tolist()))

    @property
    def reports(self) -> int:
        """Their number."""
        return sum(self.tally)

    @property
    def values(self) -> Floats:
        """The estimated share of each answer; the sum is 1."""
        p, q = _chances(self.mechanism)
        return np.asarray((np.array(self.tally) / self.reports - q) / (p - q))

    @property
    def counts(self) -> Floats:
        """The estimated number of people with each answer."""
        return self.values * self.reports

    def variance(self, *, population: bool = False) -> Floats:
        """Of each share, [f p (1 - p) + (1 - f) q (1 - q)] / (n (p - q)^2), at the estimate f.

        Args:
            population: the people are themselves a random sample, and the share of the population is meant: f (1 - f)/n
                is added.
        """
        p, q = _chances(self.mechanism)
        share = np.clip(self.values, 0.0, 1.0)
        own = (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (self.reports * (p - q) ** 2)
        return np.asarray(own + share * (1 - share) / self.reports if population else own)

    def interval(
        self, *, level: object = 0.95, method: Method = "exact", population: bool = False
    ) -> tuple[Floats, Floats]:
        """Lower and upper ends, within [0, 1], each answer on its own at this level.

        Args:
            level: at least this share of all intervals holds the true share, whatever it is.
            method: "exact" inverts the law of the tally; "hoeffding" and "chebyshev" hold by their inequalities.
            population: as in `variance`; "exact" is then the interval of Clopper and Pearson (1934).
        """
        miss = float(_miss(level))
        p, q = _chances(self.mechanism)
        if method == "exact":
            inverted = _clopper_pearson if population else _inverted
            ends = [inverted(tally, self.reports, p, q, miss) for tally in self.tally]
            return np.array([low for low, _ in ends]), np.array([high for _, high in ends])
        inequality = _checked(method, "'exact', 'hoeffding' or 'chebyshev'")
        half = float(_half_width(self.mechanism, self.reports, miss, inequality, population))
        return np.clip(self.values - half, 0.0, 1.0), np.clip(self.values + half, 0.0, 1.0)


def reports_needed(
    mechanism: RandomizedResponse, *, error: object, level: object = 0.95, method: Method = "hoeffding"
) -> int:
    """The least number of reports for which a share is within `error` of the truth with probability `level`.

    Args:
        method: "hoeffding", ln(2/miss) / (2 (p - q)^2 error^2), or "chebyshev", the variance over miss error^2; the
            variance is exact for two answers, and the greatest over all shares for more. "exact" takes about half as
            many as Hoeffding: with this number every tally has an interval of Clopper and Pearson (`population=True`)
            that is at most 2 error long, and with one report less some tally has a longer one.

    Guarantee: of "exact", proved in docs/theory/response.md; and with more reports, for level >= 0.85, every interval
        lies within those of two neighbouring tallies of the number found.
    """
    _require_information(mechanism)
    wide, miss = positive_rational("error", error), _miss(level)
    if method == "exact":
        return _exactly_needed(mechanism, wide, miss, level)
    if _checked(method, "'exact', 'hoeffding' or 'chebyshev'") == "chebyshev" and mechanism.truth is not None:
        p = mechanism.truth
        q = (1 - p) / (mechanism.choices - 1)
        return math.ceil(max(p * (1 - p), q * (1 - q)) / ((p - q) ** 2 * miss * wide**2))

    def minus() -> "arb":
        p, q = _enclosed(mechanism)
        if method == "chebyshev":
            return -(p * (1 - p)).max(q * (1 - q)) / ((p - q) ** 2 * refine.ball(miss * wide**2))
        return -(2 / refine.ball(miss)).log() / (2 * (p - q) ** 2 * refine.ball(wide**2))

    return -refine.certified_floor(minus)


def _exactly_needed(mechanism: RandomizedResponse, wide: Fraction, miss: Fraction, level: object) -> int:
    """A number with which no interval is too long, while with one less there is one that is.

    No report says nothing, and Hoeffding's number is enough. Between them bisection looks for long intervals where it
    found the last one; the number that is left is searched in full.
    """
    enough = reports_needed(mechanism, error=wide, level=level)
    if enough > _MOST_REPORTS:
        raise InvalidParameterError(
            f"error={shown(wide)} needs up to {enough} reports, and 10^8 are searched at most. Allow a larger error, "
            "or take method='hoeffding'."
        )
    p, q = _chances(mechanism)
    p, q = (p, q) if p > q else (1 - p, 1 - q)  # of the other tally

    def too_long(count: int, *, near: int | None = None) -> int | None:
        tallies = np.append(np.arange(0, count, -(-count // 64)), count)
        if near is not None:
            tallies = np.append(tallies, np.clip(np.arange(near - _WINDOW, near + _WINDOW), 0, count))
        ends = partial(_ends, count=count, p=p, q=q, miss=float(miss))
        return _longer(np.unique(tallies), ends, float(2 * wide), everywhere=near is None)

    least, place = 0, Fraction(1, 2)
    while True:
        number = enough
        while number - least > 1:
            middle = (least + number) // 2
            found = too_long(middle, near=math.floor(place * middle))
            least, number = (least, middle) if found is None else (middle, number)
            place = place if found is None else Fraction(found, middle)
        found = None if number == enough else too_long(number)
        if found is None:
            return number
        least, place = number, Fraction(found, number)


def _longer(
    tallies: NDArray[np.int64],
    ends: Callable[[NDArray[np.int64]], tuple[Floats, Floats]],
    length: float,
    *,
    everywhere: bool,
) -> int | None:
    """A tally whose interval is longer, one of these or anywhere between them; None if there is none.

    Both ends grow with the tally, so the intervals of tallies from a to b lie between the lower end of a and the upper
    end of b: runs of tallies for which this is too long are cut in two.
    """
    low, high = ends(tallies)
    start, end, lower, upper = tallies[:-1], tallies[1:], low[:-1], high[1:]
    while tallies.size:
        longest = int((high - low).argmax())
        if high[longest] - low[longest] > length:
            return int(tallies[longest])
        left = (upper - lower > length) & (end - start > 1) & everywhere
        start, end, lower, upper = start[left], end[left], lower[left], upper[left]
        tallies = (start + end) // 2
        low, high = ends(tallies)
        start, end = np.concatenate([start, tallies]), np.concatenate([tallies, end])
        lower, upper = np.concatenate([lower, low]), np.concatenate([high, upper])
    return None


def _half_width(mechanism: RandomizedResponse, count: int, miss: float, method: Inequality, population: bool) -> float:
    p, q = _chances(mechanism)
    if method == "hoeffding":
        return math.sqrt(math.log(2 / miss) / (2 * count)) / abs(p - q)
    if not population:
        return math.sqrt(max(p * (1 - p), q * (1 - q)) / (count * miss)) / abs(p - q)
    nearest = min(max(0.5, min(p, q)), max(p, q))  # the tally's share with the greatest variance
    return math.sqrt(nearest * (1 - nearest) / (count * miss)) / abs(p - q)


def _clopper_pearson(tally: int, count: int, p: float, q: float, miss: float) -> tuple[float, float]:
    """The interval for the share."""
    if p < q:
        tally, p, q = count - tally, 1 - p, 1 - q
    low, high = _ends(np.array([tally]), count, p, q, miss)
    return float(low[0]), float(high[0])


def _ends(tallies: NDArray[np.int64], count: int, p: float, q: float, miss: float) -> tuple[Floats, Floats]:
    """Ends of the intervals for the probability of a tally, carried over to the share, which is linear in it; p > q."""
    from scipy.special import betaincinv

    low = np.where(tallies > 0, betaincinv(np.maximum(tallies, 1), count - tallies + 1, miss / 2), 0.0)
    rest = np.maximum(count - tallies, 1)
    high = np.where(tallies < count, betaincinv(tallies + 1, rest, 1 - miss / 2), 1.0)
    return np.clip((low - q) / (p - q), 0.0, 1.0), np.clip((high - q) / (p - q), 0.0, 1.0)


def _inverted(tally: int, count: int, p: float, q: float, miss: float) -> tuple[float, float]:
    """All shares m/n whose law of the tally, Bin(m, p) + Bin(n - m, q), has more than miss/2 on either side of it."""
    if p < q:
        return _inverted(count - tally, count, 1 - p, 1 - q, miss)

    low = _first(lambda holders: _at_least(tally, holders, count, p, q) >= miss / 2, count)
    high = _first(lambda holders: _at_least(count - tally, holders, count, 1 - p, 1 - q) < miss / 2, count + 1) - 1
    return low / count, max(low, high) / count


def _first(holds: Callable[[int], bool], high: int) -> int:
    """The least integer >= 0 for which a growing condition holds; `high` if it does not hold below."""
    return bisect_left(range(high), True, key=holds)


def _at_least(tally: int, holders: int, count: int, p: float, q: float) -> float:
    """P[Bin(holders, p) + Bin(count - holders, q) >= tally]."""
    from scipy.stats import binom

    spread = _REACH * math.sqrt(holders * p * (1 - p)) + _REACH
    centre = holders * p
    own = np.arange(max(0, math.floor(centre - spread)), min(holders, math.ceil(centre + spread)) + 1)
    return float((binom.pmf(own, holders, p) * binom.sf(tally - own - 1, count - holders, q)).sum())


def _chances(mechanism: RandomizedResponse) -> tuple[float, float]:
    """The probability that an answer is reported by who holds it, and by who does not."""
    p, q = _enclosed(mechanism)
    return float(p), float(q)


def _enclosed(mechanism: RandomizedResponse) -> tuple["arb", "arb"]:
    if mechanism.truth is not None:
        return refine.ball(mechanism.truth), refine.ball((1 - mechanism.truth) / (mechanism.choices - 1))
    assert mechanism.epsilon is not None
    odds = refine.ball(-mechanism.epsilon).exp()
    return 1 / (1 + (mechanism.choices - 1) * odds), odds / (1 + (mechanism.choices - 1) * odds)


def _require_information(mechanism: RandomizedResponse) -> None:
    if mechanism.truth is not None and mechanism.truth * mechanism.choices == 1:
        raise InvalidParameterError(
            f"truth must differ from 1/{mechanism.choices}, got {shown(mechanism.truth)}: the reports do not depend "
            "on the answers, and nothing can be estimated. Take a bias gamma > 0."
        )


def _miss(level: object) -> Fraction:
    miss = 1 - exact_rational("level", level)
    if not 0 < miss < 1:
        raise InvalidParameterError(f"level must be in (0, 1), got {shown(level)}")
    return miss


def _checked(method: object, known: str) -> Inequality:
    if method == "hoeffding":
        return "hoeffding"
    if method == "chebyshev":
        return "chebyshev"
    raise InvalidParameterError(f"method must be {known}, got {shown(method)}")
