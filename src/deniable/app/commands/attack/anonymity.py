"""`deniable attack anonymity`: anonymity of a table, and what attacks find."""

import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.app.commands.attack.owned import OwnFile, Plot, Seed, read_table
from deniable.app.options import AsJson
from deniable.app.pictures import check_picture, write_picture
from deniable.app.terminal import say, waiting
from deniable.errors import InvalidParameterError

if TYPE_CHECKING:
    import pyarrow as pa

MOST_CELLS = 1_000_000


def anonymity(
    file: OwnFile,
    *,
    quasi: Annotated[str, typer.Option(metavar="NAMES", help='What others may know of a person: "age,sex,zip".')],
    sensitive: Annotated[str, typer.Option(metavar="NAMES", help='What they should not learn: "diagnosis".')],
    compare: Annotated[
        bool, typer.Option("--compare", help="Also attack the table suppressed, rounded and k-anonymous.")
    ] = False,
    k: Annotated[
        int, typer.Option("--k", min=1, metavar="N", help="Least class, and least count, of what is compared.")
    ] = 5,
    epsilon: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Also compare private counts, at this cost each time.")
    ] = None,
    seed: Seed = 0,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Measure k-anonymity, l-diversity, t-closeness and others of a table.

    Secrets are guessed by class.

    Rows are people. With --compare the same table is released in several ways, and three attacks are tried on each:
    homogeneity, background knowledge, and the intersection of two releases. Nothing is released.

    deniable attack anonymity patients.csv --quasi age,sex --sensitive diagnosis --compare --epsilon 1
    """
    from deniable.attacks import Comparison, attack_homogeneity, compare_anonymity, measure_anonymity
    from deniable.numbers.rationals import positive_rational

    check_picture(plot)
    compare = compare or epsilon is not None
    known, secrets = ([name.strip() for name in names.split(",")] for names in (quasi, sensitive))
    if compare and len(secrets) > 1:
        raise InvalidParameterError(f"a comparison takes one sensitive column, got {', '.join(secrets)}.")
    if epsilon is not None:
        positive_rational("epsilon", epsilon)
    with waiting("measuring..."):
        people = read_table(file)
        measures = measure_anonymity(people, quasi=known, sensitive=secrets)
        guesses = {name: attack_homogeneity(people, quasi=known, sensitive=name) for name in secrets}
        compared = None
        if compare:
            private = None if epsilon is None else count_privately(people, [*known, *secrets], epsilon)
            compared = compare_anonymity(people, quasi=known, sensitive=secrets[0], k=k, private=private, seed=seed)
    if plot is not None:
        write_picture((compared or Comparison(guesses)).plot(), plot, never=(file,))
    if as_json:
        attacks = {name: one.to_data() for name, one in guesses.items()}
        data = {"measures": measures.to_data(), "homogeneity": attacks}
        typer.echo(json.dumps(data if compared is None else {**data, "comparison": compared.to_data()}, indent=2))
        return
    say("\n\n".join(map(str, [measures, *guesses.values(), *([compared] if compared else [])])))


def count_privately(people: "pa.Table", columns: list[str], epsilon: str) -> "Callable[[pa.Table], pa.Table]":
    """Return a function from rows to noisy counts of every combination of values.

    The values are those of the owner's file, as if they were public: this is for trying out, and no release.

    Raises: InvalidParameterError if there are more than a million combinations.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    import deniable

    values = {name: people[name].unique() for name in columns}
    cells = math.prod(map(len, values.values()))
    if cells > MOST_CELLS:
        raise InvalidParameterError(f"{cells:,} private counts are too many; name fewer or coarser columns in --quasi.")
    numbered = [name for name in columns if pa.types.is_floating(people[name].type)]  # fractions make no groups
    keys = {
        name: deniable.Keys(list(range(len(distinct))) if name in numbered else distinct.to_pylist())
        for name, distinct in values.items()
    }
    quoted = (name.replace('"', '""') for name in columns)
    asked = ", ".join(f'"{name}"' for name in quoted)

    def release(rows: "pa.Table") -> "pa.Table":
        for name in numbered:
            rows = rows.set_column(rows.column_names.index(name), name, pc.index_in(rows[name], values[name]))
        budget = deniable.Budget(epsilon=epsilon)
        db = deniable.connect(rows, name="people", unit=deniable.each_row(), budget=budget, columns=keys)
        text = f"SELECT {asked}, COUNT(*) AS count FROM people GROUP BY {asked}"  # noqa: S608
        counts = db.sql(text, epsilon=epsilon).to_arrow(intervals=False)
        for name in numbered:
            counts = counts.set_column(counts.column_names.index(name), name, values[name].take(counts[name]))
        return counts

    return release
