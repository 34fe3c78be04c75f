"""`deniable attack tracing`: who is in a pool, from published frequencies.

Without files, the pool is simulated.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.app.commands.attack.membership import Rate, numbers, read_members
from deniable.app.commands.attack.owned import Plot, Seed, read_table
from deniable.app.commands.attack.shown import show_comparison
from deniable.app.options import AsJson
from deniable.app.pictures import check_picture
from deniable.app.terminal import waiting
from deniable.errors import InvalidParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deniable.attacks import Comparison
    from deniable.attacks.tracing.genomes import TracingStatistic


def tracing(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="PEOPLE", help="One row a person: member, and one column in 0..1 for each attribute."),
    ] = None,
    frequencies: Annotated[
        Path | None,
        typer.Argument(metavar="FREQUENCIES", help="Columns: attribute, reference (population), published (pool)."),
    ] = None,
    *,
    people: Annotated[int, typer.Option(min=2, metavar="N", help="Simulated pool: its members.")] = 100,
    snps: Annotated[int, typer.Option(min=1, metavar="N", help="Simulated pool: alleles published.")] = 2000,
    strangers: Annotated[
        int, typer.Option(min=2, metavar="N", help="Simulated people outside; a low --rate takes many.")
    ] = 1000,
    epsilon: Annotated[str, typer.Option(metavar="NUMBER", help="Simulated pool: cost of the private ones.")] = "1",
    rate: Rate = 0.05,
    seed: Seed = 0,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Tell from frequencies published about a pool who is in it.

    The likelihood ratio and Homer's statistic are tried.

    Without files a pool is simulated and its frequencies published exactly, rounded and privately.

    deniable attack tracing --people 100 --snps 5000 --epsilon 1
    """
    check_picture(plot)
    if (file is None) != (frequencies is None):
        raise InvalidParameterError("tracing takes two files, PEOPLE and FREQUENCIES, or none to simulate a pool.")
    with waiting("tracing..."):
        if file is None or frequencies is None:
            comparison = simulated(people=people, snps=snps, strangers=strangers, epsilon=epsilon, rate=rate, seed=seed)
        else:
            comparison = given(file, frequencies, rate=rate, seed=seed)
    show_comparison(
        comparison, plot=plot, as_json=as_json, never=[one for one in (file, frequencies) if one is not None]
    )


def given(file: Path, frequencies: Path, *, rate: float, seed: int) -> "Comparison":
    """Return both statistics on the steward's own files."""
    import numpy as np

    from deniable.attacks import Comparison, trace

    rows, averages = read_table(file), read_table(frequencies)
    if "attribute" not in averages.column_names:
        raise InvalidParameterError("FREQUENCIES needs the columns attribute, reference and published.")
    inside = read_members(rows, "member")
    targets = np.column_stack([numbers(rows, str(name)) for name in averages.column("attribute").to_pylist()])
    reference, published = numbers(averages, "reference"), numbers(averages, "published")
    statistics: dict[str, TracingStatistic] = {"likelihood ratio": "likelihood", "Homer": "homer"}
    return Comparison(
        {
            name: trace(targets[inside], targets[~inside], reference=reference, published=published,
                        statistic=statistic, false_positive_rate=rate, seed=seed)
            for name, statistic in statistics.items()
        }
    )  # fmt: skip


def simulated(*, people: int, snps: int, strangers: int, epsilon: str, rate: float, seed: int) -> "Comparison":
    """Return the likelihood ratio against exact, rounded and private frequencies.

    And Homer's statistic against exact ones.
    """
    from deniable.attacks import Comparison, trace
    from deniable.attacks.tracing import draw_pool
    from deniable.numbers.rationals import positive_rational
    from deniable.statistics.count import Count

    count = Count(epsilon=positive_rational("epsilon", epsilon) / snps).mechanism
    pool = draw_pool(people=people, attributes=snps, strangers=strangers, seed=seed)
    exact = pool.frequencies
    private = count.release((exact * people).round().astype(int).tolist()).value.astype(float) / people
    releases: dict[str, tuple[NDArray[np.float64], TracingStatistic, float]] = {
        "exact": (exact, "likelihood", 0.0),
        "exact, by Homer": (exact, "homer", 0.0),
        "rounded to 0.01": (exact.round(2), "likelihood", 0.01 / 12**0.5),
        f"private, epsilon={epsilon}": (private, "score", count.standard_deviation() / people),
    }
    return Comparison(
        {
            name: trace(pool.members, pool.strangers, reference=pool.reference, published=published,
                        statistic=statistic, noise=noise, false_positive_rate=rate, seed=seed)
            for name, (published, statistic, noise) in releases.items()
        }
    )  # fmt: skip
