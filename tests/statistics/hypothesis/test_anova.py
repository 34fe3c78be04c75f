import importlib
import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics.hypothesis.anova import Anova, _deviations
from tests.statistics.hypothesis.conftest import MOST

Rejections = Callable[[Anova, Callable[[np.random.Generator], object]], float]
Row = tuple[int, int]


def groups(shift: float, size: int = 300, shares: tuple[float, ...] = (0.4, 0.3, 0.3)) -> Callable[..., object]:
    def make(rng: np.random.Generator) -> object:
        group = rng.choice(3, size=size, p=shares)
        return 5 + 1.5 * rng.standard_normal(size) + shift * group, group

    return make


def by_definition(rows: list[Row]) -> tuple[Fraction, Fraction]:
    """The two sums, with fractions, from the docstring."""
    mean = Fraction(sum(value for value, _ in rows), max(len(rows), 1))
    between, within = Fraction(0), Fraction(0)
    for group in {group for _, group in rows}:
        mine = [value for value, other in rows if other == group]
        own = Fraction(sum(mine), len(mine))
        between += len(mine) * abs(own - mean)
        within += sum(abs(value - own) for value in mine)
    return between, within


def test_the_sums_are_exact() -> None:
    rng = np.random.default_rng(1)
    for size in (0, 1, 2, 7, 40):
        values, places = rng.integers(0, 65537, size), rng.integers(0, 3, size)
        between, within = by_definition(list(zip(values.tolist(), places.tolist(), strict=True)))
        assert _deviations(values, places, 4) == (between // 1, within // 1)


@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_no_row_moves_a_sum_by_more_than_twice_the_span(relation: Relation) -> None:
    """All data of up to four rows with values 0, 1, 2 in two groups and all their neighbours; span 2."""
    kinds = list(itertools.product(range(3), range(2)))
    largest = Fraction(0)
    for size in range(1, 5):
        for rows in itertools.combinations_with_replacement(kinds, size):
            here = by_definition(list(rows))
            others = [rows[1:]] if relation is AddRemove else [(kind, *rows[1:]) for kind in kinds]
            others += [(*rows[:-1],)] if relation is AddRemove else [(*rows[:-1], kind) for kind in kinds]
            for other in others:
                there = by_definition(list(other))
                largest = max(largest, *(abs(a - b) for a, b in zip(here, there, strict=True)))
    assert 2 < largest <= 4


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("epsilon", ["0.3", "2"])
def test_equal_means_are_rejected_as_seldom_as_the_level_says(
    rejections: Rejections, epsilon: str, relation: Relation
) -> None:
    test = Anova(bounds=(0, 10), keys=[0, 1, 2], epsilon=epsilon, relation=relation, simulations=199)
    assert rejections(test, groups(0)) <= MOST
    assert rejections(test, groups(0, shares=(0.8, 0.1, 0.1))) <= MOST


def test_a_test_that_forgets_its_noise_rejects_too_often(
    rejections: Rejections, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: the null law without noise."""
    monkeypatch.setattr(
        importlib.import_module("deniable.statistics.hypothesis.anova"),
        "noise",
        lambda mechanism, shape, bits: np.zeros(shape),
    )
    test = Anova(bounds=(0, 10), keys=[0, 1, 2], epsilon="0.3", simulations=199)
    assert rejections(test, groups(0)) > MOST


def test_different_means_are_found(rejections: Rejections) -> None:
    test = Anova(bounds=(0, 10), keys=[0, 1, 2], epsilon=1, simulations=199)
    assert rejections(test, groups(0.5, size=1500)) > 0.9


def test_odd_data_get_an_answer() -> None:
    test = Anova(bounds=(0, 10), keys=["a", "b"], epsilon="0.01", simulations=99)
    for values, names in (([], []), ([3.0], ["a"]), ([np.nan, np.inf, -np.inf, 1e300], ["a", "b", "z", None])):
        answer = test((values, names), bits=DeterministicBits(1))
        assert 0 < answer["p_value"][0] <= 1
        assert np.isfinite(answer["statistic"][0])
    with pytest.raises(InvalidParameterError, match="one entry for each row"):
        test(([1.0], ["a", "b"]))


def test_the_price_is_kept_and_the_error_is_known() -> None:
    test = Anova(bounds=(0, 10), keys=["a", "b"], epsilon=1, rows=2)
    assert test.privacy_loss.charge().epsilon == 1
    assert test.sensitivities[0].l1 == 4 * 2**16
    assert test.expected_error(100) == pytest.approx(np.sqrt(2) * 40 / 0.45, rel=1e-4)


def test_bounds_may_be_searched(rejections: Rejections) -> None:
    plan = Anova(bounds="auto", keys=[0, 1, 2], epsilon=4, simulations=199)  # type: ignore[arg-type]
    assert rejections(plan, groups(0)) <= MOST
    assert rejections(plan, groups(1)) > 0.9
    assert plan.privacy_loss.charge().epsilon == 4
    answer = plan(groups(0)(np.random.default_rng(1)), bits=DeterministicBits(1))
    assert "estimated privately" in answer.notes[1]
    width = Anova(bounds=(0, 1), keys=plan.keys, epsilon=3)
    assert plan.expected_error(100) == pytest.approx(width.expected_error(100))  # a share of the width
