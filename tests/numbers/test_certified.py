"""exp and log in float64: their error against mpmath, at random and at the worst places."""

import mpmath as mp
import numpy as np
import pytest

from deniable.numbers.certified import LARGEST_EXPONENT, RELATIVE_ERROR, exp_of_minus, log


def worst_error(found: np.ndarray, exact: list[mp.mpf]) -> float:
    return float(max(abs(mp.mpf(a) / b - 1) for a, b in zip(found.tolist(), exact, strict=True)))


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(60):
        yield


def test_exp_is_within_its_bound() -> None:
    generator = np.random.default_rng(1)
    halves = (np.arange(0, 1009) + 0.5) * float(mp.log(2))  # where the reduction switches
    x = np.concatenate(
        [generator.uniform(0, 700, 2000), generator.uniform(0, 1, 1000), 10.0 ** generator.uniform(-300, 0, 500),
         halves, np.nextafter(halves, 0), np.nextafter(halves, 800), [0.0, 700.0]]
    )  # fmt: skip
    assert worst_error(exp_of_minus(x), [mp.exp(-mp.mpf(t)) for t in x.tolist()]) < RELATIVE_ERROR / 8


def test_exp_beyond_its_range_is_an_upper_bound() -> None:
    assert (exp_of_minus(np.array([701.0, 1e6, np.inf])) == exp_of_minus(np.array([LARGEST_EXPONENT]))).all()


def test_log_is_within_its_bound() -> None:
    generator = np.random.default_rng(2)
    edge = np.sqrt(0.5) * 2.0 ** np.arange(-70, 70)  # where the reduction switches
    x = np.concatenate(
        [generator.uniform(0, 2, 2000), 2.0 ** generator.uniform(-1000, 1000, 1000),
         1 + 10.0 ** generator.uniform(-16, -1, 500), 1 - 10.0 ** generator.uniform(-16, -1, 500),
         edge, np.nextafter(edge, 0), np.nextafter(edge, 1e30)]
    )  # fmt: skip
    x = x[x != 1.0]
    assert worst_error(log(x), [mp.log(mp.mpf(t)) for t in x.tolist()]) < RELATIVE_ERROR / 8
    assert log(np.array([1.0]))[0] == 0.0


def test_a_wrong_constant_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: ln 2 with its low part lost."""
    monkeypatch.setattr("deniable.numbers.certified._LN2_LOW", 0.0)
    x = np.array([300.25])
    assert worst_error(exp_of_minus(x), [mp.exp(-mp.mpf(300.25))]) > RELATIVE_ERROR
