"""Bands against independent noise and the tree."""

from deniable.mechanisms.correlated import Banded, Buffered, Tree, Uses


def test_bands_and_buffers_beat_independent_noise_and_the_tree() -> None:
    uses = Uses(steps=200, dimensions=1, times=4, separation=50)
    plain, tree = (each.errors(uses)[1] for each in (Banded(coefficients=(1.0,)), Tree()))
    assert (
        max(Banded.best(uses, bands=50).errors(uses)[1], Buffered.best(uses, buffers=2).errors(uses)[1]) < tree < plain
    )
