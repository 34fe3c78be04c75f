"""Sums of independent losses on a grid by one Fourier transform a part, with a bound on every error.

The laws are tilted by exp(tilt * loss), so that the threshold of interest is near the mean of the sum and absolute
errors of the transform become relative ones. delta is read off the product of the transforms by Parseval's formula,
because the transform of (1 - exp(epsilon - loss))+ exp(-tilt * loss) is a geometric sum. Every step and its error bound
is proved in docs/theory/composition.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.privacy.pld.law import UNIT, Floats

Complexes = NDArray[np.complex128]

TRANSFORM_ERROR = 8.0  # roundings per factor of two in the length, relative in the 2-norm; proved for at most 6.3
_NEGLIGIBLE = 60.0  # frequencies whose share is below exp(-this) of the whole enter as error alone


class Summand(NamedTuple):
    """`times` independent losses with probability masses[t] at first + step * t."""

    masses: Floats
    first: float
    times: int


@dataclass(frozen=True)
class Window:
    """Where the tilted sum lives: starts near `start`, has `length` grid points (a power of two).

    rise, fall: rates of the Chernoff bounds for what lies above and below; any positive number is valid.
    """

    start: float
    length: int
    rise: float
    fall: float


class TiltedSum:
    """The law of a sum of grid losses, ready to be asked for delta at thresholds near its tilted mean.

    Args:
        side: +1 to round everything upwards, -1 downwards.
    """

    def __init__(self, summands: Sequence[Summand], *, step: float, tilt: float, window: Window, side: int) -> None:
        self.step, self.tilt, self.length, self.side = step, tilt, window.length, side
        self._scale = 0.0  # log of the product of the tilting factors
        self._size = 0.0  # what the rounding of that sum is relative to
        self._parts = [self._tilted(summand) for summand in summands]
        self._origin = math.fsum(s.first * s.times for s in summands)
        self._start = math.ceil((window.start - self._origin) / step)
        self.start = self._origin + step * self._start
        self.end = self._origin + step * (self._start + window.length)
        self.slack = 4 * UNIT * math.fsum(abs(s.first) * s.times for s in summands) + 8 * UNIT * abs(self.end)
        self._above = self._chernoff(summands, window.rise)
        self._below = self._chernoff(summands, -window.fall)
        self._multiply(self._parts, [s.times for s in summands])
        del self._parts

    def delta(self, epsilon: float) -> float:
        """A bound on E max(0, 1 - exp(epsilon - sum)), from above if side is +1, from below if it is -1.

        Above: what lies beyond the window is added. Below: what was wrapped into the window is taken away again.
        """
        value, error = self._sum(epsilon)
        factor = math.exp(min(self._scale - self.tilt * epsilon, 700.0))
        fuzz = 16 * UNIT * (4 + self._size + self.tilt * (abs(epsilon) + abs(self.end)))
        if self.side > 0:
            if epsilon < self.start:  # what lies between was wrapped to where it counts less
                error += self._below / (1 + self.tilt)
            beyond = self._above * math.exp(min(self._scale - self.tilt * self.end, 700.0))
            return (factor * max(value + error, 0.0) + beyond) * (1 + fuzz)
        wrapped = (self._above + self._below) / (1 + self.tilt)
        return max(factor * (value - error - wrapped) * (1 - fuzz), 0.0)

    # --- preparation ---------------------------------------------------------------------------------------------

    def _tilted(self, summand: Summand) -> Floats:
        """Tilted masses of total about 1, each rounded to the side by more than its own error."""
        losses = summand.first + self.step * np.arange(summand.masses.size)
        exponents = self.tilt * losses
        top = float(exponents[summand.masses > 0].max())
        weights = summand.masses * np.exp(np.minimum(exponents - top, 0.0))
        log_total = top + math.log(float(weights.sum()))
        exponents_left = exponents - log_total
        tilted: Floats = summand.masses * np.exp(np.minimum(exponents_left, 700.0))
        tilted[(exponents_left > 700) & (summand.masses > 0)] = 1.0 if self.side > 0 else 0.0  # masses below 1e-304
        self._scale += summand.times * log_total
        self._size += summand.times * abs(log_total)
        fuzz = UNIT * (16 + 8 * np.abs(exponents) + 4 * abs(log_total))
        return np.asarray(tilted * np.maximum(1 + self.side * fuzz, 0.0))

    def _chernoff(self, summands: Sequence[Summand], rate: float) -> float:
        """A bound on the tilted probability above the window (rate > 0) or below it (rate < 0)."""
        total = 0.0
        for tilted, summand in zip(self._parts, summands, strict=True):
            present = np.flatnonzero(tilted)
            logs = rate * self.step * present + np.log(tilted[present])
            top = float(logs.max())
            total += summand.times * (top + math.log(float(np.exp(logs - top).sum()) * (1 + 1e-12)))
        edge = self._start + (self.length if rate > 0 else 0)
        return min(math.exp(min(total - rate * self.step * edge, 0.0)) * 1.01, 1.0)

    def _multiply(self, parts: Sequence[Floats], counts: Sequence[int]) -> None:
        transforms, noises, logs = [], [], []
        for tilted in parts:
            folded = _folded(tilted, self.length)
            transform = np.fft.rfft(folded)
            noise = TRANSFORM_ERROR * UNIT * math.log2(self.length) * math.sqrt(self.length)
            noises.append(noise * math.sqrt(float(folded @ folded)) * 1.001 + 1e-300)
            logs.append(np.log(np.abs(transform) * (1 + 8 * UNIT) + noises[-1]))
            transforms.append(transform)
        log_product = np.zeros(self.length // 2 + 1)
        for log, count in zip(logs, counts, strict=True):
            log_product += count * log
        frequencies = np.arange(self.length // 2 + 1)
        reach = np.log(_largest_weight(frequencies, self.length, self.tilt * self.step))
        twice = np.full(frequencies.size, 2.0)
        twice[0] = twice[-1] = 1.0
        share = log_product + reach
        band = np.flatnonzero(share > float(share.max()) - _NEGLIGIBLE)
        outside = np.ones(frequencies.size, dtype=bool)
        outside[band] = False
        bound = twice * np.exp(np.minimum(share, 700.0))
        steps = 4 * sum(counts) + 8
        self._error = float(bound[outside].sum()) + UNIT * steps * float(bound[band].sum())
        for log, count, noise in zip(logs, counts, noises, strict=True):
            squares = twice[band] * np.exp(2 * np.minimum(share[band] - log[band], 350.0))
            self._error += count * noise * math.sqrt(float(squares.sum()))
        self._error *= 1.001 / self.length
        self._band = frequencies[band]
        self._product = twice[band] * _product([t[band] for t in transforms], counts)
        self._bound = bound[band]

    # --- reading -------------------------------------------------------------------------------------------------

    def _sum(self, epsilon: float) -> tuple[float, float]:
        """Sum over losses l > epsilon in the window of mass times exp(tilt (epsilon - l)) (1 - exp(epsilon - l))."""
        begin = max(math.floor((epsilon - self._origin) / self.step) + 1, self._start)
        terms = self._start + self.length - begin
        if terms <= 0:
            return 0.0, 0.0
        beyond = max(self._origin + self.step * begin - epsilon, 0.0)
        weights = _weights(self._band, self.length, (self.tilt, self.step), beyond, terms)
        turned = weights * _turns(self._band, begin, self.length)
        value = float((self._product * turned).real.sum()) / self.length
        return value, self._error + 128 * UNIT * float(self._bound.sum()) / self.length


def _folded(masses: Floats, length: int) -> Floats:
    if masses.size <= length:
        return np.pad(masses, (0, length - masses.size))
    rows = -(-masses.size // length)
    return np.asarray(np.pad(masses, (0, rows * length - masses.size)).reshape(rows, length).sum(axis=0))


def _product(transforms: Sequence[Complexes], counts: Sequence[int]) -> Complexes:
    """The product of powers by repeated squaring; relative error below 4 (sum of counts) roundings."""
    result = np.ones(transforms[0].size, dtype=np.complex128)
    for transform, count in zip(transforms, counts, strict=True):
        square, left = transform, count
        while left:
            if left & 1:
                result = result * square
            left >>= 1
            square = square * square if left else square
    return result


def _turns(frequencies: NDArray[np.int64], places: int, length: int) -> Complexes:
    """exp(2 pi i f places / length), the angle reduced in whole numbers."""
    angles = (frequencies * (places % length)) % length * (2 * np.pi / length)
    return np.asarray(np.cos(angles) + 1j * np.sin(angles))


def _weights(
    frequencies: NDArray[np.int64], length: int, scale: tuple[float, float], beyond: float, terms: int
) -> Complexes:
    """Sum over m < terms of exp(i angle m) (exp(-tilt l) - exp(-(tilt + 1) l)), l = beyond + step m."""
    tilt, step = scale
    total: Complexes = np.zeros(frequencies.size, dtype=np.complex128)
    for rate, sign in ((tilt, 1.0), (tilt + 1, -1.0)):
        decay = rate * step
        last = np.exp(-decay * terms) * _turns(frequencies, terms, length)
        numerator = 1 - last
        numerator[frequencies == 0] = -np.expm1(-decay * terms)
        total += sign * math.exp(-rate * beyond) * numerator / _one_minus(frequencies, length, decay)
    return total


def _one_minus(frequencies: NDArray[np.int64], length: int, decay: float) -> Complexes:
    """1 - exp(-decay + i angle), without cancellation."""
    half = frequencies * (np.pi / length)
    sine = np.sin(half)
    real = -np.expm1(-decay) + 2 * np.exp(-decay) * sine**2
    return np.asarray(real - 1j * (2 * np.exp(-decay) * sine * np.cos(half)))


def _largest_weight(frequencies: NDArray[np.int64], length: int, decay: float) -> Floats:
    """A bound on the size of `_weights` and on what its rounding is relative to, for every threshold."""
    return np.asarray(6 / np.abs(_one_minus(frequencies, length, decay)))
