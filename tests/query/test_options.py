"""The price in the text, as Google's SQL writes it: it agrees with what is declared, or is stricter."""

from typing import Any

import pyarrow as pa
import pytest

import deniable as dn
from deniable.errors import DeniableError
from deniable.noise.bits import DeterministicBits
from deniable.query.database import Database

SOURCE = pa.table({"person": [1, 1, 2, 3] * 9, "age": [30, 40, 50, 60] * 9, "ward": ["a", "b", "a", "b"] * 9})
COLUMNS = {"age": dn.Number(lower=0, upper=100), "ward": dn.Keys(["a", "b"])}


def database(**options: Any) -> Database:
    promise = {"unit": "person", "rows": 2, "groups": 2, **options}
    return dn.connect(SOURCE, name="t", columns=COLUMNS, budget=dn.Budget(epsilon=9, delta="1e-6"), **promise)


CLAUSE = "WITH DIFFERENTIAL_PRIVACY OPTIONS"
PLAIN = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward"


def google(options: str, text: str = PLAIN) -> str:
    return text.replace("SELECT", f"select with differential_privacy\n options({options})", 1)


@pytest.mark.parametrize(
    ("text", "price"),
    [
        (google("epsilon = 0.5"), {"epsilon": "0.5"}),
        (google("epsilon=1, delta=1e-7, privacy_unit_column=t.Person"), {"epsilon": 1, "delta": "1e-7"}),
        (google("max_groups_contributed = 2, epsilon = 1,"), {"epsilon": 1}),
        ("WITH c AS (SELECT * FROM t) " + google("epsilon=1", PLAIN.replace("FROM t", "FROM c")), {"epsilon": 1}),
        ("SELECT COUNT(*) FROM t WHERE ward = 'select with differential_privacy options('", {"epsilon": 1}),
    ],
)
def test_options_say_the_price(text: str, price: dict[str, Any]) -> None:
    asked: dict[str, Any] = price if "options('" in text else {}
    plan = database().explain(text, **asked).plan
    assert plan.loss.charge() == database().explain(PLAIN, **price).plan.loss.charge()
    assert (plan.key == database().explain(PLAIN, **price).plan.key) == text.startswith(("select", "WITH"))


def test_fewer_groups_than_declared_count_fewer_and_the_answer_says_so() -> None:
    db = database()
    one = db.sql(google("epsilon=1, max_groups_contributed=1"))
    assert "in at most 1 group" in str(one)
    assert next(iter(db.history()))["question"] == "select ward, COUNT(*) AS n FROM t GROUP BY ward"
    assert "in at most 1 group" in str(db.explain(google("epsilon=1, max_groups_contributed=1")))
    two = db.explain(google("epsilon=1, max_groups_contributed=2"))
    assert "in at most 2 groups" in str(two)
    assert (
        two.plan.key
        == db.explain(PLAIN, epsilon=1).plan.key
        != db.explain(google("epsilon=1, max_groups_contributed=1")).plan.key
    )


REFUSED = {
    google("delta=1e-7"): "needs epsilon",
    google("epsilon=1, privacy_unit_column=ward"): "the declared one is 'person'",
    google("epsilon=1, max_groups_contributed=3"): "from 1 to the declared 2, got 3",
    google("epsilon=1, max_groups_contributed=0"): "from 1 to",
    google("epsilon=1, max_groups_contributed=0000000019"): "from 1 to",
    google("epsilon=1, max_groups_contributed='two'"): "from 1 to",
    google("epsilon=1, epsilon=2"): "takes epsilon once",
    google("epsilom=1"): "Did you mean 'epsilon'",
    google("epsilon"): "as epsilon = ",
    google("epsilon = 1/2"): "one number",
    google("epsilon = -1"): "one number",
    google("epsilon=1").replace(")", "", 1): "not valid SQL|no closing|as epsilon|has no",
    google("epsilon=lots"): "epsilon",
    f"SELECT n FROM ({google('epsilon=1')})": "outermost SELECT",
    google("epsilon=1", f"{PLAIN} HAVING n > ({google('epsilon=1')})"): "stands once",
    google("epsilon=1", "SELECT\nlength(ward) FROM t"): "line 3, column 8",
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), REFUSED.items(), ids=range(len(REFUSED)))
def test_what_says_more_than_is_declared_is_refused(text: str, words: str) -> None:
    db = database()
    with pytest.raises(DeniableError, match=words):
        db.sql(text)
    assert not len(db.history())


