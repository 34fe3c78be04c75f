"""`deniable attack block`: the people of a block, from its published tables."""

import json
from pathlib import Path
from typing import Annotated

import typer

from deniable.app.commands.attack.owned import Plot
from deniable.app.options import AsJson
from deniable.app.pictures import check_picture, show_result
from deniable.app.terminal import say, show_table, waiting
from deniable.errors import SourceError, redacted


def block(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Tables as JSON: attributes, statistics and rules.", show_default=False),
    ],
    *,
    max_lists: Annotated[
        int, typer.Option("--most", min=1, metavar="N", help="Stop after this many lists of people.")
    ] = 10_000,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Find every list of people that agrees with published counts, medians and means.

    A record that stands in all of them is proved. A statistic names its group by "where", "least" and "most", as in
    {"group": {"where": {"sex": "female"}, "least": 18}, "count": 4, "median_age": 30, "mean_age": 33.5}.

    deniable attack block block.json
    """
    from deniable.attacks import read_block, reconstruct_block

    check_picture(plot)
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise SourceError(f"{redacted(file)!r} cannot be read as JSON.") from None
    tables = read_block(data)
    with waiting("placing people..."):
        reconstruction = reconstruct_block(tables, max_lists=max_lists)
    show_result(reconstruction, as_json=as_json, plot=plot, never=(file,))
    if not as_json and reconstruction.learned is not None and len(reconstruction.learned):
        say("")
        show_table(("age", *tables.attributes), [[str(value) for value in record] for record in reconstruction.learned])
