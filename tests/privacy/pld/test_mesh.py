"""Bins are narrow where errors would be large, keep atoms as edges, and find atoms that they were not told."""

import numpy as np
import pytest

from deniable.privacy.amplification.sampling.sampled_law import SampledLaw
from deniable.privacy.pld.law import FiniteLaw
from deniable.privacy.pld.laws import LaplaceLaw, NormalLaw, randomized_response_law
from deniable.privacy.pld.mesh import Cells, Focus, begun, cells, placed, threshold

FOCUS = Focus(4.0, 1e-5, 2.0)


def refined(part: Cells, law: object, count: int, total: float, passes: int = 2) -> Cells:
    for _ in range(passes):
        part = cells(law, count, placed(part, threshold([part], total), 2**14), part.fixed, FOCUS)  # type: ignore[arg-type]
    return part


@pytest.mark.parametrize("law", [NormalLaw(0.1), LaplaceLaw(0.1)])
def test_errors_add_up_to_what_was_asked(law: NormalLaw | LaplaceLaw) -> None:
    for total in (1e-3, 1e-5):
        found = refined(begun(law, 1000, 1e-12, 1e-9, FOCUS), law, 1000, total)
        assert 0.2 * total < found.errors.sum() < 2 * total


def test_a_tenth_of_the_error_takes_about_three_times_the_bins() -> None:
    law = NormalLaw(0.1)
    part = begun(law, 1000, 1e-12, 1e-9, FOCUS)
    sizes = [placed(part, threshold([part], total), 2**14).size for total in (1e-4, 1e-5)]
    assert sizes[1] / sizes[0] == pytest.approx(10**0.5, rel=0.15)


def test_ends_and_atoms_are_edges_and_there_is_one_edge_below() -> None:
    for law in (LaplaceLaw(0.1), randomized_response_law(0.3)):
        part = begun(law, 10, 1e-12, 1e-9, FOCUS)
        edges = placed(part, threshold([part], 1e-4), 2**14)
        assert {law.lowest, law.highest} <= set(edges)
        assert edges[0] < law.lowest == edges[1]
        assert np.all(np.diff(edges) > 0)


def test_a_single_loss_has_bins_on_both_sides() -> None:
    law = FiniteLaw(np.array([0.5]), np.ones(1), np.array([np.exp(-0.5)]), vanishing=1 - np.exp(-0.5))
    part = begun(law, 3, 1e-12, 1e-9, FOCUS)
    edges = placed(part, threshold([part], 1e-4), 2**14)
    assert edges.size == 3
    assert edges[0] < 0.5 == edges[1] < edges[2]


def test_an_atom_that_is_not_stated_is_found() -> None:
    """ln(1 - rate + rate e^x) of two responses and of what is never seen: three atoms, the middle one not at an end."""
    base = randomized_response_law(1.0, failed=0.01)
    law = SampledLaw(base, 0.1)  # type: ignore[arg-type]
    middle = float(np.log(0.9 + 0.1 * np.exp(-1.0)))
    found = refined(begun(law, 5, 1e-12, 1e-9, FOCUS), law, 5, 1e-9, passes=4)
    place = int(np.searchsorted(found.edges, middle))
    assert found.edges[place] - found.edges[place - 1] < 1e-3


def test_there_are_never_more_bins_than_allowed() -> None:
    part = begun(NormalLaw(0.1), 1000, 1e-12, 1e-9, FOCUS)
    assert placed(part, 1e-200, 100).size <= 160
