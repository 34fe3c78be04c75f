"""Estimates from randomised answers: unbiased shares, their variance, intervals."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.response.randomized import RandomizedResponse
from deniable.mechanisms.response.tally import shares_of_population, shares_within
from deniable.numbers import balls
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import (
    exact_rational,
    positive_integer,
    positive_rational,
    shown,
    whole_number,
    yes_or_no,
)

if TYPE_CHECKING:
    from flint import arb

Inequality = Literal["hoeffding", "chebyshev"]
Method = Literal["exact"] | Inequality

_MOST_REPORTS = 10**8  # among which the exact number is searched
_WINDOW = 1000  # tallies on either side that are tried first
_LARGEST_TALLY = 2**53  # reports in all
_LEAST_MISS = Fraction(1, 2**200)  # below it floats lose tails
_MIN_DIFFERENCE = 1e-9  # relatively: less cannot be seen in so many reports


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Estimates from reports that are already public; all of it is post-processing.

    With p the probability that an answer is reported by those who hold it, and q by those who do not, a tally c of n
    reports gives the share (c/n - q)/(p - q), which has no bias. It may lie outside [0, 1].

    Args:
        mechanism: the `RandomizedResponse` that made the reports.
        tally: how often each answer was reported.

    >>> shares = Shares(mechanism=RandomizedResponse(choices=2, truth="3/4"), tally=(400, 600))
    >>> shares.values.round(3).tolist()
    [0.3, 0.7]
    >>> lower, upper = shares.interval(level=0.95)
    >>> lower.round(3).tolist(), upper.round(3).tolist()
    ([0.246, 0.646], [0.354, 0.754])
    """

    mechanism: RandomizedResponse
    tally: tuple[int, ...]

    def __post_init__(self) -> None:
        _require_distinguishable(self.mechanism)
        given: object = self.tally
        choices = self.mechanism.choices
        listed = isinstance(given, tuple | list) or (isinstance(given, np.ndarray) and given.ndim == 1)
        if not listed or len(self.tally) != choices:
            raise InvalidParameterError(
                f"tally must hold a number >= 0 for each of {choices} answers, got {shown(given)}"
            )
        tally = tuple(whole_number("each number of the tally", count, lower=0) for count in self.tally)
        if not 1 <= sum(tally) <= _LARGEST_TALLY:
            raise InvalidParameterError(f"tally must hold from 1 to 2^53 reports, got {sum(tally)}")
        read_fields(self, tally=tally)

    @classmethod
    def of_reports(cls, mechanism: RandomizedResponse, reports: ArrayLike) -> "Shares":
        """Return the estimate from reports, an array of codes 0, ..., choices - 1."""
        _require_distinguishable(mechanism)
        codes = np.asarray(reports).ravel()
        if not codes.size:
            raise InvalidParameterError("reports must hold at least one report, got none")
        if codes.dtype.kind not in "iu" or not 0 <= codes.min() <= codes.max() < mechanism.choices:
            raise InvalidParameterError(f"reports must be integers from 0 to {mechanism.choices - 1}")
        return cls(mechanism=mechanism, tally=tuple(np.bincount(codes, minlength=mechanism.choices).tolist()))

    @property
    def reports(self) -> int:
        """Number of reports."""
        return sum(self.tally)

    @property
    def values(self) -> Floats:
        """Estimated share of each answer; the sum is 1."""
        p, q = _chances(self.mechanism)
        choices, count = self.mechanism.choices, self.reports
        above = np.array([(tally * choices - count) / (choices * count) for tally in self.tally])  # the even share
        return np.asarray(above / (p - q) + 1 / choices)

    @property
    def counts(self) -> Floats:
        """Estimated number of people with each answer."""
        return self.values * self.reports

    def variance(self, *, population: bool = False) -> Floats:
        """Return the variance of each share, as if the estimate were the truth.

        `variance_of_shares` takes any truth.
        """
        estimate = np.clip(self.values, 0.0, 1.0)
        return variance_of_shares(self.mechanism, estimate, reports=self.reports, population=population)

    def interval(
        self, *, level: object = 0.95, method: Method = "exact", population: bool = False
    ) -> tuple[Floats, Floats]:
        """Return lower and upper ends, within [0, 1], for each answer at this level.

        Args:
            level: at least this share of all intervals holds the true share, whatever it is; at most 1 - 2^-200.
            method: "exact" inverts the law of the tally; "hoeffding" and "chebyshev" hold by their inequalities.
            population: as in `variance_of_shares`; "exact" is then the interval of Clopper and Pearson (1934).
        """
        miss = _miss_in_floats(level)
        p, q = _chances(self.mechanism)
        if method == "exact":
            tallies = np.array(self.tally)
            if not population:
                return shares_within(tallies, self.reports, p, q, miss)
            if p > q:
                return shares_of_population(tallies, self.reports, p, q, miss)
            return shares_of_population(self.reports - tallies, self.reports, 1 - p, 1 - q, miss)
        inequality = _checked(method, "'exact', 'hoeffding' or 'chebyshev'")
        half = float(_half_width(self.mechanism, self.reports, miss, inequality, population))
        return np.clip(self.values - half, 0.0, 1.0), np.clip(self.values + half, 0.0, 1.0)


