"""A statement that gives its curve alone is a loss; what it does not state counts as not proved."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import pytest

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.rationals import probability
from deniable.privacy import AddRemove, Budget, Filter, Interval, PrivacyLoss, PureLoss, Relation, Statement
from deniable.privacy.statement import statement_of


@dataclass(frozen=True, repr=False)
class ShownStatement(Statement):
    """Shows the rows of a unit with some probability, and nothing else."""

    kind: ClassVar[str] = "shown in a test"
    share: Annotated[Fraction, probability]

    def __post_init__(self) -> None:
        read_fields(self)

    def curve(self, epsilon: Fraction) -> Interval:
        return Interval.around(self.share)


LOSS = PrivacyLoss(ShownStatement("1/8"))  # type: ignore[arg-type]


def test_a_curve_is_enough_for_a_loss() -> None:
    assert repr(LOSS) == "ShownLoss(share=0.125)"
    assert PrivacyLoss.from_json(LOSS.to_json()) == LOSS
    assert LOSS.delta(3).contains(0.125)
    assert LOSS.epsilon("1/4").upper == 0
    assert LOSS.epsilon("1/16").upper == float("inf")
    assert LOSS.relations == frozenset(Relation)
    assert LOSS.under(AddRemove).relations == {AddRemove}
    assert PrivacyLoss(LOSS) == LOSS


def test_what_is_not_stated_is_not_proved() -> None:
    assert (LOSS.rho, LOSS.mu_squared, LOSS.pure_epsilon, LOSS.statement.laws()) == (None, None, None, None)
    assert (LOSS * 2).delta(0).upper == 1.0  # a curve says nothing of two runs
    with pytest.raises(UnprovedError):
        Filter(Budget(epsilon=1), relation=AddRemove).charge(LOSS)
    Filter(Budget(epsilon=1, delta="1/4"), relation=AddRemove).charge(LOSS.stated(epsilon=0, delta="1/8"))


@pytest.mark.parametrize("value", [None, 1, "PureLoss(1)", PureLoss])
def test_only_losses_and_statements_hold_one(value: object) -> None:
    with pytest.raises(InvalidParameterError, match="base must be a PrivacyLoss"):
        statement_of("base", value)
