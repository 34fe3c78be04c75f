"""Post-processing never tells more."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.mechanisms import ExponentialMechanism, JointTopK, Laplace, Mechanism
from deniable.mechanisms.wrappers import PostProcessed, define
from deniable.mechanisms.wrappers.post_processed import _FUNCTIONS
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, FiniteLoss, of_count

rows = st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any)


def shares(masses: list[int]) -> list[Fraction]:
    return [Fraction(mass, sum(masses)) for mass in masses]


@given(rows, rows, st.lists(rows, min_size=3, max_size=3), st.fractions(1, 20, max_denominator=50))
def test_no_stochastic_matrix_raises_delta(
    first: list[int], second: list[int], matrix: list[list[int]], odds: Fraction
) -> None:
    """Inventory 29: any random function of the outcome, exactly, at every odds = e^epsilon."""
    channel = [shares(row) for row in matrix]
    before = [shares(first), shares(second)]
    after = [[sum(side[i] * channel[i][j] for i in range(3)) for j in range(3)] for side in before]
    ours, theirs = (FiniteLoss(*pair, relation=AddRemove) for pair in (before, after))
    assert theirs.statement.exact_delta(odds) <= ours.statement.exact_delta(odds)


def test_the_release_keeps_its_shape_and_the_function_sees_the_release_alone() -> None:
    seen = []

    def watch(values: np.ndarray) -> np.ndarray:
        seen.append(values)
        return values * 2

    define("test: watch", watch)
    base, exact = Laplace(scale=Fraction(5)), [100, -100]
    found = PostProcessed(base=base, function="test: watch").release(exact, bits=DeterministicBits(1))
    plain = base.release(exact, bits=DeterministicBits(1))
    assert np.array_equal(seen[0], plain.value)
    assert np.array_equal(found.value, 2 * plain.value)
    assert found.safe is plain.safe is False


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("absolute", [3, 0, 4]), ("nonnegative", [0, 0, 4]), ("parity", [1, 0, 0]), ("sign", [-1, 0, 1])],
)
def test_named_functions(name: str, wanted: list[int]) -> None:
    assert _FUNCTIONS[name](np.array([-3, 0, 4])).tolist() == wanted


def test_the_size_of_the_least_integer_does_not_wrap() -> None:
    assert _FUNCTIONS["absolute"](np.array([-(2**63), 5])).tolist() == [2**63, 5]
    assert _FUNCTIONS["absolute"](np.array([-5])).dtype == np.int64


def test_answers_keep_their_kind() -> None:
    """Numbers stay numbers, tuples stay tuples, and arrays stay arrays."""
    one = PostProcessed(base=ExponentialMechanism(rate=Fraction(100)), function="sign").release([0, 9, 9])
    assert type(one.value) is int  # type: ignore[attr-defined]
    assert one.value == 1  # type: ignore[attr-defined]
    few = PostProcessed(base=JointTopK(rate=Fraction(100), count=2), function="parity").release([0, 9, 6])
    assert few.value == (1, 0)  # type: ignore[attr-defined]
    shown = PostProcessed(base=Laplace(scale=Fraction(1, 1000)), function="absolute").release([-3] * 5)
    assert set(shown.value.tolist()) == {3}  # type: ignore[attr-defined]


def test_the_loss_is_that_of_the_mechanism() -> None:
    reach, base = of_count(rows=1, groups=1, relation=AddRemove), Laplace(scale=Fraction(5))
    assert PostProcessed(base=base, function="sign").privacy_loss(reach) == base.privacy_loss(reach)


def test_a_name_is_defined_once_and_must_be_known_to_be_read() -> None:
    define("test: twice", np.sign)
    define("test: twice", np.sign)
    with pytest.raises(InvalidParameterError, match="already"):
        define("test: twice", np.abs)
    with pytest.raises(InvalidParameterError, match="name and a function"):
        define("test: nothing", None)  # type: ignore[arg-type]
    text = PostProcessed(base=Laplace(scale=Fraction(5)), function="sign").to_json()
    with pytest.raises(InvalidParameterError, match="define"):
        Mechanism.from_json(text.replace('"sign"', '"unknown"'))


def test_a_function_of_the_data_would_be_infinite() -> None:
    """The negative: rounding to the exact value, where the noisy one is near it, is no function of the release."""
    noise = np.arange(-40, 41)
    chances = np.exp(-np.abs(noise) / 5.0)
    chances /= chances.sum()
    laws = []
    for exact in (0, 1):
        law: dict[int, float] = {}
        for k, chance in zip(noise, chances, strict=True):
            shown = exact if abs(k) <= 3 else exact + int(k)
            law[shown] = law.get(shown, 0) + chance
        laws.append(law)
    assert laws[0][0] > 0.4
    assert 0 not in laws[1]
