import datetime
from fractions import Fraction
from itertools import product
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Gaussian
from deniable.noise.bits import DeterministicBits
from deniable.statistics.key_counts import KeyCounts, bounded_counts, key_counts

BITS = DeterministicBits(1)
NGRAMS = Path(__file__).parents[3] / "shared" / "data" / "reddit_ngrams.parquet"


def test_a_key_of_one_unit_is_published_with_probability_delta() -> None:
    """20,000 units alone with their keys; the count of those published within five standard deviations."""
    plan = KeyCounts(epsilon="1/2", delta="0.05")
    q = exp(-0.5)
    chance = q**plan.mechanism.threshold * (1 - q) / (1 + q - 2 * q ** (plan.mechanism.threshold + 1))
    assert 0.03 < chance <= 0.05
    published = len(plan(np.arange(20_000), bits=DeterministicBits(3)))
    assert abs(published - 20_000 * chance) < 5 * np.sqrt(20_000 * chance)


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": 1}, {"epsilon": 1, "delta": 0}, {}], ids=str)
def test_keys_that_nobody_declared_need_a_delta(price: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError):
        KeyCounts(**price)
    with pytest.raises(InvalidParameterError, match="groups"):
        KeyCounts(epsilon=1, delta=1e-6, groups=0)


@pytest.mark.parametrize("groups", [5, 60])
@pytest.mark.parametrize("epsilon", ["1e-6", "1e-3", 1, 1000])
@pytest.mark.parametrize("delta", ["1e-12", "1e-6", "1/2"])
def test_every_epsilon_with_a_delta_has_a_price(groups: int, epsilon: Any, delta: str) -> None:
    """At epsilon = 10^-3 numerical composition proves twice the delta; the sum of noise and new keys is exact."""
    charge = KeyCounts(groups=groups, epsilon=epsilon, delta=delta).privacy_loss.charge()
    assert (charge.epsilon, charge.delta) == (Fraction(str(epsilon)), Fraction(delta))


def test_contributions_are_bounded() -> None:
    """All tables of two owners with up to three rows each: no owner counts more often than allowed."""
    for groups, rows in ((1, 1), (2, 1), (1, 2), (2, 3)):
        for keys in product(range(-1, 3), repeat=3):
            found = np.array([*keys, 0, 1])
            owners = np.array([0, 0, 0, 1, -1])
            counts = bounded_counts(found, owners, 3, groups=groups, rows=rows, bits=BITS)
            ours = counts - np.array([1, 0, 0])
            present = np.bincount([key for key in keys if key >= 0], minlength=3)
            assert np.all((ours >= 0) & (ours <= np.minimum(present, rows)))
            assert np.count_nonzero(ours) == min(groups, np.count_nonzero(present))
    assert bounded_counts(np.array([], dtype=int), np.array([], dtype=int), 0, groups=1, rows=1, bits=BITS).size == 0


@pytest.mark.parametrize("units", [np.zeros(50_000, dtype=np.int64), np.full(50_000, np.nan)])
def test_keys_that_do_not_count_are_never_published(units: np.ndarray) -> None:
    """One unit with 50,000 keys: were those beyond `groups` shown, something would be in every other release."""
    plan = KeyCounts(groups=50, epsilon=1, delta="1/1000")
    assert isinstance(plan.mechanism.noise, Gaussian)
    assert not any(len(plan(np.arange(50_000), units=units, bits=DeterministicBits(seed))) for seed in range(8))


@pytest.mark.parametrize("other", ["x", 0.5, None])
def test_one_row_does_not_change_the_type_of_the_keys(other: object) -> None:
    assert list(map(repr, key_counts([1] * 99 + [other], epsilon=1, delta=1e-6, bits=BITS)["key"])) == ["1"]
    mixed = [1] * 500 + ["a"] * 500 + [datetime.date(2020, 1, 1)] * 500
    assert len(key_counts(mixed, epsilon=10, delta="1/10", bits=BITS)) == 3


def test_every_key_of_a_unit_is_drawn_equally_often() -> None:
    """3,000 owners of 3 keys each, one drawn: 1,000 expected, standard deviation 26; five of them."""
    keys, owners = np.tile(np.arange(3), 3000), np.repeat(np.arange(3000), 3)
    counts = bounded_counts(keys, owners, 3, groups=1, rows=1, bits=DeterministicBits(5))
    assert np.abs(counts - 1000).max() < 130


def test_keys_come_in_an_order_that_tells_nothing() -> None:
    values = ["b"] * 300 + ["a"] * 300 + ["c"] * 900 + [None] * 500 + ["rare"]
    first = key_counts(values, epsilon=5, delta=1e-6, bits=BITS)
    assert first["key"].tolist()[0] == "c"
    assert set(first["key"]) == {"a", "b", "c"}
    for key, truth in (("a", 300), ("b", 300), ("c", 900)):
        ((count,),) = [first["count"][[k == key for k in first["key"]]]]
        assert abs(count - truth) <= first.noisy[0].law.half_width(0.999999)
    dates = [datetime.date(2020, 1, 1)] * 100
    assert key_counts(dates, epsilon=1, delta=1e-6, bits=BITS)["key"].tolist() == dates[:1]


@pytest.mark.parametrize("values", [[], [None], ["x"], [1.0, float("nan")]])
def test_few_rows_publish_nothing(values: list[Any]) -> None:
    answer = key_counts(values, epsilon=1, delta=1e-9, bits=BITS)
    assert len(answer) == 0
    assert "above" in str(answer)
    assert answer.to_dicts() == []


def test_units_are_checked() -> None:
    with pytest.raises(InvalidParameterError, match="one entry for each row"):
        key_counts(["a"], units=[1, 2], epsilon=1, delta=1e-6)


@pytest.mark.skipif(not NGRAMS.exists(), reason="needs the shared data")
def test_bigrams_of_authors_are_found() -> None:
    """The most frequent bigrams of 3,486 authors; every count is that of authors, within the noise."""
    import pyarrow.parquet as pq

    table = pq.read_table(NGRAMS)
    answer = key_counts(
        table["ngram"], units=table["author_id"], groups=20, epsilon=2, delta=1e-5, bits=DeterministicBits(1)
    )
    by_ngram = (
        table.group_by(["ngram", "author_id"]).aggregate([]).group_by("ngram").aggregate([("author_id", "count")])
    )
    authors = dict(zip(by_ngram["ngram"].to_pylist(), by_ngram["author_id_count"].to_pylist(), strict=True))
    assert len(answer) >= 10
    half = answer.noisy[0].law.half_width(0.999999)
    for key, count in zip(answer["key"], answer["count"], strict=True):
        assert count <= authors[key] + half  # an author of more than 20 bigrams counts for some of them
