"""Plans of noisy tables: published optima, their certificate, and what the noise really spends."""

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms.price import Price
from deniable.privacy import AddRemove, Relation
from deniable.synthesis.domain import DeclaredDomain, Listed
from deniable.synthesis.plan import MarginalPlan
from tests.synthesis.tables import DOMAIN, EXTREMES, drawn_by, rows


def of_sizes(sizes: list[int], most: int, **known: Any) -> MarginalPlan:
    """The plan of all tables of at most so many columns, by default at the privacy cost 1, which is rho = 1/2."""
    domain = DeclaredDomain(tuple(Listed(f"c{at}", "int64", tuple(range(n - 1))) for at, n in enumerate(sizes)))
    names = [each for size in range(most + 1) for each in combinations(domain.names, size)]
    options = {"price": Price.of(None, None, "1/2"), "relation": AddRemove, "rows": 1, **known}
    return MarginalPlan.of(domain, names, None, **options)


def plan(tables: list[list[str]] | None = None, weights: list[int] | None = None, **known: Any) -> MarginalPlan:
    price = Price.of(known.pop("epsilon", None), known.pop("delta", None), known.pop("rho", None))
    options = {"relation": AddRemove, "rows": 1, **known}
    return MarginalPlan.of(DOMAIN, tables or [["ward", "ill"], ["age"], []], weights, price=price, **options)


def share(made: MarginalPlan) -> float:
    """The part of the stated loss that draws spend on the worst of some neighbours."""
    return drawn_by(made, rows(90), EXTREMES)


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("price", [{"epsilon": 9}, {"rho": 9}], ids=str)
@pytest.mark.parametrize("limit", [1, 3])
@pytest.mark.parametrize("objective", ["tables", "counts", "largest"])
def test_tables_draw_what_proves_their_loss(
    relation: Relation, price: dict[str, Any], limit: int, objective: str
) -> None:
    spent = share(plan(relation=relation, rows=limit, objective=objective, **price))
    assert (0.95 if relation is AddRemove else 0.55) <= spent <= 1 + 1e-12


def test_noise_of_half_the_scale_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    noises = Price.noises
    monkeypatch.setattr(Price, "noises", lambda self, *given: noises(self._times(Fraction(4)), *given))
    assert share(plan(rho="1/2")) > 3


@pytest.mark.parametrize(
    ("attributes", "published"), [(2, 1.3791), (6, 4.2752), (10, 9.3481), (12, 12.3596), (14, 15.6423)]
)
def test_errors_of_all_three_way_tables_are_those_of_residualplanner(attributes: int, published: float) -> None:
    """Xiao et al. (2023), table of Synth-10^d, at privacy cost 1."""
    assert of_sizes([10] * attributes, 3, objective="counts").root_mean_square == pytest.approx(published, abs=6e-5)


@pytest.mark.parametrize("objective", ["tables", "counts", "largest"])
def test_no_other_shares_of_the_price_have_less_error(objective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Any = {"tables": [["ward", "ill"], ["age"]], "weights": [1, 7], "objective": objective, "rho": "1/1000"}
    best = plan(**asked)
    least, shares = best.error, best._shares()
    rng = np.random.default_rng(0)
    for _ in range(20):
        changed = shares * np.exp(rng.normal(size=shares.size) * 0.2)
        monkeypatch.setattr(MarginalPlan, "_shares", lambda _, changed=changed: changed)
        assert plan(**asked).error > least * (1 - (2e-3 if objective == "largest" else 1e-4))


def test_the_largest_variance_is_least_where_it_is_the_objective() -> None:
    usual, made = (of_sizes([4, 9, 2], 2, objective=objective) for objective in ("tables", "largest"))
    largest = max(made.deviations.values())
    assert largest < 0.95 * max(usual.deviations.values())
    # The dual by hand: for any weights of sum 1, the least weighted mean of variances is below the largest one.
    for table in made.deviations:
        alone = MarginalPlan.of(
            made.domain, [table], None, price=made.price, relation=AddRemove, rows=1, objective="largest"
        )
        assert max(alone.deviations.values()) <= largest * 1.001


def test_weights_move_the_error_to_where_it_matters_least() -> None:
    equal, uneven = plan(rho=1), plan(weights=[1, 1000, 1], rho=1)
    assert uneven.deviations[("age",)] < 0.8 * equal.deviations[("age",)]
    assert uneven.deviations[()] > equal.deviations[()]
    twice = plan([["ward", "ill"], ["ill", "ward"]], rho=1)
    assert twice.tables == ((0, 2),)


def test_few_tables_at_epsilon_and_delta_take_the_better_of_laplace_and_gaussian_noise() -> None:
    few = plan([["ill"]], epsilon=1, delta="1e-9")
    assert few.privacy_loss.pure_epsilon == 1
    many = of_sizes([3] * 7, 3, price=Price.of(1, "1e-6", None))
    assert many.privacy_loss.pure_epsilon is None
    assert many.privacy_loss.epsilon(Fraction(1, 10**6)).upper <= 1 + 1e-9


def test_more_counts_than_can_be_kept_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="have 8,000,001 counts, and at most"):
        MarginalPlan.of(
            DeclaredDomain(tuple(Listed(f"c{at}", "int64", tuple(range(199))) for at in range(3))),
            [["c0", "c1", "c2"], []], None, price=Price.of(1, None, None), relation=AddRemove, rows=1,
        )  # fmt: skip
    with pytest.raises(InvalidParameterError, match="objective must be tables or counts or largest"):
        plan(rho=1, objective="median")
    for weights in ([1], [1, 0, 1], [1, float("nan"), 1]):
        with pytest.raises(InvalidParameterError, match="weights"):
            plan(rho=1, weights=weights)


def test_a_plan_says_how_exact_each_table_is_before_anything_is_read() -> None:
    text = str(plan(rho=1))
    assert "3 noisy tables of 3 columns, from 5 measurements" in text
    assert "ward x ill: 12 counts, deviation" in text
    assert text.endswith("cost rho=1")
