"""`deniable query`: charge a question to the budget and answer it."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from deniable.app.opening import never_replaced, read
from deniable.app.options import (
    Analyst,
    AsJson,
    Delta,
    Epsilon,
    Error,
    Groups,
    Memory,
    Moved,
    PolicyFile,
    Question,
    Rho,
    Rows,
    Threads,
    TotalRows,
)
from deniable.app.output import as_csv, as_json, as_page, format_of, whole_file
from deniable.app.pictures import check_picture, write_picture
from deniable.app.terminal import hint, show_release, waiting
from deniable.errors import InvalidParameterError


def query(
    policy: PolicyFile,
    sql: Question,
    *,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    error: Error = None,
    rows: Rows = None,
    groups: Groups = None,
    total_rows: TotalRows = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Pay for new noise. Later calls without it repeat the first answer.")
    ] = False,
    moved: Moved = False,
    analyst: Analyst = None,
    to_json: AsJson = False,
    to_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write FILE: .csv, .json, .parquet or .html.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the first noisy column: .png, .svg or .pdf.")
    ] = None,
    memory: Memory = None,
    threads: Threads = None,
) -> None:
    """Answer a question with noise, charged to the budget; a repeat is free."""
    if to_json + to_csv + (output is not None) > 1:
        raise InvalidParameterError("give one of --json, --csv and --output.")
    check_picture(plot)
    declared = read(policy)
    from deniable.query.connect import connect

    with ExitStack() as stack:
        form = write = beside = None
        never = never_replaced(declared, policy)
        if plot is not None:
            stack.enter_context(whole_file(plot, option="--plot", never=never))  # tried before anything is paid
        if output is not None:
            form = format_of(output)
            write = stack.enter_context(whole_file(output, never=never))
            if form is as_csv:
                beside = stack.enter_context(whole_file(Path(f"{output}.json"), never=never))
        database = connect(policy, moved=moved, memory=memory, threads=threads, analyst=analyst)
        with waiting("asking...") as progress:
            release = database.sql(
                sql,
                epsilon=epsilon,
                delta=delta,
                rho=rho,
                error=error,
                rows=rows,
                groups=groups,
                total_rows=total_rows,
                fresh=fresh,
                progress=progress,
            )
        if form is not None and write is not None:
            write(as_page(release, policy.name) if form is as_page else form(release))
            if beside is not None:
                beside(release.csv_facts().encode())
            hint(f"{output} written; left {database.ledger.left()}")
        elif to_json or to_csv:
            typer.echo((as_json if to_json else as_csv)(release), nl=False)
        else:
            show_release(release)
        if plot is not None:
            write_picture(release.plot(), plot, never=never)
