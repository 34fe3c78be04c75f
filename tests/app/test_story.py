"""The questions that the demonstration asks."""

from deniable.app.demo import QUESTIONS
from deniable.app.story import CHAPTERS, PAIR


def test_the_pair_differs_by_one_condition() -> None:
    assert PAIR[1].startswith(PAIR[0])


def test_the_budget_pays_for_every_question_of_the_story() -> None:
    assert sum(len(questions) for _, _, questions in CHAPTERS) <= QUESTIONS
