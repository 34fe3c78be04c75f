"""`deniable attack differencing`: exact answers of a log that isolate few people."""

import json
from pathlib import Path
from typing import Annotated

import typer

from deniable.app.commands.attack.owned import OwnFile, read_conditions
from deniable.app.options import AsJson
from deniable.app.terminal import say, waiting
from deniable.errors import SourceError, redacted


def differencing(
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG",
            help="Text file with one query a line: SELECT COUNT(*) FROM t WHERE ..., or a condition on a row.",
            show_default=False,
        ),
    ],
    *,
    data: OwnFile,
    fewer_than: Annotated[
        int,
        typer.Option(min=2, metavar="K", help="Show what depends on fewer people than this."),
    ] = 5,
    below: Annotated[
        int, typer.Option("--suppress", min=0, metavar="N", help="Answers about fewer people than this were withheld.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Find exact answers, and differences of two, that tell about few people.

    The total counts as published. It also says how many people are determined by all the answers together. The log is
    run on your own file; nothing is released.

    deniable attack differencing log.sql patients.csv --fewer-than 5
    """
    from deniable.attacks import find_determined_people, find_differences

    lines, conditions, others = read_log(log)
    with waiting("comparing groups..."):
        groups = read_conditions(data, conditions)
        result = find_differences(groups, fewer_than=fewer_than, suppressed_below=below)
        determined = len(find_determined_people(groups, suppressed_below=below))
    if as_json:
        answer = {**result.to_data(), "determined": determined, "lines": lines, "not_read": others}
        typer.echo(json.dumps(answer, indent=2))
        return
    say(result.sentence)
    for one in result.differences[:20]:
        say(one.named([f"line {line}" for line in lines]))
    say(f"People whose own value follows from all the answers together, by any linear combination: {determined:,}.")
    if others:
        say(f"Lines of another form, which were not looked at: {', '.join(map(str, others))}.")


def read_log(log: Path) -> tuple[list[int], list[str], list[int]]:
    """Return numbers and conditions of the counts in a log, and the other lines.

    Raises: SourceError if the file cannot be read as text, or has no count.
    """
    try:
        texts = log.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise SourceError(f"{redacted(log)!r} cannot be read as text.") from None
    asked = {line: text.strip(" ;\t") for line, text in enumerate(texts, 1) if text.strip(" ;\t")}
    read = {line: condition_of(text) for line, text in asked.items() if not text.startswith(("--", "#"))}
    counts = {line: condition for line, condition in read.items() if condition is not None}
    if not counts:
        raise SourceError(f"{str(log)!r} has no line with a plain count: SELECT COUNT(*), a table and WHERE.")
    return list(counts), list(counts.values()), sorted(read.keys() - counts.keys())


def condition_of(text: str) -> str | None:
    """Return the condition on a row that a plain count has, or that the text is.

    None for anything else.
    """
    import sqlglot
    from sqlglot import expressions as sql

    try:
        query = sqlglot.parse_one(text, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        return None
    inner = query.find(sql.Query)
    if isinstance(query, sql.Condition) and inner is None:
        return None if query.find(sql.AggFunc) else query.sql(dialect="duckdb")
    if not isinstance(query, sql.Select) or len(list(query.find_all(sql.Query))) > 1:
        return None
    if any(part for name, part in query.args.items() if name not in {"expressions", "from_", "where"}):
        return None
    columns = [one.unalias() for one in query.expressions]
    if len(columns) != 1 or not isinstance(columns[0], sql.Count) or not isinstance(columns[0].this, sql.Star):
        return None
    where = query.args.get("where")
    return "TRUE" if where is None else str(where.this.sql(dialect="duckdb"))
