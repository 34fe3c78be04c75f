"""The second route: the measures from their definitions, in plain Python over lists of tuples."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linprog

Rows = list[tuple[Any, ...]]  # quasi-identifiers, then the secret


def classes(rows: Rows) -> list[list[Any]]:
    """Secrets of the class of every row."""
    return [[b[-1] for b in rows if a[:-1] == b[:-1]] for a in rows]


def shares(secrets: Sequence[Any]) -> dict[Any, float]:
    return {value: count / len(secrets) for value, count in Counter(secrets).items()}


def measures(rows: Rows, *, values: int = 2) -> dict[str, float]:
    held = classes(rows)
    table = shares([row[-1] for row in rows])
    falling = [sorted(Counter(one).values(), reverse=True) for one in held]
    return {
        "k": min(map(len, held)),
        "distinct": min(len(set(one)) for one in held),
        "entropy": min(math.exp(-sum(p * math.log(p) for p in shares(one).values())) for one in held),
        "recursive": max(one[0] / rest if (rest := sum(one[values - 1 :])) else math.inf for one in falling),
        "delta": max(
            abs(math.log(shares(one)[value] / share)) if value in one else math.inf
            for one in held
            for value, share in table.items()
        ),
    }


def transport(rows: Rows, distance: Callable[[Any, Any], float]) -> float:
    """Greatest earth mover's distance of a class from the table, each by its linear program."""
    return max(_move(shares(one), shares([row[-1] for row in rows]), distance) for one in classes(rows))


def _move(start: dict[Any, float], end: dict[Any, float], distance: Callable[[Any, Any], float]) -> float:
    cost = [distance(a, b) for a in start for b in end]
    leave, arrive = np.repeat(np.eye(len(start)), len(end), axis=1), np.tile(np.eye(len(end)), len(start))
    moved = linprog(cost, A_eq=np.vstack([leave, arrive]), b_eq=[*start.values(), *end.values()])
    return float(moved.fun)


def tables(seed: int, number: int, *, secrets: Sequence[Any] = "abc") -> Iterator[Rows]:
    """Small random tables of two quasi-identifiers, the first at times missing."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        size = int(rng.integers(1, 12))
        pick = [rng.integers(0, 3, size).tolist(), rng.integers(0, 2, size).tolist()]
        held = [secrets[place] for place in rng.integers(0, len(secrets), size)]
        yield [(None if a == 2 else float(a), b, c) for a, b, c in zip(*pick, held, strict=True)]
