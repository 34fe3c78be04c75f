"""Demonstration on a made-up survey: exact answers against private ones."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.app.output import whole_file
from deniable.app.report import report_page
from deniable.app.story import CHAPTERS, LESSON, PAIR, TARGET, Asked
from deniable.app.terminal import boxed, printable, waiting
from deniable.datasets import DEPARTMENTS, survey
from deniable.errors import BudgetExceededError
from deniable.numbers.rationals import positive_rational
from deniable.privacy import Budget
from deniable.query.connect import connect
from deniable.query.database import Database
from deniable.query.declarations import Keys, Number

if TYPE_CHECKING:
    import pyarrow
    from rich.console import Console


PRICE = "0.1"  # of each question, unless the caller names another
QUESTIONS = 10  # that the budget pays for
COLUMNS = {
    "department": Keys(DEPARTMENTS),
    "satisfaction": Keys([1, 2, 3, 4, 5]),
    "age": Number(lower=16, upper=70),
    "overtime": Number(lower=0, upper=20),
}


def exact_answers(table: "pyarrow.Table") -> list[int]:
    """Return exact answers to PAIR, for this made-up table only."""
    import duckdb

    with duckdb.connect() as connection:
        connection.register("survey", table)
        return [int(row[0]) for question in PAIR if (row := connection.execute(question).fetchone())]


def run(output: Path, epsilon: str | None) -> None:
    """Tell the story on the terminal and write the report.

    Raises: InvalidParameterError, before anything is shown.
    """
    from rich.console import Console

    price = positive_rational("epsilon", PRICE if epsilon is None else epsilon)
    console = Console()
    with whole_file(output) as write:
        with waiting("making the survey..."):
            table = survey()
            database = connect(
                table,
                name="survey",
                unit="respondent",
                rows=1,
                groups=1,
                budget=Budget(epsilon=price * QUESTIONS),
                columns=COLUMNS,
            )
            exact = exact_answers(table)
        _tell_attack(console, table.num_rows, exact)
        answers: list[Asked] = []
        for chapter, text, questions in CHAPTERS:
            _begin(console, chapter)
            console.print(f"{text}\n")
            for question in questions:
                answers.append(Asked(question, database.sql(question.text, epsilon=price)))
                console.print(f"[dim]{_markup(question.text)}[/]")
                console.print(boxed(answers[-1].release, question.title))
        refusal = _tell_budget(console, database, price)
        with waiting("drawing the report..."):
            page = report_page(exact, answers, refusal, str(database.budget))
        write(page.encode())
    console.print(f"\nThe same story as a page: [bold]{_markup(str(output))}[/]")


def _tell_attack(console: "Console", count: int, exact: Sequence[int]) -> None:
    from rich.panel import Panel
    from rich.text import Text

    _begin(console, "1. Two harmless numbers, one secret")
    console.print(f"A survey of {count:,} employees. A column says who looks for another job.\n{TARGET}\n")
    body = Text()
    for question, answer in zip(PAIR, exact, strict=True):
        body.append(question + "\n", style="dim").append(f"{answer}\n", style="bold")
    body.append(f"\n{exact[0]} - {exact[1]} = {exact[0] - exact[1]}", style="bold red")
    console.print(Panel(body, title="exact answers, no privacy", title_align="left", border_style="red"))
    console.print(LESSON)


def _tell_budget(console: "Console", database: Database, price: Fraction) -> str:
    """Show a stored answer and a question that is too expensive.

    Returns the error of the latter.
    """
    _begin(console, "4. What is left")
    console.print("A repeated question gets the stored answer and costs nothing; new noise would be charged.")
    console.print(boxed(database.sql(PAIR[0], epsilon=price), "with the colleague, once more"))
    try:
        database.sql(PAIR[0], epsilon=database.ledger.budget.epsilon, fresh=True)
    except BudgetExceededError as error:
        console.print(f"Asking for more than what is left:\n[yellow]{_markup(str(error))}[/]\n")
        console.print(f"[bold]{_markup(str(database.budget))}[/]")
        return str(error)
    raise AssertionError("a spent budget paid for another question")


def _begin(console: "Console", chapter: str) -> None:
    console.print()
    console.rule(f"[bold]{_markup(chapter)}[/]", align="left")


def _markup(text: str) -> str:
    from rich.markup import escape

    return escape(printable(text))
