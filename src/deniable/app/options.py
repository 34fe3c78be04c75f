"""The options that several commands share. Prices stay text, so that 0.1 is one tenth and not a float beside it."""

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
    str | None, typer.Option("--delta", metavar="NUMBER", help="Goes with --epsilon; allows Gaussian noise.")
]
Rho = Annotated[str | None, typer.Option("--rho", metavar="NUMBER", help="The cost as zCDP, instead of --epsilon.")]
Moved = Annotated[
    bool, typer.Option("--moved", help="The same data lie elsewhere now, or have other columns: note it in the ledger.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Memory = Annotated[
    str | None, typer.Option("--memory", metavar="SIZE", help="Limit of the engine, such as 4GB; beyond it, disk.")
]
Threads = Annotated[int | None, typer.Option("--threads", min=1, metavar="N", help="Threads of the engine.")]
