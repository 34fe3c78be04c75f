from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from deniable.errors import InvalidParameterError
from deniable.ledger import Ledger
from deniable.mechanisms.price import Price
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Budget, PrivacyUnit, Relation, Replace
from deniable.statistics import vector_covariance, vector_mean
from deniable.statistics.vectors.base import VectorStatistic
from deniable.statistics.vectors.columns import Columns
from deniable.statistics.vectors.covariance import VectorCovariance
from deniable.statistics.vectors.mean import VectorMean
from deniable.statistics.vectors.range_search import _MARGIN, RangeSearch

KINDS = [VectorMean, VectorCovariance]
PRICES = [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"rho": "0.5"}]


def normal(size: int, columns: int) -> np.ndarray:
    return np.random.default_rng(7).normal(5, 2, (size, columns))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize("deviations", [2, "auto", [2, "auto", "auto"]])
def test_searches_and_steps_cost_the_price(
    kind: type[VectorStatistic], relation: Relation, price: dict[str, object], deviations: object
) -> None:
    """The losses of the searches, as their mechanisms state them, and what is left for the steps."""
    plan = kind(bounds=["auto"] * 3, deviations=deviations, relation=relation, rows=2, **price)  # type: ignore[arg-type]
    searches = [each for each in (plan.range_search.together, *plan.range_search.alone) if each is not None]
    assert len(searches) == (1 if deviations == 2 else 3)
    by_rho = plan.price.epsilon is None or bool(plan.price.delta)
    spent = sum(
        Fraction((each.loss.rho if by_rho else each.loss.pure_epsilon) or 0)
        for each in searches
        if each.loss is not None
    )
    left = plan.rest.rho if by_rho else plan.rest.epsilon
    stated = plan.privacy_loss.rho if by_rho else plan.privacy_loss.pure_epsilon
    assert left is not None
    assert stated is not None
    assert 0.999 * stated < spent + left <= stated
    assert plan.privacy_loss.relations == {relation}


def test_declared_columns_cost_no_search() -> None:
    price = Price.of(1, 0, None)
    public = Columns.of([(0, 1)], 1)
    finding, rest = RangeSearch.of(public, price, relation=AddRemove, rows=1)
    rows = normal(5, 1)
    assert rest is price
    assert finding(public, rows, DeterministicBits(1)) == (public, rows, ())


def test_no_mean_is_beyond_the_margin() -> None:
    """Of a share q = 1/5 of rows at the end of the range, and the others as far out as a deviation of 1 lets them be:
    the worst case of Cantelli. With fewer rows in the range the mean may be further away."""
    for share, enough in ((0.2, True), (0.15, False)):
        other = np.sqrt(1 / (share * (1 - share)))  # distance of two values with these shares and deviation 1
        mean = (1 - share) * other
        assert np.isclose(share * mean**2 + (1 - share) * (other - mean) ** 2, 1)
        assert (mean <= _MARGIN + 1e-12) == enough


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize("deviations", [4, "auto"])
def test_means_are_found_without_bounds(relation: Relation, price: dict[str, object], deviations: object) -> None:
    """Errors as expected, and intervals that hold: of 5 answers of 4 columns one misses 5% of 20; five or more 1%."""
    plan = VectorMean(bounds=["auto"] * 4, deviations=deviations, relation=relation, **price)  # type: ignore[arg-type]
    rows = normal(20_000, 4) * [1, 10, 0.1, 1] + [0, 0, 0, 3]
    if deviations != "auto":
        rows /= [1, 10, 0.1, 1]
    missed = 0
    for seed in range(5):
        answer = plan(rows, bits=DeterministicBits(seed))
        lower, upper = answer.intervals()["mean"]
        true = rows.mean(axis=0)
        missed += int(((true < lower) | (upper < true)).sum())
        assert (np.abs(answer["mean"] - true) < 0.05 * rows.std(axis=0)).all()
    assert missed < 5


