"""Noisy tables: they agree, their intervals hold, and what nobody measured is refused."""

from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnsafeReleaseError
from deniable.noise.bits import DeterministicBits
from deniable.numbers.arrays import Floats
from deniable.privacy import AddRemove
from deniable.synthesis.tables import Marginals
from tests.synthesis.tables import rows
from tests.synthesis.test_plan import plan

COUNT = 3_000


def measured(seed: int = 1, *, safe: bool = True, **known: Any) -> Marginals:
    made = plan(**(known or {"rho": 1}))
    arrays = made.measure(rows(COUNT), None, DeterministicBits(seed))
    return Marginals(plan=made, arrays=arrays, cost=made.privacy_loss, safe=safe)


def exact(*columns: int) -> Floats:
    sizes = (4, 21, 3)
    table = np.zeros([sizes[column] for column in columns])
    np.add.at(table, tuple(rows(COUNT)[column] for column in columns), 1)
    return table


def test_tables_agree_and_keys_come_in_the_order_that_was_asked_for() -> None:
    made = measured()
    pair, turned = made["ward", "ill"], made["ill", "ward"]
    assert (pair.columns, turned.columns) == (("ward", "ill", "count"), ("ill", "ward", "count"))
    shape = pair["count"].reshape(4, 3)
    assert np.abs(turned["count"].reshape(3, 4).T - shape).max() < 1e-9
    assert made["ward"]["count"] == pytest.approx(shape.sum(axis=1))
    assert made[()]["count"].item() == pytest.approx(made["age"]["count"].sum())
    assert list(pair["ward"][:4]) == ["a", "a", "a", "b"]
    assert list(pair["ill"][:3]) == [False, True, None]
    assert shape == pytest.approx(exact(0, 2), abs=12)


def test_three_columns_come_in_any_order() -> None:
    made = measured(tables=[["ward", "age", "ill"]], rho=5_000)
    turned = made["ill", "ward", "age"]
    assert turned["count"].reshape(3, 4, 21) == pytest.approx(exact(2, 0, 1), abs=2)
    weights = np.zeros((1, 3, 4, 21))
    weights[0, 1, 2, 15:] = 1
    assert made.linear(["ill", "ward", "age"], weights)["sum"] == pytest.approx(
        [exact(2, 0, 1)[1, 2, 15:].sum()], abs=5
    )


def test_all_tables_together_have_a_row_for_each_count() -> None:
    made = measured()
    whole = made.release(nonnegative=True)
    assert len(whole) == 12 + 21 + 1
    assert whole.columns == ("ward", "age", "ill", "count", "nonnegative")
    assert list(whole["age"][:2]) == ["all", "all"]
    assert whole["nonnegative"].min() >= 0
    tidy = made.table(["ward", "ill"], nonnegative=True)
    assert tidy["nonnegative"].reshape(4, 3).sum() == pytest.approx(whole["nonnegative"][-1], abs=1e-2)
    assert made["age"].keys[0].edge is None


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "1/8"}], ids=str)
def test_intervals_hold_the_truth_as_often_as_they_say(price: dict[str, Any]) -> None:
    """400 measurements: 95% of a count's intervals hold within 3.5 standard errors; wrong once in 10^3 keys."""
    weights = np.zeros((1, 21))
    weights[0, 4:15] = 1
    made = plan(**price)
    table = exact(0, 2).ravel()
    held = []
    for seed in range(400):
        arrays = made.measure(rows(COUNT), None, DeterministicBits(seed))
        answer = Marginals(plan=made, arrays=arrays, cost=made.privacy_loss)
        bounds = answer["ward", "ill"].measures[0].bounds(0.95)  # type: ignore[union-attr]
        ranged = answer.linear(["age"], weights).measures[0].bounds(0.95)  # type: ignore[union-attr]
        truth = exact(1)[4:15].sum()
        held.append(
            [
                *((bounds.lower <= table) & (table <= bounds.upper))[:2],
                (ranged.lower <= truth)[0] & (truth <= ranged.upper)[0],
            ]
        )
    shares = np.array(held, dtype=np.float64).reshape(400, -1).mean(axis=0)
    assert np.abs(shares - 0.95).max() <= 3.5 * (0.95 * 0.05 / 400) ** 0.5


def test_weighted_sums_are_those_of_the_counts() -> None:
    made = measured()
    weights = np.stack([np.arange(12.0).reshape(3, 4), np.ones((3, 4))])
    sums = made.linear(["ill", "ward"], weights)
    counts = made["ill", "ward"]["count"].reshape(3, 4)
    assert sums["sum"] == pytest.approx([(weights[0] * counts).sum(), counts.sum()])
    bounds = sums.measures[0].bounds(0.95)  # type: ignore[union-attr]
    total = made[()].measures[0].bounds(0.95)  # type: ignore[union-attr]
    assert bounds.upper[1] - bounds.lower[1] == pytest.approx(total.upper[0] - total.lower[0], rel=1e-6)
    negative = made.linear(["ill"], [[1, -1, 0]])
    assert negative["sum"].item() == pytest.approx(counts.sum(axis=1)[0] - counts.sum(axis=1)[1])


def test_what_no_table_holds_is_refused() -> None:
    made = measured()
    for columns in (["ward", "age"], ["nobody"], ["ward", "ward"], "ward"):
        with pytest.raises(InvalidParameterError, match="no table holds"):
            made.table(columns)
    for weights in ([1.0, 2], [[1.0, 2]], [[np.nan, 1, 1]], 3):
        with pytest.raises(
            InvalidParameterError, match=r"coefficients of ill are finite numbers of shape \('sums', 3\)"
        ):
            made.linear(["ill"], weights)


def test_noise_of_a_test_stream_says_so() -> None:
    made = measured(safe=False)
    with pytest.raises(UnsafeReleaseError):
        made[()].scalar()
    assert made["ward"].to_arrow().column_names[0] == "unsafe_test_noise"


def test_no_row_and_one_row_are_tables_like_all_others() -> None:
    for count in (0, 1):
        made = plan(rho=1)
        arrays = made.measure(rows(count), None, DeterministicBits(1))
        answer = Marginals(plan=made, arrays=arrays, cost=made.privacy_loss)
        assert len(answer.release(nonnegative=True)) == 34


def test_pages_show_the_plan_and_the_cost() -> None:
    made = measured()
    assert "ward x ill: 12 counts" in str(made)
    assert made._repr_html_().startswith("<pre>")
    assert AddRemove is made.plan.relation
