"""The tree against published errors, and those of other correlations."""

import numpy as np
import pytest

from deniable.mechanisms.correlated import Banded, Buffered, Tree, Uses


def test_errors_are_the_published_ones() -> None:
    uses = Uses(steps=1024, dimensions=1)
    assert Banded(coefficients=(1.0,)).errors(uses) == pytest.approx((32, np.sqrt(512.5)))
    assert Tree().errors(uses) == pytest.approx((7.990, 5.649), abs=1.2e-3)
    assert Buffered.best(uses, buffers=1).errors(uses)[0] == pytest.approx(3.864890, abs=1e-6)
    assert Buffered.best(uses, buffers=2).errors(uses)[0] == pytest.approx(3.329793, abs=1e-6)
