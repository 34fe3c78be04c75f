"""The options that several commands share.

Prices stay text, so that 0.1 is one tenth and not a float beside it.
"""

from pathlib import Path
from typing import Annotated

import typer

PolicyFile = Annotated[
    Path, typer.Argument(metavar="POLICY", help="The policy file, made by `deniable init`.", show_default=False)
]
Question = Annotated[
    str, typer.Argument(metavar="SQL", help="One SELECT of COUNT, SUM or AVG, in quotes.", show_default=False)
]
Epsilon = Annotated[
    str | None, typer.Option("--epsilon", metavar="NUMBER", help="What the question may cost, such as 0.1 or 1/10.")
]
Delta = Annotated[
    str | None,
    typer.Option("--delta", metavar="NUMBER", help="Failure probability beside --epsilon; allows Gaussian noise."),
]
Rho = Annotated[str | None, typer.Option("--rho", metavar="NUMBER", help="The cost in zCDP, in place of --epsilon.")]
Error = Annotated[
    str | None,
    typer.Option(
        "--error",
        metavar="NUMBER",
        help="How far every number may be off with 95% confidence, in place of a price; or a share of it, such as 5%, "
        "beside the most that this may cost.",
    ),
]
Rows = Annotated[
    int | None,
    typer.Option("--rows", metavar="N", help="Smaller limit on a unit's rows in a group than the policy's, once."),
]
Groups = Annotated[
    int | None, typer.Option("--groups", metavar="N", help="Smaller limit on a unit's groups than the policy's, once.")
]
TotalRows = Annotated[
    int | None,
    typer.Option("--total-rows", metavar="N", help="Smaller limit on all rows of a unit than the policy's, once."),
]
Moved = Annotated[
    bool, typer.Option("--moved", help="Accept that the data have moved or have other columns; the ledger notes it.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Memory = Annotated[
    str | None,
    typer.Option("--memory", metavar="SIZE", help="Memory limit of the engine, such as 4GB; beyond it, disk is used."),
]
Threads = Annotated[int | None, typer.Option("--threads", min=1, metavar="N", help="Number of threads of the engine.")]
Analyst = Annotated[
    str | None,
    typer.Option(
        "--analyst",
        metavar="NAME",
        help="Analyst who asks: gets stored answers of their own, charged to the same budget.",
    ),
]
