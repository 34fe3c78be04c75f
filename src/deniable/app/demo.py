"""The demonstration: a survey that is public for teaching, what exact answers give away, and what private ones do not.

The survey is the one that R. Fair used in 1978 (Journal of Political Economy 86): 6,366 women who answered a magazine
about their marriages, published since with names removed. The person in the story is one row of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.app.output import whole_file
from deniable.app.terminal import boxed, printable, waiting
from deniable.errors import BudgetExceededError, MissingExtraError
from deniable.privacy import Budget
from deniable.privacy.exact import positive_rational
from deniable.query.catalog import Keys, Number
from deniable.query.database import Database, connect

if TYPE_CHECKING:
    import pandas
    from rich.console import Console

    from deniable.release import Release

PRICE = "0.1"  # of each question, unless the caller names another
QUESTIONS = 10  # that the budget pays for
COLUMNS = {
    "religious": Keys([1, 2, 3, 4]),
    "rate_marriage": Keys([1, 2, 3, 4, 5]),
    "age": Number(lower=17, upper=42),
    "yrs_married": Number(lower=0, upper=23),
    "affairs": Number(lower=0, upper=60),
}
GROUP = "SELECT COUNT(*) AS women FROM survey WHERE affairs > 0 AND age = 42 AND educ = 20"
PAIR = (GROUP, GROUP + " AND yrs_married > 3")
TARGET = (
    "Somebody knows a colleague who took part: 42 years old, with an advanced degree, married for two or three years. "
    "Women of 42 who are that highly educated have nearly all been married for longer."
)
LESSON = (
    "Each count is about dozens of women and names nobody. But the only woman who can be in the first and not in the "
    "second is the colleague, so the difference of 1 says: she had an affair. No name was ever in the table."
)
FIX = (
    "The same two questions, answered privately. The noise is many times what one woman can change, so the difference "
    "of the two answers says next to nothing about her, also to somebody who knows everything about all the others. "
    "epsilon bounds it: at 0.1, one answer moves the odds of any guess about her by about a tenth at most."
)
USEFUL = "The noise hides one woman; it does not hide what is true of thousands. Each answer states its own error."


@dataclass(frozen=True)
class Question:
    """One private question of the demonstration; `plot` names the column to draw."""

    title: str
    text: str
    plot: str | None = None


@dataclass(frozen=True)
class Asked:
    """A question and its answer."""

    question: Question
    release: "Release"


STATISTICS = (
    Question(
        "How common are affairs?",
        "SELECT COUNT(*) AS women, AVG(CASE WHEN affairs > 0 THEN 1 ELSE 0 END) AS share FROM survey",
    ),
    Question(
        "How old are they, and how long married?",
        "SELECT AVG(age) AS age, AVG(yrs_married) AS years FROM survey",
    ),
    Question(
        "Does religion matter? (1 not religious, 4 strongly)",
        "SELECT religious, AVG(CASE WHEN affairs > 0 THEN 1 ELSE 0 END) AS share FROM survey GROUP BY religious",
        "share",
    ),
    Question(
        "Does a happy marriage? (1 very poor, 5 very good)",
        "SELECT rate_marriage, AVG(CASE WHEN affairs > 0 THEN 1 ELSE 0 END) AS share FROM survey "
        "GROUP BY rate_marriage",
        "share",
    ),
)
CHAPTERS = (
    (
        "2. The same questions, privately",
        FIX,
        (Question("with her", PAIR[0]), Question("without her", PAIR[1])),
    ),
    ("3. What the survey may tell", USEFUL, STATISTICS),
)


def survey() -> "pandas.DataFrame":
    """The survey, one row a woman.

    Raises: MissingExtraError if statsmodels, which brings it, is not installed.
    """
    try:
        from statsmodels.datasets import fair
    except ImportError:
        raise MissingExtraError("the demo needs its survey and plots: pip install 'deniable[demo]'") from None
    frame: pandas.DataFrame = fair.load_pandas().data.rename_axis("respondent").reset_index()
    return frame


def exact_answers(frame: "pandas.DataFrame") -> list[int]:
    """What a database without privacy answers to PAIR. For this public teaching data only."""
    import duckdb

    with duckdb.connect() as connection:
        connection.register("survey", frame)
        return [int(row[0]) for question in PAIR if (row := connection.execute(question).fetchone())]


def run(output: Path, epsilon: str | None) -> None:
    """Tell the story on the terminal and write the report.

    Raises: MissingExtraError or InvalidParameterError, before anything is shown.
    """
    from rich.console import Console

    from deniable.app.report import report_page

    price = positive_rational("epsilon", PRICE if epsilon is None else epsilon)
    console = Console()
    with whole_file(output) as write:
        with waiting("loading the survey..."):
            frame = survey()
            database = connect(
                frame, name="survey", unit="respondent", budget=Budget(epsilon=price * QUESTIONS), columns=COLUMNS
            )
            exact = exact_answers(frame)
        _tell_attack(console, len(frame), exact)
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
    console.print(f"\nThe same story as a page with plots: [bold]{_markup(str(output))}[/]")


def _tell_attack(console: "Console", count: int, exact: Sequence[int]) -> None:
    from rich.panel import Panel
    from rich.text import Text

    _begin(console, "1. Two harmless numbers, one secret")
    console.print(f"A survey of {count:,} married women. A column says who had an affair.\n{TARGET}\n")
    body = Text()
    for question, answer in zip(PAIR, exact, strict=True):
        body.append(question + "\n", style="dim").append(f"{answer}\n", style="bold")
    body.append(f"\n{exact[0]} - {exact[1]} = {exact[0] - exact[1]}", style="bold red")
    console.print(Panel(body, title="exact answers, no privacy", title_align="left", border_style="red"))
    console.print(LESSON)


def _tell_budget(console: "Console", database: Database, price: Fraction) -> str:
    """A stored answer, and a question that is too dear; returns what was said about the latter."""
    _begin(console, "4. What is left")
    console.print("Asked again, a question gets the same answer and costs nothing; new noise would have to be paid.")
    console.print(boxed(database.sql(PAIR[0], epsilon=price), "with her, once more"))
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
