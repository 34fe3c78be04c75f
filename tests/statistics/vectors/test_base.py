from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.ledger import Ledger
from deniable.privacy import AddRemove, Budget, PrivacyUnit, Relation, Replace
from deniable.statistics.price import Price
from deniable.statistics.vectors import VectorCovariance, VectorMean
from deniable.statistics.vectors.base import VectorStatistic, part_of

KINDS = [VectorMean, VectorCovariance]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"rho": "0.5"}])
def test_the_loss_is_the_price_for_one_relation(
    kind: type[VectorStatistic], relation: Relation, price: dict[str, object]
) -> None:
    plan = kind(bounds=[(0, 1)], deviations=1, relation=relation, **price)  # type: ignore[arg-type]
    assert plan.privacy_loss.relations == {relation}
    charge = plan.privacy_loss.charge()
    if "rho" in price:
        assert plan.privacy_loss.rho == Fraction(1, 2)
    else:
        assert (charge.epsilon, charge.delta) == (1, plan.price.delta)


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_number_of_columns_costs_nothing(kind: type[VectorStatistic]) -> None:
    ledger = Ledger.open(None, budget=Budget(epsilon=1), relation=AddRemove, unit=PrivacyUnit(), dataset="test")
    with pytest.raises(InvalidParameterError, match="2 columns"):
        kind(bounds=[(0, 1)] * 2, deviations=1, epsilon=1)(np.ones((3, 3)), ledger=ledger)
    assert ledger.spent().epsilon == 0


def test_the_number_of_rows_is_public_under_replace_alone() -> None:
    options = {"bounds": [(0, 1)], "deviations": 1, "epsilon": 1}
    assert VectorMean(relation=Replace, **options).size_is_public  # type: ignore[arg-type]
    assert not VectorMean(relation=Replace, rows=2, **options).size_is_public  # type: ignore[arg-type]
    assert not VectorMean(**options).size_is_public  # type: ignore[arg-type]


def test_a_part_of_a_price_is_of_its_kind() -> None:
    assert part_of(Price.of(None, 0, 3), Fraction(1, 3)).rho == 1
    assert part_of(Price.of(3, 0, None), Fraction(1)).epsilon == 3
