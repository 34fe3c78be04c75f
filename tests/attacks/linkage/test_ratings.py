"""A few known ratings against a sparse table of them."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from deniable.attacks import link_ratings
from deniable.attacks.linkage import Ratings, make_ratings, observe_ratings
from deniable.attacks.linkage.ratings import NETFLIX_DENSITY
from deniable.errors import InvalidParameterError

ALL = make_ratings(users=2000, items=1500, seed=1)
MANY = np.flatnonzero(np.diff(ALL.stars.indptr) >= 8)[:150]


def as_dict(ratings: Ratings, row: int) -> dict[int, tuple[float, float]]:
    entries = range(ratings.stars.indptr[row], ratings.stars.indptr[row + 1])
    return {int(ratings.stars.indices[at]): (ratings.stars.data[at], ratings.days[at]) for at in entries}


@pytest.mark.parametrize("dates", [True, False])
def test_the_score_is_that_of_the_paper_person_by_person(dates: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    small = make_ratings(users=40, items=30, density=0.15, seed=2)
    known = observe_ratings(small, np.arange(12), count=4, wrong=1, seed=3)
    rows = [as_dict(small, row) for row in range(40)]
    raters = {item: sum(item in row for row in rows) for item in range(30)}
    expected = []
    for target in range(12):
        scores = []
        for row in rows:
            score = 0.0
            for item, (stars, day) in as_dict(known, target).items():
                if item in row:
                    like = math.exp(-abs(stars - row[item][0]) / 1.5)
                    like += math.exp(-abs(day - row[item][1]) / 30) if dates else 0
                    score += like / math.log(max(raters[item], 2))
            scores.append(score)
        best, second = sorted(scores)[-1:-3:-1]
        expected.append(scores.index(best) if best - second > 1.5 * np.std(scores) else -1)
    found = link_ratings(small, known, np.arange(12), dates=dates)
    assert found.learned is not None
    assert found.learned.tolist() == expected
    monkeypatch.setattr("deniable.attacks.linkage.ratings._MAX_SCORES", 1)
    assert np.array_equal(np.asarray(link_ratings(small, known, np.arange(12), dates=dates).learned), found.learned)


def test_eight_rough_ratings_of_which_two_are_wrong_find_most_people() -> None:
    known = observe_ratings(ALL, MANY, count=8, wrong=2)
    assert link_ratings(ALL, known, MANY).success.value > 0.9
    without = link_ratings(ALL, known, MANY, dates=False)
    assert without.success.value < link_ratings(ALL, known, MANY).success.value


def test_people_who_are_not_in_the_table_are_rarely_claimed() -> None:
    """The twin: what is known is of strangers. The rate of false claims is that of seed 0."""
    strangers = make_ratings(users=2000, items=1500, seed=9)
    known = observe_ratings(strangers, np.flatnonzero(np.diff(strangers.stars.indptr) >= 8)[:150], count=8, wrong=2)
    result = link_ratings(ALL, known, np.full(150, -1), eccentricity=4.0)
    assert result.success.right == 0
    assert result.facts is not None
    assert int(str(result.facts["wrong claims"])) < 15


def test_the_generator_is_as_sparse_as_netflix_and_skewed() -> None:
    assert pytest.approx(0.01178, abs=1e-5) == NETFLIX_DENSITY
    density = ALL.stars.nnz / (2000 * 1500)
    assert 0.7 * NETFLIX_DENSITY < density <= 1.05 * NETFLIX_DENSITY
    raters = np.sort(np.diff(ALL.stars.tocsc().indptr))
    assert raters[-15:].sum() > 5 * raters[:150].sum()
    assert set(np.unique(ALL.stars.data)) == {1, 2, 3, 4, 5}


def test_what_is_known_is_near_the_truth_but_for_the_wrong_ones() -> None:
    known = observe_ratings(ALL, MANY, count=5)
    for place, row in enumerate(MANY):
        mine, full = as_dict(known, place), as_dict(ALL, row)
        assert len(mine) == 5
        assert all(
            abs(full[item][0] - stars) <= 1 and abs(full[item][1] - day) <= 14 for item, (stars, day) in mine.items()
        )
    wrong = observe_ratings(ALL, MANY, count=5, wrong=5)
    assert sum(item in as_dict(ALL, row) for place, row in enumerate(MANY) for item in as_dict(wrong, place)) < 40


def test_bad_input_is_refused() -> None:
    known = observe_ratings(ALL, [0], count=1)
    for call in (
        lambda: link_ratings(ALL, known, [0, 1]),
        lambda: link_ratings(ALL, make_ratings(users=2, items=9), [0, 1]),
        lambda: link_ratings(ALL, known, [0], eccentricity=-1),
        lambda: Ratings(csr_array(np.eye(3)), np.zeros(2)),
        lambda: make_ratings(users=1, items=9),
        lambda: make_ratings(users=9, items=9, density=0.6),
        lambda: observe_ratings(ALL, [0], count=1, wrong=2),
        lambda: observe_ratings(ALL, [2000], count=1),
        lambda: observe_ratings(ALL, [], count=1),
    ):
        with pytest.raises(InvalidParameterError):
            call()
