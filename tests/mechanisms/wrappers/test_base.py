"""What all wrappers have in common."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms import (
    FAMILIES,
    AboveThreshold,
    BoundedLaplace,
    ContinuousExponential,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Mechanism,
    RandomizedResponse,
)
from deniable.mechanisms.base import Released
from deniable.mechanisms.inverse import InverseMedian
from deniable.mechanisms.tested import SampleAndAggregate
from deniable.mechanisms.wrappers import (
    BestOf,
    BestOfPoisson,
    Grouped,
    Mixed,
    PoissonSampled,
    PostProcessed,
    SubsetSampled,
)
from deniable.mechanisms.wrappers.base import column_sums
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, ApproximateLoss, PrivacyLoss, Replace, Sensitivity, of_count
from deniable.privacy.constructors import TeachingLoss

QUIET = Laplace(scale=Fraction(1, 1000))  # adds nothing, for all practical purposes
ALL: list[Mechanism] = [
    PostProcessed(base=QUIET, function="absolute"),
    Mixed(parts=(("1/2", QUIET), ("1/2", Gaussian(sigma_squared=Fraction(1, 1000))))),  # type: ignore[arg-type]
    Grouped(base=QUIET, size=3),
    PoissonSampled(base=QUIET, rate=Fraction(1, 2)),
    SubsetSampled(base=QUIET, size=2, population=4),
    BestOf(base=QUIET, stop=Fraction(1, 3)),
    BestOfPoisson(base=QUIET, mean=Fraction(2)),
]
by_kind = pytest.mark.parametrize("mechanism", ALL, ids=lambda mechanism: mechanism.kind)


def test_every_one_is_tried_here() -> None:
    assert {type(mechanism) for mechanism in ALL} == set(FAMILIES["Wrappers"])


@by_kind
def test_wrappers_of_wrappers_are_written_and_read(mechanism: Mechanism) -> None:
    both = Grouped(base=mechanism, size=2)
    assert Mechanism.from_json(both.to_json()) == both
    assert Mechanism.from_json(mechanism.to_json()) == mechanism


@by_kind
def test_a_session_cannot_be_wrapped(mechanism: Mechanism) -> None:
    session = AboveThreshold(threshold_scale=Fraction(1), query_scale=Fraction(1))
    for wrong in (session, "laplace", None):
        with pytest.raises(InvalidParameterError, match="at once"):
            replace(mechanism, **{"parts": ((1, wrong),)} if isinstance(mechanism, Mixed) else {"base": wrong})


SAMPLED = [mechanism for mechanism in ALL if isinstance(mechanism, PoissonSampled | SubsetSampled)]


@pytest.mark.parametrize("mechanism", SAMPLED, ids=lambda mechanism: mechanism.kind)
@pytest.mark.parametrize(
    "base",
    [
        InverseMedian(rate=Fraction(3), bounds=(0, 1)),
        Grouped(base=QUIET, size=2),
        PoissonSampled(base=QUIET, rate=Fraction(1, 2)),
        PostProcessed(base=SubsetSampled(base=QUIET, size=1, population=2), function="sign"),
        Mixed(parts=(("1/2", QUIET), ("1/2", Grouped(base=QUIET, size=2)))),  # type: ignore[arg-type]
        RandomizedResponse(epsilon=1),  # type: ignore[arg-type]
    ],
    ids=lambda base: base.kind,
)
def test_a_sample_needs_a_mechanism_that_takes_sums(mechanism: Mechanism, base: Mechanism) -> None:
    with pytest.raises(InvalidParameterError, match="does not take sums"):
        replace(mechanism, base=base)


@pytest.mark.parametrize("mechanism", SAMPLED, ids=lambda mechanism: mechanism.kind)
def test_sums_reach_what_is_made_of_mechanisms_that_take_them(mechanism: Mechanism) -> None:
    for base in (
        ExponentialMechanism(rate=Fraction(1)),
        BestOf(base=PostProcessed(base=QUIET, function="sign"), stop=Fraction(1, 3)),
        Mixed(parts=(("1/2", QUIET), ("1/2", Gaussian(sigma_squared=Fraction(1))))),  # type: ignore[arg-type]
    ):
        assert replace(mechanism, base=base).base == base


def test_why_records_are_not_summed() -> None:
    """The loss of InverseMedian is that of a record more or less. A unit that adds 1 to a sum *exchanges* a record."""
    base = InverseMedian(rate=Fraction(3), bounds=(0, 1))
    claimed = base.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=AddRemove)).delta("4.5").upper
    ours, theirs = 1 / (1 + np.exp(-3.0)), 1 / (1 + np.exp(6.0))  # of 1: len is (1, 0) for the record 1, (0, 2) for 0
    assert claimed < 0.3
    assert ours - np.exp(4.5) * theirs > 0.7


@pytest.mark.parametrize("mechanism", [m for m in ALL if m not in SAMPLED], ids=lambda mechanism: mechanism.kind)
def test_what_wraps_a_mechanism_without_a_charge_cannot_be_charged(mechanism: Mechanism) -> None:
    class Unchargeable(Laplace):
        def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
            return TeachingLoss(ApproximateLoss(0, "0.01").under(sensitivity.relation))

    base = Unchargeable(scale=Fraction(1))
    wrapped = replace(mechanism, **{"parts": ((1, base),)} if isinstance(mechanism, Mixed) else {"base": base})
    for relation in (AddRemove, Replace):
        with pytest.raises(UnprovedError):
            wrapped.privacy_loss(of_count(rows=1, groups=1, relation=relation)).charge()


@pytest.mark.parametrize("mechanism", ALL[3:5], ids=lambda mechanism: mechanism.kind)
def test_a_sample_is_summed_and_released(mechanism: PoissonSampled | SubsetSampled) -> None:
    """Four units with rows (2^k, -2^k): the release says who was in the sample, and the two columns agree."""
    rows = np.array([[1, -1], [2, -2], [4, -4], [8, -8]])
    seen = set()
    for seed in range(60):
        found = mechanism.release(rows, bits=DeterministicBits(seed))
        assert not found.safe
        assert found.value[0] == -found.value[1]
        seen.add(int(found.value[0]))
    assert seen <= set(range(16))
    assert len(seen) > 5
    if isinstance(mechanism, SubsetSampled):
        assert {bin(value).count("1") for value in seen} == {2}
    alone, small = (mechanism.release(rows[:, 0].astype(kind), bits=DeterministicBits(1)) for kind in ("i8", "i2"))
    assert alone.value.shape == (1,)
    assert alone.value == small.value


@pytest.mark.parametrize("wrong", [np.array(5), np.zeros((2, 2, 2)), np.array(["a"])])
def test_a_sample_is_of_whole_numbers(wrong: NDArray[Any]) -> None:
    with pytest.raises(InvalidParameterError, match="exact must"):
        PoissonSampled(base=QUIET, rate=Fraction(1, 2)).release(wrong)


def test_the_shape_of_a_sum_is_that_of_a_table_or_declared() -> None:
    """A list has no shape of its own: its longest row would tell."""
    mechanism = PoissonSampled(base=QUIET, rate=Fraction(1, 2))
    for rows, columns, size in (
        ([[1, 2], None, 3], 2, 2),
        ([], 2, 2),
        ([], 1, 1),
        ([1, 2], 1, 1),
        ([[1], 2, None], 1, 1),
        (np.zeros(4), None, 1),
        (np.zeros(4), 1, 1),
        (np.zeros((0, 3)), None, 3),
        (np.zeros((4, 3)), 3, 3),
    ):
        found = replace(mechanism, columns=columns).release(rows)  # type: ignore[arg-type]
        assert found.value.shape == (size,)
    for wrong in (0, 2**25, 1.5):
        with pytest.raises(InvalidParameterError, match="columns must be"):
            replace(mechanism, columns=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [[], [1, 2], [[1, 2, 3]] * 50, [None]], ids=repr)
def test_a_list_without_declared_columns_is_refused_whatever_it_holds(rows: list[object]) -> None:
    """It used to count [[1, 2, 3]] * 50 as fifty rows that are no numbers, without a word."""
    for mechanism in SAMPLED:
        with pytest.raises(InvalidParameterError, match=r"Declare (PoissonSampled|SubsetSampled)"):
            mechanism.release(rows)  # type: ignore[attr-defined]


def test_columns_reach_a_sample_inside_a_group() -> None:
    sampled = PoissonSampled(base=QUIET, rate=Fraction(1, 2), columns=3)
    for mechanism in (Grouped(base=sampled, size=2), PostProcessed(base=sampled, function="sign")):
        found = mechanism.release([[1, 2, 3]] * 50, bits=DeterministicBits(1))
        assert (found.value > 0).tolist() == [True] * 3


def test_a_sample_of_nobody_has_the_sum_zero() -> None:
    found = PoissonSampled(base=QUIET, rate=Fraction(1, 2), columns=1).release([])
    assert found.value.tolist() == [0]


def test_sums_do_not_wrap_around() -> None:
    top, bottom = 2**63 - 1, -(2**63)
    rows = np.array([[top, bottom, 5], [top, bottom, -7], [1, -1, 0]])
    assert column_sums(rows).tolist() == [2 * top + 1, 2 * bottom - 1, -2]
    assert column_sums(rows[:, 2:]).dtype == np.int64


@pytest.mark.parametrize(
    ("base", "exact", "answer"),
    [
        (ContinuousExponential(rate=Fraction(100), bounds=(0, 10)), ([3, 4], [0, 5, 0]), 3),
        (SampleAndAggregate(inner=Laplace(scale=Fraction(1, 1000)), blocks=1, bounds=(-9, 9)), ([1, 2, 3], sum), 6),
    ],
    ids=["breaks", "rows"],
)
def test_inputs_of_two_parts_reach_the_mechanism_inside(base: Mechanism, exact: Any, answer: int) -> None:
    wrapped: list[Mechanism] = [
        Grouped(base=base, size=2),
        PostProcessed(base=base, function="absolute"),
        Mixed(parts=(("1/2", base), ("1/2", base))),  # type: ignore[arg-type]
        BestOf(base=base, stop=Fraction(1, 2)),
        Grouped(base=BestOf(base=Grouped(base=base, size=2), stop=Fraction(1, 2)), size=2),
    ]
    for mechanism in wrapped:
        assert mechanism.release(exact, bits=DeterministicBits(1)) == Released(answer, False)
        with pytest.raises(InvalidParameterError, match="exact must be a pair"):
            mechanism.release([1])


def test_laws_reach_through_wrappers() -> None:
    coin = RandomizedResponse(choices=2, truth="3/4")  # type: ignore[arg-type]
    even = RandomizedResponse(choices=2, truth="1/3")  # type: ignore[arg-type]
    odd = RandomizedResponse(choices=2, epsilon=1)  # type: ignore[arg-type]
    assert Grouped(base=coin, size=2).pmf(1) == {0: Fraction(1, 4), 1: Fraction(3, 4)}
    assert PostProcessed(base=coin, function="nonnegative").pmf(0) == coin.pmf(0)
    three = BoundedLaplace(scale=Fraction(1), bounds=(-1, 1))
    sides = PostProcessed(base=three, function="absolute").pmf([0])
    assert sides[1].upper == pytest.approx(2 * three.pmf([0])[1].upper)  # type: ignore[union-attr]
    assert Mixed(parts=((Fraction(1, 2), coin), (Fraction(1, 2), even))).pmf(1)[1] == Fraction(13, 24)
    mixed = Mixed(parts=((Fraction(1, 2), coin), (Fraction(1, 2), odd))).pmf(1)[1]
    assert mixed.contains(Fraction(3, 8) + Fraction(odd.pmf(1)[1].upper) / 2)  # type: ignore[union-attr]
