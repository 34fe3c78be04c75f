import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    ExponentialMechanismLoss,
    PrivacyLoss,
    PureLoss,
    Replace,
    constructors,
)
from deniable.privacy.composition.restricted import RestrictedStatement
from deniable.privacy.constructors import PermuteAndFlipLoss
from deniable.privacy.relation import Relation


def test_the_other_relation_is_no_longer_claimed() -> None:
    loss = ExponentialMechanismLoss(1).under(AddRemove)
    assert loss.relations == {AddRemove}
    assert (loss * 3).relations == {AddRemove}
    with pytest.raises(UnprovedError, match="no common guarantee"):
        loss + PureLoss(1).under(Replace)
    with pytest.raises(UnprovedError, match=r"(?i)add/remove"):
        PureLoss(1).under(Replace).poisson_sampled(rate="0.1")


@pytest.mark.parametrize("base", [ExponentialMechanismLoss(1), PermuteAndFlipLoss(2), ApproximateLoss(1, "1e-6")])
def test_everything_else_is_that_of_the_loss(base: PrivacyLoss) -> None:
    loss = base.under(Replace)
    for name in ("failure", "infinite_mass", "failing_epsilon", "failing_rho", "mu_squared"):
        assert getattr(loss, name) == getattr(base, name)
    assert loss.delta("1/2") == base.delta("1/2")
    assert loss.epsilon("1e-3") == base.epsilon("1e-3")
    assert loss.charge() == base.charge()
    assert loss.renyi(3) == base.renyi(3)
    assert (loss * 4).epsilon("1e-4").upper == pytest.approx((base * 4).epsilon("1e-4").upper, rel=1e-3)
    assert loss.group(3).relations == {Replace}
    assert PrivacyLoss.from_json(loss.to_json()) == loss
    assert eval(repr(loss), vars(constructors) | {"Relation": Relation}) == loss


def test_a_relation_that_was_not_proved_cannot_be_chosen() -> None:
    with pytest.raises(UnprovedError, match="not proved for replace"):
        PermuteAndFlipLoss(1, monotone=True).under(Replace)


@pytest.mark.parametrize(("loss", "relation"), [(1, AddRemove), (PureLoss(1), "replace")])
def test_wrong_arguments_are_refused(loss: object, relation: object) -> None:
    with pytest.raises(InvalidParameterError, match="must be"):
        RestrictedStatement(loss, relation)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="base must be a loss"):
        PrivacyLoss.from_data({"loss": "restricted", "base": 1, "relation": "replace"})
    with pytest.raises(InvalidParameterError, match="base must be a loss"):
        PrivacyLoss.from_data({"loss": "restricted", "base": PureLoss(1).to_data(), "relation": "both"})
