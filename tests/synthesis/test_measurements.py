"""Noisy tables cost what is stated, as measured under the noise that was really drawn."""

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms.price import Price
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation
from deniable.synthesis.measurements import Measurements, Measuring
from tests.synthesis.tables import DOMAIN, EXTREMES, drawn_by, measuring, rows


def share(made: Measuring) -> float:
    """The part of the stated loss that draws spend on the worst of some neighbours."""
    return drawn_by(made, rows(90), EXTREMES)


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("price", [{"epsilon": 9}, {"rho": 9}], ids=str)
@pytest.mark.parametrize("limit", [1, 3])
def test_tables_draw_what_proves_their_loss(relation: Relation, price: dict[str, Any], limit: int) -> None:
    assert 0.95 <= share(measuring(relation=relation, limit=limit, **price)) <= 1 + 1e-12


def test_noise_of_half_the_scale_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    noises = Price.noises
    double = lambda self, *given: noises(self._times(Fraction(4)), *given)  # noqa: E731
    monkeypatch.setattr(Price, "noises", double)
    assert share(measuring(rho="1/2")) > 3


def test_units_count_with_at_most_their_rows() -> None:
    levels = np.zeros((3, 500), dtype=np.int64)
    crowd = measuring(rho=1000, limit=2).measure(levels, np.zeros(500, dtype=np.int64), DeterministicBits(1))
    assert crowd.total < 20


def test_larger_tables_get_less_noise_and_parts_add_up() -> None:
    plan = measuring(rho="1/2")
    ward, age, ill = (float(noise.standard_deviation()) for noise in plan.noises)
    assert age < ward < ill
    assert sum(part.rho or 0 for part in plan.parts) == Fraction(1, 2)
    spent = sum(noise.privacy_loss(plan.sensitivity).rho or 0 for noise in plan.noises)
    assert spent == pytest.approx(float(plan.parts[0].rho or 0), rel=1e-3)


def test_pairs_with_a_target_get_more_of_the_same_price() -> None:
    plain, aimed = measuring(rho="1/2"), measuring(rho="1/2", target="ill")
    before, after = (plan.noises_of_pairs([9, 9, 9]) for plan in (plain, aimed))
    assert plain.pair_indices == [(0, 1), (0, 2), (1, 2)]
    assert before[0].standard_deviation() < after[0].standard_deviation()
    assert before[1].standard_deviation() > after[1].standard_deviation()
    spent = sum(noise.privacy_loss(aimed.sensitivity).rho or 0 for noise in after)
    assert spent == pytest.approx(float(aimed.parts[1].rho or 0), rel=1e-3)
    assert 0.95 <= share(measuring(rho=9, target="ward")) <= 1 + 1e-12
    with pytest.raises(InvalidParameterError, match="target is one of ward, age, ill"):
        measuring(rho=1, target="nobody")


def test_one_column_alone_gets_the_whole_price() -> None:
    plan = Measuring(
        domain=type(DOMAIN)(DOMAIN.attributes[:1]), price=Price.of(None, 0, "1/2"), relation=AddRemove, rows=1
    )
    made = plan.measure(rows(300)[:1], None, DeterministicBits(1))
    assert made.pairs == ()
    assert made.bin_sizes == (1,)  # rows follow the table of the column, however many levels it has
    assert plan.noises[0].privacy_loss(plan.sensitivity).rho == pytest.approx(0.5, rel=1e-3)


def test_tables_are_kept_as_text_and_read_again() -> None:
    plan = measuring(epsilon=1, delta="1e-6")
    made = plan.measure(rows(3_000), None, DeterministicBits(1))
    again = Measurements.from_text(made.to_text(), plan)
    assert json.loads(again.to_text()) == json.loads(made.to_text())
    assert (again.bin_sizes, again.total) == (made.bin_sizes, made.total)


def test_missing_values_within_their_noise_are_none() -> None:
    made = measuring(rho=1).measure(rows(3_000), None, DeterministicBits(1))
    assert [column[-1] for column in made.columns] == [0, 0, 0]
    levels = rows(3_000)
    levels[0, :900] = 3
    with_missing = measuring(rho=1).measure(levels, None, DeterministicBits(1))
    assert with_missing.columns[0][-1] == pytest.approx(900, abs=50)


@pytest.mark.parametrize("count", [0, 1])
def test_hardly_any_rows_are_measured_like_all_others(count: int) -> None:
    made = measuring(epsilon=1, delta="1e-6").measure(rows(count), None, DeterministicBits(1))
    assert made.total >= 1
    assert all(table.sum() == pytest.approx(made.total) for table in made.columns)
