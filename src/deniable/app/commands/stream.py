"""`deniable stream`: release what a growing table adds, under one charge."""

from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.app.lines import follow, plan_of_lines
from deniable.app.opening import never_replaced, read
from deniable.app.options import Analyst, AsJson, Delta, Epsilon, Memory, Moved, PolicyFile, Rho, Threads
from deniable.app.output import format_of, whole_file
from deniable.app.terminal import hint, say, waiting
from deniable.errors import InvalidParameterError


def stream(
    policy: PolicyFile,
    *,
    state: Annotated[Path, typer.Option(metavar="FILE", help="Keeps the stream; as private as the rows.")],
    start: Annotated[str, typer.Option(metavar="DATE", help="First day of the first step, such as 2026-01-01.")],
    moment: Annotated[
        str | None, typer.Option("--time", metavar="COLUMN", help="Column of dates or moments that says the step.")
    ] = None,
    lines: Annotated[
        bool,
        typer.Option("--lines", help="Read CSV lines from standard input, not the source."),
    ] = False,
    steps: Annotated[
        int | None, typer.Option(metavar="N", help="Number of steps in all; leave it out for no horizon.")
    ] = None,
    every: Annotated[str, typer.Option(help="Length of a step: minute, hour, day or week.")] = "day",
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    key: Annotated[str | None, typer.Option(metavar="COLUMN", help="A counter for each of its declared keys.")] = None,
    value: Annotated[
        str | None, typer.Option("--sum", metavar="COLUMN", help="Add up its values; by default rows are counted.")
    ] = None,
    where: Annotated[str | None, typer.Option(metavar="SQL", help='Rows that count, such as "age > 30".')] = None,
    window: Annotated[
        list[int] | None, typer.Option(metavar="N", help="Release sums of the last N steps too; may be repeated.")
    ] = None,
    rows: Annotated[int, typer.Option(metavar="N", help="Rows of a unit that count in one step, at most.")] = 1,
    steps_per_unit: Annotated[int, typer.Option(metavar="N", help="Steps in which a unit counts, at most.")] = 1,
    separation: Annotated[int, typer.Option(metavar="N", help="Least distance of these, in steps.")] = 1,
    until: Annotated[
        str | None, typer.Option(metavar="MOMENT", help="Release steps that end by then; by default by now, in UTC.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print the errors to expect, and charge nothing.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write all steps so far: .csv, .json or .parquet.")
    ] = None,
    as_json: AsJson = False,
    moved: Moved = False,
    analyst: Analyst = None,
    memory: Memory = None,
    threads: Threads = None,
) -> None:
    """Release what a growing table adds, step by step, under one charge.

    The first call is charged, for all steps; later ones release the steps that have ended since.
    """
    declared = read(policy)
    if lines == (moment is not None) or (lines and where is not None):
        raise InvalidParameterError("give --time COLUMN for rows of the source, or --lines (without --where).")
    facts: dict[str, Any] = {"steps": steps, "epsilon": epsilon, "delta": delta, "rho": rho, "rows": rows}
    facts |= {"windows": tuple(window or ()), "steps_per_unit": steps_per_unit, "separation": separation}
    begin = _moment("--start", start)
    now = None if until is None else _moment("--until", until)
    with ExitStack() as stack:
        write = None
        if output is not None:
            form = format_of(output)
            write = stack.enter_context(whole_file(output, never=(*never_replaced(declared, policy), state)))
        if moment is None:
            plan = plan_of_lines(declared, every=every, start=begin, key=key, value=value, facts=facts)
        else:
            from deniable.query.connect import connect

            database = connect(policy, moved=moved, memory=memory, threads=threads, analyst=analyst)
            streamed = database.stream(
                state, moment=moment, start=begin.date(), every=every, key=key, value=value, where=where, **facts
            )
            plan = streamed.plan
        if explain:
            say(plan.explain())
            return
        if moment is None:
            released = follow(declared, plan, state, every=every, start=begin, key=key, value=value, now=now)
        else:
            with waiting("reading..."):
                released = streamed.advance(now)
        if released is None:
            hint("no step has ended yet")
            return
        if write is not None:
            write(form(released))
        say(released.to_json() if as_json else str(released))


def _moment(option: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidParameterError(f"{option} takes a day or a moment such as 2026-01-01, got {text!r}") from None
    return moment.replace(tzinfo=None)
