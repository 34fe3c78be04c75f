"""Published uses of differential privacy: every figure has a unit, a relation and a source."""

from fractions import Fraction

import pytest

from deniable.local.deployed import Rappor
from deniable.privacy import Replace, deployments
from deniable.synthesis.hierarchy import PERSONS_2020


def test_every_use_says_what_its_epsilon_is_about() -> None:
    uses = deployments()
    assert {use.organisation for use in uses} == {"Apple", "Google", "Microsoft", "U.S. Census Bureau"}
    for use in uses:
        assert use.unit
        assert use.source
        assert use.relation is Replace
        assert use.model in ("local", "central")
        assert (use.epsilon is None) or (use.rho is None)
        assert str(use).startswith(f"{use.organisation}, {use.use}")


def test_figures_are_recomputed_where_their_parameters_are_known() -> None:
    by_use = {use.use: use for use in deployments()}
    report = Rappor(f="1/2", p="1/2", q="3/4", hashes=2).report_epsilon
    assert float(by_use["RAPPOR"].epsilon or 0) == pytest.approx(float(report), abs=1e-4)
    census = by_use["redistricting 2020, persons"]
    assert census.rho == PERSONS_2020.rho
    assert census.loss is not None
    assert census.loss.epsilon(Fraction(1, 10**10)).upper == pytest.approx(17.14, abs=0.005)


def test_nothing_is_stated_that_was_not_confirmed() -> None:
    (use,) = (use for use in deployments() if use.organisation == "Microsoft")
    assert use.loss is None
    assert "not confirmed" in str(use)
