"""A question of frames is the question of SQL: the same tree, name and refusals."""

from collections.abc import Callable

import pyarrow as pa
import pytest

import deniable as dn
from deniable.errors import DeniableError
from deniable.query.database import Database
from deniable.query.frames import Ask, Frame

col = dn.col


def shop() -> Database:
    orders = {"buyer": [1, 1, 2, 3] * 9, "paid": [5.0, 9.0, 2.0, 3.0] * 9, "item": [1, 2, 3, 4] * 9}
    return dn.connect(
        {
            "orders": pa.table({**orders, "odd": [[1]] * 36}),
            "people": pa.table({"buyer": [1, 2, 3], "region": ["n", "s", "n"]}),
            "items": pa.table({"item": [1, 2, 3, 4], "label": ["a", "b", "a", "b"], "price": [1, 2, 3, 4]}),
        },
        unit="buyer",
        public=["items"],
        columns={
            "orders": {"paid": dn.Number(lower=0, upper=100), "item": dn.Keys([1, 2, 3, 4])},
            "people": {"region": dn.Keys(["n", "s"])},
            "items": {"label": dn.Keys(["a", "b"])},
        },
        rows=3,
        groups=2,
        budget=dn.Budget(epsilon=9),
    )


DB = shop()
ORDERS, PEOPLE, ITEMS = (DB.table(name) for name in ("orders", "people", "items"))
COUNT = dn.len()
LABELLED = ITEMS.filter(col("price") < 3).select("item", "label")
SAME: list[tuple[str, Ask]] = [
    ("SELECT COUNT(*) FROM orders", ORDERS.select(COUNT)),
    (
        "SELECT region, MEDIAN(paid), COUNT(DISTINCT orders.buyer) FROM orders JOIN people USING (buyer) GROUP BY 1",
        ORDERS.join(PEOPLE, on="buyer").group_by("region").agg(col("paid").median(), col("buyer").n_unique()),
    ),
    (
        "SELECT region, AVG(paid) FROM orders JOIN people USING (buyer) WHERE paid > 1 AND item IN (1, 2) GROUP BY 1",
        ORDERS.filter(col("paid") > 1, col("item").is_in([1, 2]))
        .join(PEOPLE, on="buyer")
        .group_by("region")
        .agg(col("paid").mean()),
    ),
    (
        "SELECT COUNT(*) FROM orders JOIN items USING (item) WHERE price < 3 AND label = 'a'",
        ORDERS.join(LABELLED, on="item").filter(col("label") == "a").select(COUNT),
    ),
    (
        "SELECT label, SUM(paid) FROM orders LEFT JOIN (SELECT item, label FROM items WHERE price < 3) items "
        "USING (item) GROUP BY label",
        ORDERS.join(LABELLED, on="item", how="left").group_by("label").agg(col("paid").sum()),
    ),
    (
        "SELECT COUNT(*) FROM orders o LEFT JOIN items i ON o.item = i.price WHERE i.item > 1",
        ORDERS.join(ITEMS, left_on="item", right_on="price", how="left").filter(col("item_right") > 1).select(COUNT),
    ),
    (
        "SELECT COUNT(*) FROM orders a JOIN orders b USING (buyer) WHERE a.paid < b.paid",
        ORDERS.join(ORDERS, on="buyer").filter(col("paid") < col("paid_right")).select(COUNT),
    ),
    (
        "SELECT paid * 2 > 9 AS high, SUM(paid * 2) FILTER (WHERE item = 1), AVG(paid * 2) FROM orders GROUP BY high",
        ORDERS.with_columns(paid=col("paid") * 2)
        .group_by(high=col("paid") > 9)
        .agg(col("paid").filter(col("item") == 1).sum(), mean=col("paid").mean()),
    ),
    (
        "SELECT AVG(LEAST(GREATEST(total, 0), 9)) FROM (SELECT buyer, SUM(paid) AS total, COUNT(*) AS n FROM orders "
        "WHERE paid > 1 GROUP BY buyer HAVING n > 2)",
        ORDERS.filter(col("paid") > 1).group_by("buyer").agg(total=col("paid").sum(), n=COUNT).filter(col("n") > 2)
        .agg(col("total").clip(0, 9).mean()),
    ),
    (
        "SELECT item, COUNT(*) FROM (SELECT buyer, item, MAX(paid) AS most FROM orders GROUP BY buyer, item) "
        "WHERE most > 3 GROUP BY item",
        ORDERS.group_by("buyer", "item").agg(most=col("paid").max()).as_frame().filter(col("most") > 3)
        .group_by("item").agg(COUNT),
    ),
    (
        "SELECT COUNT(*) FROM (SELECT buyer, paid FROM orders WHERE item = 1 UNION ALL SELECT buyer, 2.5 AS paid FROM "
        "people) WHERE paid > 2",
        ORDERS.filter(col("item") == 1).select("buyer", "paid")
        .union(PEOPLE.select(dn.lit(2.5).alias("paid"), "buyer")).filter(col("paid") > 2).select(COUNT),
    ),
    (
        "SELECT WIDTH_BUCKET(paid, 0, 50, 5) AS bin, VAR_POP(paid), STDDEV_POP(paid), COVAR_SAMP(paid, item), "
        "COVAR_POP(paid, item), MODE(item) FROM orders WHERE EXP(paid) > 1 GROUP BY 1",
        ORDERS.filter(col("paid").exp() > 1).group_by(bin=col("paid").bucket(0, 50, 5)).agg(
            col("paid").var_pop(), sd=col("paid").std_pop(), c=col("paid").cov(col("item")),
            p=col("paid").cov_pop(col("item")), often=col("item").mode(),
        ),
    ),
    (
        "SELECT COUNT(*) FROM people WHERE SUBSTRING(region, 1, 1) || 'x' = 'nx'",
        PEOPLE.filter(col("region").slice(1, 1).concat("x") == "nx").select(COUNT),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "ask"), SAME, ids=[text for text, _ in SAME])
