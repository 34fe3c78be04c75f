"""`deniable attack twister`: whether a seed explains published counts.

If one does, the counts are shown without noise.
"""

from functools import partial
from typing import Annotated

import typer

from deniable.app.commands.attack.membership import numbers
from deniable.app.commands.attack.owned import OwnFile, Plot, read_table
from deniable.app.commands.attack.precision import Column
from deniable.app.commands.attack.shown import show_comparison
from deniable.app.options import AsJson
from deniable.app.pictures import check_picture
from deniable.app.terminal import waiting


def twister(
    file: OwnFile,
    *,
    scale: Annotated[float, typer.Option(metavar="NUMBER", help="Scale of the Laplace noise: sensitivity / epsilon.")],
    column: Column = "answer",
    seeds: Annotated[int, typer.Option(metavar="N", help="Seeds to try, from 0 up; 2^32 are all.")] = 1 << 20,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Recover the seed of numpy's noise, and take the noise off.

    Seeds of RandomState are tried until the noise of one leaves whole numbers behind.

    The file holds noisy counts in the order in which they were drawn. Nothing else need be known.

    deniable attack twister answers.csv --scale 10 --seeds 100000
    """
    from deniable.attacks import Comparison
    from deniable.attacks.implementation import laplace_of_words, recover_seed

    check_picture(plot)
    answers = numbers(read_table(file), column)
    with waiting("trying seeds..."):
        recovery = recover_seed(answers, noise=partial(laplace_of_words, scale=scale), seeds=seeds)
    show_comparison(Comparison({column: recovery}), plot=plot, as_json=as_json, never=(file,))
