"""Mironov's support attack: outputs that a floating-point sampler cannot give.

A textbook sampler maps uniform numbers u = k 2^-53 through the inverse of a distribution function. It reaches few of
the doubles, and adding the true value shifts which. An output is possible for a true value if one of the u around its
inverse image gives it. Normal noise by a Ziggurat, as numpy's Generator draws it, falls to `precision`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.attacks.implementation.precision import judge_exclusions
from deniable.attacks.numbers import Floats, read_numbers, real
from deniable.attacks.result import AttackResult
from deniable.errors import InvalidParameterError


@dataclass(frozen=True, kw_only=True)
class FloatSampler:
    """Public sampler of noise in floating point, as its source code states it.

    Args:
        draw: uniform numbers, shape (..., taken), to noise of the same shape and scale 1, in floating point.
        invert: noise of scale 1 to uniform numbers that give it, up to rounding.
        taken: number of uniform numbers that one draw takes; it gives as many noise values.
        bits: the uniform numbers are multiples of 2^-bits in (0, 1).
        window: number of multiples to either side of the inverse image that are tried.

    >>> from deniable.attacks.implementation import FloatSampler, reachable
    >>> exponential = FloatSampler(draw=lambda u: -np.log(u), invert=lambda noise: np.exp(-noise), taken=1)
    >>> reachable([np.log(2), 2.0**-60], 0.0, scale=1, sampler=exponential)
    array([ True, False])
    """

    draw: Callable[[Floats], Floats]
    invert: Callable[[Floats], Floats]
    taken: int
    bits: int = 53
    window: int = 64


def _laplace(u: Floats) -> Floats:
    return np.where(u >= 0.5, -np.log(2 - u - u), np.log(u + u))


def _laplace_cdf(noise: Floats) -> Floats:
    tail = np.exp(-np.abs(noise)) / 2
    return np.where(noise < 0, tail, 1 - tail)


def _box_muller(u: Floats) -> Floats:
    radius = np.sqrt(-2 * np.log(u[..., 0]))
    angle = 2 * np.pi * u[..., 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)


def _box_muller_inverse(noise: Floats) -> Floats:
    turns = np.arctan2(noise[..., 1], noise[..., 0]) / (2 * np.pi) % 1
    return np.stack([np.exp(-(noise**2).sum(axis=-1) / 2), turns], axis=-1)


LAPLACE = FloatSampler(draw=_laplace, invert=_laplace_cdf, taken=1)
BOX_MULLER = FloatSampler(draw=_box_muller, invert=_box_muller_inverse, taken=2, window=4)


def reachable(outputs: ArrayLike, center: float, *, scale: float, sampler: FloatSampler = LAPLACE) -> NDArray[np.bool_]:
    """Whether `center + scale * noise` can give each output.

    Uniform numbers close to the inverse image are tried.

    Args:
        outputs: shape (draws,), or (draws, taken) for samplers that give several values at once.
        center: candidate for the true value.
        scale: of the noise, > 0.
        sampler: of the noise.

    Returns: shape (draws,). Outputs that only numbers outside the sampler's window give count as unreachable.

    >>> reachable([0.0, 2.0**-60], 0.0, scale=2)
    array([ True, False])
    """
    published = read_numbers("outputs", outputs)
    real("center", center)
    if not 0 < real("scale", scale) < np.inf:
        raise InvalidParameterError(f"scale must be > 0 and finite, got {scale}")
    if published.size % sampler.taken:
        raise InvalidParameterError(
            f"outputs must come in groups of {sampler.taken}, as the sampler gives them, got {published.size}"
        )
    published = published.reshape(-1, sampler.taken)
    steps = np.array(list(product(range(-sampler.window, sampler.window + 1), repeat=sampler.taken)))
    middle = np.rint(np.ldexp(sampler.invert((published - center) / scale), sampler.bits))
    tried = np.ldexp(middle[:, None, :] + steps, -sampler.bits)  # (draws, tries, taken)
    inside = ((tried > 0) & (tried < 1)).all(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        given = center + scale * sampler.draw(np.where(inside[..., None], tried, 0.5))
    return np.asarray((inside & (given == published[:, None, :]).all(axis=-1)).any(axis=1))


def distinguish_by_support(
    first: ArrayLike, second: ArrayLike, *, centers: tuple[float, float], scale: float, sampler: FloatSampler = LAPLACE
) -> AttackResult:
    """Distinguish two inputs by outputs that the sampler cannot give for one.

    Args:
        first, second: outputs on an input and on its neighbour, shape (draws,) or (draws, taken).
        centers: the true value of each.
        scale: of the noise, > 0.
        sampler: the suspected textbook sampler: LAPLACE, BOX_MULLER, or one of your own.

    Returns: success against always naming one of the two. At scale 2 and centres 0 and 1, about 81% of the outputs
        of float Laplace noise are impossible for the neighbour; of pairs by Box and Muller, about 95%.
    Source: Mironov (2012), "On significance of the least significant bits for differential privacy"; Jin, McMurtry,
        Rubinstein, Ohrimenko (2022), arXiv:2112.05307, for Gaussian samplers.

    >>> uniform = np.random.default_rng(0).integers(1, 2**53, size=(2, 200)) * 2.0**-53
    >>> first, second = 2 * LAPLACE.draw(uniform) + [[0], [1]]
    >>> print(distinguish_by_support(first, second, centers=(0, 1), scale=2).succeeded)
    True
    """
    own, other = [
        (
            reachable(given, centers[0], scale=scale, sampler=sampler),
            reachable(given, centers[1], scale=scale, sampler=sampler),
        )
        for given in (first, second)
    ]
    missed = 1 - np.concatenate([own[0], other[1]]).mean()
    return judge_exclusions("Support", own, other, {"outputs not traced to their own input": f"{missed:.1%}"})
