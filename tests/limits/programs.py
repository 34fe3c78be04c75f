"""The best private mechanisms on tiny domains, by linear programs over all of them."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

Pairs = Sequence[tuple[int, int]]


def best_worst_case(losses: np.ndarray, pairs: Pairs, *, epsilon: float, delta: float = 0.0) -> float:
    """The least, over mechanisms, of the largest expected loss over tables.

    Args:
        losses: of shape (tables, outputs), infinite where a table asks for nothing (it is then private, and no more).
        pairs: of neighbouring tables.
    """
    tables, outputs = losses.shape
    size, factor = tables * outputs, math.exp(epsilon)
    ordered = [pair for a, b in pairs for pair in ((a, b), (b, a))]
    slack = len(ordered) * outputs if delta else 0
    rows, columns, values, limits = [], [], [], []
    for place, (a, b) in enumerate(ordered):  # p[a] - e^epsilon p[b] - slack <= 0
        for output in range(outputs):
            row = place * outputs + output
            rows += [row, row]
            columns += [a * outputs + output, b * outputs + output]
            values += [1.0, -factor]
            if delta:
                rows.append(row)
                columns.append(size + 1 + row)
                values.append(-1.0)
    limits += [0.0] * (len(ordered) * outputs)
    row = len(limits)
    if delta:  # the slacks of a pair sum to delta
        for place in range(len(ordered)):
            rows += [row] * outputs
            columns += range(size + 1 + place * outputs, size + 1 + (place + 1) * outputs)
            values += [1.0] * outputs
            limits.append(delta)
            row += 1
    for table in range(tables):  # expected losses are at most the last variable
        if np.isfinite(losses[table]).all():
            rows += [row] * (outputs + 1)
            columns += [*range(table * outputs, (table + 1) * outputs), size]
            values += [*losses[table], -1.0]
            limits.append(0.0)
            row += 1
    shape = (len(limits), size + 1 + slack)
    cost = np.zeros(shape[1])
    cost[size] = 1.0
    sums = sparse.kron(sparse.eye(tables), np.ones((1, outputs)))
    equal = sparse.hstack([sums, sparse.csr_matrix((tables, 1 + slack))])
    found = linprog(
        cost,
        A_ub=sparse.csr_matrix((values, (rows, columns)), shape=shape),
        b_ub=limits,
        A_eq=equal,
        b_eq=np.ones(tables),
        method="highs",
    )
    assert found.status == 0
    return float(found.fun)


def histograms(cells: int, rows: int) -> tuple[list[tuple[int, ...]], list[tuple[int, int]]]:
    """All tables of so many rows as counts of cells, and the pairs in which one row is replaced."""
    tables = [counts for counts in itertools.product(range(rows + 1), repeat=cells) if sum(counts) == rows]
    pairs = [
        (i, j)
        for (i, a), (j, b) in itertools.combinations(enumerate(tables), 2)
        if sum(abs(x - y) for x, y in zip(a, b, strict=True)) == 2
    ]
    return tables, pairs
