"""Two releases, k-anonymous each, and who is in both."""

from collections import Counter
from typing import Any

import pandas as pd
import polars as pl
import pytest

import deniable as dn
from deniable import attacks
from deniable.errors import InvalidParameterError
from tests.attacks.anonymity.plain import tables

NAMED: dict[str, Any] = {"person": "id", "quasi": "age", "sensitive": "ill"}


def hospitals() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Made after the example of Ganta, Kasiviswanathan, Smith (2008): a 4-anonymous and a 6-anonymous release."""
    one = pl.DataFrame({"id": [1, 2, 3, 4], "age": ["under 30"] * 4, "ill": ["aids", "heart", "flu", "flu"]})
    ill = ["aids", "burn", "burn", "cold", "cold", "lung"]
    return one, pl.DataFrame({"id": [9, 8, 1, 7, 6, 5], "age": ["20 to 35"] * 6, "ill": [*ill[1:3], ill[0], *ill[3:]]})


def test_two_anonymous_releases_name_the_only_secret_that_both_hold() -> None:
    one, two = hospitals()
    for release, k in ((one, 4), (two, 6)):
        assert attacks.k_anonymity(release, quasi="age") == k
        assert attacks.l_diversity(release, quasi="age", sensitive="ill") >= 3
    found = attacks.attack_by_intersection(one, two, **NAMED)
    assert (found.success.right, found.success.attempts) == (1, 1)
    assert found.learned.tolist() == ["aids"]
    assert found.facts["people with one secret left by both"] == 1
    assert found.facts["people with one secret left by one release alone"] == "0, 0"


def test_the_guess_has_the_greatest_product_of_shares() -> None:
    for one, two in zip(tables(11, 25), tables(12, 25), strict=True):
        rows = [[(place, *row[1:]) for place, row in enumerate(side)] for side in (one, two)]
        frames = [pd.DataFrame(side, columns=["id", "age", "ill"]).sample(frac=1, random_state=3) for side in rows]
        right = 0
        for place in range(min(len(one), len(two))):
            held = [Counter(row[2] for row in side if row[1] == side[place][1]) for side in rows]
            score = {value: held[0][value] / held[0].total() * held[1][value] / held[1].total() for value in held[0]}
            score = score if any(score.values()) else held[0]
            best = max(score.values())
            right += min(value for value in score if score[value] > best - 1e-12) == one[place][-1]
        assert attacks.attack_by_intersection(*frames, **NAMED).success.right == right


def test_two_releases_give_away_more_than_one() -> None:
    survey, quasi = dn.datasets.survey().to_pandas(), ["department", "age", "years"]
    halves = [survey.sample(frac=0.7, random_state=seed) for seed in (1, 2)]
    releases = [attacks.generalise(half, quasi=quasi, k=5) for half in halves]
    given: dict[str, Any] = {"person": "respondent", "quasi": quasi, "sensitive": "satisfaction"}
    found = attacks.attack_by_intersection(*releases, **given)
    single = [int(count) for count in found.facts["right from one release alone"].split(", ")]
    assert found.success.right > max(single)
    assert found.succeeded


def test_people_must_be_told_apart_and_somebody_be_in_both() -> None:
    one, two = hospitals()
    for other, said in ((two.with_columns(id=pl.lit(1)), "twice"), (two.with_columns(id=-pl.col("id")), "in both")):
        with pytest.raises(InvalidParameterError, match=said):
            attacks.attack_by_intersection(one, other, **NAMED)
