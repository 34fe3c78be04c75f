"""What wraps a loss forgets nothing of it; the subclasses are tested in their own files."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import ApproximateLoss, ConcentratedLoss, ExponentialMechanismLoss, GaussianLoss, PrivacyLoss
from deniable.privacy.around.stated import Stated
from deniable.privacy.around.wrapped import WrappedLoss
from deniable.privacy.loss import PrivacyLoss as Abstract
from deniable.privacy.losses import DominatedLoss, TeachingLoss


@dataclass(frozen=True, init=False)
class Renamed(WrappedLoss):
    """Another name, and nothing else."""

    kind: ClassVar[str] = "renamed in a test"


@pytest.mark.parametrize(
    "loss",
    [
        ExponentialMechanismLoss("1/2", monotone=True),
        ApproximateLoss(1, "1/100"),
        ConcentratedLoss("1/10", shift="1/3", delta="1/50"),
        GaussianLoss(2) * 3 + ApproximateLoss(1, 0),
    ],
)
def test_every_statement_is_that_of_the_loss(loss: PrivacyLoss) -> None:
    same = Renamed(loss)
    for name in ("relations", "failure", "infinite_mass", "failing_epsilon", "failing_rho", "mu_squared"):
        assert getattr(same, name) == getattr(loss, name)
    assert same.charge() == loss.charge()
    assert same.delta("1/2", tolerance=0.1) == loss.delta("1/2", tolerance=0.1)
    assert same.epsilon("1/20", tolerance=0.1) == loss.epsilon("1/20", tolerance=0.1)
    assert same.proves(Fraction(1), Fraction(1, 10)) == loss.proves(Fraction(1), Fraction(1, 10))
    assert (same.laws() is None) == (loss.laws() is None)
    assert [n for _, n in same.laws_of_runs(70)] == [n for _, n in loss.laws_of_runs(70)]


def test_nothing_that_a_loss_says_is_left_to_a_default() -> None:
    """A method with a default in PrivacyLoss, forgotten here, would answer for no loss at all.

    The ones left out follow from those that are wrapped, or are the business of the subclass.
    """
    derived = {"delta", "epsilon", "group", "tradeoff", "advantage", "renyi", "report", "plot", "pure_epsilon", "rho"}
    written = {"to_data", "from_data", "to_json", "from_json", "kind", "words"}
    sampled = {name for name in vars(Abstract) if "sampled" in name or "allocated" in name}
    said = {name for name in vars(Abstract) if not name.startswith("__")} - derived - written - sampled
    internal = {"_abc_impl", "_from_fields"}
    assert said - internal <= set(vars(WrappedLoss))


def test_only_losses_are_wrapped() -> None:
    for kind in (Renamed, TeachingLoss):
        with pytest.raises(InvalidParameterError, match="loss must be a PrivacyLoss"):
            kind(DominatedLoss)


@pytest.mark.parametrize("kind", ["restricted", "stated", "teaching"])
def test_what_lacks_its_loss_in_json_is_refused(kind: str) -> None:
    with pytest.raises(InvalidParameterError):
        PrivacyLoss.from_data({"loss": kind})


def test_no_rounding_stands_between_a_pair_and_its_statement() -> None:
    """Refused before: 1e-7 lies between two floats, and the upper one was compared."""
    loss = ApproximateLoss("1/3", "1e-7")
    for same in (loss, Renamed(loss), loss * 3, loss + ApproximateLoss(1, "1e-6")):
        charge = same.charge()
        assert charge.epsilon is not None
        assert Stated(same, charge.epsilon, charge.delta).charge().delta == charge.delta
        with pytest.raises(InvalidParameterError, match="above the stated delta"):
            Stated(same, charge.epsilon, charge.delta * Fraction(99, 100))
