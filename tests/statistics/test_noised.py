from fractions import Fraction

import pytest

from deniable.privacy import AddRemove, Sensitivity, of_count
from deniable.statistics.count import Count
from deniable.statistics.noised import Noised


@pytest.mark.parametrize("price", [{"epsilon": "1/3"}, {"epsilon": 1, "delta": "1e-6"}, {"rho": "1/8"}])
def test_the_whole_price_goes_to_one_mechanism(price: dict[str, object]) -> None:
    plan = Count(rows=2, **price)  # type: ignore[arg-type]
    assert isinstance(plan, Noised)
    assert plan.mechanism == plan.price.noise(of_count(rows=2, groups=1, relation=AddRemove, cells=1))
    assert plan.expected_error(10**6) == plan.mechanism.standard_deviation()
    charge = plan.privacy_loss.charge()
    assert (charge.epsilon, charge.rho)["rho" in price] == Fraction(str(price.get("epsilon", price.get("rho"))))


def test_a_statistic_without_sensitivity_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="sensitivity"):
        Noised(epsilon=1)  # type: ignore[abstract]
    assert isinstance(Count(epsilon=1).sensitivity, Sensitivity)