def test_a_covariance_is_found_without_bounds() -> None:
    rows = normal(20_000, 3) @ np.array([[1.0, 0.5, 0], [0, 1, 0], [0, 0, 3]])
    true = np.cov(rows.T, bias=True).ravel()
    for deviations in ("auto", 20):
        answer = vector_covariance(rows, bounds="auto", deviations=deviations, epsilon=1, bits=DeterministicBits(3))
        assert np.abs(answer["covariance"] - true).max() < 0.05 * true.max()


def test_few_rows_are_told() -> None:
    for deviations in (1, "auto"):
        answer = vector_mean(
            normal(5, 2), bounds="auto", deviations=deviations, epsilon="0.1", bits=DeterministicBits(1)
        )
        assert any("too few rows" in note for note in answer.notes)
    many = vector_mean(normal(5000, 2), bounds="auto", deviations=2, epsilon=1, bits=DeterministicBits(1))
    assert not any("too few rows" in note for note in many.notes)


def test_one_search_serves_any_number_of_columns() -> None:
    """800 rows of 64 columns at epsilon = 1: a search for each column would have an epsilon of 1/256."""
    together = VectorMean(bounds=["auto"] * 64, deviations=2, epsilon=1)
    rows = normal(800, 64)
    columns, _, notes = together.range_search(together.columns, rows, DeterministicBits(2))
    assert len(notes) == 1
    assert (np.abs(rows.mean(axis=0) - columns.middle) <= columns.half).all()
    assert columns.half.max() < 40


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("deviations", [2, "auto"])
@pytest.mark.parametrize(
    "values",
    [
        np.empty((0, 2)),
        np.full((3, 2), np.nan),
        [[np.nan, 1.0], [2.0, np.nan]],
        np.full((4, 2), np.inf),
        [[1e300, -1e300]],
    ],
)
def test_whatever_the_rows_are_the_answer_is_well_formed(
    kind: type[VectorStatistic], relation: Relation, deviations: object, values: object
) -> None:
    plan = kind(bounds=["auto"] * 2, deviations=deviations, rho="0.01", relation=relation)
    answer = plan(values, bits=DeterministicBits(1))
    name = "mean" if kind is VectorMean else "covariance"
    lower, upper = answer.intervals()[name]
    assert np.isfinite([lower, answer[name], upper]).all()
    assert len(answer) == (2 if kind is VectorMean else 4)


def test_rows_of_a_unit_are_drawn_once_for_search_and_steps() -> None:
    """A unit of many rows of which one counts: what is found comes from the rows that the mean is of."""
    rows = np.concatenate([normal(3000, 2), np.full((3000, 2), 1e9)])
    units = np.concatenate([np.arange(3000), np.full(3000, -5)])
    answer = vector_mean(rows, bounds="auto", units=units, epsilon=4, bits=DeterministicBits(5))
    assert (np.abs(answer["mean"] - 5) < 0.5).all()


def test_columns_of_lists_are_counted_by_their_bounds() -> None:
    rows = normal(2000, 2).tolist()
    assert len(vector_mean(rows, bounds=["auto", (0, 10)], deviations=2, epsilon=1)) == 2
    ledger = Ledger.open(None, budget=Budget(epsilon=1), relation=AddRemove, unit=PrivacyUnit(), dataset="test")
    with pytest.raises(InvalidParameterError, match="once for each column"):
        vector_mean(rows, bounds="auto", epsilon=1, ledger=ledger)
    with pytest.raises(InvalidParameterError, match="must be declared"):
        vector_mean(rows, bounds=[(0, 1)] * 2, epsilon=1, ledger=ledger)
    assert ledger.spent().epsilon == 0


def test_a_frame_says_how_many_columns_it_has_and_the_ledger_pays_once() -> None:
    ledger = Ledger.open(None, budget=Budget(epsilon=1), relation=Replace, unit=PrivacyUnit(), dataset="test")
    frame = pd.DataFrame(normal(2000, 3), columns=["a", "b", "c"])
    answer = vector_mean(frame, bounds="auto", epsilon=1, relation=Replace, ledger=ledger)
    assert answer["column"].tolist() == ["a", "b", "c"]
    assert ledger.spent().epsilon == 1
