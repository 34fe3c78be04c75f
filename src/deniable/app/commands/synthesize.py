"""`deniable synthesize`: measure a table once, and write rows that look like it."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from deniable.app.opening import never_replaced, read
from deniable.app.options import Analyst, Delta, Epsilon, Memory, Moved, PolicyFile, Rho, Threads
from deniable.app.output import whole_file
from deniable.app.terminal import hint, say, waiting
from deniable.errors import InvalidParameterError


def synthesize(
    policy: PolicyFile,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Write the rows: .parquet or .csv.")],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    columns: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Columns; by default all that have keys or bounds.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="A", help="A column that models shall predict from the others.")
    ] = None,
    where: Annotated[str | None, typer.Option(metavar="SQL", help='Rows that count, such as "age > 30".')] = None,
    bins: Annotated[int, typer.Option(help="Bins of a column of numbers or dates, at most.")] = 100,
    size: Annotated[
        int | None, typer.Option(help="Number of synthetic rows; by default about as many as there are.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the draws of rows: the same seed gives the same rows.")] = 0,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page about how near the rows are: .html.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Charge again for new noise. Later calls without it use the first tables.")
    ] = False,
    moved: Moved = False,
    analyst: Analyst = None,
    memory: Memory = None,
    threads: Threads = None,
) -> None:
    """Write synthetic rows with the columns of a table; later ones are free.

    More rows, or others by --seed, cost nothing.
    """
    declared = read(policy)
    from deniable.query.connect import connect
    from deniable.synthesis.synthesis import FORMATS

    if output.suffix.lower() not in FORMATS or (report is not None and report.suffix.lower() != ".html"):
        raise InvalidParameterError(f"--output takes a name that ends in {' or '.join(FORMATS)}, --report in .html.")
    with ExitStack() as stack:
        never = never_replaced(declared, policy)
        write = stack.enter_context(whole_file(output, never=never))
        write_report = None
        if report is not None:
            write_report = stack.enter_context(whole_file(report, option="--report", never=never))
        database = connect(policy, moved=moved, memory=memory, threads=threads, analyst=analyst)
        with waiting("measuring..."):
            made = database.synthesize(
                None if columns is None else [name.strip() for name in columns.split(",")],
                epsilon=epsilon,
                delta=delta,
                rho=rho,
                target=target,
                where=where,
                bins=bins,
                fresh=fresh,
            )
            write(made.to_bytes(output.suffix.lower(), size=size, seed=seed))
            if write_report is not None:
                write_report(made.report().encode())
        say(str(made))
        hint(f"{output} written; left {database.ledger.left()}")
