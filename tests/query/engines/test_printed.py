"""Statements in the words of other engines: nothing that an analyst or an owner wrote is parsed or printed by us."""

import pytest

from deniable.query.engines.printed import Seals, printed


def test_a_sealed_piece_is_put_in_as_it_is_and_looked_at_no_more() -> None:
    seals = Seals("abc")
    evil = """'it''s "seal_abc_0" // ilike(h, 3) -- \\'"""
    first, second = seals.seal("(x)"), seals.seal(f"({evil})")
    assert (first, seals.seal("(x)")) == ('"seal_abc_0"', first)
    said = seals.opened(printed(f"SELECT {first} AS a, {second} AS b FROM t", "PostgreSQL"))
    assert said == f"SELECT (x) AS a, ({evil}) AS b FROM t"


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("PostgreSQL", ["DIV(a, b)", "CAST(c AS DECIMAL(38, 0))", "WHERE _w <= 3"]),
        ("Spark", ["a DIV b", "CAST(c AS DECIMAL(38, 0))", "RINT("]),
    ],
)
def test_what_engines_say_differently_is_said_so(engine: str, words: list[str]) -> None:
    text = (
        "WITH p AS (SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY u ORDER BY h) <= 3) "
        "SELECT a // b, c::HUGEINT, "
        "CAST((x * 2.0::DOUBLE) AS BIGINT), TRY(TRY_CAST(y AS BIGINT)) FROM p"
    )
    said = printed(text, engine)
    for word in words:
        assert word.casefold() in said.casefold(), said
    assert "TRY" not in said