def variance_of_shares(
    mechanism: RandomizedResponse, shares: ArrayLike, *, reports: object, population: bool = False
) -> Floats:
    """Return the exact variance of the estimate of each share.

    It is [f p (1 - p) + (1 - f) q (1 - q)] / (n (p - q)^2) for a share f of n reports, with p the probability that an
    answer is reported by those who hold it, and q by those who do not.

    Args:
        mechanism: the `RandomizedResponse` that makes the reports.
        shares: of people who hold an answer, numbers of [0, 1] in any shape, each on its own.
        reports: how many there are, n.
        population: the people are themselves a random sample, and the share of the population is meant: f (1 - f)/n
            is added.

    >>> variance_of_shares(RandomizedResponse(choices=3, epsilon=1), [0.2], reports=40_000).round(7).tolist()
    [3.44e-05]
    """
    p, q = _require_distinguishable(mechanism)
    number = positive_integer("reports", reports)
    try:
        share = np.asarray(shares, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidParameterError(f"shares must be numbers in [0, 1], got {shown(shares)}") from error
    if not ((share >= 0) & (share <= 1)).all():
        raise InvalidParameterError(f"shares must be numbers in [0, 1], got {shown(shares)}")
    own = (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (number * (p - q) ** 2)
    return np.asarray(own + share * (1 - share) / number if yes_or_no("population", population) else own)


def reports_needed(
    mechanism: RandomizedResponse, *, error: object, level: object = 0.95, method: Method = "hoeffding"
) -> int:
    """Return the least number of reports for an estimate within `error` of the truth.

    Args:
        mechanism: the `RandomizedResponse` that makes the reports.
        error: in (0, 1), as a share of the people.
        level: the probability with which it holds, in (0, 1).
        method: "hoeffding", ln(2/miss) / (2 (p - q)^2 error^2), or "chebyshev", the variance over miss error^2; the
            variance is exact for two answers, and the greatest over all shares for more. "exact" takes about half as
            many as Hoeffding: with this number every tally has an interval of Clopper and Pearson (`population=True`)
            that is at most 2 error long, and with one report less some tally has a longer one.

    Guarantee: of "exact", proved in docs/theory/mechanisms/response.md; and with more reports, for level >= 0.85, every
        interval lies within those of two neighbouring tallies of the number found, taken together. So it may be longer
        than 2 error, by the distance of their ends, as some are for large errors. With Hoeffding's number or more none
        is.

    >>> reports_needed(RandomizedResponse(choices=3, epsilon=1), error="0.02")
    34769
    """
    _require_information(mechanism)
    wide = positive_rational("error", error)
    miss = _miss(level)
    if method == "exact":
        return _exactly_needed(mechanism, wide, level)
    if _checked(method, "'exact', 'hoeffding' or 'chebyshev'") == "chebyshev" and mechanism.truth is not None:
        p = mechanism.truth
        q = (1 - p) / (mechanism.choices - 1)
        return math.ceil(max(p * (1 - p), q * (1 - q)) / ((p - q) ** 2 * miss * wide**2))

    def minus() -> "arb":
        p, q = _enclosed(mechanism)
        if method == "chebyshev":
            return -(p * (1 - p)).max(q * (1 - q)) / ((p - q) ** 2 * balls.ball(miss * wide**2))
        return -(2 / balls.ball(miss)).log() / (2 * (p - q) ** 2 * balls.ball(wide**2))

    return -balls.certified_floor(minus)


def _exactly_needed(mechanism: RandomizedResponse, wide: Fraction, level: object) -> int:
    """Return a number with which no interval is too long, while with one less one is.

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
    chance = _miss_in_floats(level)

    def too_long(count: int, *, around: int | None = None) -> int | None:
        tallies = np.append(np.arange(0, count, -(-count // 64)), count)
        if around is not None:
            tallies = np.append(tallies, np.clip(np.arange(around - _WINDOW, around + _WINDOW), 0, count))
        ends = partial(shares_of_population, count=count, p=p, q=q, miss=chance)
        return _longer(np.unique(tallies), ends, float(2 * wide), everywhere=around is None)

    too_few = 0
    share = Fraction(1, 2)
    while True:
        number = enough
        while number - too_few > 1:
            middle = (too_few + number) // 2
            long_tally = too_long(middle, around=math.floor(share * middle))
            too_few, number = (too_few, middle) if long_tally is None else (middle, number)
            share = share if long_tally is None else Fraction(long_tally, middle)
        long_tally = None if number == enough else too_long(number)
        if long_tally is None:
            return number
        too_few = number
        share = Fraction(long_tally, number)


def _longer(
    tallies: NDArray[np.int64],
    ends: Callable[[NDArray[np.int64]], tuple[Floats, Floats]],
    length: float,
    *,
    everywhere: bool,
) -> int | None:
    """Return a tally whose interval is longer, or None if there is none.

    It is one of these or, if `everywhere`, anywhere between them.

    Both ends grow with the tally, so the intervals of tallies from a to b lie between the lower end of a and the upper
    end of b: runs of tallies for which this is too long are cut in two.
    """
    low, high = ends(tallies)
    start = tallies[:-1]
    end = tallies[1:]
    lower = low[:-1]
    upper = high[1:]
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


def _chances(mechanism: RandomizedResponse) -> tuple[float, float]:
    """Return the probability that an answer is reported by holders, and by others."""
    p, q = _enclosed(mechanism)
    return float(p), float(q)


def _enclosed(mechanism: RandomizedResponse) -> tuple["arb", "arb"]:
    if mechanism.truth is not None:
        return balls.ball(mechanism.truth), balls.ball((1 - mechanism.truth) / (mechanism.choices - 1))
    assert mechanism.epsilon is not None
    ratio = balls.ball(-mechanism.epsilon).exp()
    return 1 / (1 + (mechanism.choices - 1) * ratio), ratio / (1 + (mechanism.choices - 1) * ratio)


def _require_distinguishable(mechanism: object) -> tuple[float, float]:
    """`_chances` of a mechanism whose reports can tell something."""
    checked = _require_information(mechanism)
    p, q = _chances(checked)
    if abs(p - q) <= _MIN_DIFFERENCE * max(p, q):
        raise InvalidParameterError(
            "reports of this mechanism hardly depend on the answers: 2^53 of them would reveal nothing. Take a larger "
            f"epsilon than that of {shown(checked)}."
        )
    return p, q


def _require_information(mechanism: object) -> RandomizedResponse:
    if not isinstance(mechanism, RandomizedResponse):
        raise InvalidParameterError(
            f"shares are estimated from the reports of a RandomizedResponse, got {shown(mechanism)}"
        )
    if mechanism.truth is not None and mechanism.truth * mechanism.choices == 1:
        raise InvalidParameterError(
            f"truth must differ from 1/{mechanism.choices}, got {shown(mechanism.truth)}: the reports do not depend "
            "on the answers, and nothing can be estimated. Take a bias gamma > 0."
        )
    return mechanism


def _miss(level: object) -> Fraction:
    miss = 1 - exact_rational("level", level)
    if not 0 < miss < 1:
        raise InvalidParameterError(f"level must be in (0, 1), got {shown(level)}")
    return miss


def _miss_in_floats(level: object) -> float:
    miss = _miss(level)
    if miss < _LEAST_MISS:
        raise InvalidParameterError(f"level must be at most 1 - 2^-200, got {shown(level)}")
    return float(miss)


def _checked(method: object, known: str) -> Inequality:
    if method == "hoeffding":
        return "hoeffding"
    if method == "chebyshev":
        return "chebyshev"
    raise InvalidParameterError(f"method must be {known}, got {shown(method)}")
