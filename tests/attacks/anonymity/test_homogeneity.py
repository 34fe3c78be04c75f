"""Homogeneity: the guess by class, against plain Python and a real table."""

from collections import Counter

import polars as pl
import pytest

import deniable as dn
from deniable import attacks
from tests.attacks.anonymity.plain import classes, tables


def test_the_guess_is_the_most_frequent_secret_of_the_class() -> None:
    for rows in tables(9, 25):
        held = classes(rows)
        right = sum(
            min(Counter(one).items(), key=lambda item: (-item[1], item[0]))[0] == row[-1]
            for one, row in zip(held, rows, strict=True)
        )
        frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row")
        found = attacks.attack_homogeneity(frame, quasi=["a", "b"], sensitive="c")
        assert found.success.right == right
        assert found.facts["people whose class holds one secret"] == sum(len(set(one)) == 1 for one in held)
        assert found.baseline == max(Counter(row[-1] for row in rows).values()) / len(rows)


def test_the_secrets_that_the_attacker_holds_are_the_values_themselves() -> None:
    frame = pl.DataFrame({"a": [1, 1, 2], "c": ["flu", "flu", "cold"]})
    assert attacks.attack_homogeneity(frame, quasi="a", sensitive="c").learned.tolist() == ["flu", "flu", "cold"]


def test_k_anonymity_leaves_less_to_read_off_and_a_cut_of_the_classes_leaves_nothing() -> None:
    survey, quasi = dn.datasets.survey(), ["department", "age", "years"]
    exact = attacks.attack_homogeneity(survey, quasi=quasi, sensitive="satisfaction")
    coarse = attacks.generalise(survey, quasi=quasi, k=10)
    less = attacks.attack_homogeneity(coarse, quasi=quasi, sensitive="satisfaction")
    one = attacks.generalise(survey, quasi=quasi, k=4000)
    none = attacks.attack_homogeneity(one, quasi=quasi, sensitive="satisfaction")
    assert exact.succeeded
    assert exact.success.value > less.success.value > none.success.value == pytest.approx(none.baseline)
    assert not none.succeeded
