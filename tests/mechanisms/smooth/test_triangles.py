from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms.smooth import SmoothStudentT, SmoothTriangles
from deniable.privacy import Replace, of_count
from tests.mechanisms.smooth.laws import rounded
from tests.mechanisms.tables import smooth_sensitivity

NOISE = SmoothStudentT(epsilon=3, degrees=1, beta="1/2", bounds=(0, 100))
VERTICES = 5
PAIRS = list(combinations(range(VERTICES), 2))


def edges(graph: int) -> list[tuple[int, int]]:
    """Graphs as bit masks of pairs."""
    return [pair for k, pair in enumerate(PAIRS) if graph >> k & 1]


def triangles(graph: int) -> int:
    there = set(edges(graph))
    return sum(set(combinations(three, 2)) <= there for three in combinations(range(VERTICES), 3))


def switched(graph: int) -> set[int]:
    """All graphs with one edge more or less."""
    return {graph ^ (1 << k) for k in range(len(PAIRS))}


def test_the_bound_is_that_of_all_graphs_at_all_distances() -> None:
    """Every 41st of the 1024 graphs of five vertices, from the definition."""
    mechanism = SmoothTriangles(noise=NOISE, vertices=VERTICES)
    chosen = range(0, 2 ** len(PAIRS), 41)
    truth = smooth_sensitivity(
        list(range(2 ** len(PAIRS))),
        lambda graph: {graph ^ (1 << k) for k in range(len(PAIRS))},
        triangles,
        beta=0.5,
        chosen=chosen,
    )
    for graph in chosen:
        value, found = mechanism.measured(np.array(edges(graph)))
        assert value == triangles(graph)
        assert float(found) == pytest.approx(truth[graph], rel=1e-8)


def test_all_neighbours_keep_to_epsilon_and_local_sensitivity_does_not() -> None:
    """Exact laws along a path from no edge to two vertices with three common neighbours, joined. The twin's noise has
    the scale of the local sensitivity, or next to none where that is 0."""
    mechanism = SmoothTriangles(noise=replace(NOISE, bounds=(0, 8)), vertices=VERTICES)
    path = [(0, 2), (1, 2), (0, 3), (1, 3), (0, 4), (1, 4), (0, 1)]
    smooth, naive = [], []
    for count in range(len(path) + 1):
        value, bound = map(float, mechanism.measured(path[:count]))
        local = max(count // 2, 0.01)
        smooth.append(rounded(mechanism.noise, value, bound)[1])
        naive.append(rounded(mechanism.noise, value, local)[1])
    for laws, low, high in ((smooth, 0.5, 3), (naive, 3.1, 99)):
        losses = [np.abs(np.log(a / b)).max() for a, b in pairwise(laws)]
        assert low < max(losses) <= high


def test_direction_repetition_and_loops_do_not_matter() -> None:
    mechanism = SmoothTriangles(noise=NOISE, vertices=VERTICES)
    assert mechanism.measured([(0, 1), (1, 2), (2, 0)]) == mechanism.measured([(1, 0), (0, 1), (2, 1), (0, 2), (3, 3)])
    assert mechanism.measured([])[0] == 0


def test_edges_of_other_vertices_are_left_out() -> None:
    """An error would say that the secret graph holds one."""
    mechanism = SmoothTriangles(noise=NOISE, vertices=VERTICES)
    triangle = [(0, 1), (1, 2), (2, 0)]
    assert mechanism.measured([*triangle, (0, 5), (-1, 2), (7, 9)]) == mechanism.measured(triangle)


@pytest.mark.parametrize("exact", [np.array([0, 1]), np.array([(0, 1, 2)]), np.array([("a", "b")])])
def test_arrays_that_hold_no_edges_are_refused(exact: NDArray[Any]) -> None:
    with pytest.raises(InvalidParameterError):
        SmoothTriangles(noise=NOISE, vertices=VERTICES).measured(exact)


@pytest.mark.parametrize("vertices", [1, 5000, 2.0, True])
def test_bad_numbers_of_vertices_are_refused(vertices: object) -> None:
    with pytest.raises(InvalidParameterError, match="vertices"):
        SmoothTriangles(noise=NOISE, vertices=vertices)


def test_replace_is_refused() -> None:
    with pytest.raises(UnprovedError, match="add/remove, not for replace"):
        SmoothTriangles(noise=NOISE, vertices=3).privacy_loss(of_count(rows=1, groups=1, cells=1, relation=Replace))
