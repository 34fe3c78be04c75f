import numpy as np
from scipy import stats

from deniable.noise.bits import Bits, DeterministicBits
from deniable.noise.simulation import normals, uniforms


class Constant(Bits):
    safe = False

    def __init__(self, word: int) -> None:
        self.word = word

    def fill(self, out: "np.ndarray") -> None:  # type: ignore[type-arg]
        out[:] = self.word


def test_uniform_numbers_lie_inside_the_unit_interval() -> None:
    for word in (0, 2**64 - 1):
        value = uniforms((1,), bits=Constant(word))
        assert 0 < value[0] < 1
        assert np.isfinite(normals((1,), bits=Constant(word))).all()


def test_they_follow_their_laws() -> None:
    """Kolmogorov-Smirnov with 10^5 draws; a correct sampler fails for one seed in a million."""
    shape = (100, 1000)
    assert uniforms(shape, bits=DeterministicBits(1)).shape == shape
    assert stats.kstest(uniforms(shape, bits=DeterministicBits(1)).ravel(), "uniform").pvalue > 1e-6
    assert stats.kstest(normals(shape, bits=DeterministicBits(1)).ravel(), "norm").pvalue > 1e-6
    assert stats.kstest(normals(shape, bits=DeterministicBits(1)).ravel(), "norm", args=(0, 1.05)).pvalue < 1e-6
