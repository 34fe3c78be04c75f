"""The table: nothing possible is called impossible, and every form of it says the same."""

import json

import pytest

from deniable.adaptive import learn_threshold
from deniable.errors import InvalidParameterError
from deniable.limits import table
from deniable.mechanisms import Laplace
from deniable.privacy import Replace, Sensitivity

FOUND = table(n=20_000, columns=50, epsilon="0.5", delta="1e-6", values=1000)
BY_TASK = {row.task: row for row in FOUND.rows}


def test_what_is_done_is_never_below_what_is_impossible_and_comes_within_forty_times() -> None:
    factors = {row.task: row.factor for row in FOUND.rows if row.impossible is not None}
    assert len(factors) == 7
    assert all(factor is not None and 1 < factor < 40 for factor in factors.values())
    assert BY_TASK["threshold among 1000 values, with delta"].factor is None


def test_errors_of_the_library_are_those_of_its_mechanisms() -> None:
    learned = learn_threshold([0] * 20_000, [0] * 20_000, domain=1000, epsilon="0.5", failure="0.1")
    assert BY_TASK["threshold among 1000 values"].deniable == pytest.approx(learned.excess, rel=0.02)
    reach = Sensitivity(l1=50, l2_squared=50, linf=1, relation=Replace, coordinates=50)
    half = Laplace.calibrated(reach, epsilon="0.5").half_width(1 - 0.05 / 50)
    assert BY_TASK["means of 50 columns"].deniable == pytest.approx(half / 20_000, rel=0.01)


def test_all_forms_have_all_rows() -> None:
    text, page, data = str(FOUND), FOUND._repr_html_(), json.loads(FOUND.to_json())
    assert text.splitlines()[0] == data["title"]
    assert len(text.splitlines()) == len(data["rows"]) + 2 == 10
    assert page.count("<tr>") == 9
    assert "<th>impossible below</th>" in page
    for row in data["rows"]:
        assert row["source"]
        assert row["task"] in text
        assert f"<td>{row['task']}</td>" in page


def test_without_a_delta_the_rows_for_it_are_left_out() -> None:
    rows = table(n=100, columns=3, epsilon=1).rows
    assert len(rows) == 5
    assert not any("delta" in row.task for row in rows)


@pytest.mark.parametrize("wrong", [{"n": 0}, {"columns": 0}, {"epsilon": 0}, {"delta": 1}, {"values": 2}])
def test_sizes_that_make_no_table_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        table(**{"n": 10, "columns": 2, "epsilon": 1, **wrong})
