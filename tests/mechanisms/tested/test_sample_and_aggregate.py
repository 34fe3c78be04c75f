import sys
import warnings
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms import Laplace
from deniable.mechanisms.inverse import InverseQuantile
from deniable.mechanisms.smooth import SmoothQuantile, SmoothStudentT, SmoothTriangles
from deniable.mechanisms.tested import SampleAndAggregate
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace, of_count
from tests.mechanisms.tested.laws import of_blocks

ROWS = {relation: of_count(rows=1, groups=1, cells=1, relation=relation) for relation in (AddRemove, Replace)}
MEDIAN = InverseQuantile.calibrated(epsilon=2, bounds=(0, 4))


def seen_blocks(mechanism: SampleAndAggregate, rows: np.ndarray, seed: int) -> list[tuple[int, ...]]:
    """What the function gets."""
    seen: list[tuple[int, ...]] = []

    def function(part: np.ndarray) -> int:
        seen.append(tuple(part.tolist()))
        return 0

    mechanism.release((rows, function), bits=DeterministicBits(seed))
    return seen


def test_a_unit_touches_one_block_and_not_so_when_blocks_are_cut_in_order() -> None:
    mechanism = SampleAndAggregate(inner=MEDIAN, blocks=5, bounds=(0, 4))
    rows = np.arange(23)
    for seed in range(20):
        whole, less = (seen_blocks(mechanism, part, seed) for part in (rows, rows[:-1]))
        assert sorted(sum(whole, ())) == rows.tolist()
        assert len(whole) == 5
        assert sum(a != b for a, b in zip(whole, less, strict=True)) == 1
    cut = [np.array_split(part, 5) for part in (rows, rows[1:])]
    assert sum(not np.array_equal(a, b) for a, b in zip(*cut, strict=True)) > 1


@pytest.mark.parametrize("odd", ["a", None, 0.5, 2**70, [1], np.ones((2, 2))], ids=str)
@pytest.mark.parametrize("row", [1, [1, 2], np.ones(2)], ids=str)
def test_a_unit_of_a_list_changes_no_other_block(row: object, odd: object) -> None:
    """Neither the type of its numbers, nor whether there is an answer at all."""
    mechanism = SampleAndAggregate(inner=MEDIAN, blocks=5, bounds=(0, 4))

    def seen(rows: list[object]) -> Counter[str]:
        blocks: list[str] = []
        width = np.size(row) if np.ndim(row) else None
        function = lambda part: blocks.append(repr(part))  # noqa: E731
        replace(mechanism, columns=width).release((rows, function), bits=DeterministicBits(1))
        return Counter(blocks)

    assert (seen([row] * 21) - seen([*[row] * 20, odd])).total() == 1


def test_releases_follow_the_law_of_all_ways_to_make_blocks() -> None:
    """Chi-square statistic of 1,000 releases with 4 degrees of freedom: above 45 for one seed in 10^8."""
    mechanism = SampleAndAggregate(inner=MEDIAN, blocks=2, bounds=(0, 4))
    bits = DeterministicBits(1)
    drawn = [mechanism.release(((1, 3, 3), np.sum), bits=bits).value for _ in range(1000)]
    expected = 1000 * of_blocks(mechanism, (1, 3, 3))[1]
    assert ((np.bincount(drawn, minlength=5) - expected) ** 2 / expected).sum() < 45
    wrong = 1000 * of_blocks(mechanism, (1, 1, 3))[1]
    assert ((np.bincount(drawn, minlength=5) - wrong) ** 2 / wrong).sum() > 45
    many = mechanism.outcomes((1, 3, 3), 1000, bits=bits)
    assert ((np.bincount(many, minlength=5) - expected) ** 2 / expected).sum() < 45


def test_a_function_that_fails_looks_like_its_lowest_value() -> None:
    mechanism = SampleAndAggregate(inner=Laplace(scale="1/100"), blocks=4, bounds=(-5, 9))

    def fails(part: np.ndarray) -> float:
        raise ZeroDivisionError("secret 77")

    for function, total in (
        (fails, -20),
        (lambda part: float("nan"), -20),
        (lambda part: warnings.warn("secret 77", stacklevel=1) or 1, 4),
        (lambda part: "a word", -20),
        (lambda part: float("inf"), 36),
        (lambda part: 2.6, 12),
        (lambda part: 10**30, 36),
    ):
        assert mechanism.release((np.arange(10), function), bits=DeterministicBits(1)).value == total
    assert mechanism.release((np.empty((0, 3)), fails)).safe


def test_the_loss_is_that_of_one_block_for_either_relation() -> None:
    smooth = SmoothQuantile(noise=SmoothStudentT.calibrated(epsilon=2, bounds=(0, 4)), quantile="1/2")
    for inner in (MEDIAN, smooth, Laplace(scale=2)):
        mechanism = SampleAndAggregate(inner=inner, blocks=7, bounds=(0, 4))
        for relation, row in ROWS.items():
            loss = mechanism.privacy_loss(row)
            assert loss.relations == {relation}
            assert loss.pure_epsilon == 2
        assert mechanism.privacy_loss(of_count(rows=2, groups=1, cells=1, relation=Replace)).pure_epsilon == 4


def test_what_does_not_aggregate_records_is_refused() -> None:
    noise = SmoothStudentT.calibrated(epsilon=1, bounds=(0, 4))
    with pytest.raises(UnprovedError):
        SampleAndAggregate(inner=SmoothTriangles(noise=noise, vertices=5), blocks=7, bounds=(0, 4))
    with pytest.raises(InvalidParameterError, match="inner must be"):
        SampleAndAggregate(inner=noise, blocks=7, bounds=(0, 4))
    with pytest.raises(InvalidParameterError, match="blocks"):
        SampleAndAggregate(inner=MEDIAN, blocks=0, bounds=(0, 4))
    with pytest.raises(InvalidParameterError, match="Pass the rows themselves"):
        SampleAndAggregate(inner=MEDIAN, blocks=2, bounds=(0, 4)).release((3, np.sum))


def test_a_function_that_leaves_the_program_counts_as_failed() -> None:
    mechanism = SampleAndAggregate(inner=Laplace(scale=Fraction(1, 1000)), blocks=3, bounds=(2, 9))
    released = mechanism.release((np.arange(12), lambda _: sys.exit("row 7 is odd")), bits=DeterministicBits(1))
    assert released.value == 6


def test_no_exception_tells_of_rows_and_who_waits_may_stop() -> None:
    class Leaves(BaseException):
        pass

    def leaves(part: np.ndarray) -> float:
        raise Leaves

    def stopped(part: np.ndarray) -> float:
        raise KeyboardInterrupt

    mechanism = SampleAndAggregate(inner=Laplace(scale=Fraction(1, 1000)), blocks=3, bounds=(2, 9))
    assert mechanism.release((np.arange(12), leaves), bits=DeterministicBits(1)).value == 6
    with pytest.raises(KeyboardInterrupt):
        mechanism.release((np.arange(12), stopped), bits=DeterministicBits(1))
    with pytest.raises(InvalidParameterError, match=r"blocks must be <= 2\^24"):
        SampleAndAggregate(inner=Laplace(scale=1), blocks=10**12, bounds=(2, 9))


def test_a_function_sees_no_other_block() -> None:
    mechanism = SampleAndAggregate(inner=Laplace(scale=Fraction(1, 1000)), blocks=3, bounds=(0, 99))
    assert mechanism.release((np.arange(12), lambda part: part.base is not None), bits=DeterministicBits(1)).value == 0
