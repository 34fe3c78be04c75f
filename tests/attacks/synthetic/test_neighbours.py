"""Linkage and inference: copies, fresh rows, negative numbers and zeros, and synthetic rows from our own mechanism."""

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from deniable.attacks import infer_from_synthetic, link_halves, measure_synthetic_risk
from deniable.errors import InvalidParameterError
from deniable.mechanisms import Laplace
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove
from deniable.privacy.sensitivity.aggregates import of_count

DICE = np.random.default_rng(15)
SIZES = (12, 8, 6, 5)
NAMES = ("age", "town", "work", "ill")


def table(count: int) -> pl.DataFrame:
    """Labels with a weak dependence, so that most rows are rare combinations."""
    age, town, work = (DICE.integers(0, size, count) for size in SIZES[:3])
    ill = np.where(DICE.random(count) < 0.3, town % 5, DICE.integers(0, 5, count))
    return pl.DataFrame({name: map(str, column) for name, column in zip(NAMES, (age, town, work, ill), strict=True)})


ORIGINAL, CONTROL = table(400), table(400)


def private_rows(epsilon: str) -> pl.DataFrame:
    """400 rows drawn from all cells in proportion to noisy counts of ours."""
    codes = ORIGINAL.select(pl.all().cast(int)).to_numpy()
    places = np.ravel_multi_index(tuple(codes.T), SIZES)
    mechanism = Laplace.calibrated(of_count(rows=1, groups=1, relation=AddRemove), epsilon=epsilon)
    noisy = mechanism.release(np.bincount(places, minlength=np.prod(SIZES)), bits=DeterministicBits(6)).value
    weights = np.maximum(np.asarray(noisy, dtype=float), 0)
    drawn = np.unravel_index(DICE.choice(len(weights), 400, p=weights / weights.sum()), SIZES)
    return pl.DataFrame({name: map(str, column) for name, column in zip(NAMES, drawn, strict=True)})


def test_a_copy_is_broken_by_every_attack_and_private_rows_by_none() -> None:
    copied = measure_synthetic_risk(ORIGINAL, ORIGINAL, CONTROL)
    private = measure_synthetic_risk(ORIGINAL, private_rows("0.5"), CONTROL)
    assert list(copied) == ["singling out, 4 columns", "linkage", *(f"inference of {name}" for name in NAMES)]
    assert {name: one.succeeded for name, one in copied.items()} == dict.fromkeys(copied, True)
    assert not any(one.succeeded for one in private.values())


def test_negative_guesses_are_not_right_by_their_sign() -> None:
    """Twin: |guess - secret| / (guess + 1e-12) is negative here, hence below every tolerance."""
    known = {"key": list(range(50))}
    people = pl.DataFrame(known | {"debt": [-100.0] * 50})
    wrong = pl.DataFrame(known | {"debt": [-1.0] * 50})
    result = infer_from_synthetic(people, wrong, people, secret="debt")
    assert result.success.right == 0
    assert (abs(-1.0 + 100.0) / (-1.0 + 1e-12)) <= 0.05
    near = pl.DataFrame(known | {"debt": [-104.9] * 50})
    assert infer_from_synthetic(people, near, people, secret="debt").success.right == 50


def test_a_secret_zero_must_be_guessed_exactly() -> None:
    known = {"key": [1, 2, 3, 4]}
    people = pl.DataFrame(known | {"x": [0.0, 0.0, 0.0, None]})
    guesses = pl.DataFrame(known | {"x": [0.0, 1e-9, None, None]})
    result = infer_from_synthetic(people, guesses, people, secret="x")
    assert (result.success.right, result.success.attempts) == (2, 4)


def test_times_are_right_within_a_part_of_their_range() -> None:
    start = datetime(2020, 1, 1)
    days = list(range(101))
    people = pl.DataFrame({"key": days, "t": [start + timedelta(days=day) for day in days]})
    late = pl.DataFrame({"key": days, "t": [start + timedelta(days=day + day % 10) for day in days]})
    result = infer_from_synthetic(people, late, people, secret="t", tolerance=0.05)
    assert result.success.right == sum(day % 10 <= 0.05 * 109 for day in days)


def test_fresh_rows_link_nobody_and_the_blind_rate_is_that_of_a_draw() -> None:
    result = link_halves(ORIGINAL, table(400), CONTROL, left=NAMES[:2], right=NAMES[2:])
    assert not result.succeeded
    assert result.facts is not None
    assert result.facts["success of blind guesses"] == f"{1 / 400:.1%}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"left": ["age"], "right": ["age"]}, "left "),
        ({"left": [], "right": ["age"]}, "left "),
        ({"left": ["age"], "right": ["shoe"]}, "no column 'shoe'"),
        ({"left": ["age"], "right": ["town"], "attacks": 0}, "attacks must"),
    ],
)
def test_bad_halves_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        link_halves(ORIGINAL, ORIGINAL, CONTROL, **change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"secret": "shoe"}, "no column 'shoe'"),
        ({"secret": "age", "known": ["age"]}, "not the secret"),
        ({"secret": "age", "known": []}, "at least one column"),
        ({"secret": "age", "tolerance": np.nan}, "tolerance must"),
    ],
)
def test_bad_secrets_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        infer_from_synthetic(ORIGINAL, ORIGINAL, CONTROL, **change)
