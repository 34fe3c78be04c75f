"""Laws of finite mechanisms: probabilities that are checked, drawn from, and mixed."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction
from operator import add, mul
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.audit.running import refuse_coroutine
from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import NoiseLaw
from deniable.numbers.interval import Interval, round_down, round_up
from deniable.numbers.rationals import checked_bounds, exact_rational, shown, whole_number

Law: TypeAlias = Mapping[Hashable, Fraction | Interval]
"""Output -> its probability; outputs that are missing have none."""


def read_law(law: object) -> dict[Hashable, Fraction | Interval]:
    """The law of one output, checked to be a point of the probability simplex.

    Args:
        law: a mapping from outputs to probabilities: whole numbers, Fractions, decimals and texts such as "1/3", taken
            exactly; or Intervals that hold the truth. Outputs that are NaN count as one output.

    Raises: InvalidParameterError if a probability is negative, or if they do not sum to 1.

    >>> read_law({"yes": "3/4", "no": "1/4"})
    {'yes': 0.75, 'no': 0.25}
    """
    refuse_coroutine(law)
    if not isinstance(law, Mapping):
        raise InvalidParameterError(
            f"the law of a finite mechanism must map outputs to probabilities, got {type(law).__name__}. "
            "Audit one that draws by its outputs: measure(), or deniable audit MODULE:FUNCTION."
        )
    found: dict[Hashable, Fraction | Interval] = {}
    for output, mass in law.items():
        read = mass if isinstance(mass, Interval) else exact_rational("a probability", mass)
        if lower(read) < 0:
            raise InvalidParameterError(f"a probability must be at least 0, got {shown(mass)}")
        key = _visible(output) if isinstance(output, float | np.floating) else output
        found[key] = _outward(add, found[key], read) if key in found else read
    if not sum(map(lower, found.values())) <= 1 <= sum(map(upper, found.values())):
        off = float(sum(map(lower, found.values())) - 1)
        raise InvalidParameterError(
            f"probabilities must have the sum 1, got 1 {off:+.3g}: give Fractions, or Intervals if they are irrational"
        )
    return found


def draw_outputs(law: object, *, runs: int, seed: int = 0) -> list[Hashable]:
    """Independent outputs of a finite law, for simulations; nothing that protects anybody.

    Args:
        law: as `read_law` takes it; intervals are drawn from by their middle.
        runs: how many outputs.
        seed: of numpy's generator.

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
    return [outputs[place] for place in chosen]


def clamp_noise(noise: NoiseLaw, value: int, *, lower: int, upper: int) -> dict[Hashable, Fraction | Interval]:
    """The law of an integer plus noise, clamped to public bounds: finite, and post-processing of what has no bounds.

    Args:
        noise: `law()` of a mechanism that adds it.
        value: the exact integer.
        lower: what smaller outputs become; upper likewise.

    Source: certified probabilities of the mechanism; the noise is symmetric.

    >>> from deniable.mechanisms import Laplace
    >>> law = clamp_noise(Laplace(scale=2).law(), 3, lower=0, upper=9)
    >>> f"{law[3]:.4f}"
    '[0.2449, 0.2450]'
    """
    low, high = checked_bounds(lower, upper, largest=2**53)
    inside: dict[Hashable, Fraction | Interval] = {k: noise.pmf(k - value) for k in range(low + 1, high)}
    return {low: noise.cdf(low - value), **inside, high: noise.cdf(value - high)}


def cut_noise(
    below: Callable[[NDArray[np.float64]], ArrayLike], edges: ArrayLike, *, error: float = 1e-12
) -> dict[Hashable, Fraction | Interval]:
    """The law of the cell into which a continuous output falls: 0 up to the first edge, 1 up to the second, and on.

    Args:
        below: the distribution function of the output, such as `scipy.stats.laplace(loc=1).cdf`.
        edges: where the line is cut, increasing.
        error: bound on the absolute error of `below`; what is concluded holds if this does.

    Raises: InvalidParameterError if edges do not increase or `below` is no distribution function on them.

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
    """The law of a tuple of independent outputs, such as the cells of a noisy histogram.

    Args:
        laws: one an output, each as `read_law` takes it.

    >>> combine_laws([{0: "1/2", 1: "1/2"}, {"a": 1}])
    {(0, 'a'): Fraction(1, 2), (1, 'a'): Fraction(1, 2)}
    """
    found: dict[Any, Fraction | Interval] = {(): Fraction(1)}
    for law in map(read_law, laws):
        found = {(*old, output): _outward(mul, p, q) for old, p in found.items() for output, q in law.items()}
    return found


def lower(mass: Fraction | Interval) -> Fraction:
    """The lower end of a probability, as a binary number and as the text that it is written by."""
    return min(Fraction(mass.lower), Fraction(repr(mass.lower))) if isinstance(mass, Interval) else mass


def upper(mass: Fraction | Interval) -> Fraction:
    """The upper end of a probability, at most 1."""
    if not isinstance(mass, Interval):
        return mass
    return min(max(Fraction(mass.upper), Fraction(repr(mass.upper))), Fraction(1))


def _visible(output: float | np.floating[Any]) -> Hashable:
    """A float as a reader tells it from others: all NaN are one output, and -0.0 is not 0.0."""
    if np.isnan(output):
        return "NaN"
    return "-0.0" if output == 0 and np.signbit(output) else output


def _outward(operation: Callable[[Any, Any], Any], one: Fraction | Interval, other: Fraction | Interval) -> Any:
    """The sum or product of probabilities, exact or in an interval around it."""
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return operation(one, other)
    return Interval(round_down(operation(lower(one), lower(other))), round_up(operation(upper(one), upper(other))))
