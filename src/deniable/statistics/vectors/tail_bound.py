"""Tails of the distances of private rows from a public centre, by two quantiles."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from deniable.mechanisms.ranks import ExponentialQuantile, Points
from deniable.mechanisms.vectors.clipping import squared_norms
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats

_RANKS = 20  # times what a draw may miss: so many rows are beyond the far quantile
_ASIDE = 5  # times the same: so far outside is every draw aimed
_MAX_SHARE_BEYOND = 0.08  # of the rows, beyond the far quantile
NEARER = 4  # times as many rows are beyond the near one: near enough to show how fast rows thin out where it matters
_SKEWED = 5.3  # for an exponential column, within a deviation of whose mean the rows of the short side are
_FINEST = 1 / 16  # of a distance: no tail is believed to be thinner than that, because rows may lie in lumps

_RAREST = 1e-290  # share of rows; floats tell no smaller ones apart

_DIGITS = 5  # of squared distances, in binary, behind the leading one
_SHIFT = 52 - _DIGITS
_MIN_SQUARE_BITS = int(np.float64(2.0**-60).view(np.int64)) >> _SHIFT  # a smaller square is as good as this


@dataclass(frozen=True, kw_only=True)
class TailBound:
    """Bound on the share of rows at a distance above t.

    It is at most `beyond` exp(-(t - far) / scale), for t above `inner`.

    What a row beyond a radius has there too much is `scale` on average, in one column at most.
    """

    inner: float
    far: float
    beyond: float
    scale: float

    @classmethod
    def through(cls, inner: float, far: float, *, beyond: float) -> "TailBound":
        """Return the bound through two quantiles.

        The share `beyond` lies beyond `far`, and `NEARER` times as many beyond `inner`.
        """
        far = max(far, inner)
        skewed = max(1.0, _SKEWED * NEARER * beyond)
        scale = max(skewed * (far - inner) / math.log(NEARER), _FINEST * far)
        return cls(inner=inner, far=far, beyond=beyond, scale=scale)

    def clip(self, unit: float, size: float) -> tuple[float, float]:
        """Return a radius, and the most that clipping to it takes from a mean.

        With the chance in that.

        Args:
            unit: half of the interval for rows clipped to norm 1. The radius weighs it against what is lost, which is
                mostly less than its bound.
        """
        share = max(2 * unit, _RAREST)
        radius = max(self.inner, self.far + self.scale * math.log(self.beyond / share))
        left = min(1.0, self.beyond * math.exp((self.far - radius) / self.scale))
        return radius, self.scale * (left + math.sqrt(2 * left / size))


@dataclass(frozen=True)
class RadiusSearch:
    """Two exponential mechanisms on the ranks of distances.

    Args:
        size: the number of rows, as far as it is public.
        rate: of each; epsilon / (2 rows), because no distance from a rank moves by more than 1 for a row.
    """

    size: float
    rate: Fraction

    @property
    def beyond(self) -> float:
        """The share of rows beyond the far quantile."""
        size_times_rate = self.size * float(self.rate)
        return max(_RANKS / size_times_rate, _RAREST) if size_times_rate else math.inf

    @property
    def is_possible(self) -> bool:
        """Whether there are enough rows."""
        return self.beyond <= _MAX_SHARE_BEYOND

    def tail(self, rows: Floats, *, centre: Floats, largest: float, bits: Bits) -> TailBound:
        """Return the tail bound of the rows, seen from the centre.

        Args:
            largest: a distance that hardly any row exceeds.
        """
        last = (int(np.float64(largest**2).view(np.int64)) >> _SHIFT) - _MIN_SQUARE_BITS
        cells = (squared_norms(rows - centre).view(np.int64) >> _SHIFT) - _MIN_SQUARE_BITS
        aside = math.ceil(_ASIDE / self.rate)
        beyond = Fraction(self.beyond).limit_denominator(10**6)
        inner, far = (
            ExponentialQuantile(rate=self.rate, quantile=1 - share, shift=Fraction(shift), points=Points(last + 1))
            .release(cells, bits=bits)
            .value
            for share, shift in ((NEARER * beyond, -aside), (beyond, aside))
        )
        return TailBound.through(_outer_edge(inner), _outer_edge(far), beyond=self.beyond)


def _outer_edge(cell: int) -> float:
    return math.sqrt(float(np.int64((cell + _MIN_SQUARE_BITS + 1) << _SHIFT).view(np.float64)))
