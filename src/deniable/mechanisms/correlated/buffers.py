"""Buffered Toeplitz matrices in closed form: sensitivity, errors, and optima.

C has the diagonals 1, then sum_j scales_j decays_j^(k-1). Sums over steps are put together from halves, in which all
numbers are positive, so that nothing cancels; the time grows with the logarithm of the number of steps.
Proofs: docs/theory/mechanisms/correlated.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.numbers.arrays import Floats
from deniable.numbers.balls import ball, certified
from deniable.numbers.interval import NONNEGATIVE

NARROWEST = 2.0**-30  # gap of a decay to 1
_NO_DECAY = 2.0**-16  # steps times a gap, below which the decay of a buffer makes no difference
_DIFFERENCE_STEP = 1e-5  # of a central difference, in logarithms of ratios of gaps
_SHARPNESS = 10.0, 50.0, 200.0  # of soft maxima, one after the other
_STARTS = 12  # of the search, for the widest and for the narrowest gap


@dataclass(frozen=True)
class Segment:
    """Consecutive steps, as a linear map and a quadratic form of buffers and a 1.

    The form is the sum of the squared outputs. Arrays of shape (..., buffers + 1, buffers + 1), of floats or of balls.
    """

    change: NDArray[Any]
    squares: NDArray[Any]

    def then(self, later: "Segment") -> "Segment":
        """Return these steps followed by others."""
        moved = np.matmul(np.matmul(np.swapaxes(self.change, -1, -2), later.squares), self.change)
        return Segment(np.matmul(later.change, self.change), self.squares + moved)

    def times(self, count: int) -> list["Segment"]:
        """Return segments that add up to `count` repetitions, by its binary digits."""
        parts = []
        power = self
        while count:
            if count & 1:
                parts.append(power)
            count >>= 1
            power = power.then(power) if count else power
        return parts


def squared_norm(
    scales: NDArray[Any], decays: NDArray[Any], first: NDArray[Any], *, steps: int, times: int, separation: int
) -> NDArray[Any]:
    """Return the squared norm of the sum of the columns 0, b, 2b, ... of C.

    These are the worst uses of a row at most `times` times and at least b = `separation` steps apart, if `first` is at
    least 1 and the second diagonal, the sum of the scales.

    Args:
        scales, decays: shape (..., buffers); floats, or balls as objects.
        first: the first diagonal of C, shape (...).
        steps, times, separation: as in `Uses`.
    """
    uses = min(times, (steps - 1) // separation + 1)
    size = scales.shape[-1]
    free = np.zeros((*scales.shape[:-1], size + 1, size + 1), dtype=scales.dtype)
    free[..., np.arange(size), np.arange(size)] = decays
    free[..., size, size] = 1
    used = free.copy()
    out = np.zeros((*scales.shape[:-1], size + 1), dtype=scales.dtype)
    used[..., :size, size] = 1
    out[..., :size] = scales
    at_use = out.copy()
    at_use[..., size] = first
    use = Segment(used, at_use[..., :, np.newaxis] * at_use[..., np.newaxis, :])
    rest = Segment(free, out[..., :, np.newaxis] * out[..., np.newaxis, :])
    block = reduce(Segment.then, rest.times(separation - 1), use)
    parts = [*block.times(uses - 1), use, *rest.times(steps - 1 - (uses - 1) * separation)]
    return np.asarray(reduce(Segment.then, parts).squares[..., size, size])


def certified_norm(
    scales: tuple[float, ...], decays: tuple[float, ...], *, steps: int, times: int, separation: int
) -> float:
    """Bound the l2 sensitivity of C x from above, for these floats exactly."""
    first = max(Fraction(1), sum(map(Fraction, scales), Fraction(0)))

    def enclosure() -> Any:
        scale_balls = np.array([ball(Fraction(scale)) for scale in scales], dtype=object)
        decay_balls = np.array([ball(Fraction(decay)) for decay in decays], dtype=object)
        top = np.array(ball(first), dtype=object)
        return (
            squared_norm(scale_balls, decay_balls, top, steps=steps, times=times, separation=separation).item().sqrt()
        )

    return certified(enclosure, within=NONNEGATIVE).upper


def squared_errors(scales: Floats, decays: Floats, *, steps: int) -> tuple[float, float]:
    """Return the greatest and the mean squared error of prefix sums.

    Noise has variance 1. The diagonals of A C^-1, A with ones below its diagonal, are sums of powers with positive
    weights.
    """
    greatest, mean = _sums_of_squares(*_powers(scales, decays), steps)
    return float(greatest), float(mean)


def sum_diagonals(scales: Floats, decays: Floats, *, steps: int) -> Floats:
    """Return the diagonals of A C^-1, A with ones below its diagonal; shape (steps,)."""
    weights, gaps = _powers(scales, decays)
    powers = np.exp(np.arange(steps) * np.log1p(-gaps)[:, np.newaxis])
    return np.asarray(weights @ powers)


def _powers(scales: Floats, decays: Floats) -> tuple[Floats, Floats]:
    """Return weights and gaps to 1 of the powers that sum to the diagonals of A C^-1."""
    roots = np.sqrt(scales)
    gaps = 1 - decays
    inner, vectors = np.linalg.eigh(np.diag(gaps) + np.outer(roots, roots))
    weights = np.array([1 / (1 + (scales / gaps).sum()), *((roots @ vectors) ** 2 / inner)])
    return weights, np.array([0.0, *inner])


def best_buffers(count: int, *, steps: int, times: int, separation: int) -> tuple[Floats, Floats]:
    """Return scales and decays with nearly the least error at equal privacy.

    The error is the greatest one of sums, times the sensitivity. The gaps of C^-1 and of C to 1 alternate, in falling
    order, and every such sequence of gaps is that of one C with positive scales: so the ratios of neighbours are free
    parameters, and both sides are formulas in them.

    Args:
        count: the largest number of buffers.
        steps, times, separation: as in `Uses`.
    """
    min_gap = max(NARROWEST, _NO_DECAY / steps)

    def error(free: Floats) -> Floats:
        with np.errstate(all="ignore"):
            inner, gaps, scales = _parts(free, min_gap)
            first = np.maximum(scales.sum(axis=-1), 1)
            norm = squared_norm(scales, 1 - gaps, first, steps=steps, times=times, separation=separation)
            log_error = np.log(norm) + np.log(_sums_of_squares(*_outer_law(inner, gaps), steps)[0])
        return np.asarray(np.nan_to_num(log_error, nan=1e300, posinf=1e300))

    starts = _starts(count, steps)
    _, gaps, scales = _parts(_descended(error, starts[error(starts).argmin()]), min_gap)
    kept = scales > 0
    return scales[kept], 1 - gaps[kept]


def lasting_buffers(count: int, *, steps: int) -> tuple[Floats, Floats]:
    """Return scales and decays near the optimum at every number of steps up to 2^24.

    The greatest ratio to the squared error of the square root, over all powers of 2 from 64 to 2^24, is nearly the
    least; the sensitivity is that of `steps` steps, which may be many more.
    """
    from scipy.special import logsumexp

    ends = 2 ** np.arange(6, 25)
    optima = (
        np.log(ends) + np.euler_gamma + math.log(16)
    ) / math.pi  # greatest error of the square root, for many steps

    def ratios(free: Floats) -> Floats:
        with np.errstate(all="ignore"):
            inner, gaps, scales = _parts(free, NARROWEST)
            first = np.maximum(scales.sum(axis=-1), 1)
            norm = squared_norm(scales, 1 - gaps, first, steps=steps, times=1, separation=1)
            law = _outer_law(inner, gaps)
            errors = np.stack([_sums_of_squares(*law, int(end))[0] for end in ends], axis=-1)
            return np.asarray(np.nan_to_num(np.log(norm[..., np.newaxis] * errors / optima**2), nan=1e3, posinf=1e3))

    def greatest(free: Floats, sharpness: float) -> Floats:
        return np.asarray(logsumexp(sharpness * ratios(free), axis=-1) / sharpness)

    starts = _starts(count, int(ends[-1]))
    best = starts[greatest(starts, _SHARPNESS[0]).argmin()]
    for sharpness in _SHARPNESS:
        best = _descended(partial(greatest, sharpness=sharpness), best)
    _, gaps, scales = _parts(best, NARROWEST)
    return scales[scales > 0], 1 - gaps[scales > 0]


def _descended(error: Callable[[Floats], Floats], start: Floats) -> Floats:
    """Return nearby parameters with a smaller error; the start if there are none.

    Slopes come from differences.
    """
    from scipy.optimize import minimize

    size = start.size
    moves = _DIFFERENCE_STEP * np.vstack([np.zeros(size), np.eye(size), -np.eye(size)])

    def with_slopes(free: Floats) -> tuple[float, Floats]:
        errors = error(free + moves)
        return float(errors[0]), (errors[1 : size + 1] - errors[size + 1 :]) / (2 * _DIFFERENCE_STEP)

    end = minimize(with_slopes, start, jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 400}).x
    return np.asarray(end) if error(end) <= error(start) else start


def _starts(count: int, steps: int) -> Floats:
    """Return starts of the search, whose gaps are geometric sequences.

    They are logits of the ratios of gaps, of shape (starts, 2 count).
    """
    wide, narrow = np.meshgrid(np.geomspace(0.05, 0.95, _STARTS), np.geomspace(0.02, 20, _STARTS) / steps)
    first = np.log(wide.ravel())
    last = np.log(np.minimum(narrow, wide / 2).ravel())
    gaps = np.exp(np.linspace(first, last, 2 * count, axis=-1))
    ratios = np.column_stack([gaps[:, 0], gaps[:, 1:] / gaps[:, :-1]])
    return np.asarray(np.log(ratios / (1 - ratios)))


def _parts(free: Floats, min_gap: float) -> tuple[Floats, Floats, Floats]:
    """Return the gaps of C^-1 and of C, and the scales, from logits of ratios of gaps.

    All have the shape (..., buffers). Gaps are at least `min_gap`: further ones of that size have a scale of 0.
    """
    gaps = np.maximum(np.exp(np.cumsum(-np.logaddexp(0, -free), axis=-1)), min_gap)
    inner, outer = gaps[..., ::2], gaps[..., 1::2]
    return inner, outer, _residues(inner, outer)


def _residues(others: Floats, own: Floats) -> Floats:
    """Return the coefficients of 1 / (own - x) in prod(others - x) / prod(own - x)."""
    apart = own[..., np.newaxis, :] - own[..., :, np.newaxis]
    apart += np.eye(own.shape[-1])
    return np.asarray(
        np.prod((others[..., np.newaxis, :] - own[..., :, np.newaxis]), axis=-1) / np.prod(apart, axis=-1)
    )


def _outer_law(inner: Floats, gaps: Floats) -> tuple[Floats, Floats]:
    """Return weights and gaps of the powers that sum to the diagonals of A C^-1."""
    last = np.prod(gaps / inner, axis=-1, keepdims=True)
    return np.concatenate([last, -_residues(gaps, inner) / inner], -1), np.concatenate([0 * last, inner], -1)


def _sums_of_squares(weights: Floats, gaps: Floats, steps: int) -> tuple[Floats, Floats]:
    """Return the sum of r_t^2 over all steps, and the mean of the sums up to a step.

    Here r_t = sum of weights (1 - gaps)^t.

    Of x^t both sums for 2k steps follow from those for k, G(2k) = G(k) (1 + x^k) and H(2k) = H(k) (1 + x^k) + k G(k).
    """
    rows, columns = gaps[..., :, np.newaxis], gaps[..., np.newaxis, :]
    base = 1 - (rows + columns - rows * columns)
    power = base
    total = np.ones_like(base)
    running = np.ones_like(base)
    count = 1
    for digit in bin(steps)[3:]:
        running = running * (1 + power) + count * total
        total = total * (1 + power)
        power = power * power
        count = 2 * count
        if digit == "1":
            total = total + power
            power = power * base
            count = count + 1
            running = running + total
    both = weights[..., :, np.newaxis] * weights[..., np.newaxis, :]
    return (both * total).sum(axis=(-1, -2)), (both * running).sum(axis=(-1, -2)) / steps
