"""The laws of choices by rank, written from the docstrings: points by their distances, listed."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.ranks.positions import PARTS
from deniable.mechanisms.ranks.slices import SLOPE
from deniable.privacy import AddRemove, Relation
from tests.mechanisms.laws import Law, Weaker

Chances = dict[tuple[int, ...], float]
Table = tuple[int, ...]


def distances(
    records: object, target: float, size: int, between: bool = False, points: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """D of every point, from the definition; or of some points in order, among them the first and the last."""
    records = np.sort(np.asarray(records, dtype=np.int64))
    points = np.arange(size) if points is None else points
    low, high = (np.array([(records < c).sum() for c in points + more], dtype=np.float64) for more in (0, 1))
    if between:
        known = np.concatenate([[0], records, [size - 1]])
        free = (low == high) & (points > 0) & (points < size - 1)
        places = np.interp(points, np.unique(known), np.arange(np.unique(known).size))
        parts = np.floor((places - np.floor(places)) * PARTS + 1e-9) / PARTS
        low, high = np.where(free, low - 0.5 + parts, low + 0.5), np.where(free, low - 0.5 + parts, high - 0.5)
    low[0], high[-1] = -np.inf, np.inf
    return np.maximum(0, np.maximum(low - target, target - high))


def neighbours(size: int, records: int, relation: Relation) -> list[tuple[Table, Table]]:
    tables = [t for n in range(records + 1) for t in combinations_with_replacement(range(size), n)]
    if relation is AddRemove:
        return [(t, tuple(sorted((*t, x)))) for t in tables for x in range(size)]
    return [(t, tuple(sorted((*t[:i], x, *t[i + 1 :])))) for t in tables for i in range(len(t)) for x in range(size)]


def exponential(rate: float, away: NDArray[np.float64]) -> NDArray[np.float64]:
    chances = np.exp(-rate * (away - away.min()))
    return np.asarray(chances / chances.sum())


def permute_and_flip(rate: float, away: NDArray[np.float64]) -> NDArray[np.float64]:
    """McKenna and Sheldon's sum over sets of others."""
    heads, found = np.exp(-rate * (away - away.min())), []
    for point, head in enumerate(heads):
        others = np.delete(heads, point)
        terms = (
            (-1) ** count / (count + 1) * math.prod(chosen)
            for count in range(len(heads))
            for chosen in combinations(others, count)
        )
        found.append(head * sum(terms))
    return np.array(found)


@cache
def costs(records: Table, size: int, quantiles: tuple[Fraction, ...]) -> dict[Table, Fraction]:
    """sum |N - T| of every ordered tuple of points, by the definition."""
    found = {}
    for points in combinations_with_replacement(range(size), len(quantiles)):
        ranks = [0, *(sum(record < point for record in records) for point in points), len(records)]
        wanted = [q * len(records) for q in (Fraction(0), *quantiles, Fraction(1))]
        off = [rank - target for rank, target in zip(ranks, wanted, strict=True)]
        found[points] = sum((abs(b - a) for a, b in pairwise(off)), Fraction(0))
    return found


def joint(
    records: Table, quantiles: tuple[Fraction, ...], rate: float, weights: NDArray[np.int64]
) -> dict[Table, float]:
    """The chance of every tuple: independent points by weight, in order, and then by their costs."""
    found = {}
    for points, cost in costs(records, len(weights), quantiles).items():
        orders = math.prod(math.factorial(points.count(point)) for point in set(points))
        found[points] = float(np.prod(weights[list(points)]) / orders * np.exp(-rate * float(cost)))
    total = sum(found.values())
    return {points: chance / total for points, chance in found.items()}


def recursive(mechanism: Any, records: Table) -> Chances:
    """All first quantiles, then all of both parts, and so on."""
    count, size = len(mechanism.quantiles), mechanism.points.size
    found: Chances = {(0,) * count: 1.0}
    for node in mechanism.tree:
        rate = mechanism.rate if node.level == 0 else mechanism.later / max(node.quantile, 1 - node.quantile)
        longer: Chances = {}
        for points, chance in found.items():
            low = points[node.below] if node.below >= 0 else 0
            high = points[node.above] if node.above < count else size - 1
            part = [r - low for r in records if (r >= low or node.below < 0) and (r < high or node.above == count)]
            away = distances(part, float(node.quantile) * len(part), high - low + 1)
            for point, more in enumerate(exponential(float(rate), away), low):
                key = (*points[: node.index], point, *points[node.index + 1 :])
                longer[key] = longer.get(key, 0.0) + chance * float(more)
        found = longer
    return found


