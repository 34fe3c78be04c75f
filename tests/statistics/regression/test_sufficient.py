import numpy as np
import pytest

from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace
from deniable.statistics.regression.sufficient import SufficientRegression
from tests.statistics.regression.data import least_squares, line_error, rows


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "0.5"}])
@pytest.mark.parametrize("features", [1, 3])
def test_errors_are_as_expected_and_intervals_hold(price, relation, features) -> None:  # type: ignore[no-untyped-def]
    """60 fits, 2 or 4 coefficients that depend on each other: a root mean square is off by 9% or less, four of them
    35%; coverage of 0.95 by 2.8% or less, three of them 8.5%."""
    plan = SufficientRegression(bounds=[(0, 10)] * features, target_bounds=(-10, 30), relation=relation, **price)
    errors, covered = [], []
    for seed in range(60):
        x, y = rows(5000, features)
        answer, true = plan((x, y), bits=DeterministicBits(seed)), least_squares(x, y)
        errors.append(line_error(answer, x, true, 20))
        lower, upper = answer.intervals()["coefficient"]
        covered.append((lower <= true) & (true <= upper))
    assert np.sqrt(np.mean(errors)) == pytest.approx(plan.expected_error(5000), rel=0.35)
    assert np.mean(covered) > 0.86


def test_few_features_and_pure_epsilon_take_the_bernstein_sums() -> None:
    for features in (1, 2, 3, 4):
        plan = SufficientRegression(bounds=[(0, 1)] * features, target_bounds=(0, 1), epsilon=1)
        assert plan._basis.is_bernstein == (features < 4)
        plan = SufficientRegression(bounds=[(0, 1)] * features, target_bounds=(0, 1), rho="0.1")
        assert not plan._basis.is_bernstein or features == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_intervals_are_in_proportion_to_any_unit(unit: float) -> None:
    """Those of the intercept were infinite, as squares of the unit are no floats, and paid for."""
    x, y = rows(5000, 1)

    def ends(unit: float) -> np.ndarray:
        plan = SufficientRegression(bounds=[(0, 10 * unit)], target_bounds=(-10 * unit, 30 * unit), epsilon=1)
        return np.array(plan((x * unit, y * unit), bits=DeterministicBits(1)).intervals()["coefficient"])

    assert ends(unit) == pytest.approx(ends(1.0) * [unit, 1], rel=1e-6)
