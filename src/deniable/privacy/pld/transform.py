"""Sums of independent losses by Fourier transforms, with a bound on every error.

Low frequencies suffice. The laws are tilted by exp(tilt * loss), so that the threshold of interest is near the mean of
the sum and absolute errors become relative ones. Delta is the mean of a smooth function of the sum, so that low
frequencies determine it and losses may lie anywhere. Every step and its error bound is proved in
docs/theory/privacy/composition.md.

The laws are tilted by exp(tilt * loss), so that the threshold of interest is near the mean of the sum and absolute
errors become relative ones. Delta is the mean of a smooth function of the sum, so that low frequencies determine it and
losses may lie anywhere. Every step and its error bound is proved in docs/theory/privacy/composition.md.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.numbers.arrays import Floats
from deniable.privacy.pld.law import UNIT

Complexes = NDArray[np.complex128]

_FREQUENCIES_PER_ROW = 256  # a frequency is a multiple of this many steps, plus a rest
_LOSSES_PER_BLOCK = 256  # summed at a time, which bounds memory and rounding
_ROWS_PER_BLOCK = 1024  # multiples computed at a time, which bounds memory
# rates of Chernoff bounds, relative to the rate of a normal sum
_CHERNOFF_RATES = np.array([0.004, 0.016, 0.0625, 0.125, 0.25, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 4.0])
_LARGEST_EXPONENT = 700.0  # of a float
_UNDERFLOW = 1e-300  # more than floats lose by underflow
_MAX_SPREADS = 40.0  # largest frequency, times the spread of the smoothing
_NEGLIGIBLE_WEIGHT = 1e-20  # of a frequency, over the greatest weight; below it only its error counts


class Summand(NamedTuple):
    """Independent losses: `times` copies with probabilities `masses` at `losses`."""

    losses: Floats
    masses: Floats
    times: int


@dataclass(frozen=True)
class Smoothing:
    """Gaussian noise of GDP `spread` with which delta is read, to make it smooth.

    Of this noise, `present` is really composed. step: 0, or that of a lattice on which all sums lie; then nothing is
    smoothed, and the spread is 0.

    step: 0, or that of a lattice on which all sums lie; then nothing is smoothed, and the spread is 0.
    """

    spread: float
    present: float = 0.0
    step: float = 0.0

    @property
    def half(self) -> float:
        """Half the variance of the loss G of the noise: ln E exp(t G) = half t (t + 1)."""
        return 0.5 * (self.spread * (1 + 4 * UNIT)) ** 2


@dataclass(frozen=True)
class Window:
    """Period modulo which the sum is known, and its frequencies.

    The frequencies are 2 pi (0, ..., count) / length. On a lattice the length is 2 count + 1 steps. rise, fall: rates
    of the Chernoff bounds for what lies beyond; any positive numbers are valid.
    """

    length: float
    count: int
    rise: float
    fall: float


class _Tilted(NamedTuple):
    """Tilted masses of total about 1 at centre + offsets.

    log_total: logarithm of the factor that was taken out.
    """

    offsets: Floats
    masses: Floats
    times: int
    centre: float
    log_total: float


def window_of(
    summands: Sequence[Summand],
    *,
    tilt: float,
    smoothing: Smoothing,
    thresholds: tuple[float, float],
    negligible: float,
) -> Window:
    """Return a window for thresholds between two, with a negligible error.

    It is `negligible` beside the tilted total.
    """
    parts = [_tilted(summand, tilt, 0.0, +1) for summand in summands if summand.masses.any()]
    centre = math.fsum(part.centre * part.times for part in parts)
    lowest, greatest = (threshold - centre for threshold in thresholds)
    variance = math.fsum(float(part.masses @ part.offsets**2) * part.times for part in parts) + 2 * smoothing.half
    goal = -math.log(negligible)
    typical = math.sqrt(2 * goal / max(variance, 1e-300))

    def edge(sign: float, rates: Floats) -> tuple[float, float]:
        edges = (_log_moments(parts, sign * rates, tilt, smoothing) + goal) / rates
        best = int(np.argmin(edges))
        return float(edges[best]), float(rates[best])

    above, rise = edge(1.0, typical * _CHERNOFF_RATES)
    below, fall = edge(-1.0, np.unique(np.minimum(typical * _CHERNOFF_RATES, tilt)))
    length = 1.001 * max(above - lowest, below + greatest)
    last = 1.0
    if smoothing.step:
        count = math.ceil(length / (2 * smoothing.step))
        return Window((2 * count + 1) * smoothing.step, count, rise, fall)
    while last < _MAX_SPREADS and smoothing.spread * math.exp(-(last**2) / 2) * (1 + last**-2) / last > negligible:
        last += 0.1
    return Window(length, math.ceil(last / smoothing.spread * length / (2 * math.pi)) + 1, rise, fall)


class _Reading(NamedTuple):
    """Coefficients of a sum over exp(i frequency gap), whose real part is read.

    It is off by at most `error`.
    """

    frequencies: Floats
    coefficients: Complexes
    error: float

    def at(self, gap: float) -> float:
        """Return the real part of the sum at a gap."""
        phases = self.frequencies * gap
        return float(self.coefficients.real @ np.cos(phases) - self.coefficients.imag @ np.sin(phases))


class TiltedSum:
    """Law of a sum of losses, ready to be asked for delta near its tilted mean.

    Args:
        summands: the independent losses.
        tilt: the exponent of the tilt.
        smoothing: the noise with which delta is read.
        window: the period and its frequencies.
        side: +1 to round everything upwards, -1 downwards.
    """

    def __init__(
        self, summands: Sequence[Summand], *, tilt: float, smoothing: Smoothing, window: Window, side: int
    ) -> None:
        self.tilt = tilt
        self.smoothing = smoothing
        self.window = window
        self.side = side
        self._fall = min(window.fall, tilt)
        self._present = all(summand.masses.any() for summand in summands)
        if not self._present:
            return
        parts = [_tilted(summand, tilt, smoothing.step, side) for summand in summands]
        self._scale = math.fsum(part.log_total * part.times for part in parts)
        self._centre = math.fsum(part.centre * part.times for part in parts)
        sizes = math.fsum((abs(p.centre) + float(np.abs(p.offsets).max())) * p.times for p in parts)
        self._slack = 4 * UNIT * (sizes + abs(self._centre))
        totals = math.fsum(abs(part.log_total) * part.times for part in parts)
        totals += smoothing.half * tilt * (tilt + 1)
        self._fuzz = 16 * UNIT * (8 + totals + tilt * (abs(self._centre) + window.length))
        self._scale += smoothing.half * tilt * (tilt + 1)
        rates = np.array([window.rise, -self._fall])
        self._rise, self._drop = (float(log) for log in _log_moments(parts, rates, tilt, smoothing))
        self._readings = list(self._read(parts))

    def delta(self, epsilon: float) -> float:
        """Return a bound on E max(0, 1 - exp(epsilon - sum)).

        From above if side is +1, from below if it is -1.
        """
        if not self._present:
            return 0.0
        epsilon -= self.side * (self._slack + 4 * UNIT * abs(epsilon))
        gap = epsilon - self._centre
        value = error = 0.0
        positions, weights, beyond = self._positions(gap)
        for reading, position, weight in zip(self._readings, positions, weights, strict=True):
            phase = 4 * UNIT * abs(position) * float(np.abs(reading.coefficients) @ reading.frequencies)
            value += weight * reading.at(position)
            error += abs(weight) * (reading.error + phase)
        fuzz = self._fuzz + 16 * UNIT * self.tilt * abs(epsilon)
        factor = math.exp(min(self._scale - self.tilt * (epsilon + beyond), _LARGEST_EXPONENT))
        if self.side > 0:
            return max(factor * (value + error), 0.0) * (1 + fuzz) + _UNDERFLOW
        wrapped = self._wrapped(gap) * math.exp(min(self.tilt * beyond, _LARGEST_EXPONENT))
        return max(factor * (value * (1 - fuzz) - error - wrapped), 0.0)

    def smoothed(self, epsilon: float) -> float:
        """Return about the part of delta that both sides together lose to smoothing.

        For side -1.
        """
        if not self._present or self.smoothing.step:
            return 0.0
        return math.exp(min(self._scale - self.tilt * epsilon, 700.0)) * self._readings[1].at(epsilon - self._centre)

    def _positions(self, gap: float) -> tuple[list[float], list[float], float]:
        """Return where the readings are read, their weights, and the distance beyond.

        On a lattice that is at its first point beyond the threshold; tilting weights the distance too.

        And how far beyond that is: tilting weighs it so, too.
        """
        step = self.smoothing.step
        if not step:
            return ([gap], [1.0], 0.0) if self.side > 0 else ([gap, gap], [1.0, -1.0], 0.0)
        position = step * (math.floor(gap / step) + 1)
        beyond = min(max(position - gap, 0.0), step)
        return [position, position], [1.0, -math.expm1(-beyond)], beyond

    def _wrapped(self, gap: float) -> float:
        """Return at least what other multiples of the window's length add.

        They lie above it, and below.
        """
        length = self.window.length
        above = self._rise - self.window.rise * (gap + length)
        below = self._drop + self._fall * (gap - length)
        total = 0.0
        for log, rate, top in ((above, self.window.rise, 1 / (1 + self.tilt)), (below, self._fall, 1.0)):
            total += top * math.exp(min(log, 300.0)) / -math.expm1(-rate * length)
        return 1.01 * total

    def _read(self, parts: Sequence[_Tilted]) -> Iterator[_Reading]:
        """Yield the transforms of the sum times those of the weights, with all errors."""
        frequencies: Floats = 2 * math.pi / self.window.length * np.arange(self.window.count + 1, dtype=np.float64)
        transforms = _transforms(parts, frequencies)
        kernels = (self._lattice_kernels if self.smoothing.step else self._smooth_kernels)(frequencies)
        greatest = np.zeros(frequencies.size)
        for kernel in kernels:
            greatest = np.maximum(greatest, np.abs(kernel.values))
        logs = transforms.log_size + np.log(np.maximum(greatest, 1e-300))
        kept = logs > logs.max() + math.log(_NEGLIGIBLE_WEIGHT)
        size = np.exp(np.minimum(transforms.log_size, 300.0))
        for kernel in kernels:
            weights = np.abs(kernel.values) * size
            rounding = transforms.error + kernel.error + 16 * UNIT
            error = float((weights * rounding)[kept].sum()) + float(weights[~kept].sum())
            error += (int(kept.sum()) + 4) * 4 * UNIT * float(weights[kept].sum()) + kernel.cut * float(size[0])
            error += _UNDERFLOW * 1e10  # where floats end: no factor makes a bound of it
            yield _Reading(frequencies[kept], (kernel.values * transforms.values)[kept], 1.01 * error)

    def _smooth_kernels(self, frequencies: Floats) -> list["_Kernel"]:
        """Return the transforms of exp(-tilt y) B(y), B the curve of the noise.

        Downwards, also of its largest rise by noise.
        """
        tilt, half = self.tilt, self.smoothing.half
        w = tilt - 1j * frequencies
        error = (32 + 32 * half * (np.abs(w) + 1) ** 2) * UNIT
        last = float(frequencies[-1])
        fading = math.exp(-half * last**2) / (math.pi * last)
        exponents = half * (w * (w + 1) - tilt * (tilt + 1))
        curve = np.asarray(np.exp(exponents) / (w * (w + 1)), dtype=np.complex128)
        kernels = [_Kernel(self._halves(curve), error, fading / (2 * half * last**2))]
        if self.side < 0:
            share = max(1 - self.smoothing.present / self.smoothing.spread, 0.0) + 16 * UNIT
            added = (half - self.smoothing.present**2 / 2) / 4 + 16 * UNIT * half
            rise = np.asarray(2 * half * share * np.exp(exponents + added), dtype=np.complex128)
            kernels.append(_Kernel(self._halves(rise), error, share * fading * math.exp(min(added, 700.0))))
        return kernels

    def _lattice_kernels(self, frequencies: Floats) -> list["_Kernel"]:
        """Return the transforms of sums over the points of a lattice.

        They are the sums over k of exp(-tilt k step) (1 - exp(-k step)) and of exp(-(tilt + 1) k step).
        """
        step = self.smoothing.step
        first, second = (_one_minus_exp((self.tilt + more) * step, frequencies * step) for more in (0, 1))
        decay = np.exp(-(self.tilt - 1j * frequencies) * step)
        error = np.full(frequencies.size, 64 * UNIT * (1 + step * self.tilt + 2 * math.pi))
        return [
            _Kernel(step * self._halves(values), error, 0.0)
            for values in (decay * -math.expm1(-step) / (first * second), 1 / second)
        ]

    def _halves(self, values: Complexes) -> Complexes:
        """Return coefficients that count each positive frequency twice.

        Negative frequencies are the conjugates of positive ones.
        """
        doubled = 2 / self.window.length * values
        doubled[0] /= 2
        return doubled


class _Kernel(NamedTuple):
    """Weights of frequencies, their relative error, and a bound on those left out."""

    values: Complexes
    error: Floats
    cut: float


class _Transforms(NamedTuple):
    """Transforms of the sum: values, log of a bound on their sizes, relative errors."""

    values: Complexes
    log_size: Floats
    error: Floats


def _tilted(summand: Summand, tilt: float, step: float, side: int) -> _Tilted:
    """Return tilted masses, each rounded to the side by more than its own error."""
    present = np.flatnonzero(summand.masses)
    losses, masses = summand.losses[present], summand.masses[present]
    exponents = tilt * losses
    logs = exponents + np.log(masses)
    top = float(logs.max())
    log_total = top + math.log(float(np.exp(logs - top).sum()))
    left = exponents - log_total
    tilted = masses * np.exp(np.minimum(left, 700.0))
    tilted[left > 700] = 1.0 if side > 0 else 0.0  # masses below 1e-304
    tilted *= np.maximum(1 + side * UNIT * (16 + 8 * np.abs(exponents) + 4 * abs(log_total)), 0.0)
    tilted += 1e-300 if side > 0 else 0.0  # where floats end
    kept = tilted > 0
    present, losses, tilted = present[kept], losses[kept], tilted[kept]
    mean = float(tilted @ losses / tilted.sum())
    if step:
        middle = int(np.argmin(np.abs(losses - mean)))
        return _Tilted(step * (present - present[middle]), tilted, summand.times, float(losses[middle]), log_total)
    return _Tilted(losses - mean, tilted, summand.times, mean, log_total)


def _log_moments(parts: Sequence[_Tilted], rates: Floats, tilt: float, smoothing: Smoothing) -> Floats:
    """Return ln E exp(rate X) for the tilted sum about its centre, rounded up.

    The noise of the smoothing is included.
    """
    noise = smoothing.half * rates * (rates + 2 * tilt + 1)
    if not parts:
        return np.asarray(noise)
    sizes = [part.masses.size for part in parts]
    begins = np.cumsum([0, *sizes[:-1]])
    offsets = np.concatenate([part.offsets for part in parts])
    logs = np.outer(rates, offsets) + np.log(np.concatenate([part.masses for part in parts]))
    tops = np.maximum.reduceat(logs, begins, axis=1)
    logs -= np.repeat(tops, sizes, axis=1)
    log_moments = tops + np.log(np.add.reduceat(np.exp(logs, out=logs), begins, axis=1)) + 1e-12 * (1 + np.abs(tops))
    times = np.array([part.times for part in parts], dtype=np.float64)
    losses = np.array([math.fsum(row) for row in log_moments * times])
    return np.asarray(losses + noise)


def _transforms(parts: Sequence[_Tilted], frequencies: Floats) -> _Transforms:
    """Return E exp(-i frequency offset) for the sum.

    Frequencies are multiples of the second one.
    """
    values = np.ones(frequencies.size, dtype=np.complex128)
    log_size, error = np.zeros(frequencies.size), np.zeros(frequencies.size)
    for part in parts:
        one = _transform(part, frequencies)
        moved = float(part.masses @ np.abs(part.offsets))
        summed = 3 * min(part.masses.size, _LOSSES_PER_BLOCK) + 2 * -(-part.masses.size // _LOSSES_PER_BLOCK)
        noise = (summed + 32 + 8 * frequencies * moved) * (1.01 * UNIT * float(part.masses.sum()))
        size = np.abs(one) * (1 + 8 * UNIT) + noise
        log_size += part.times * np.log(size)
        error += part.times * (noise / size + 4 * UNIT)
        values *= _power(one, part.times)
    return _Transforms(values, log_size, error)


def _transform(part: _Tilted, frequencies: Floats) -> Complexes:
    """Return the transform of one part at all frequencies.

    Frequencies are 256 a + b times the unit; factors exp(-i (256 a) x) and exp(-i b x) are matrices.
    """
    rows = -(-frequencies.size // _FREQUENCIES_PER_ROW)
    transforms = np.zeros((rows, _FREQUENCIES_PER_ROW), dtype=np.complex128)
    unit = float(frequencies[1]) if frequencies.size > 1 else 0.0
    fine = unit * np.arange(min(_FREQUENCIES_PER_ROW, frequencies.size))
    coarse = unit * _FREQUENCIES_PER_ROW * np.arange(rows)
    for begin in range(0, part.masses.size, _LOSSES_PER_BLOCK):
        offsets = part.offsets[begin : begin + _LOSSES_PER_BLOCK]
        masses = part.masses[begin : begin + _LOSSES_PER_BLOCK]
        rest = _turned(np.outer(offsets, fine)) * masses[:, None]
        for row in range(0, rows, _ROWS_PER_BLOCK):
            transforms[row : row + _ROWS_PER_BLOCK, : fine.size] += (
                _turned(np.outer(coarse[row : row + _ROWS_PER_BLOCK], offsets)) @ rest
            )
    return transforms.ravel()[: frequencies.size]


def _turned(angles: Floats) -> Complexes:
    """Return exp(-i angle), to 4 roundings in each part."""
    result = np.empty(angles.shape, dtype=np.complex128)
    np.cos(angles, out=result.real)
    np.sin(-angles, out=result.imag)
    return result


def _one_minus_exp(decay: float, angle: Floats) -> Complexes:
    """Return 1 - exp(-decay + i angle), for decay > 0, without cancellation."""
    return np.asarray(
        -math.expm1(-decay) + math.exp(-decay) * (2 * np.sin(angle / 2) ** 2 - 1j * np.sin(angle)), dtype=np.complex128
    )


def _power(values: Complexes, count: int) -> Complexes:
    """Return a power by repeated squaring.

    The relative error is below 4 count roundings, with one more multiplication.
    """
    result = np.ones_like(values)
    while count:
        if count & 1:
            result *= values
        count >>= 1
        if count:
            values = values * values
    return result
