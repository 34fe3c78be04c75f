import pytest

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.statistics.regression import linear_regression
from deniable.statistics.regression.method import METHODS
from tests.statistics.regression.data import rows


@pytest.mark.parametrize("method", METHODS)
def test_every_method_answers(method: str) -> None:
    x, y = rows(3000, 1)
    answer = linear_regression(
        x,
        y,
        bounds=[(0, 10)],
        target_bounds=(-10, 30),
        method=method,
        epsilon=4,
        bits=DeterministicBits(1),  # type: ignore[arg-type]
    )
    assert answer["coefficient"][1] == pytest.approx(1.5, abs=0.2)
    assert answer.text.startswith(METHODS[method].name)


def test_other_methods_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="method"):
        linear_regression([1], [1], bounds=[(0, 1)], target_bounds=(0, 1), method="lasso", epsilon=1)  # type: ignore[arg-type]