def test_a_question_states_smaller_limits_than_the_table() -> None:
    """In SQL, in frames and as arguments alike: one name, one bound in the engine, said in the answer."""
    db = database(rows=9, groups=2)
    frame = db.table("t").group_by("ward").agg(dn.len().alias("n"))
    limits: dict[str, Any] = {"rows": 3, "groups": "1"}
    plans = [
        db.explain(PLAIN, epsilon=1, **limits).plan,
        frame.explain(epsilon=1, **limits).plan,
        db.explain(google("epsilon=1, rows=3, max_groups_contributed=1")).plan,
        db.explain(google("epsilon=1, groups=1"), rows=3).plan,
    ]
    assert len({plan.key for plan in plans}) == 1
    assert plans[0].key != db.explain(PLAIN, epsilon=1).plan.key
    assert [float(part.sensitivity.l1) for plan in plans for part in plan.parts] == [3] * 4  # type: ignore[attr-defined]
    db._bits = DeterministicBits(1)
    answers = [db.sql(PLAIN, epsilon=4, **limits), frame.release(epsilon=4, rows="3", groups=1)]
    assert answers[0].to_dicts() == answers[1].to_dicts()
    assert sum(row["n"] for row in answers[0].to_dicts()) == pytest.approx(9, abs=8)  # of 36 rows, 3 units have 3 each
    said = "At most 3 rows of one person count in a group, in at most 1 group (this question's own rows and groups)."
    assert said in answers[0].notes
    assert "own" not in str(db.explain(PLAIN, epsilon=1, rows=9, groups=2))


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"rows": 3}, "rows must be from 1 to the declared 2, got 3"),
        ({"groups": 0}, "groups must be from 1 to the declared 2, got 0"),
        ({"rows": True}, "rows must be from 1"),
        ({"rows": "1.5"}, "rows must be from 1"),
        ({"total_rows": 1}, "not beside rows and groups"),
    ],
)
def test_a_larger_limit_is_refused_unpaid(limits: dict[str, Any], words: str) -> None:
    db = database()
    for ask in (db.sql, db.explain, db.table("t").group_by("ward").agg(dn.len()).release):
        with pytest.raises(DeniableError, match=words):
            ask(*([PLAIN] if ask in (db.sql, db.explain) else []), epsilon=1, **limits)
    with pytest.raises(DeniableError, match="limited twice"):
        db.sql(google("epsilon=1, groups=1"), groups=1)
    assert not len(db.history())


def test_limits_of_one_question_meet_those_that_are_found_and_those_on_all_rows() -> None:
    db = database(rows="auto", groups="auto")
    assert not db.explain(PLAIN, epsilon=1, rows=2, groups=1).plan.searches
    assert len(db.explain(PLAIN, epsilon=1, rows=2).plan.searches) == 1
    spread = database(rows=None, groups=None, total_rows=4)
    (part,) = spread.explain(PLAIN, epsilon=1, total_rows=2).plan.parts
    assert part.sensitivity.l1 * part.lattice.grid == 2  # type: ignore[attr-defined]
    assert (
        spread.sql(PLAIN, error="50%", epsilon=4, total_rows=2).notes[0].endswith("(this question's own total_rows).")
    )


def test_a_price_is_said_once_and_a_unit_may_have_no_column() -> None:
    with pytest.raises(DeniableError, match="stands in OPTIONS already"):
        database().sql(google("epsilon=1"), epsilon=1)
    with pytest.raises(DeniableError, match="every row is a unit"):
        database(unit=dn.each_row(), rows=1, groups=1).sql(google("epsilon=1, privacy_unit_column=person"))
    with pytest.raises(DeniableError, match="not beside total_rows"):
        database(rows=None, groups=None, total_rows=4).sql(google("epsilon=1, max_groups_contributed=1"))


def test_postgres_is_read_as_postgres_reads_it() -> None:
    db = database()
    same = [
        ("SELECT COUNT(*) FROM t WHERE age::int > 40", "SELECT COUNT(*) FROM t WHERE CAST(age AS INTEGER) > 40"),
        ("SELECT SUM(age / 2.0) FROM t", "SELECT SUM(age / 2.0) FROM t"),
    ]
    for text, plain in same:
        assert db.explain(text, epsilon=1, dialect="postgres").plan.key == db.explain(plain, epsilon=1).plan.key
    descending = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward ORDER BY n DESC"
    assert db.explain(descending, epsilon=1, dialect="postgres").plan.query.outcome.order[0].nulls_first
    for text, words in {
        "SELECT SUM(age / 2) FROM t": "cut to whole numbers",
        r"SELECT COUNT(*) FROM t WHERE ward LIKE 'a\_'": "backslash",
    }.items():
        db.explain(text, epsilon=1)
        with pytest.raises(DeniableError, match=words):
            db.explain(text, epsilon=1, dialect="postgres")
    with pytest.raises(DeniableError, match="dialect must be one of"):
        db.explain(PLAIN, epsilon=1, dialect="oracle")
