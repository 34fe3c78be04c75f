import numpy as np
import pytest

from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace
from deniable.statistics.regression.adaptive_ridge import AdaptiveRidge
from deniable.statistics.regression.moments import Basis, system
from deniable.statistics.regression.smallest_eigenvalue import smallest_eigenvalue
from tests.statistics.regression.data import GENERATOR, least_squares, line_error, rows


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("features", [1, 3])
def test_errors_are_as_expected_and_intervals_hold(relation, features) -> None:  # type: ignore[no-untyped-def]
    """40 fits, as for the sums alone."""
    plan = AdaptiveRidge(bounds=[(0, 10)] * features, target_bounds=(-10, 30), relation=relation, rho="0.5")
    errors, covered = [], []
    for seed in range(40):
        x, y = rows(5000, features)
        answer, true = plan((x, y), bits=DeterministicBits(seed)), least_squares(x, y)
        errors.append(line_error(answer, x, true, 20))
        lower, upper = answer.intervals()["coefficient"]
        covered.append((lower <= true) & (true <= upper))
    assert np.sqrt(np.mean(errors)) == pytest.approx(plan.expected_error(5000), rel=0.4)
    assert np.mean(covered) > 0.86


def test_the_bound_on_the_norm_of_the_noise_fails_seldom() -> None:
    """The noise of the matrix alone, 2,000 draws: the bound for 5% is passed in less."""
    plan = AdaptiveRidge(bounds=[(0, 1)] * 4, target_bounds=(0, 1), rho=1)
    noise = GENERATOR.normal(size=(2000, len(plan._noise))) * np.sqrt(plan._noise.diagonal())
    norms = np.abs(np.linalg.eigvalsh(system(noise, 4)[0])).max(axis=1)
    assert np.mean(norms > plan._norm_of_noise) < 0.05
    assert np.mean(norms > plan._norm_of_noise / 2) > 0.05


@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_one_row_moves_the_smallest_eigenvalue_no_further_than_stated(relation) -> None:  # type: ignore[no-untyped-def]
    plan = AdaptiveRidge(bounds=[(0, 1)] * 2, target_bounds=(0, 1), rho=1, relation=relation)
    basis = Basis.plain(features=2, rows=1, relation=relation)

    def eigenvalue(x: np.ndarray) -> int:
        first, second = np.triu_indices(3)
        matrix = np.zeros((3, 3), dtype=object)
        matrix[first, second] = matrix[second, first] = basis.exact(x, np.zeros(len(x)))[:6]
        return smallest_eigenvalue(matrix)

    largest = 0
    for _ in range(300):
        x = GENERATOR.choice([-1.0, -0.3, 0.7, 1.0], size=(GENERATOR.integers(1, 6), 2))
        other = x[1:] if relation is AddRemove else np.vstack([x[1:], GENERATOR.choice([-1.0, 1.0], size=(1, 2))])
        largest = max(largest, abs(eigenvalue(x) - eigenvalue(other)))
    assert 0.5 * basis.unit < largest <= plan._eigenvalue_sensitivity.linf


def test_the_ridge_vanishes_with_many_rows() -> None:
    plan = AdaptiveRidge(bounds=[(0, 10)], target_bounds=(-10, 30), rho=1)
    x, y = rows(50, 1)
    few = plan((x, y), bits=DeterministicBits(1))
    many = plan((np.tile(x, (200, 1)), np.tile(y, 200)), bits=DeterministicBits(1))
    assert "the ridge is 0 " in many.notes[0]
    assert "the ridge is 0 " not in few.notes[0]
