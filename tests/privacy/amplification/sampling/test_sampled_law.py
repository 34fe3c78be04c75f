import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.privacy import ApproximateLoss
from deniable.privacy.amplification.sampling.sampled_law import SampledLaw
from deniable.privacy.pld.laws import NormalLaw


def test_the_sampled_law_adds_to_one_and_knows_its_floor() -> None:
    law = SampledLaw(NormalLaw(1.0), Fraction(1, 4))
    places = np.linspace(-0.5, 3.0, 50)
    above, below = law.above(places), law.below(places)
    assert np.allclose(above.p + below.p, 1, rtol=1e-13)
    assert np.allclose(above.q + below.q, 1, rtol=1e-13)
    assert law.lowest == pytest.approx(math.log(0.75))
    assert above.p[0] == 1.0


@pytest.mark.parametrize(("limit", "failed", "spacing"), [("1", "0", True), ("1", "1/10", False), ("0", "1/10", True)])
def test_spacing_counts_the_loss_of_what_only_the_other_law_has(limit: str, failed: str, spacing: bool) -> None:
    """Q's failures, which have loss -inf before sampling, have ln(1 - rate) after it: a loss beside the base's own."""
    base = ApproximateLoss(limit, failed).statement.laws().upper[0]
    law = SampledLaw(base, Fraction(1, 2))
    assert (law.spacing is not None) == spacing
    jumps = np.linspace(law.lowest - 0.01, law.highest + 0.01, 20_000)
    places = jumps[1:][np.abs(np.diff(law.below(jumps).q)) > 1e-9]
    if law.spacing is not None:
        steps = (places - law.anchor) / law.spacing
        assert steps == pytest.approx(np.rint(steps), abs=1e-3)
    else:
        assert places.size == 3
