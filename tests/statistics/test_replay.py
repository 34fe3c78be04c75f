"""Every statistic draws the same, and makes the same of what is drawn, whatever one unit holds.

The mechanisms' releases are recorded on one table and given again on its neighbour: then the whole answer must be the
same, to the last number, and what the exact inputs moved must not cost more than was asked for.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from deniable import statistics as dn
from deniable.audit import replay
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Replace
from tests.audit.draws import RELEASES
from tests.statistics.test_wrong_types import CALLS

Data = list[Any]
NEW: dict[str, tuple[float, object]] = {  # of a row: number, key
    "extreme": (1e308, "new"), "infinite": (-np.inf, ""), "missing": (np.nan, None), "zero": (0.0, "a"),
}  # fmt: skip
TWO_SAMPLES = {"mann_whitney", "two_sample_t_test"}
DELTA = {"delta": "1e-3"}
MORE: dict[str, tuple[str, dict[str, Any]]] = {
    "ada_ssp": ("linear_regression", {"method": "ada_ssp", **DELTA}),
    "theil_sen": ("linear_regression", {"method": "theil_sen"}),
    "automatic bounds": ("mean", {"bounds": "auto"}),
    "median with automatic bounds": ("median", {"bounds": "auto"}),
    "variance with rho": ("variance", {"epsilon": None, "rho": "1/2"}),
    "covariance with delta": ("covariance", DELTA),
    "vector covariance with delta": ("vector_covariance", DELTA),
    "histogram of numbers": ("histogram", {"keys": None, "bins": [0, 5, 20], "other": True}),
    "quantile with an interval": ("quantile", {"interval": 0.9}),
}
ASKED = {name: (name, {}) for name in CALLS if name != "bootstrap"} | MORE


def asked(name: str, **other: Any) -> tuple[Data, Callable[[Data], object], dict[str, Any]]:
    """The rows, the question about them, and its price."""
    function, changed = ASKED[name]
    data, options = CALLS[function]
    options = {"epsilon": 1, **options, **changed, **other}
    if "histogram of" in name:
        data = CALLS["mean"][0]
    rows = [np.asarray(each, dtype=object if isinstance(each, list) else np.float64) for each in data]
    price = {word: options[word] for word in ("epsilon", "delta") if options.get(word)}

    def ask(given: Data) -> object:
        units = {} if len(given) == len(rows) else {"units": given[-1]}
        return getattr(dn, function)(*given[: len(rows)], **options, **units, bits=DeterministicBits(1))

    return rows, ask, price


def with_row(name: str, data: Data, kind: str) -> Data:
    """The data with one more row; of two samples, in the first."""
    number, key = NEW[kind]
    return [
        each
        if place and ASKED[name][0] in TWO_SAMPLES
        else np.concatenate([each, np.full((1, *each.shape[1:]), key if each.dtype == object else number, each.dtype)])
        for place, each in enumerate(data)
    ]


def same(ask: Callable[[Data], object], one: Data, other: Data, price: dict[str, Any]) -> None:
    found = replay(ask, one, other, samplers=RELEASES, sensitivity=0, **price)
    assert found.epsilon == 0, found.event
    assert not found.event.startswith("none: 0 draws")


@pytest.mark.parametrize("kind", ["extreme", "missing"])
@pytest.mark.parametrize("name", ASKED)
def test_one_row_changes_nothing_but_what_mechanisms_release(name: str, kind: str) -> None:
    data, ask, price = asked(name)
    same(ask, data, with_row(name, data, kind), price)


@pytest.mark.parametrize("name", ASKED)
def test_no_rows_are_like_one(name: str) -> None:
    data, ask, price = asked(name)
    none = [each[:0] for each in data]
    same(ask, none, with_row(name, none, "extreme"), price)


@pytest.mark.parametrize("name", ASKED)
def test_under_replace_one_row_changes_nothing_else(name: str) -> None:
    data, ask, price = asked(name, relation=Replace)
    fewer = [each if place and ASKED[name][0] in TWO_SAMPLES else each[1:] for place, each in enumerate(data)]
    same(ask, with_row(name, fewer, "infinite"), with_row(name, fewer, "zero"), price)


@pytest.mark.parametrize("name", sorted(set(ASKED) - TWO_SAMPLES))
def test_all_rows_of_a_unit_change_nothing_else(name: str) -> None:
    data, ask, price = asked(name, rows=2)
    units = np.tile(np.arange(10), 2)  # with one key each, so that no group is drawn
    more = with_row(name, with_row(name, with_row(name, data, "extreme"), "missing"), "infinite")
    same(ask, [*data, units], [*more, np.append(units, [99, 99, 99])], price)


@pytest.mark.parametrize("name", ["count", "sum", "mean", "median", "variance", "key_counts", "top_k"])
def test_a_null_changes_nothing_else(name: str) -> None:
    data, ask, price = asked(name)
    column = pa.array(data[0].tolist())
    more = pa.concat_arrays([column, pa.array([None], type=column.type)])
    same(ask, [column], [more], price)


def test_a_statistic_that_looks_at_the_data_is_caught() -> None:
    """Twins: a number of rows that decides the bounds, the bins, or the price."""

    def narrow(data: Data) -> object:
        return dn.histogram(data[0], keys=range(len(data[0])), epsilon=1, bits=DeterministicBits(1))

    def priced(data: Data) -> object:
        return dn.count(data[0], epsilon=20 / len(data[0]), bits=DeterministicBits(1))

    def two_answers(data: Data) -> object:
        return [dn.count(data[0], epsilon=1, bits=DeterministicBits(1)) for _ in range(2)]

    def with_truth(data: Data) -> object:
        return dn.count(data[0], epsilon=1, bits=DeterministicBits(1)), len(data[0])

    rows = [np.arange(20.0)]
    for ask, said in (
        (narrow, "shape of exact"), (priced, "scale"), (two_answers, "reveal more than"), (with_truth, "item 1"),
    ):  # fmt: skip
        found = replay(ask, rows, [rows[0][1:]], samplers=RELEASES, sensitivity=0, epsilon=1)
        assert found.violated
        assert said in found.event
