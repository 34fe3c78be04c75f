"""Work against noise: a textbook loop leaks, our draws do not. Work is counted; no clock is read."""

import numpy as np
import pytest

from deniable.attacks.implementation import guess_noise_by_time, measure_work
from deniable.errors import InvalidParameterError
from deniable.mechanisms import Gaussian, Laplace, Mechanism
from deniable.noise.bits import Bits, DeterministicBits

DICE = np.random.default_rng(4)


class Counted(Bits):
    """A stream that counts the words and the requests."""

    def __init__(self, seed: int) -> None:
        self.stream, self.words_used, self.requests = DeterministicBits(seed), 0, 0

    def fill(self, out: np.ndarray) -> None:
        self.words_used += len(out)
        self.requests += 1
        self.stream.fill(out)


class TextbookLoop:
    """Discrete Laplace noise by two loops that end at the first success."""

    passes = 0

    def release(self) -> float:
        lengths = []
        for _ in range(2):
            length = 0
            while DICE.random() > 0.1:
                length += 1
                self.passes += 1
            lengths.append(length)
        return lengths[0] - lengths[1]


def test_a_geometric_loop_tells_its_noise() -> None:
    loop = TextbookLoop()
    result = guess_noise_by_time(*measure_work(loop.release, clock=lambda: loop.passes, runs=400))
    assert result.success.lower > 0.6
    assert result.facts is not None
    assert float(str(result.facts["correlation of work with |noise|"])) > 0.5


def test_interruptions_do_not_hide_a_leak() -> None:
    """One run in fifty takes a thousand times as long, because something else ran."""
    noise = DICE.laplace(scale=10, size=1000)
    work = 20 + np.abs(noise)
    work[::50] *= 1000
    assert guess_noise_by_time(noise, work).success.lower > 0.9


@pytest.mark.parametrize("mechanism", [Laplace(scale=10), Gaussian(sigma_squared=100), Laplace(scale=10**6)])
@pytest.mark.parametrize("counted", ["words_used", "requests"])
def test_our_draws_take_the_same_work_whatever_the_noise(mechanism: Mechanism, counted: str) -> None:
    bits = Counted(6)
    release = lambda: float(mechanism.release([0], bits=bits).value[0])  # noqa: E731
    noise, work = measure_work(release, clock=lambda: getattr(bits, counted), runs=2000)
    result = guess_noise_by_time(noise, work)
    assert not result.succeeded
    assert np.ptp(noise) > 10


def test_constant_work_is_exactly_the_baseline() -> None:
    noise = DICE.laplace(size=100)
    result = guess_noise_by_time(noise, np.full(100, 3.0))
    assert result.success.value == pytest.approx(result.baseline)
    assert result.curves[0].label == "runs"


def test_less_time_for_more_noise_leaks_as_well() -> None:
    noise = DICE.laplace(size=100)
    assert guess_noise_by_time(noise, -np.abs(noise)).success.value == 1


@pytest.mark.parametrize(("noise", "work"), [([1] * 19, [1] * 19), ([1] * 30, [1] * 29), ([np.nan] * 30, [1] * 30)])
def test_what_cannot_be_fitted_is_refused(noise: list[float], work: list[float]) -> None:
    with pytest.raises(InvalidParameterError):
        guess_noise_by_time(noise, work)
    with pytest.raises(InvalidParameterError, match="runs must be"):
        measure_work(lambda: 0.0, clock=lambda: 0.0, runs=0)
