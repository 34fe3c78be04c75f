"""Views and DataFrames of Spark over files: understood or refused.

The analysed plan of EXPLAIN says what a frame is made of, one node a line. Understood is a chain of columns and
conditions over one table that is stored or in memory, in expressions that look at one row and that no value can stop.
All else is refused, also a name or a text that merely looks like more.
"""

import re
from contextlib import suppress
from typing import Any

FIELDS = "spark.sql.debug.maxToStringFields"  # beyond so many a plan says "... 3 more fields"
ABOVE = ("SubqueryAlias", "View", "Project", "Filter")
STORED = re.compile(r"(LocalRelation|LogicalRDD|Range|OneRowRelation)\b.*|Relation .*\] (parquet|orc|avro)")
FUNCTIONS = frozenset({"cast", "collate", "coalesce", "nullif", "isnull", "isnotnull", "between"})
SIGNS = frozenset({"=", "<", ">", "<=", ">=", "<=>"})
INFIX = frozenset({"div", "like", "rlike", "ilike"})  # operators that are words
CURE = "A row here must come from one row of a table. Write it to Parquet files, or checkpoint the frame, and ask that."


def refusal(session: Any, source: str) -> str | None:
    """Why a table of this session cannot be asked; None if it can. Reads no row."""
    plan = ""
    before = session.conf.get(FIELDS)
    session.conf.set(FIELDS, "1000000")
    with suppress(Exception):
        ((plan,),) = session.sql(f"EXPLAIN EXTENDED SELECT 1 FROM {source}").collect()
    session.conf.set(FIELDS, before)
    _, _, plan = plan.partition("== Analyzed Logical Plan ==\n")
    plan, _, _ = plan.partition("\n== Optimized Logical Plan ==")
    why = _of_plan(plan.strip().split("\n")[2:])  # the types, and our own SELECT
    return None if why is None else f"{why}. {CURE}"


def _of_plan(lines: list[str]) -> str | None:
    above = ""
    for line in lines:
        said = re.sub(r"^ *\+- ", "", line)
        node, _, rest = said.partition(" ")
        if STORED.fullmatch(said):
            return None if line is lines[-1] else "it holds more than one table"
        if node not in ABOVE:
            return f"it holds {node}" if re.fullmatch(r"\w+", node) else "it holds more than one table"
        if node in ("Project", "Filter") and not _is_total(rest, casts=above == "View"):
            return f"its {node} holds more than columns, constants and comparisons"
        above = node
    return "its plan is not understood"


def _is_total(said: str, *, casts: bool) -> bool:
    """Whether expressions have a value whatever a row holds.

    It is then a function of the row alone.

    Args:
        casts: whether they may be casts of columns to any type: a view's own, to the types that it was made with.
    """
    said = said.removeprefix("[").removesuffix("]")
    for inner, kind in re.findall(r"cast\((.*?) as (\w+)", said):
        if "#" in inner and kind != "string" and not casts and not re.fullmatch(r"\S+#\d+L", inner):
            return False
        if re.fullmatch(r"\S+#\d+L", inner) and kind not in ("string", "bigint", "double") and not casts:
            return False
    if "[" in said or not FUNCTIONS.issuperset(re.findall(r"([^\s(,]+)\(", said)):
        return False
    words = re.findall(r"[^\s(),]+", said)
    return not any(
        (re.search(r"\w", word) is None and word not in SIGNS)
        or word.lower() in INFIX
        or re.search(r"^-.*#|#\d+L?[^\dL]", word)
        for word in words
    )