def test_a_question_has_one_name_in_both_front_ends(text: str, ask: Ask) -> None:
    asked, written = (DB.explain(each, epsilon=1).plan for each in (ask, text))
    assert asked.query.question.to_json() == written.query.question.to_json()
    assert asked.key == written.key


def test_what_sql_paid_for_is_free_for_a_frame() -> None:
    db = shop()
    ask = db.table("orders").group_by("item").agg(COUNT, col("paid").sum().alias("total"))
    assert "cost   " in str(ask.explain(epsilon=1))
    assert not list(db.history())
    text = (
        "SELECT item, COUNT(*) AS n, SUM(paid) AS paid FROM orders GROUP BY item HAVING n > -99 ORDER BY paid LIMIT 2"
    )
    paid, free = db.sql(text, epsilon=1), ask.filter(col("len") > -99).sort("total").head(2).release(epsilon=1)
    assert len(list(db.history())) == 1
    assert [[*row.values()] for row in free] == [[*row.values()] for row in paid]
    assert ask.sort("total", descending=True).said.endswith(".sort(total, descending)")


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: DB.table("order"), "no table 'order'. Did you mean 'orders'"),
    (lambda: ORDERS.filter(col("pad") > 1), "no column 'pad'. Did you mean 'paid'"),
    (lambda: ORDERS.select("paid").filter(col("item") > 1), "no column 'item' here"),
    (lambda: ORDERS.filter(col("odd") > 1), "Declare how to read it"),
    (lambda: ORDERS.filter(col("paid") + 1), "filter takes a condition"),
    (lambda: ORDERS.filter("paid > 1"), "a condition is needed"),
    (lambda: ORDERS.filter(COUNT > 1), "cannot stand in filter"),
    (lambda: ORDERS.with_columns(3), "a name or an expression"),
    (lambda: ORDERS.join("people", on="buyer"), "join takes another frame"),
    (lambda: ORDERS.join(PEOPLE, on="buyer", how="outer"), "join takes another frame"),
    (lambda: ORDERS.join(PEOPLE), "join needs on="),
    (lambda: ORDERS.join(ORDERS, on="item"), "rows of different units"),
    (lambda: ITEMS.join(ORDERS, on="item", how="left"), "Put the private table on the left"),
    (lambda: ITEMS.select(COUNT).explain(epsilon=1), "every table of the query is public"),
    (lambda: ORDERS.group_by("item").agg(), "agg takes numbers of a group"),
    (lambda: ORDERS.group_by("item").agg(col("paid")), "agg takes numbers of a group"),
    (lambda: ORDERS.group_by(paid=col("item") + 1).agg(COUNT), "Name the group with .alias"),
    (lambda: ORDERS.group_by("buyer").agg(COUNT).explain(epsilon=1), "group_by buyer needs a public list"),
    (lambda: ORDERS.select(col("buyer").sum()).explain(epsilon=1), r"write .clip\(low, high\)"),
    (lambda: ORDERS.select(COUNT, COUNT).explain(epsilon=1), r"Name one with .alias\(...\)"),
    (lambda: ORDERS.select(col("paid").product()), "has no attribute"),
    (lambda: ORDERS.union(PEOPLE), "union takes frames of the columns"),
    (lambda: ORDERS.union("people"), "union takes other frames"),
    (lambda: ORDERS.group_by("item").agg(COUNT).agg(COUNT), "group_by names the column that says whose row"),
    (lambda: ORDERS.group_by("buyer").agg(n=COUNT).head(3).agg(COUNT), "would choose rows by those of other units"),
    (lambda: ORDERS.group_by("buyer").agg(n=col("paid").median()).agg(COUNT), "is not supported"),
    (lambda: ORDERS.select(COUNT).head("two").explain(epsilon=1), "head takes a whole number"),
    (lambda: _deep().explain(epsilon=1), "deeply nested|too long|at most"),
]  # fmt: skip


def _deep() -> Ask:
    frame: Frame = ORDERS
    for _ in range(40):
        frame = frame.with_columns(paid=col("paid") + col("paid"))
    return frame.select(col("paid").sum())  # type: ignore[no-any-return]


@pytest.mark.parametrize(("wrong", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_a_refusal_is_in_the_words_of_a_frame(wrong: Callable[[], object], words: str) -> None:
    with pytest.raises((DeniableError, AttributeError), match=words) as refused:
        wrong()
    for word in ("GROUP BY", "WHERE", "SELECT", "COUNT(*)"):
        assert word not in str(refused.value)


def test_a_frame_is_never_changed() -> None:
    before = ORDERS.columns
    ORDERS.filter(col("paid") > 1).with_columns(twice=col("paid") * 2).join(PEOPLE, on="buyer")
    assert repr(ORDERS) == "<Frame table('orders'): buyer, paid, item>"
    assert repr(ORDERS.select(COUNT)).startswith("<Ask table('orders').agg(COUNT(*) AS len); .explain")
    assert ORDERS.columns == before == ["buyer", "paid", "item"]
    assert ORDERS.join(PEOPLE.with_columns(paid=1), on="buyer").columns == [*before, "region", "paid_right"]
