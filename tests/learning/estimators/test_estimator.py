"""What every estimator does: pay before a row is read, keep nothing that was refused, say what is promised."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.learning.estimators.estimator import Estimator, Regressor, Work, same_length
from deniable.noise.bits import DeterministicBits
from deniable.numbers.arrays import Floats
from deniable.privacy import GaussianLoss, Replace
from deniable.rows import numbers


class Middle(Regressor):
    """Predict one number for every row; not private, for the contract alone."""

    def __init__(self, *, lift: float = 0.0) -> None:
        self.lift = lift

    def _planned(self, X: Any, y: Any) -> Work:
        if self.lift < 0:
            raise InvalidParameterError("lift must not be negative")

        def train(bits: object) -> Mapping[str, Any]:
            return {"middle_": numbers(y).mean() + self.lift}

        return Work(loss=GaussianLoss(2), how="a test.", train=train, relation=Replace, delta="1e-5")

    def predict(self, X: Any) -> Floats:
        return np.full(len(X), self.middle_)


class Books:
    """Notes payments; refuses them if told so."""

    def __init__(self, *, empty: bool = False) -> None:
        self.paid: list[str] = []
        self.empty = empty

    def pay(self, loss: object, *, question: str, text: str, safe: bool, units: bool) -> Any:
        if self.empty:
            raise BudgetExceededError("nothing is left")
        self.paid.append(text)
        return "some"


class Unread:
    """Rows of which only the number may be asked."""

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Any:
        raise AssertionError("a row was read")

    __getitem__ = __array__ = __iter__


def test_the_ledger_pays_before_a_row_is_read() -> None:
    with pytest.raises(BudgetExceededError):
        Middle().fit(Unread(), Unread(), ledger=Books(empty=True))  # type: ignore[arg-type]


def test_what_does_not_fit_is_refused_before_anybody_pays() -> None:
    books = Books()
    with pytest.raises(InvalidParameterError):
        Middle(lift=-1).fit([1], [1], ledger=books)
    with pytest.raises(InvalidParameterError, match="bits"):
        Middle().fit([1], [1], ledger=books, bits=3)  # type: ignore[arg-type]
    assert not books.paid


def test_a_fit_is_booked_once_under_its_own_text() -> None:
    books = Books()
    model = Middle(lift=2).fit([1, 2], [1, 2], ledger=books)
    assert (books.paid, model.budget_left_) == (["Middle(lift=2)"], "some")


def test_the_note_says_who_is_protected_what_it_cost_and_what_is_not_covered() -> None:
    note = Middle().fit([1], [1], bits=DeterministicBits(1)).note_
    for word in ("each row", "exchanged", "epsilon=", "certified", "1e-5", "a test.", "Not covered", "do not publish"):
        assert word in note
    assert "do not publish" not in Middle().fit([1], [1]).note_


def test_parameters_are_read_and_set_by_name() -> None:
    model = Middle().set_params(lift=3)
    assert (model.get_params(), repr(model)) == ({"lift": 3}, "Middle(lift=3)")
    with pytest.raises(InvalidParameterError, match="no parameter shift"):
        model.set_params(shift=1)


def test_the_share_of_variance_is_that_of_its_definition() -> None:
    model = Middle().fit([1, 2], [1, 3])
    assert model.score([0, 0], [1, 3]) == pytest.approx(0)
    assert model.score([0, 0], [2, 4]) == pytest.approx(-1)
    with pytest.raises(InvalidParameterError, match="two rows"):
        model.score([0], [1])
    with pytest.raises(InvalidParameterError, match="not fitted"):
        Middle().score([0, 0], [1, 3])


def test_an_estimator_is_shown_with_what_it_promises() -> None:
    assert "no row was read" in str(Middle())
    assert Middle()._repr_html_().startswith("<pre>")
    assert not hasattr(Estimator, "cost_")


@pytest.mark.parametrize(("rows", "labels"), [(3, [1]), ([1], None), ([1, 2], [1])])
def test_rows_and_labels_that_do_not_belong_together_are_refused(rows: Any, labels: Any) -> None:
    with pytest.raises(InvalidParameterError):
        same_length(rows, labels)


@pytest.mark.parametrize(("delta", "warned"), [("1e-3", True), ("1e-2", True), ("1e-6", False), (0, False)])
def test_a_delta_of_the_order_of_one_row_is_warned_of(
    delta: Any, warned: bool, recwarn: pytest.WarningsRecorder
) -> None:
    class Public(Middle):
        expected_rows = 4000

        def _planned(self, X: Any, y: Any) -> Work:
            return replace(super()._planned(X, y), delta=delta)

    Public().fit([1.0], [1.0])
    assert (
        bool([each for each in recwarn if "units outright" in str(each.message) or "1e-6 or less" in str(each.message)])
        == warned
    )
