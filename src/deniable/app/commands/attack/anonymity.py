"""`deniable attack anonymity`: how anonymous the people of a table are, and what attacks get out of it all the same."""

import json
import math
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.app.commands.attack.owned import OwnFile, Plot, Seed, read_table
from deniable.app.options import AsJson
from deniable.app.pictures import check_picture, write_picture
from deniable.app.terminal import say, waiting
from deniable.errors import InvalidParameterError

if TYPE_CHECKING:
    import pyarrow as pa

    from deniable.attacks import Anonymity, AnonymityComparison, AttackResult

MOST_CELLS = 1_000_000


class Missing(Enum):
    """What a missing quasi-identifier is."""

    VALUE = "value"
    WILDCARD = "wildcard"


def anonymity(
    file: OwnFile,
    *,
    quasi: Annotated[str, typer.Option(metavar="NAMES", help='What others may know of a person: "age,sex,zip".')],
    sensitive: Annotated[str, typer.Option(metavar="NAMES", help='What they should not learn: "diagnosis".')],
    missing: Annotated[
        Missing, typer.Option(help="Read a missing quasi-identifier as a value, or as equal to every value.")
    ] = Missing.VALUE,
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
    """Measure k-anonymity, l-diversity, t-closeness and others of a table, and guess secrets by class.

    Rows are people. With --compare the same table is released in several ways, and three attacks are tried on each:
    homogeneity, background knowledge, and the intersection of two releases. Nothing is released.

    deniable attack anonymity patients.csv --quasi age,sex --sensitive diagnosis --compare --epsilon 1
    """
    from deniable.attacks import attack_homogeneity, compare_anonymity, measure_anonymity

    check_picture(plot)
    known, secrets = ([name.strip() for name in names.split(",")] for names in (quasi, sensitive))
    if (compare or epsilon is not None) and len(secrets) > 1:
        raise InvalidParameterError(f"a comparison takes one sensitive column, got {', '.join(secrets)}.")
    cost = None if epsilon is None else read_epsilon(epsilon)
    with waiting("measuring..."):
        people = read_table(file)
        measures = measure_anonymity(people, quasi=known, sensitive=secrets, missing=missing.value)
        guesses = {name: attack_homogeneity(people, quasi=known, sensitive=name) for name in secrets}
        compared = None
        if compare or epsilon is not None:
            private = None if cost is None else count_privately(people, [*known, *secrets], cost)
            (secret,) = secrets
            compared = compare_anonymity(people, quasi=known, sensitive=secret, k=k, private=private, seed=seed)
    show(measures, guesses, compared, plot=plot, as_json=as_json, never=file)


def show(
    measures: "Anonymity",
    guesses: "dict[str, AttackResult]",
    compared: "AnonymityComparison | None",
    *,
    plot: Path | None,
    as_json: bool,
    never: Path,
) -> None:
    """Draw what is asked for, then print the measures and what the attacks found."""
    from deniable.attacks import Comparison

    if plot is not None:
        write_picture((compared or Comparison(guesses)).plot(), plot, never=(never,))
    if as_json:
        attacks = {name: one.to_data() for name, one in guesses.items()}
        told = {"measures": measures.to_data(), "homogeneity": attacks}
        typer.echo(json.dumps(told if compared is None else {**told, "comparison": compared.to_data()}, indent=2))
        return
    say(str(measures))
    for one in guesses.values():
        say(f"\n{one}")
    if compared is not None:
        say(f"\n{compared}")


def read_epsilon(text: str) -> str:
    """The text, if it is a positive number; else raise InvalidParameterError before any file is read."""
    from deniable.numbers.rationals import positive_rational

    positive_rational("epsilon", text)
    return text


def count_privately(people: "pa.Table", columns: list[str], epsilon: str) -> "Callable[[pa.Table], pa.Table]":
    """A function from rows to noisy counts of every combination of values, by the public API.

    The values are those of the owner's file, as if they were public: this is for trying out, and no release.

    Raises: InvalidParameterError if there are more than a million combinations.
    """
    import deniable

    values = {name: people[name].unique().to_pylist() for name in columns}
    cells = math.prod(map(len, values.values()))
    if cells > MOST_CELLS:
        raise InvalidParameterError(f"{cells:,} private counts are too many; name fewer or coarser columns in --quasi.")
    keys = {name: deniable.Keys(found) for name, found in values.items()}
    quoted = (name.replace('"', '""') for name in columns)
    asked = ", ".join(f'"{name}"' for name in quoted)

    def release(rows: "pa.Table") -> "pa.Table":
        budget = deniable.Budget(epsilon=epsilon)
        db = deniable.connect(rows, name="people", unit=deniable.each_row(), budget=budget, columns=keys)
        text = f"SELECT {asked}, COUNT(*) AS count FROM people GROUP BY {asked}"  # noqa: S608
        return db.sql(text, epsilon=epsilon).to_arrow(intervals=False)

    return release
