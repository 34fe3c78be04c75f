"""Linear and ridge regression as estimators."""

from typing import Any

import numpy as np
import pytest

from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.learning import LinearRegression, Ridge
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Replace
from deniable.statistics.regression.adaptive_ridge import AdaptiveRidge
from deniable.statistics.regression.sufficient import SufficientRegression

PUBLIC: dict[str, Any] = {"bounds": [(0, 10), (-1, 1)], "target_bounds": (-5, 35)}
KINDS = [(LinearRegression, SufficientRegression), (Ridge, AdaptiveRidge)]


def survey(rows: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    features = np.column_stack([rng.uniform(0, 10, rows), rng.uniform(-1, 1, rows)])
    return features, 3 * features[:, 0] - 2 * features[:, 1] + 1


@pytest.mark.parametrize(("kind", "statistic"), KINDS)
def test_it_is_the_statistic_with_its_loss_and_predicts(kind: type[LinearRegression], statistic: type) -> None:
    rows, values = survey()
    model = kind(**PUBLIC, epsilon=1, delta="1e-6").fit(rows, values, bits=DeterministicBits(1))
    asked = statistic(**PUBLIC, epsilon=1, delta="1e-6")
    answer = asked((rows, values), bits=DeterministicBits(1))
    assert [model.intercept_, *model.coef_] == answer["coefficient"].tolist()
    assert model.cost_ == asked.privacy_loss
    assert model.score(rows, values) > 0.9
    assert model.predict([[99, 0]]).tolist() == model.predict([[10, 0]]).tolist()
    assert model.predict([[None, np.inf]]).shape == (1,)
    assert model.predict(rows).max() <= 35
    assert "each row, under add/remove" in model.note_


def test_pure_epsilon_rho_and_replace_are_understood() -> None:
    rows, values = survey(200)
    for price in ({"epsilon": 1}, {"rho": "0.1"}, {"epsilon": 1, "delta": "1e-6", "relation": Replace}):
        model = Ridge(**PUBLIC, **price).fit(rows, values, bits=DeterministicBits(1))  # type: ignore[arg-type]
        assert np.isfinite(model.coef_).all()
        assert "Cost: epsilon=" in model.note_


def test_only_public_facts_are_refused_and_before_anything_is_paid() -> None:
    class Refusing:
        def pay(self, *_: object, **__: object) -> Any:
            raise BudgetExceededError("asked")

    rows, values = survey(20)
    wrong: list[dict[str, Any]] = [{}, {"target_bounds": (1, 0)}, {"bounds": [(0, 1)]}, {"epsilon": 0}, {"delta": 2}]
    for changed in wrong:
        given = {**PUBLIC, **({"epsilon": 1} if changed else {}), **changed}
        with pytest.raises(InvalidParameterError):
            LinearRegression(**given).fit(rows, values, ledger=Refusing())
    for given_rows, given_values in ((rows[:5], values), (rows, values.astype("U3")), (rows, None)):
        with pytest.raises(InvalidParameterError):
            Ridge(**PUBLIC, epsilon=1).fit(given_rows, given_values, ledger=Refusing())
    with pytest.raises(BudgetExceededError):
        Ridge(**PUBLIC, epsilon=1).fit(rows, values, ledger=Refusing())
