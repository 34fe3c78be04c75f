"""A first policy for several tables: filled in, it opens them all."""

import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.app.draft import Found, write_policy
from deniable.errors import CatalogError
from deniable.query.expression import Kind
from deniable.query.policy import read_policy

PUBLIC = "# public = true              # if everybody may know its rows"


def test_a_draft_declares_nothing_but_places_names_and_types() -> None:
    """Whatever stands in a catalogue, and in names: what is public is the owner's to say."""
    evil = 'one\n[columns.ghost]\ntype = "text"\rlower = 1\u2028keys = ["a"]'
    schema = {
        "age": Kind.INTEGER,
        "x": Kind.REAL,
        "who": Kind.TEXT,
        "day": Kind.DATE,
        'a "b"\n': Kind.TEXT,
        "odd": None,
    }
    found = Found(Path("t.parquet"), schema, notes=[evil], about=dict.fromkeys(schema, evil))
    alone, both = tomllib.loads(write_policy(found)), tomllib.loads(write_policy(found, found))
    listed = {name: {"type": kind.value} for name, kind in schema.items() if kind is not None}
    assert alone["columns"] == listed
    assert [table["columns"] for table in both["tables"].values()] == [listed, listed]
    assert alone["data"] == {"source": "t.parquet", "name": "t"}
    for text in (alone, both):
        assert text["privacy"] == {"rows": 1, "groups": 1, "relation": "add/remove"}


def draft(place: Path) -> str:
    tables = {
        "orders": {"order": [1, 2], "who": ["a", "b"], "x": [1.5, 2.0]},
        "items": {"order": [1, 1, 7], "code": [3, 4, 3]},
        "codes": {"code": [3, 4]},
    }
    found = []
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), place / f"{name}.parquet")
        kinds = {c: {"who": Kind.TEXT, "x": Kind.REAL}.get(c, Kind.INTEGER) for c in columns}
        found.append(Found(Path(f"{name}.parquet"), kinds))
    text = write_policy(*found)
    for old, new, count in (
        ('# unit = "..."', 'unit = "who"', 1),
        ('source = "codes.parquet"\n# public', 'source = "codes.parquet"\npublic', 1),
        (f'source = "items.parquet"\n{PUBLIC}\n# path = ["order_id"', 'source = "items.parquet"\npath = ["order"', 1),
        ('type = "real"\n# lower = 0\n# upper = 100', 'type = "real"\nlower = 0\nupper = 100', 1),
    ):  # fmt: skip
        assert text.count(old) == count, old
        text = text.replace(old, new)
    return text


def test_a_policy_of_several_tables_opens_them_all(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(draft(tmp_path))
    db = dn.connect(tmp_path / "shop.toml")
    assert {name: (table.public, table.path is None) for name, table in db.tables.items()} == {
        "orders": (False, True), "items": (False, False), "codes": (True, True),
    }  # fmt: skip
    assert [row["column"] for row in db.columns] == [
        "orders.order", "orders.who (unit)", "orders.x", "items.order (leads to the unit)", "items.code", "codes.code",
    ]  # fmt: skip
    db.sql("SELECT SUM(x), COUNT(*) FROM orders JOIN items USING (order) JOIN codes USING (code)", epsilon="0.1")
    assert db["items"].median("code", bounds=(0, 9), epsilon="0.1").protects == "one who of items (add/remove)"
    with pytest.raises(CatalogError, match="Private tables: orders, items"):
        db["codes"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[tables.orders]", '[data]\nsource = "x.parquet"\n[tables.orders]', r"Move \[data\]"),
        ("\npublic = true", "\npubic = true", r"\[tables.codes\] has no field 'pubic'. Did you mean 'public'"),
        ("\nlower = 0", "\nlowest = 0", r"\[tables.orders.columns.x\] has no field 'lowest'"),
        ('source = "orders.parquet"\n', "", r"\[tables.orders\] needs source"),
        ('type = "real"\nlower = 0\nupper = 100', 'type = "reel"', r"\[tables.orders.columns.x\]: type must be"),
    ],
)
def test_mistakes_name_their_table(tmp_path: Path, old: str, new: str, words: str) -> None:
    text = draft(tmp_path)
    assert old in text
    (tmp_path / "shop.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(CatalogError, match=words):
        read_policy(tmp_path / "shop.toml")
