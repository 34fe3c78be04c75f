"""`deniable explain`: the cost of a question, and how exact its answer would be."""

import json

import typer

from deniable.app.opening import for_reading, read
from deniable.app.options import (
    Analyst,
    AsJson,
    Delta,
    Epsilon,
    Error,
    Groups,
    Moved,
    PolicyFile,
    Question,
    Rho,
    Rows,
    TotalRows,
)
from deniable.app.terminal import show_pairs


def explain(
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
    moved: Moved = False,
    analyst: Analyst = None,
    as_json: AsJson = False,
) -> None:
    """Say what a question would cost, and how exact it would be; spends nothing.

    Reads the schema, and of public tables that the question names the rows; of private ones none.
    """
    explanation = for_reading(read(policy), moved=moved, analyst=analyst).explain(
        sql,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        error=error,
        rows=rows,
        groups=groups,
        total_rows=total_rows,
    )
    if as_json:
        typer.echo(json.dumps(explanation.to_dict(), indent=2))
    else:
        show_pairs(list(explanation.rows()))
