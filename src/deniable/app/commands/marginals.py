"""`deniable marginals`: measure tables of counts that agree, and write them."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.app.opening import never_replaced, read
from deniable.app.options import Analyst, Delta, Epsilon, Memory, Moved, PolicyFile, Rho, Threads
from deniable.app.output import format_of, whole_file
from deniable.app.terminal import hint, say, waiting
from deniable.errors import InvalidParameterError


def marginals(
    policy: PolicyFile,
    *,
    table: Annotated[
        list[str] | None,
        typer.Option("--table", "-t", metavar="A,B,...", help="Columns of one table; may be repeated."),
    ] = None,
    ways: Annotated[
        int | None, typer.Option(min=0, metavar="K", help="All tables of at most K columns, in place of --table.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Columns for --ways; by default all that have keys or bounds.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write all tables: .csv, .json, .parquet or .html.")
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    objective: Annotated[
        str, typer.Option(help='Least error of "tables", of all "counts", or the "largest".')
    ] = "tables",
    where: Annotated[str | None, typer.Option(metavar="SQL", help='Rows that count, such as "age > 30".')] = None,
    bins: Annotated[int, typer.Option(help="Bins of a column of numbers or dates, at most.")] = 100,
    nonnegative: Annotated[
        bool, typer.Option("--nonnegative", help="Write counts that are not below 0 beside the unbiased ones.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say how exact each table would be, and charge nothing.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Charge again for new noise.")] = False,
    moved: Moved = False,
    analyst: Analyst = None,
    memory: Memory = None,
    threads: Threads = None,
) -> None:
    """Write tables of counts that agree with each other, each with its interval."""
    declared = read(policy)
    if (table is None) == (ways is None):
        raise InvalidParameterError("name the tables, --table ward --table ward,age, or all of some size, --ways 2.")
    from deniable.query.connect import connect

    asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho, "objective": objective, "bins": bins}
    asked["columns"] = None if columns is None else _names(columns)
    tables: int | list[list[str]] = [_names(each) for each in table or ()]
    if ways is not None:
        tables = ways
    with ExitStack() as stack:
        write = None
        if output is not None and not explain:
            form = format_of(output)
            write = stack.enter_context(whole_file(output, never=never_replaced(declared, policy)))
        database = connect(policy, moved=moved, memory=memory, threads=threads, analyst=analyst)
        if explain:
            say(str(database.explain_marginals(tables, **asked)))
            return
        with waiting("measuring..."):
            made = database.marginals(tables, where=where, fresh=fresh, **asked)
            release = made.release(nonnegative=nonnegative)
            if write is not None:
                write(form(release))
        say(str(release if write is None else made))
        if write is not None:
            hint(f"{output} written; left {database.ledger.left()}")


def _names(text: str) -> list[str]:
    """Return names that commas separate; of nothing, none: the number of rows."""
    return [name.strip() for name in text.split(",")] if text.strip() else []
