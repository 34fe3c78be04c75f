import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.statistics.models import Bernoulli, Exponential, Multinomial, Normal, NormalVectors

BITS = DeterministicBits(1)


@pytest.mark.parametrize(
    ("model", "law"),
    [
        (Normal(mean=3, deviation=2), stats.norm(3, 2)),
        (Exponential(mean=2), stats.expon(scale=2)),
    ],
)
def test_rows_follow_their_law(model, law) -> None:  # type: ignore[no-untyped-def]
    """10^5 rows; a right sampler fails for one seed in a million, and another scale is seen."""
    rows = model.sample(100_000, bits=BITS)
    assert stats.kstest(rows, law.cdf).pvalue > 1e-6
    assert stats.kstest(rows * 1.03, law.cdf).pvalue < 1e-6
    assert model.truth["mean"] == law.mean()
    assert model.truth["median"] == pytest.approx(law.median())
    assert model.truth["variance"] == pytest.approx(law.var())
    assert model.truth["standard_deviation"] == pytest.approx(law.std())


def test_bernoulli_rows_are_ones_with_the_chance() -> None:
    rows = Bernoulli(chance=0.3).sample(100_000, bits=BITS)
    assert set(rows.tolist()) == {0.0, 1.0}
    assert rows.mean() == pytest.approx(0.3, abs=5 * 0.00145)
    assert Bernoulli(chance=1).sample(5, bits=BITS).tolist() == [1.0] * 5
    assert Bernoulli(chance=0.3).truth["variance"] == pytest.approx(0.21)


def test_keys_come_with_their_chances() -> None:
    rows = Multinomial(keys=["a", "b", "c"], chances=[1, 0, 3]).sample(40_000, bits=BITS)
    assert np.count_nonzero(rows == "a") == pytest.approx(10_000, abs=5 * 87)
    assert not np.any(rows == "b")


def test_vectors_have_their_means_and_covariance() -> None:
    matrix = [[2.0, 1.0], [1.0, 3.0]]
    rows = NormalVectors(means=[1, -1], covariance=matrix).sample(100_000, bits=BITS)
    assert rows.mean(axis=0) == pytest.approx([1, -1], abs=0.03)
    assert np.cov(rows.T) == pytest.approx(np.array(matrix), abs=0.08)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Normal(mean=0, deviation=-1),
        lambda: Normal(mean=float("nan"), deviation=1),
        lambda: Bernoulli(chance=1.1),
        lambda: Exponential(mean=0),
        lambda: Multinomial(keys=["a"], chances=[-1]),
        lambda: Multinomial(keys=["a"], chances=[1, 2]),
        lambda: Multinomial(keys=[], chances=[]),
        lambda: NormalVectors(means=[0], covariance=[[-1.0]]),
        lambda: NormalVectors(means=[0, 1], covariance=[[1.0, 2], [0, 1]]),
    ],
)
def test_impossible_models_are_refused(wrong) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidParameterError):
        wrong()
