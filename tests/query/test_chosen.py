"""The question that a statistic asks of columns has one name for one meaning."""

import pyarrow as pa

import deniable as dn
from deniable.privacy import PrivacyUnit
from deniable.query.catalog import DeclaredTable
from deniable.query.chosen import Chosen
from deniable.query.expression import Kind

SCHEMA = {"person": Kind.INTEGER, "age": Kind.INTEGER, "cost": Kind.REAL, "ward": Kind.TEXT}
COLUMNS = {"age": dn.Number(lower=0, upper=9), "cost": dn.Number(lower=0, upper="0.5"), "ward": dn.Keys(["a", "b"])}


def chosen(function: object, *, table: object = None, **asked: object) -> Chosen:
    described = {"name": "t", "schema": SCHEMA, "unit": PrivacyUnit(column="person"), "columns": COLUMNS, "rows": 2}
    return Chosen(function, asked, DeclaredTable(**(described | (table or {}))), None)  # type: ignore[arg-type, operator]


def key(question: Chosen, **given: object) -> str:
    return question.key(question.rehearse(question.completed(given))[1])


def test_what_is_declared_need_not_be_given_and_asks_the_same() -> None:
    declared = key(chosen(dn.statistics.median, values="age"), epsilon=1)
    for same in ((0, 9), ("0", 9), [0.0, "9.0"]):
        assert declared == key(chosen(dn.statistics.median, values="age"), epsilon="1", bounds=same)
    others = [
        key(chosen(dn.statistics.median, values="age"), epsilon=2),
        key(chosen(dn.statistics.median, values="age"), epsilon=1, bounds=(0, 8)),
        key(chosen(dn.statistics.median, values="cost"), epsilon=1, bounds=(0, 9)),
        key(chosen(dn.statistics.mean, values="age"), epsilon=1),
        *(
            key(chosen(dn.statistics.median, values="age", table=table), epsilon=1)
            for table in (
                {"rows": 3},
                {"name": "u"},
                {"relation": dn.Replace},
                {"unit": PrivacyUnit(column="ward")},
                {"columns": {**COLUMNS, "age": dn.Number(lower=0, upper=9, null=1)}},
            )
        ),
    ]
    assert len({declared, *others}) == len(others) + 1


def test_the_catalog_fills_in_what_each_statistic_needs() -> None:
    regression = chosen(dn.statistics.linear_regression, features="age", target="cost").completed({"epsilon": 1})
    assert regression == {"epsilon": 1, "bounds": [(0, 9)], "target_bounds": (0, 0.5)}
    assert chosen(dn.statistics.histogram, values="ward").completed({}) == {"keys": ["a", "b"]}
    assert chosen(dn.statistics.histogram, values="age").completed({"bins": [0, 5, 9]}) == {"bins": [0, 5, 9]}
    assert chosen(dn.statistics.anova, values="age", groups="ward").completed({}) == {
        "bounds": (0, 9),
        "keys": ["a", "b"],
    }
    assert chosen(dn.statistics.key_counts, values="age", table={"groups": 4}).completed({}) == {"groups": 4}


def test_a_table_of_one_column_stays_a_table() -> None:
    question = chosen(dn.statistics.linear_regression, features="age", target="cost")
    held = pa.table({"c0": [1, 2], "c1": [0.1, 0.2], "unit": [1, 2]})
    assert question.release(held, question.completed({"epsilon": 1}))["term"].tolist()[-1] == "age"
