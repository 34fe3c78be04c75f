from fractions import Fraction
from itertools import permutations, product

import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms import Laplace
from deniable.mechanisms.tested import StableSelection
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, PureLoss, Relation, Replace, Sensitivity, of_count
from tests.mechanisms.tested.laws import of_lead
from tests.mechanisms.tested.test_propose_test_release import excess

COUNTS = list(product(range(5), repeat=3))


def moved(counts: tuple[int, ...], relation: Relation) -> list[tuple[int, ...]]:
    """One vote more or less, or one that goes to another candidate."""
    found = []
    for i in range(3):
        found += [tuple(c + step * (k == i) for k, c in enumerate(counts)) for step in (-1, 1)]
    if relation is Replace:
        found = [tuple(c + (k == i) - (k == j) for k, c in enumerate(counts)) for i, j in permutations(range(3), 2)]
    return [other for other in found if min(other) >= 0 and max(other) < 5]


@pytest.mark.parametrize("relation", list(Relation))
def test_all_neighbours_keep_to_the_loss_and_a_bare_threshold_does_not(relation: Relation) -> None:
    """Exact laws of three candidates, ties included. The twin's noise is a hundredth: nearly a bare threshold."""
    reach = of_count(rows=1, groups=1, relation=relation)
    mechanism = StableSelection(test=Laplace(scale=2), threshold=2)
    bare = StableSelection(test=Laplace(scale="1/100"), threshold=2)
    laws, bare_laws = ({x: of_lead(each, x) for x in COUNTS} for each in (mechanism, bare))
    pairs = [(x, y) for x in COUNTS for y in moved(x, relation)]
    loss = mechanism.privacy_loss(reach)
    assert loss.relations == {relation}
    for epsilon in (0.0, 0.25, 0.5, 1.0):
        assert max(excess(laws[x], laws[y], epsilon) for x, y in pairs) <= loss.delta(epsilon).upper + 1e-12
    assert max(excess(bare_laws[x], bare_laws[y], 1.0) for x, y in pairs) > 0.9 > loss.delta(1).upper


def test_monotone_counts_move_the_lead_by_half() -> None:
    """Exact laws: a unit is in any set of groups. The twin moves two counts against each other."""
    reach = of_count(rows=1, groups=3, relation=AddRemove)
    mechanism = StableSelection.calibrated(reach, epsilon=1, delta="0.05", monotone=True)
    assert mechanism.test == Laplace(scale=1)
    assert StableSelection.calibrated(reach, epsilon=1, delta="0.05").test == Laplace(scale=2)
    loss = mechanism.privacy_loss(reach)
    assert loss.relations == {AddRemove}
    laws = {x: of_lead(mechanism, x) for x in COUNTS}
    together = [
        (x, tuple(c + s for c, s in zip(x, step, strict=True))) for x in COUNTS for step in product((0, 1), repeat=3)
    ]
    together += [(y, x) for x, y in together]
    against = [((4, 1, 0), (3, 2, 0)), ((3, 2, 0), (4, 1, 0))]
    for epsilon in (0.0, 0.25, 0.5, 1.0):
        claim = loss.delta(epsilon).upper + 1e-12
        assert max(excess(laws[x], laws[y], epsilon) for x, y in together if x in laws and y in laws) <= claim
    assert max(excess(laws[x], laws[y], 1.0) for x, y in against) > 2 * loss.delta(1).upper
    with pytest.raises(UnprovedError, match="Leave monotone out"):
        mechanism.privacy_loss(of_count(rows=1, groups=3, relation=Replace))
    with pytest.raises(InvalidParameterError, match="monotone must be"):
        StableSelection.calibrated(reach, epsilon=1, delta="0.05", monotone=1)  # type: ignore[arg-type]


def test_calibration_takes_the_least_threshold() -> None:
    reach = of_count(rows=1, groups=3, relation=AddRemove)
    mechanism = StableSelection.calibrated(reach, epsilon=1, delta="1e-6")
    assert mechanism.test.scale == 2
    assert mechanism.privacy_loss(reach).delta(1).upper <= 1.0001e-6
    lower = StableSelection(test=mechanism.test, threshold=mechanism.threshold - 1)
    assert lower.privacy_loss(reach).delta(1).lower > 1e-6


def test_a_clear_winner_is_named_whatever_the_number_of_candidates() -> None:
    mechanism = StableSelection.calibrated(of_count(rows=1, groups=1, relation=AddRemove), epsilon=1, delta="1e-6")
    counts = [0] * 100_000
    counts[777] = 100
    assert mechanism.release(counts, bits=DeterministicBits(1)).value == 777
    counts[778] = 99
    assert mechanism.release(counts, bits=DeterministicBits(1)).value is None
    assert mechanism.release([-(2**63), 2**63 - 1], bits=DeterministicBits(1)).value == 1


def test_a_threshold_below_what_one_unit_moves_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="at least 2"):
        StableSelection(test=Laplace(scale=1), threshold=1).privacy_loss(of_count(rows=1, groups=2, relation=Replace))
    with pytest.raises(InvalidParameterError, match="at least two"):
        StableSelection(test=Laplace(scale=1), threshold=1).release([5])


def test_what_no_unit_moves_needs_no_noise() -> None:
    """It used to be calibrated, and then refused in the words of another function: steps must be > 0."""
    for size in (0, Fraction(1, 2)):  # which no integer can move by
        still = Sensitivity(l1=size, l2_squared=size**2, linf=size, relation=AddRemove)
        with pytest.raises(InvalidParameterError, match="the sensitivity is 0"):
            StableSelection.calibrated(still, epsilon=1, delta="1e-6")
        loss = StableSelection(test=Laplace(scale=1), threshold=0).privacy_loss(still)
        assert loss == PureLoss(0).under(AddRemove)
