"""Sums of independent losses on a grid by one Fourier transform a part, with a bound on every error.

The laws are tilted by exp(tilt * loss), so that the threshold of interest is near the mean of the sum and absolute
errors of the transform become relative ones. Every step and its error bound is proved in docs/theory/composition.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.privacy.pld.coarsen import coarser_above, coarser_below
from deniable.privacy.pld.law import UNIT, Floats

Complexes = NDArray[np.complex128]

TRANSFORM_ERROR = 8.0  # roundings per factor of two in the length, relative in the 2-norm; proved for at most 6.3
_NEGLIGIBLE = 60.0  # frequencies whose share is below exp(-this) of the whole enter as error alone
_LARGEST_EXPONENT = 600.0


class Summand(NamedTuple):
    """`times` independent losses with probabilities exp(log_scale) * masses[t] at first + step * t.

    doubt: a bound on the sum of the errors of the tilted masses, relative to their sum.
    """

    masses: Floats
    first: float
    times: int
    log_scale: float = 0.0
    doubt: float = 0.0


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
        parts = [self._tilted(summand) for summand in summands]
        self._origin = math.fsum(s.first * s.times for s in summands)
        self._start = math.ceil((window.start - self._origin) / step)
        self.start = self._origin + step * self._start
        self.end = self._origin + step * (self._start + window.length)
        self.slack = 4 * UNIT * math.fsum(abs(s.first) * s.times for s in summands) + 8 * UNIT * abs(self.end)
        counts = [s.times for s in summands]
        self._above = self._chernoff(parts, counts, window.rise)
        self._below = self._chernoff(parts, counts, -window.fall)
        self._spill = 1.01 * math.expm1(min(math.fsum(s.doubt * s.times for s in summands) * 1.01, 1.0))
        self._masses, self._error = self._convolved(parts, counts)

    def delta(self, epsilon: float) -> float:
        """A bound on E max(0, 1 - exp(epsilon - sum)), from above if side is +1, from below if it is -1.

        Above: what lies beyond the window is added. Below: what was wrapped into the window is taken away again.
        """
        tilt, top = self.tilt, 1 / (1 + self.tilt)  # the greatest weight of a tilted mass
        norm = 1 / (self.step * tilt * (2 * tilt + 1) * (2 * tilt + 2)) + top**2
        value, error = self._sum(epsilon), self._error * math.sqrt(norm) + self._spill * top
        factor = math.exp(min(self._scale - tilt * epsilon, 700.0))
        fuzz = 16 * UNIT * (4 + self._size + tilt * (abs(epsilon) + abs(self.end)) + self.length)
        if self.side > 0:
            if epsilon < self.start:  # what lies between was wrapped to where it counts less
                error += self._below * top
            beyond = self._above * math.exp(min(self._scale - tilt * self.end, 700.0))
            return (factor * (value + error) + beyond) * (1 + fuzz)
        wrapped = (self._above + self._below) * top
        return max(factor * (value * (1 - fuzz) - error - wrapped), 0.0)

    def block(self, factor: int, times: int) -> Summand | None:
        """`times` of this sum, on a grid with `factor` times the step, to go on with; None if floats are too short."""
        middle = (self.start + self.end) / 2
        exponents = self.tilt * (self.start - middle + self.step * np.arange(self.length))
        if -exponents[0] > _LARGEST_EXPONENT:
            return None
        lost = math.sqrt(self.length) * self._error + self._above + self._below + self._spill
        present = (np.cumsum(self._masses) > lost) & (np.cumsum(self._masses[::-1])[::-1] > lost)  # the rest is noise
        masses = np.where(present, self._masses * np.exp(-exponents), 0.0)
        fuzz = UNIT * (16 + 8 * float(-exponents[0]) + 16 * (self._size + abs(self.tilt * middle)))
        masses *= max(1 + self.side * fuzz, 0.0)
        coarsen = coarser_above if self.side > 0 else coarser_below
        coarse = coarsen(masses, self.step, factor)
        places = self.start - middle + self.step * factor * np.arange(coarse.size)
        total = float(coarse @ np.exp(self.tilt * places))
        if total == 0:
            return None
        grown = max(float(self._masses.sum()) / total, 1.0) ** times  # the error is one of the masses before
        doubt = 4.1 * lost * math.exp(self.tilt * self.step * factor) / total * grown
        return Summand(coarse, self.start, times, self._scale - self.tilt * middle, doubt)

    # --- preparation ---------------------------------------------------------------------------------------------

    def _tilted(self, summand: Summand) -> Floats:
        """Tilted masses of total about 1, each rounded to the side by more than its own error."""
        losses = summand.first + self.step * np.arange(summand.masses.size)
        exponents = self.tilt * losses
        if not summand.masses.any():
            return np.zeros_like(summand.masses)
        top = float(exponents[summand.masses > 0].max())
        weights = summand.masses * np.exp(np.minimum(exponents - top, 0.0))
        log_total = top + math.log(float(weights.sum()))
        exponents_left = exponents - log_total
        tilted: Floats = summand.masses * np.exp(np.minimum(exponents_left, 700.0))
        tilted[(exponents_left > 700) & (summand.masses > 0)] = 1.0 if self.side > 0 else 0.0  # masses below 1e-304
        self._scale += summand.times * (log_total + summand.log_scale)
        self._size += summand.times * (abs(log_total) + abs(summand.log_scale))
        fuzz = UNIT * (16 + 8 * np.abs(exponents) + 4 * abs(log_total))
        return np.asarray(tilted * np.maximum(1 + self.side * fuzz, 0.0))

    def _chernoff(self, parts: Sequence[Floats], counts: Sequence[int], rate: float) -> float:
        """A bound on the tilted probability above the window (rate > 0) or below it (rate < 0)."""
        total = 0.0
        for tilted, count in zip(parts, counts, strict=True):
            present = np.flatnonzero(tilted)
            if present.size == 0:
                return 0.0
            logs = rate * self.step * present + np.log(tilted[present])
            top = float(logs.max())
            total += count * (top + math.log(float(np.exp(logs - top).sum()) * (1 + 1e-12)))
        edge = self._start + (self.length if rate > 0 else 0)
        return min(math.exp(min(total - rate * self.step * edge, 0.0)) * 1.01, 1.0)

    def _convolved(self, parts: Sequence[Floats], counts: Sequence[int]) -> tuple[Floats, float]:
        """The tilted masses of the sum in the window, and a bound on the 2-norm of their errors."""
        unit = TRANSFORM_ERROR * UNIT * math.log2(self.length)
        transforms, noises, logs = [], [], []
        for tilted in parts:
            folded = _folded(tilted, self.length)
            transform = np.fft.rfft(folded)
            noises.append(unit * math.sqrt(self.length * float(folded @ folded)) * 1.001 + 1e-300)
            logs.append(np.log(np.abs(transform) * (1 + 8 * UNIT) + noises[-1]))
            transforms.append(transform)
        share = np.zeros(self.length // 2 + 1)
        for log, count in zip(logs, counts, strict=True):
            share += count * log
        band = share > float(share.max()) - _NEGLIGIBLE
        squares = 2 * np.exp(2 * np.minimum(share, 300.0))
        whole, left_out = float(squares.sum()), float(squares[~band].sum())
        error = math.sqrt(left_out) + ((4 * sum(counts) + 8) * UNIT + unit) * math.sqrt(whole)
        for log, count, noise in zip(logs, counts, noises, strict=True):
            error += count * noise * math.exp(min(float((share - log).max()), 300.0))
        product = np.zeros(share.size, dtype=np.complex128)
        product[band] = _product([transform[band] for transform in transforms], counts)
        masses = np.roll(np.fft.irfft(product, self.length), -(self._start % self.length))
        return np.maximum(masses, 0.0), error * 1.01 / math.sqrt(self.length)

    # --- reading -------------------------------------------------------------------------------------------------

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        """Sums over k >= 0 of masses[i + k] r^k (1 - q^k) and of masses[i + k] (r q)^k.

        r = exp(-tilt step), q = exp(-step); by recursion from the right, in non-negative numbers.
        """
        from scipy.signal import lfilter

        decay, ratio = math.exp(-self.tilt * self.step), math.exp(-self.step)
        second = lfilter([1.0], [1.0, -decay * ratio], self._masses[::-1])
        first = lfilter([0.0, -decay * math.expm1(-self.step)], [1.0, -decay], second)
        return first[::-1], second[::-1]

    def _sum(self, epsilon: float) -> float:
        """Sum over losses l > epsilon in the window of mass times exp(tilt (epsilon - l)) (1 - exp(epsilon - l))."""
        place = max(math.floor((epsilon - self._origin) / self.step) + 1, self._start)
        if place >= self._start + self.length:
            return 0.0
        beyond = max(self._origin + self.step * place - epsilon, 0.0)
        first, second = (float(sums[place - self._start]) for sums in self._sums)
        return math.exp(-self.tilt * beyond) * (first - math.expm1(-beyond) * second)


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
