import numpy as np
import pandas as pd
import pytest

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace
from deniable.statistics.vectors.columns import Columns

BITS = DeterministicBits(1)


@pytest.mark.parametrize(
    "bounds", [None, [], (0, 1), [(1, 0)], [(1, 1)], [(0, float("inf"))], [(0, float("nan"))], ["ab"], [(1, 2, 3)], 5]
)
def test_bounds_are_checked(bounds: object) -> None:
    with pytest.raises(InvalidParameterError, match="bounds"):
        Columns.of(bounds, 1)


def test_numbers_whose_squares_are_no_floats_are_refused() -> None:
    for bounds, deviations in (([(-1e308, 1e308)], 1), ([(0, 1)], 1e80), ([(0, 1)], 1e-300)):
        with pytest.raises(InvalidParameterError, match="another unit"):
            Columns.of(bounds, deviations)


@pytest.mark.parametrize("deviations", [0, -1, [1], [1, 2, 3], float("inf"), None, [1, 0]])
def test_deviations_are_checked(deviations: object) -> None:
    with pytest.raises(InvalidParameterError, match="deviations"):
        Columns.of([(0, 1), (0, 1)], deviations)


def test_a_known_mean_is_a_pair_of_equal_numbers() -> None:
    found = Columns.of([(2, 2), (0, 4)], [1, 3], known=True)
    assert found.middle.tolist() == [2, 2]
    assert found.half.tolist() == [0, 2]
    assert found.deviations.tolist() == [1, 3]


def read(values: object, relation: object) -> np.ndarray:
    public = Columns.of([(0, 4), (0, 8)], 1)
    rows, _ = public.read(values, None, rows=1, relation=relation, bits=BITS)  # type: ignore[arg-type]
    return public.scaled(rows, np.array([2.0, 4.0]))


def test_what_is_no_number_is_left_out_or_the_middle() -> None:
    values = [[1.0, 2.0], [np.nan, 2.0], [np.inf, -np.inf]]
    assert np.allclose(read(values, AddRemove), [[-0.5, -0.5], [1e100, -1e100]])
    assert np.allclose(read(values, Replace), [[-0.5, -0.5], [0, -0.5], [1e100, -1e100]])


def test_names_come_from_the_frame_and_their_number_is_checked() -> None:
    public = Columns.of([(0, 4)], 1)
    assert public.read(pd.DataFrame({"a": [1.0]}), None, rows=1, relation=AddRemove, bits=BITS)[1] == ("a",)
    with pytest.raises(InvalidParameterError, match="2 columns"):
        public.read(np.ones((1, 2)), None, rows=1, relation=AddRemove, bits=BITS)


def test_what_is_to_be_found_is_not_known_yet() -> None:
    public = Columns.of(["auto", (0, 4), "auto"], [3, 1, "auto"])
    assert public.unbounded.tolist() == [True, False, False]
    assert public.unknown.tolist() == [False, False, True]
    found = public.completed(np.array([10.0]), np.array([14.0]), mean_radius=2.0)
    assert found.middle.tolist() == [0, 2, 12]
    assert found.half.tolist() == [6, 2, 2]
    assert found.deviations.tolist() == [3, 1, 2]
    assert found.limit == np.inf


@pytest.mark.parametrize(
    ("bounds", "deviations", "match"),
    [
        ("auto", 1, "one for each column"),
        ([(0, 1)], "auto", "must be declared"),
        ([(0, 1)] * 2, [1, "auto"], "declared"),
    ],
)
def test_what_follows_from_nothing_is_refused(bounds: object, deviations: object, match: str) -> None:
    with pytest.raises(InvalidParameterError, match=match):
        Columns.of(bounds, deviations)
