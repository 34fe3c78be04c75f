import numpy as np
import pytest

from deniable.statistics.regression.smallest_eigenvalue import smallest_eigenvalue

GENERATOR = np.random.default_rng(1)


@pytest.mark.parametrize("size", [1, 2, 5, 12])
def test_it_is_the_floor_of_numpys(size: int) -> None:
    for _ in range(20):
        z = GENERATOR.integers(-1000, 1001, size=(size + int(GENERATOR.integers(0, 9)), size))
        matrix = z.T @ z
        least = np.linalg.eigvalsh(matrix.astype(float))[0]
        assert smallest_eigenvalue(matrix.astype(object)) == pytest.approx(least, abs=1 + 1e-9 * matrix.max())


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [([[7]], 7), ([[0]], 0), ([[2, 1], [1, 2]], 1), ([[1, 1], [1, 1]], 0), ([[2**80, 0], [0, 2**90]], 2**80)],
)
def test_known_values(matrix: list[list[int]], expected: int) -> None:
    assert smallest_eigenvalue(np.array(matrix, dtype=object)) == expected


def test_a_fraction_is_rounded_down() -> None:
    """The roots of x^2 - 5 x + 5 are 3.618 and 1.382."""
    assert smallest_eigenvalue(np.array([[2, 1], [1, 3]], dtype=object)) == 1
