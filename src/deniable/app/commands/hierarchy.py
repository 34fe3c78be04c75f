"""`deniable hierarchy`: count rows in the units of a hierarchy."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.app.opening import never_replaced, read
from deniable.app.options import Analyst, Delta, Epsilon, Memory, Moved, PolicyFile, Rho, Threads
from deniable.app.output import whole_file
from deniable.app.terminal import hint, say, waiting
from deniable.errors import InvalidParameterError


def hierarchy(
    policy: PolicyFile,
    *,
    levels: Annotated[str, typer.Option(metavar="A,B,...", help="Columns with declared units, the coarsest first.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Write the counts: .parquet, .csv or .json.")],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    count: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help='A column that is counted in every unit, or adult="age >= 18"; repeatable.'
        ),
    ] = None,
    level: Annotated[str | None, typer.Option(help='Level that is written, or "all"; by default the finest.')] = None,
    query: Annotated[str, typer.Option(help='Table that is written: "total", "cells", or "age * sex".')] = "cells",
    queries: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Tables that are measured; the total and the cells by default."),
    ] = None,
    shares: Annotated[
        str | None, typer.Option(metavar="A=1,B=2,...", help="Weights of the levels, that of the root as all=1.")
    ] = None,
    measurements: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write everything that was measured, unbiased, with variances.")
    ] = None,
    invariants: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Public totals that are held: .csv or .parquet; repeatable."),
    ] = None,
    at_least: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Public least counts: .csv or .parquet; repeatable.")
    ] = None,
    where: Annotated[str | None, typer.Option(metavar="SQL", help='Rows that count, such as "age > 30".')] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Charge again for new noise. Later calls without it use the first tables.")
    ] = False,
    moved: Moved = False,
    analyst: Analyst = None,
    memory: Memory = None,
    threads: Threads = None,
) -> None:
    """Count rows in the units of a hierarchy, in whole numbers that add up."""
    declared = read(policy)
    from deniable.query.connect import connect
    from deniable.synthesis.hierarchy.cells import CountedCells
    from deniable.synthesis.hierarchy.counts import FORMATS
    from deniable.synthesis.hierarchy.geography import ROOT

    for path in (output, *([] if measurements is None else [measurements])):
        if path.suffix.lower() not in FORMATS:
            raise InvalidParameterError(f"counts are written as {', '.join(FORMATS)}, got {path.name!r}.")
    names, counted = _listed(levels), dict(map(_named, count or ()))
    if level not in (None, ROOT, *names):
        raise InvalidParameterError(f"--level is one of {ROOT}, {', '.join(names)}, got {level!r}.")
    CountedCells(tuple(counted), ((None,),) * len(counted)).table(query)
    with ExitStack() as stack:
        never = never_replaced(declared, policy)
        write = stack.enter_context(whole_file(output, never=never))
        write_measurements = None
        if measurements is not None:
            write_measurements = stack.enter_context(whole_file(measurements, option="--measurements", never=never))
        database = connect(policy, moved=moved, memory=memory, threads=threads, analyst=analyst)
        with waiting("counting..."):
            made = database.hierarchy(
                names,
                counted,
                epsilon=epsilon,
                delta=delta,
                rho=rho,
                queries=None if queries is None else _listed(queries),
                shares=None if shares is None else _weights(shares),
                invariants=[_table("--invariants", path) for path in invariants or ()],
                at_least=[_table("--at-least", path) for path in at_least or ()],
                where=where,
                fresh=fresh,
            )
            write(made.to_bytes(output.suffix.lower(), level=level or names[-1], query=query))
            if write_measurements is not None and measurements is not None:
                write_measurements(made.to_bytes(measurements.suffix.lower()))
        say(str(made))
        hint(f"{output} written; left {database.ledger.left()}")


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _named(text: str) -> tuple[str, str]:
    """A counted column: its name, and the SQL that it stands for."""
    name, equals, expression = text.partition("=")
    name = name.strip()
    return name, expression if equals else '"' + name.replace('"', '""') + '"'


def _weights(text: str) -> dict[str, Any]:
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(equals for _, equals, _ in pairs):
        raise InvalidParameterError(f"--shares takes weights such as all=1,state=2, got {text!r}.")
    return {name.strip(): weight.strip() for name, _, weight in pairs}


def _table(option: str, path: Path) -> Any:
    """Return a table of public numbers; what is not a count is read as text."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    try:
        if path.suffix.lower() == ".parquet":
            return parquet.read_table(path)
        names = csv.open_csv(path).schema.names
        types = {name: pa.int64() if name == "count" else pa.string() for name in names}
        return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=types))
    except (OSError, pa.ArrowException) as error:
        raise InvalidParameterError(f"{option} {path.name!r} cannot be read: {error}") from None
