"""Distributions of finite mechanisms: checked, drawn from, and combined."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction
from operator import add, mul
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.audit.running import refuse_coroutine
from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import NoiseLaw
from deniable.mechanisms.integers import public_bounds
from deniable.numbers.interval import Interval, round_down, round_up
from deniable.numbers.rationals import exact_rational, shown, whole_number

__all__ = ["clamp_noise", "combine_laws", "cut_noise", "draw_outputs", "read_law"]

Law: TypeAlias = Mapping[Hashable, Fraction | Interval]
"""Output -> its probability; 0 for outputs that are missing."""


def read_law(law: object) -> dict[Hashable, Fraction | Interval]:
    """Return a distribution of outputs with exact or certified probabilities.

    Args:
        law: a mapping from outputs to probabilities: whole numbers, Fractions, decimals and texts such as "1/3", taken
            exactly; or Intervals that hold the truth. Outputs that are NaN count as one output.

    Raises: InvalidParameterError if a probability is negative, or if they do not sum to 1.

    >>> from deniable.audit.laws import read_law
    >>> read_law({"yes": "3/4", "no": "1/4"})
    {'yes': 0.75, 'no': 0.25}
    """
    refuse_coroutine(law)
    if not isinstance(law, Mapping):
        raise InvalidParameterError(
            f"the law of a finite mechanism must map outputs to probabilities, got {type(law).__name__}. "
            "Audit one that draws by its outputs: measure(), or deniable audit MODULE:FUNCTION."
        )
    masses: dict[Hashable, Fraction | Interval] = {}
    for output, mass in law.items():
        read = mass if isinstance(mass, Interval) else exact_rational("a probability", mass)
        if lower(read) < 0:
            raise InvalidParameterError(f"a probability must be at least 0, got {shown(mass)}")
        key = _visible(output) if isinstance(output, float | np.floating) else output
        masses[key] = _outward(add, masses[key], read) if key in masses else read
    if not sum(map(lower, masses.values())) <= 1 <= sum(map(upper, masses.values())):
        off = float(sum(map(lower, masses.values())) - 1)
        raise InvalidParameterError(
            f"probabilities must have the sum 1, got 1 {off:+.3g}: give Fractions, or Intervals if they are irrational"
        )
    return masses


def draw_outputs(law: object, *, runs: int, seed: int = 0) -> list[Hashable]:
    """Draw independent outputs of a finite distribution, for simulations alone.

    Args:
        law: as `read_law` takes it; intervals are drawn from by their middle.
        runs: number of outputs.
        seed: of numpy's generator.

    >>> from deniable.audit.laws import draw_outputs
    >>> draw_outputs({"only": 1}, runs=2)
    ['only', 'only']
    """
    whole_number("runs", runs, lower=1, upper=10**9)
    read = read_law(law)
    masses: NDArray[Any] = np.array([float(lower(mass) + upper(mass)) for mass in read.values()])
    outputs = list(read)
    chosen = np.random.default_rng(whole_number("seed", seed, lower=0)).choice(
        len(outputs), runs, p=masses / masses.sum()
    )
    return [outputs[index] for index in chosen]


def clamp_noise(noise: NoiseLaw, value: int, *, bounds: tuple[int, int]) -> dict[Hashable, Fraction | Interval]:
    """Return the distribution of an integer plus noise, clamped to public bounds.

    Clamping is post-processing of an output without bounds.

    Args:
        noise: `law()` of a mechanism that adds it.
        value: the exact integer.
        bounds: (lower, upper), to which outputs are clamped.

    Source: certified probabilities of the mechanism; the noise is symmetric.

    >>> from deniable.audit.laws import clamp_noise
    >>> from deniable.mechanisms import Laplace
    >>> law = clamp_noise(Laplace(scale=2).law(), 3, bounds=(0, 9))
    >>> f"{law[3]:.4f}"
    '[0.2449, 0.2450]'
    """
    low, high = public_bounds("bounds", bounds, largest=2**53)
    inside: dict[Hashable, Fraction | Interval] = {k: noise.pmf(k - value) for k in range(low + 1, high)}
    return {low: noise.cdf(low - value), **inside, high: noise.cdf(value - high)}


def cut_noise(
    below: Callable[[NDArray[np.float64]], ArrayLike], edges: ArrayLike, *, error: float = 1e-12
) -> dict[Hashable, Fraction | Interval]:
    """Return the distribution of the cell of a continuous output.

    Cell 0 reaches up to the first edge, cell 1 up to the second, and so on.

    Args:
        below: the distribution function of the output, such as `scipy.stats.laplace(loc=1).cdf`.
        edges: shape (edges,), increasing.
        error: bound on the absolute error of `below`; conclusions hold if this bound does.

    Raises: InvalidParameterError if edges do not increase or `below` is not a distribution function on them.

    >>> from deniable.audit.laws import cut_noise
    >>> from scipy import stats
    >>> [f"{chance:.3f}" for chance in cut_noise(stats.laplace().cdf, [0]).values()]
    ['[0.499, 0.501]', '[0.499, 0.501]']
    """
    cuts = np.asarray(edges, dtype=np.float64).reshape(-1)
    masses = np.diff(np.array([0.0, *np.asarray(below(cuts), dtype=np.float64), 1.0]))
    if not (np.all(np.diff(cuts) > 0) and np.all(masses >= -2 * error) and error >= 0):
        raise InvalidParameterError("edges must increase, and below must be a distribution function on them")
    wide = masses + 2 * error * np.array([[-1], [1]])
    return {cell: Interval(max(low, 0.0), min(high, 1.0)) for cell, (low, high) in enumerate(wide.T.tolist())}


def combine_laws(laws: Iterable[object]) -> dict[Hashable, Fraction | Interval]:
    """Return the distribution of a tuple of independent outputs.

    An example are the cells of a noisy histogram.

    Args:
        laws: one for each output, as `read_law` takes it.

    >>> from deniable.audit.laws import combine_laws
    >>> combine_laws([{0: "1/2", 1: "1/2"}, {"a": 1}])
    {(0, 'a'): Fraction(1, 2), (1, 'a'): Fraction(1, 2)}
    """
    masses: dict[Any, Fraction | Interval] = {(): Fraction(1)}
    for law in map(read_law, laws):
        masses = {(*old, output): _outward(mul, p, q) for old, p in masses.items() for output, q in law.items()}
    return masses


def lower(mass: Fraction | Interval) -> Fraction:
    """Return the lower end of a probability, both as a float and as its text."""
    return min(Fraction(mass.lower), Fraction(repr(mass.lower))) if isinstance(mass, Interval) else mass


def upper(mass: Fraction | Interval) -> Fraction:
    """Return the upper end of a probability, at most 1."""
    if not isinstance(mass, Interval):
        return mass
    return min(max(Fraction(mass.upper), Fraction(repr(mass.upper))), Fraction(1))


def _visible(output: float | np.floating[Any]) -> Hashable:
    """Return a float by its appearance: all NaN are one output, and -0.0 is not 0.0."""
    if np.isnan(output):
        return "NaN"
    return "-0.0" if output == 0 and np.signbit(output) else output


def _outward(operation: Callable[[Any, Any], Any], one: Fraction | Interval, other: Fraction | Interval) -> Any:
    """Return the sum or product of probabilities, exact or in an interval around it."""
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return operation(one, other)
    return Interval(round_down(operation(lower(one), lower(other))), round_up(operation(upper(one), upper(other))))
