"""An explanation says what is protected, added, paid and left."""

import json

import pyarrow as pa

import deniable as dn
from deniable.query.expression import literal, text_of
from deniable.query.operators import call

SOURCE = pa.table({"person": [1, 2], "age": [3, 4]})


def database() -> dn.Database:
    return dn.connect(
        SOURCE,
        name="t",
        unit="person",
        rows=2,
        budget=dn.Budget(epsilon=1),
        columns={"age": dn.Number(lower=0, upper=9)},
    )


def test_it_is_text_html_and_data() -> None:
    said = database().explain("SELECT AVG(age) AS a, COUNT(*) FROM t WHERE age < 5 AND age <> 4", epsilon=0.5)
    text = str(said)
    assert "at most 2 rows of one person count" in text
    assert "SUM(age - 4)" in text
    assert "epsilon=0.5" in text
    assert "<table" in said._repr_html_()
    data = json.loads(json.dumps(said.to_dict()))
    assert data["noise"][0]["mechanism"] == "Laplace"
    assert data["noise"][1]["sensitivity_l1"] == 10  # 2 rows of |9 - 4|
    assert data["cost"]["epsilon"] == "1/2"
    assert not data["stored"]


def test_an_odd_price_is_doubted_before_it_is_paid() -> None:
    explain = dn.connect(SOURCE, name="t", unit="person", budget=dn.Budget(epsilon=50)).explain
    for epsilon, doubted in ((30, True), (1, False)):
        said = explain("SELECT COUNT(*) FROM t", epsilon=epsilon)
        assert [("caution" in text) for text in (dict(said.rows())["cost"], repr(said))] == [doubted, doubted]


def test_what_the_budget_cannot_pay_is_said_to_be_refused() -> None:
    db, text = database(), "SELECT COUNT(*) FROM t"
    assert "refused" not in dict(db.explain(text, epsilon=1).rows())
    for price in ({"epsilon": 3}, {"epsilon": 3, "error": "5%"}):
        said = db.explain(text, **price)  # type: ignore[arg-type]
        assert (
            "would cost epsilon=3, but only epsilon=1 of the budget epsilon=1 is left" in dict(said.rows())["refused"]
        )
        assert said.to_dict()["refused"]
    db.sql(text, epsilon=1)
    assert not db.explain(text, epsilon=1).refused  # stored, and free


def test_every_way_of_bounding_is_said() -> None:
    db = dn.connect(SOURCE, name="t", unit="person", total_rows=5, budget=dn.Budget(epsilon=1))
    assert "at most 5 rows of one person count in all" in str(db.explain("SELECT COUNT(*) FROM t", epsilon=1))
    assumed = {
        "": "at most 1 row of one person counts (by default: say rows=... where more should count)",
        "GROUP BY age": "counts in a group, in at most 1 group (by default: say rows=... and groups=... where",
    }
    for given in ({}, {"rows": 2}, {"rows": 2, "groups": 3}):
        db = dn.connect(
            SOURCE,
            name="t",
            unit="person",
            budget=dn.Budget(epsilon=1),
            columns={"age": dn.Keys([3, 4])},
            **given,  # type: ignore[arg-type]
        )
        for grouping, words in assumed.items():
            text = f"SELECT COUNT(*) FROM t {grouping}"
            notes = db.sql(text, epsilon="0.1").notes
            said = str(db.explain(text, epsilon="0.2"))
            assert (words in said) == (not given)
            assert any(note[1:-1] in said for note in notes)
            assert ("groups=..." in said) == (grouping != "" and "groups" not in given)


def test_long_expressions_are_cut() -> None:
    expression = literal(1)
    for _ in range(50):
        expression = call("add", expression, literal(1))
    assert len(text_of(expression)) <= 60


def test_html_is_escaped() -> None:
    said = database().explain("SELECT COUNT(*) FROM t WHERE CAST(age AS TEXT) = '<script>'", epsilon=1)
    assert "<script>" not in said._repr_html_()
    assert str(said.plan.parts[0].aggregate) == "COUNT(*)"