@cache
def noisy_ranks(
    records: int, quantiles: tuple[Fraction, ...], scale: float, most: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """All vectors of noisy ranks in halves, shape (vectors, quantiles), and their chances, for a flat tree; noise above
    `most` is left out."""
    noise = np.arange(-most, most + 1)
    chances = np.exp(-np.abs(noise) / scale)
    counters = np.meshgrid(*[noise] * (len(quantiles) + 1), indexing="ij")
    weights = np.array(1.0)
    for _ in counters:
        weights = np.multiply.outer(weights, chances / chances.sum())
    parts, total, places = np.zeros_like(counters[0]), sum(counters), []
    for q, counter in zip(quantiles, counters, strict=False):
        parts, (top, bottom) = parts + counter, q.as_integer_ratio()
        places.append(((2 * top * (2 * records - total) + 2 * bottom * parts + bottom) // (2 * bottom)).ravel())
    found, kind = np.unique(np.stack(places, axis=1), axis=0, return_inverse=True)
    return found, np.bincount(kind.ravel(), weights.ravel())


def slices(
    records: Table,
    size: int,
    quantiles: tuple[Fraction, ...],
    *,
    scale: float,
    rate: float,
    zone: int,
    most: int,
    reach: float | None = None,
) -> NDArray[np.float64]:
    """The chances of all answers in the order of the quantiles, as one axis for each."""
    places, weights = noisy_ranks(len(records), quantiles, scale, most)
    far = np.full((len(places), 1), 10**6)  # as good as infinity
    below = np.maximum.accumulate(np.hstack([-far, places]), axis=1)[:, :-1]
    above = np.minimum.accumulate(np.hstack([places, far])[:, ::-1], axis=1)[:, ::-1][:, 1:]
    own = np.maximum(0, np.minimum(places - below, above - places) - 2 * zone) / (2 * SLOPE)
    own = own if reach is None else np.full(places.shape, reach)
    least = int(places.min())
    near_all = np.array([distances(records, place / 2, size) for place in range(least, int(places.max()) + 1)])
    chances = weights.reshape(-1, 1)
    for index in range(len(quantiles)):
        away = near_all[places[:, index] - least]
        answers = np.exp(-rate * np.minimum(away, own[:, index : index + 1]))
        answers /= answers.sum(axis=1, keepdims=True)
        chances = (chances[:, :, np.newaxis] * answers[:, np.newaxis, :]).reshape(len(places), -1)
    return np.asarray(chances.sum(axis=0).reshape((size,) * len(quantiles)))


def sliced(mechanism: Any, records: Table) -> Chances:
    """Answers in order; noise whose chance is below e^-30 is left out."""
    assert mechanism.tree[0] == len(mechanism.quantiles) + 1, "a flat tree"
    scale = float(mechanism.scale)
    listed = slices(
        records,
        mechanism.points.size,
        mechanism.quantiles,
        scale=scale,
        rate=float(mechanism.rate),
        zone=mechanism.zone,
        most=math.ceil(30 * scale),
    )
    found: Chances = {}
    for answer in np.ndindex(listed.shape):
        key = tuple(sorted(answer))
        found[key] = found.get(key, 0.0) + float(listed[answer])
    return found


def of_one(
    target: Callable[[Any, int], float],
    chances: Callable[[float, NDArray[np.float64]], NDArray[np.float64]] = exponential,
) -> Law:
    def law(mechanism: Any, exact: Table) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        size = mechanism.points.size
        away = distances(exact, target(mechanism, len(exact)), size, mechanism.interpolated)
        return np.arange(size), chances(float(mechanism.rate), away)

    return law


def at_quantile(mechanism: Any, count: int) -> float:
    return float(mechanism.quantile * count + mechanism.shift)


def of_tuples(chances: Callable[[Any, Table], Chances]) -> Law:
    def law(mechanism: Any, exact: Table) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        listed = chances(mechanism, tuple(sorted(exact)))
        base = mechanism.points.size
        found = {sum(d * base**k for k, d in enumerate(reversed(points))): p for points, p in listed.items()}
        order = sorted(found)
        return np.array(order), np.array([found[number] for number in order])

    return law


def both_quartiles(mechanism: Any, exact: Table) -> Chances:
    away = [distances(exact, q * (len(exact) - 1) + 0.5, mechanism.points.size, True) for q in (0.25, 0.75)]
    low, high = (exponential(float(mechanism.rate), each) for each in away)
    return {(i, j): float(low[i] * high[j]) for i, j in product(range(len(low)), repeat=2)}


def of_joint(mechanism: Any, exact: Table) -> Chances:
    ones = np.ones(mechanism.points.size, dtype=np.int64)
    return joint(exact, mechanism.quantiles, float(mechanism.rate), ones)


LAWS: dict[str, Law] = {
    "exponential_quantile": of_one(at_quantile),
    "permute_and_flip_quantile": of_one(at_quantile, permute_and_flip),
    "matched_quantile": of_one(at_quantile),
    "exponential_extreme": of_one(lambda m, n: max(n - 1, n / 2) if m.largest else min(1, n / 2)),  # tight
    "quartiles": of_tuples(both_quartiles),
    "recursive_quantiles": of_tuples(recursive),
    "joint_quantiles": of_tuples(of_joint),
    "slice_quantiles": of_tuples(sliced),
}


def weaker(mechanism: Any) -> Any:
    rates = {name: Fraction(10, 7) * getattr(mechanism, name) for name in ("rate", "later") if hasattr(mechanism, name)}
    return replace(mechanism, **rates)


WEAKER: dict[str, Weaker] = dict.fromkeys(LAWS, weaker)
RUNS = dict.fromkeys(LAWS, 40_000) | {"joint_quantiles": 200_000, "recursive_quantiles": 60_000}
