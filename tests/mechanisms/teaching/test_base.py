"""What all mechanisms for teaching have in common."""

import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms import FAMILIES, AllOrNothing, Mechanism, NameAndShame, RandomRecord
from deniable.mechanisms.teaching.base import numbered
from deniable.noise.bits import SECURE
from deniable.privacy import AddRemove, Budget, Relation, Replace, Sensitivity
from deniable.privacy.losses.teaching import TeachingStatement

ALL: list[Mechanism] = [NameAndShame(delta="0.1"), AllOrNothing(delta="0.1"), RandomRecord(population=10)]  # type: ignore[arg-type]


def of_records(count: int | None, relation: Relation = Replace) -> Sensitivity:
    return Sensitivity(l1=9, l2_squared=9, linf=3, relation=relation, coordinates=count)  # type: ignore[arg-type]


def test_every_one_is_tried_here() -> None:
    assert {type(mechanism) for mechanism in ALL} == set(FAMILIES["For teaching only"])


@pytest.mark.parametrize("mechanism", ALL, ids=lambda mechanism: mechanism.kind)
def test_the_docstring_and_the_loss_say_what_it_is_for(mechanism: Mechanism) -> None:
    assert "for teaching only" in (mechanism.__doc__ or "")
    loss = mechanism.privacy_loss(of_records(1))
    assert isinstance(loss.statement, TeachingStatement)
    assert loss.delta(0).contains(0.1)
    assert loss.delta(20).contains(0.1)
    assert loss.relations == {Replace}
    with pytest.raises(UnprovedError, match="teaching"):
        Budget(epsilon=1, delta="0.5").price(loss)


@pytest.mark.parametrize("mechanism", ALL, ids=lambda mechanism: mechanism.kind)
def test_what_is_shown_is_never_safe(mechanism: NameAndShame | AllOrNothing | RandomRecord) -> None:
    found = mechanism.release(np.arange(10), bits=SECURE)
    assert not found.safe
    assert set(found.value.tolist()) <= set(range(10))


@pytest.mark.parametrize("mechanism", ALL, ids=lambda mechanism: mechanism.kind)
def test_records_are_a_line_of_whole_numbers(mechanism: NameAndShame | AllOrNothing | RandomRecord) -> None:
    for wrong in (np.array(5), np.ones((5, 2)), np.array(["a"] * 10)):
        with pytest.raises(InvalidParameterError, match="exact must"):
            mechanism.release(wrong)


@pytest.mark.parametrize("kind", [NameAndShame, RandomRecord])
def test_the_number_of_records_of_a_unit_must_be_known(kind: type[Mechanism]) -> None:
    mechanism = next(each for each in ALL if isinstance(each, kind))
    with pytest.raises(InvalidParameterError, match="coordinates"):
        mechanism.privacy_loss(of_records(None))


def test_a_unit_that_owns_everything_is_shown_with_certainty() -> None:
    for count in (10, 11):
        with pytest.raises(InvalidParameterError, match="certainty"):
            RandomRecord(population=10).privacy_loss(of_records(count))


def test_numbers_of_outcomes_are_for_small_inputs() -> None:
    assert numbered((0, -1, 1)).tolist() == [1, 2 << 10, 3 << 20]
    for wrong in ((1000,), (0,) * 7):
        with pytest.raises(InvalidParameterError, match="small"):
            numbered(wrong)


def test_add_remove_is_refused_where_the_number_of_records_is_public() -> None:
    with pytest.raises(UnprovedError, match="replace"):
        RandomRecord(population=10).privacy_loss(of_records(1, AddRemove))
