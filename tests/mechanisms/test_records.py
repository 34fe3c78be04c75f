import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms import Mechanism
from deniable.mechanisms.records import clamped_records, loss_of_rows
from deniable.mechanisms.smooth import SmoothLaplace, SmoothQuantile, SmoothTrimmedMean
from deniable.mechanisms.tested import ProposeTestRelease
from deniable.privacy import AddRemove, PureLoss, Replace, of_clipped_sum, of_count


def test_a_unit_with_several_records_costs_as_a_group() -> None:
    loss = PureLoss("0.5")
    assert loss_of_rows(loss, of_count(rows=1, groups=1, cells=1, relation=Replace)) == loss.under(Replace)
    several = loss_of_rows(loss, of_count(rows=3, groups=1, cells=1, relation=AddRemove), proved=frozenset({AddRemove}))
    assert several.pure_epsilon == pytest.approx(1.5)


@pytest.mark.parametrize(
    "mechanism",
    [
        *(ProposeTestRelease.calibrated(bound=1, epsilon=1, delta="1e-6"), SmoothLaplace.worst_case().mechanism),
        *(SmoothTrimmedMean.worst_case().mechanism, SmoothQuantile.worst_case().mechanism),
    ],
    ids=lambda mechanism: mechanism.kind,
)
def test_units_that_may_exchange_one_record_for_two_are_refused_under_replace(mechanism: Mechanism) -> None:
    """[15] against [0, 0] loses ten times the stated delta: it is no group of two that exchange one record each."""
    with pytest.raises(UnprovedError, match="one record a unit under replace, got up to 2"):
        mechanism.privacy_loss(of_count(rows=2, groups=1, cells=1, relation=Replace))


def test_other_relations_and_fractions_of_records_are_refused() -> None:
    with pytest.raises(UnprovedError, match="replace, not for add/remove"):
        loss_of_rows(PureLoss(1), of_count(rows=1, groups=1, cells=1, relation=AddRemove))
    half = of_clipped_sum(lower=0, upper="0.5", rows=1, groups=1, cells=1, relation=Replace)
    with pytest.raises(InvalidParameterError, match="whole number of records"):
        loss_of_rows(PureLoss(1), half)


def test_records_are_sorted_and_clamped_and_never_shown() -> None:
    for relation in (AddRemove, Replace):
        assert clamped_records([5, -700, 70], 0, 9, relation=relation).tolist() == [0, 5, 9]
        assert clamped_records([5, -(2**90), 2**90], 0, 9, relation=relation).tolist() == [0, 5, 9]
        assert clamped_records([2**63, -1], 0, 9, relation=relation).tolist() == [0, 9]  # numpy makes floats of these
        with pytest.raises(InvalidParameterError, match="exact must hold integers") as error:
            clamped_records(np.array(["77"]), 0, 9, relation=relation)
        assert "77" not in str(error.value)
        with pytest.raises(InvalidParameterError, match="of 2 dimensions"):
            clamped_records(np.array([[1, 2]]), 0, 9, relation=relation)


def test_that_there_is_no_record_is_told_where_their_number_is_public() -> None:
    assert clamped_records([None], 0, 9, relation=AddRemove).tolist() == []
    assert clamped_records([None], 0, 9, relation=Replace).tolist() == [4]
    with pytest.raises(InvalidParameterError, match="at least one record"):
        clamped_records([], 0, 9, relation=Replace)


def test_too_many_records_of_a_unit_are_refused_in_words_of_the_caller() -> None:
    """It used to say: size must be at most 10000."""
    with pytest.raises(InvalidParameterError, match="a unit may own at most 10000 records here, got l1=20000"):
        loss_of_rows(
            PureLoss(1), of_count(rows=20_000, groups=1, cells=1, relation=AddRemove), proved=frozenset({AddRemove})
        )
