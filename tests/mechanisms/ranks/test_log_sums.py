from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from deniable.mechanisms.ranks import log_sums
from deniable.mechanisms.ranks.log_sums import running, sliding, total

SPREADS = [0.1, 30.0, 3000.0]


def truth(terms: np.ndarray) -> np.ndarray:
    """ln sum exp along the first axis, with 64 bits."""
    exact = terms.astype(np.longdouble)
    top = np.where(np.isfinite(exact.max(axis=0)), exact.max(axis=0), 0)
    with np.errstate(divide="ignore"):
        return top + np.log(np.exp(exact - top).sum(axis=0))


def some_terms(spread: float, shape: tuple[int, ...], seed: int = 1) -> np.ndarray:
    draw = np.random.default_rng(seed)
    return np.where(draw.random(shape) < 0.2, -np.inf, draw.normal(0, spread, shape))


def assert_hardly_above(bounds: np.ndarray, exact: np.ndarray) -> None:
    known = np.isfinite(exact)
    assert np.array_equal(np.isfinite(bounds), known)
    assert np.all(bounds[known] >= exact[known])
    assert np.all(bounds[known] <= exact[known] + 1e-7)


@pytest.mark.parametrize("spread", SPREADS)
def test_bounds_hold_and_are_tight(spread: float) -> None:
    terms = some_terms(spread, (5, 400))
    assert_hardly_above(total(terms), truth(terms))
    assert_hardly_above(running(terms), np.array([truth(terms[:, :end].T) for end in range(1, 401)]).T)


@given(some.integers(1, 60), some.integers(1, 60), some.sampled_from(SPREADS))
def test_sliding_sums_are_those_of_their_terms(size: int, length: int, spread: float) -> None:
    length = min(size, length)
    terms = some_terms(spread, (size,), seed=size)
    windows = np.lib.stride_tricks.sliding_window_view(terms, length)
    assert_hardly_above(sliding(terms, length), truth(windows.T))


@pytest.mark.parametrize(
    "broken", [lambda sums: sums - 1e-9, lambda sums: np.maximum(sums - 40, -1), lambda sums: sums * 0]
)
def test_wrong_logarithms_of_the_machine_are_noticed(broken: Callable[[np.ndarray], np.ndarray]) -> None:
    terms = np.random.default_rng(1).normal(0, 3, 300)
    log_sums._check(running(terms), terms)
    with pytest.raises(ArithmeticError, match="logarithms"):
        log_sums._check(broken(running(terms)), terms)
