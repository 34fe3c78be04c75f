"""Rounds that fail where there is nothing to add up, beside the plan whose loss they claim."""

import pytest

from deniable.audit import hockey_stick
from deniable.audit.gallery import GALLERY
from deniable.learning import Poisson, TrainingPlan


def test_the_claim_is_that_of_a_plan_and_no_epsilon_is_enough_where_rounds_raise() -> None:
    plan = TrainingPlan(sampler=Poisson(rate="1/4"), noise_multiplier=4, steps=1, dimensions=1)
    claim = GALLERY["round with noise on an empty sample"].claim
    assert 0.28 < plan.privacy_loss.epsilon("1e-5").upper < 0.284
    assert claim.delta("0.284").upper == pytest.approx(1e-5)
    one = GALLERY["round that raises on an empty sample"]
    for odds in ("2", "1e300"):  # e^epsilon
        assert float(hockey_stick(one.law(1), one.law(0), exp_epsilon=odds)) == pytest.approx(0.25)
