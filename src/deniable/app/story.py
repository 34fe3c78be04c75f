"""Questions of the demonstration, and the words between them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.release import Release

GROUP = "SELECT COUNT(*) AS people FROM survey WHERE leaving AND department = 'research' AND age >= 58"
PAIR = (GROUP, GROUP + " AND years > 1")
TARGET = (
    "Somebody knows a colleague who took part: 61 years old, and with the researchers since last spring. Everybody "
    "else of that age has been there for years."
)
LESSON = (
    "Each count is about dozens of people and names nobody. But the only person who can be in the first and not in the "
    "second is the colleague, so the difference of 1 says: this person looks for another job. No name was ever in the "
    "table."
)
FIX = (
    "The same two questions, answered privately. The noise is many times what one person can change, so the difference "
    "of the two answers says next to nothing about the colleague, even to somebody who knows everything about all the "
    "others. epsilon bounds it: at 0.1, an answer moves the odds of any guess about one person by about a tenth."
)
USEFUL = "The noise hides one person; it does not hide what is true of thousands. Each answer states its own error."


@dataclass(frozen=True)
class DemoQuestion:
    """One private question of the demonstration; `plot` names the column to draw."""

    title: str
    text: str
    plot: str | None = None


@dataclass(frozen=True)
class Asked:
    """A question and its answer."""

    question: DemoQuestion
    release: "Release"


STATISTICS = (
    DemoQuestion(
        "How many look for another job?",
        "SELECT COUNT(*) AS people, AVG(CASE WHEN leaving THEN 1 ELSE 0 END) AS share FROM survey",
    ),
    DemoQuestion(
        "How old are they, and how many hours of overtime a week do they work?",
        "SELECT AVG(age) AS age, AVG(overtime) AS overtime FROM survey",
    ),
    DemoQuestion(
        "Does satisfaction matter? (1 very low, 5 very high)",
        "SELECT satisfaction, AVG(CASE WHEN leaving THEN 1 ELSE 0 END) AS share FROM survey GROUP BY satisfaction",
        "share",
    ),
    DemoQuestion(
        "Where is overtime worked?",
        "SELECT department, AVG(overtime) AS overtime FROM survey GROUP BY department",
        "overtime",
    ),
)
CHAPTERS = (
    (
        "2. The same questions, privately",
        FIX,
        (DemoQuestion("with the colleague", PAIR[0]), DemoQuestion("without", PAIR[1])),
    ),
    ("3. What the survey may tell", USEFUL, STATISTICS),
)
