"""All small tables, and what is true of a statistic by enumeration."""

import math
from collections.abc import Callable, Hashable, Iterable
from itertools import combinations_with_replacement
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def multisets(domain: range, size: int) -> list[tuple[int, ...]]:
    return list(combinations_with_replacement(domain, size))


def replaced(table: tuple[int, ...], domain: range) -> set[tuple[int, ...]]:
    """All tables that differ in one record."""
    return {tuple(sorted((*table[:i], value, *table[i + 1 :]))) for i in range(len(table)) for value in domain} - {
        table
    }


def smooth_sensitivity(
    tables: list[T],
    neighbours: Callable[[T], set[T]],
    statistic: Callable[[T], float],
    beta: float,
    chosen: Iterable[T] | None = None,
) -> dict[T, float]:
    """max over k of e^(-beta k) times the largest local sensitivity within k changes, from the definition."""
    around = {table: neighbours(table) for table in tables}
    value = {table: statistic(table) for table in tables}
    local = {table: max(abs(value[table] - value[other]) for other in around[table]) for table in tables}
    found = {}
    for table in tables if chosen is None else chosen:
        reached, edge, best, k = {table}, {table}, local[table], 0
        while edge:
            k += 1
            edge = set().union(*(around[other] for other in edge)) - reached
            reached |= edge
            best = max([best, *(math.exp(-beta * k) * local[other] for other in edge)])
        found[table] = best
    return found
