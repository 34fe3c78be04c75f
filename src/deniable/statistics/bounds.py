"""Public bounds of values, or bounds found privately for a part of the price.

The search counts the values by sign and binary order of magnitude: 201 bins from -2^60 to 2^60, those below 2^-40 in
one. A value lies in one bin, so one noisy histogram costs what a count does. Bins are certain where their count, or
that of two or four neighbours together, is above what noise reaches anywhere with probability 10^-4; from the certain
bins the range grows outwards over bins whose count is more than likely noise. A far bin needs proof, because a false
one would ruin the answer; the next bin needs only a hint, because a false one costs a factor of two and a bin left out
costs bias.

Values far from 0 for their spread (years, temperatures in kelvin) get wide bounds this way. Declare bounds for them, or
take a public centre away first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.privacy import PrivacyLoss, Relation, compose
from deniable.privacy.sensitivity import of_spread_sum
from deniable.statistics.statistic import checked_bounds

Bounds: TypeAlias = tuple[float, float] | Literal["auto"]

SHARE = Fraction(1, 4)
"""The part of the price that goes to the search for bounds."""

TOO_FEW = (
    "There are too few rows for this price to find bounds: the answer may be far from the truth, and its interval too "
    "narrow. Declare bounds."
)
"""Warning beside a `Guess`."""

_LOWEST, _HIGHEST = -40, 60  # binary orders of magnitude
_ORDERS = _HIGHEST - _LOWEST
_BINS = 2 * _ORDERS + 1
_DISTANCE = np.abs(np.abs(np.arange(_BINS) - _ORDERS) + _LOWEST)  # of the order of a bin from that of 1
_MIN_WIDTH, _MAX_WIDTH = 1e-290, 1e300  # distances of bounds
_SQUARED = 1e-150, 1e150  # where their squares must be floats
_VALUES_PER_BLOCK = 2**15  # values at once
_MAGNITUDE = 2**63 - 1  # the bits of a float64 without its sign
_NAN_FIELD = 0x7FF  # the exponent field of NaN, and of nothing else after the unit is taken
_FALSE = 1e-4  # chance that noise alone makes any bin certain
_RUNS = (1, 2, 4)  # bins that are tested together
_LIKELY = 0.85  # noise is within the lower threshold with this probability
_EMPTY_PART = 8  # the range reaches to 0 where its ends are that many times apart
_WINDOW = 5  # orders of magnitude that are taken together where none is certain
_TOLD = 4.0  # deviations above which so many orders hold values, and not noise alone


class Guess(tuple[float, float]):
    """Ends that noise alone may have made: too few rows for the price."""


@dataclass(frozen=True, kw_only=True)
class Bounding:
    """Ends to which values are clamped, declared or found by a mechanism.

    Args:
        public: the declared ends; None if they are searched.
        mechanism, loss: of the search; None if the ends are declared.
    """

    public: tuple[float, float] | None = None
    mechanism: AdditiveNoise | None = None
    loss: PrivacyLoss | None = None

    def with_loss(self, losses: Sequence[PrivacyLoss]) -> PrivacyLoss:
        """Return the loss of these and of the search together."""
        if self.loss is not None:
            losses = [self.loss, *losses]
        return compose(losses) if len(losses) > 1 else losses[0]

    def width(self) -> float:
        """Return the distance of the ends; 1 if they are not known yet.

        Errors are then shares of the width.
        """
        return self.public[1] - self.public[0] if self.public else 1.0

    def check_square(self) -> None:
        """Refuse ends so far apart, or so close, that a variance would be infinite or 0.

        Searched ones never are.
        """
        min_width, max_width = _SQUARED
        if self.public is not None and not min_width <= self.width() <= max_width:
            lower, upper = self.public
            raise InvalidParameterError(
                f"bounds must be between {min_width:.0e} and {max_width:.0e} apart, as their distance is squared, got "
                f"({lower:g}, {upper:g}). Choose another unit."
            )

    def ends(self, values: Floats, *, bits: Bits) -> tuple[float, float]:
        """Return the declared ends, or noisy ones that may be published.

        lower < upper, both finite; perhaps a `Guess`.

        Args:
            values: the rows that count, at most `rows` of each unit; NaN is in no bin.
        """
        if self.public is not None:
            return self.public
        assert self.mechanism is not None
        return _range(self.mechanism, self.mechanism.release(_counts(values), bits=bits).value)

    def notes(self, *ends: tuple[float, float]) -> tuple[str, ...]:
        """Return the sentences that a reader needs about ends that were found."""
        if self.public is not None:
            return ()
        intervals = " and ".join(f"[{lower:g}, {upper:g}]" for lower, upper in ends)
        note = (
            f"The bounds {intervals} were estimated privately, for {float(SHARE):.0%} of the price. Values outside "
            "were clamped; intervals do not count what that moves."
        )
        if any(isinstance(each, Guess) for each in ends):
            return note, TOO_FEW
        return (note,)


def resolve(bounds: object, price: Price, *, relation: Relation, rows: int = 1) -> tuple[Bounding, Price]:
    """Return the bounds of values, and the price that is left for the answer.

    Args:
        bounds: a pair (lower, upper) of public numbers, or "auto".
        rows: the most rows of one unit that count.

    Raises: InvalidParameterError if bounds are neither, or so far apart or so close that floats have no room.
    """
    if isinstance(bounds, str) and bounds == "auto":
        search, rest = price.split(SHARE, 1 - SHARE)
        sensitivity = of_spread_sum(lower=0, upper=1, total_rows=rows, relation=relation, cells=_BINS)
        mechanism = search.noise(sensitivity)
        return Bounding(mechanism=mechanism, loss=search.stated(mechanism.privacy_loss(sensitivity))), rest
    if isinstance(bounds, str) or bounds is None:
        raise InvalidParameterError(
            f'bounds must be a pair (lower, upper) of public numbers or "auto", got {bounds!r}. Values are clamped to '
            'them; "auto" spends a part of the price on finding them.'
        )
    lower, upper = checked_bounds(bounds)
    if not _MIN_WIDTH <= upper - lower <= _MAX_WIDTH:
        raise InvalidParameterError(
            f"bounds must be between {_MIN_WIDTH:.0e} and {_MAX_WIDTH:.0e} apart, got ({lower:g}, {upper:g}). Choose "
            "another unit."
        )
    return Bounding(public=(lower, upper)), price


def for_each_column(bounds: object, values: object) -> object:
    """Return the bounds of a table's columns, with "auto" repeated for all of them.

    Raises: InvalidParameterError if it does and nothing public says how many columns there are, as for a list.
    """
    if not isinstance(bounds, str) or bounds != "auto":
        return bounds
    shape = getattr(values, "shape", None)
    if not isinstance(shape, tuple) or not shape:
        raise InvalidParameterError(
            'bounds="auto" is for a frame or an array, which says how many columns it has. Write "auto" once for each '
            'column: bounds=["auto", "auto"].'
        )
    return ["auto"] * (shape[1] if len(shape) > 1 else 1)


def _counts(values: Floats) -> NDArray[np.int64]:
    """Return how many values lie in each bin, from large negative to large positive.

    A bin holds the values with 2^(k-1) < |x| <= 2^k, which have one exponent field once a unit in the last place is
    taken from |x|; those beyond the last order are in the last bin.
    """
    counts = np.zeros(_BINS + 1, dtype=np.int64)  # one more for NaN
    for start in range(0, len(values), _VALUES_PER_BLOCK):
        fields = np.ascontiguousarray(values[start : start + _VALUES_PER_BLOCK]).view(np.int64)
        orders = ((fields & _MAGNITUDE) - 1) >> 52
        missing = orders == _NAN_FIELD
        orders -= 1022 + _LOWEST
        np.clip(orders, 0, _ORDERS, out=orders)
        bins = np.where(fields < 0, _ORDERS - orders, _ORDERS + orders)
        bins[missing] = _BINS
        counts += np.bincount(bins, minlength=_BINS + 1)
    return counts[:_BINS]


def _range(mechanism: AdditiveNoise, noisy: NDArray[np.int64] | NDArray[np.object_]) -> tuple[float, float]:
    """Return the ends of the bins that seem to hold values.

    It is post-processing of noisy counts.
    """
    counts = noisy.astype(np.float64)
    likely = mechanism.half_width(_LIKELY)
    certain = np.flatnonzero(_proved(mechanism, counts) & (counts > likely))
    if not certain.size:
        return _best_guess(mechanism, counts)
    first, last = _grown(counts > likely, int(certain[0]), int(certain[-1]))
    lower, upper = _bin_ends(first)[0], _bin_ends(last)[1]
    if upper > 0 and (first == _ORDERS < last or 0 < _EMPTY_PART * lower <= upper):
        lower = 0.0
    if lower < 0 and (first < _ORDERS == last or 0 < _EMPTY_PART * -upper <= -lower):
        upper = 0.0
    return lower, upper


def _proved(mechanism: AdditiveNoise, counts: Floats) -> NDArray[np.bool_]:
    """Return bins in runs of 1, 2 or 4 whose sum is beyond what noise reaches.

    Orders far from 1 need more.

    The chance of `_FALSE` is shared by all runs, in proportion to e^(-d/4) for one that is d orders from 1. The sum of
    w Laplace variables of scale 1 exceeds x with probability at most (1 - z^2)^-w e^(-z x), for every z in (0, 1). A
    run has to prove more than what shorter runs have proved.
    """
    chance = _FALSE / (len(_RUNS) * np.exp(-_DISTANCE / 4).sum())
    single = -log(2 * chance)
    scale = max(mechanism.standard_deviation() / sqrt(2), mechanism.half_width(1 - 2 * chance) / single)
    certain = np.zeros(_BINS, dtype=np.bool_)
    z = np.linspace(0.01, 0.99, 99)
    for run in _RUNS:
        enough = single if run == 1 else float(np.min((-log(chance) - run * np.log1p(-(z**2))) / z))
        sums = np.convolve(np.where(certain, 0.0, counts), np.ones(run), "valid")
        distance = np.max([_DISTANCE[offset : offset + len(sums)] for offset in range(run)], axis=0)
        beyond = sums > scale * (enough + distance / 3)  # the best z is above 3/4
        for offset in range(run):
            certain[offset : offset + len(sums)] |= beyond
    return certain


def _best_guess(mechanism: AdditiveNoise, counts: Floats) -> tuple[float, float]:
    """Return ends where no bin is certain.

    They reach to the orders of magnitude that seem to hold most values, of one sign or of both.
    """
    upper, lower = counts[_ORDERS:], counts[_ORDERS::-1]
    both = np.append(counts[_ORDERS], upper[1:] + lower[1:])
    best = -np.inf
    ends = (-1.0, 1.0)
    for orders, spread, signs in ((upper, 1.0, (0, 1)), (lower, 1.0, (-1, 0)), (both, sqrt(2), (-1, 1))):
        noise = mechanism.standard_deviation() * spread * sqrt(_WINDOW) + 1e-9
        scores = np.convolve(orders, np.ones(_WINDOW), "valid") / noise
        scores -= _DISTANCE[_ORDERS + _WINDOW - 1 :] / 8
        index = int(np.argmax(scores)) + _WINDOW - 1
        if scores[index - _WINDOW + 1] > best:
            best = float(scores[index - _WINDOW + 1])
            _, last = _grown(orders > spread * mechanism.half_width(_LIKELY), index, index)
            far = _bin_ends(_ORDERS + last)[1]
            ends = (signs[0] * far, signs[1] * far)
    return Guess(ends) if best < _TOLD else ends


def _grown(hinted: NDArray[np.bool_], first: int, last: int) -> tuple[int, int]:
    """Return the run from first to last, grown by the hinted bins that adjoin it."""
    clear = np.flatnonzero(~hinted)
    before, behind = clear[clear < first], clear[clear > last]
    return (int(before[-1]) + 1 if before.size else 0), (int(behind[0]) if behind.size else hinted.size) - 1


def _bin_ends(index: int) -> tuple[float, float]:
    """Return the ends of a bin; the middle one reaches from -2^-40 to 2^-40."""
    order = abs(index - _ORDERS)
    if order == 0:
        return -(2.0**_LOWEST), 2.0**_LOWEST
    inner, outer = 2.0 ** (order + _LOWEST - 1), 2.0 ** (order + _LOWEST)
    return (inner, outer) if index > _ORDERS else (-outer, -inner)
