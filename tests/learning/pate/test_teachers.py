import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from deniable import Budget, Ledger, PrivacyUnit
from deniable.errors import BudgetExceededError, InvalidParameterError, UnsafeReleaseError
from deniable.learning import Teachers, Vote
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace

QUIET = Vote.gnmax(sigma=2)
ROWS = np.arange(600.0).reshape(-1, 1)
LABELS = np.where(ROWS[:, 0] % 2 == 0, "even", "odd")


def always(label: object) -> Callable[[Any, Any], Callable[[Any], Any]]:
    return lambda X, y: lambda rows: [label] * len(rows)


def taught(X: Any = ROWS, y: Any = LABELS, *, count: int = 40, teacher: Any = None, **options: Any) -> Teachers:
    return Teachers(X, y, teacher=teacher or always("even"), count=count, classes=["even", "odd"], **options)


def parts_of(rows: np.ndarray, labels: Any, seed: int = 3, split: Any = None) -> list[list[Any]]:
    """What each teacher got."""
    got: list[list[Any]] = []

    def teacher(X: Any, y: Any) -> Any:
        got.append([*zip(X[:, 0].tolist(), y.tolist(), strict=True)])
        return lambda rows: ["odd"] * len(rows)

    taught(rows, labels, teacher=teacher).label([[0.0]], QUIET, bits=DeterministicBits(seed))
    return got


def test_one_row_changes_one_teacher() -> None:
    """Replay: a row is exchanged, or the last one leaves. The twin: parts by position, where a row shifts them all."""
    before = parts_of(ROWS, LABELS)
    other, marks = ROWS.copy(), LABELS.copy()
    other[7], marks[7] = -1, "nobody"
    for rows, labels in ((other, LABELS), (ROWS, marks), (ROWS[:-1], LABELS[:-1])):
        assert sum(a != b for a, b in zip(before, parts_of(rows, labels), strict=True)) == 1
    blocks = [np.array_split(rows[:, 0], 40) for rows in (ROWS, ROWS[1:])]
    assert sum(not np.array_equal(a, b) for a, b in zip(*blocks, strict=True)) == 40


def test_parts_are_disjoint_and_hold_every_row_with_a_declared_label() -> None:
    marks = LABELS.astype(object)
    marks[:5] = [None, math.nan, "other", 3, b"x"]
    found = parts_of(ROWS, marks.tolist())
    assert sorted(row for part in found for row, _ in part) == list(range(5, 600))
    assert max(map(len, found)) < 15 + 6 * math.sqrt(15)  # six standard deviations of a binomial


def test_teachers_who_fail_or_answer_otherwise_vote_for_nobody() -> None:
    def broken(X: Any, y: Any) -> Any:
        raise ValueError(X)

    def leaves(X: Any, y: Any) -> Any:
        sys.exit(1)

    def too_many(X: Any, y: Any) -> Any:
        return lambda rows: ["odd"] * (len(rows) + 1)

    failing = (broken, leaves, too_many, lambda X, y: 5)
    for teacher in (*failing, always("other"), always(None), always(7)):
        errors: list[BaseException] = []
        votes = taught(teacher=teacher, log=errors.append)._votes(np.zeros((3, 1)), DeterministicBits(1))
        assert votes.tolist() == [[0, 0]] * 3
        assert len(errors) == 40 * (teacher in failing)
    mixed = taught(teacher=lambda X, y: always("odd" if X[0, 0] < 100 else "other")(X, y))
    assert 0 < mixed._votes(np.zeros((1, 1)), DeterministicBits(1))[0, 1] < 40


def test_a_teacher_cannot_spoil_the_queries_of_the_next() -> None:
    def teacher(X: Any, y: Any) -> Any:
        def answer(rows: Any) -> Any:
            found = ["odd" if row[0] == 0 else "other" for row in rows]
            rows[:] = 1
            return found

        return answer

    assert taught(teacher=teacher)._votes(np.zeros((1, 1)), DeterministicBits(1)).tolist() == [[0, 40]]


def test_answers_are_public_labels_with_their_cost() -> None:
    for relation in (AddRemove, Replace):
        found = taught(relation=relation).label([[1.0], [2.0]], QUIET, bits=DeterministicBits(1))
        assert found.labels.tolist() == ["even", "even"]
        assert found.cost == QUIET.privacy_loss(2, relation=relation)
        assert found.answered.all()
        assert not found.safe
        with pytest.raises(UnsafeReleaseError, match="test stream"):
            found.teach(object())


def test_private_prediction_goes_on_until_the_ledger_refuses() -> None:
    """Nothing is read before the first payment, and nothing is asked after the refusal."""
    asked: list[int] = []

    def teacher(X: Any, y: Any) -> Any:
        asked.append(len(X))
        return lambda rows: ["odd"] * len(rows)

    class Unread(list[Any]):
        def __iter__(self) -> Any:
            raise AssertionError("a row was read")

    once = Vote.gnmax(sigma=10)
    ledger = Ledger.open(None, budget=Budget(rho="1/20"), relation=AddRemove, unit=PrivacyUnit(), dataset="parity")
    teachers = taught(teacher=teacher, count=200)  # 14 standard deviations ahead
    for _ in range(5):  # rho = 1/100 for each
        assert teachers.label([[1.0]], once, ledger=ledger).labels.tolist() == ["odd"]
    with pytest.raises(BudgetExceededError):
        teachers.label([[1.0]], once, ledger=ledger)
    with pytest.raises(BudgetExceededError):
        taught(Unread(ROWS.tolist()), Unread(LABELS.tolist())).label([[1.0]], once, ledger=ledger)
    assert len(asked) == 200


def test_the_account_counts_answered_queries() -> None:
    teachers = taught()
    vote = Vote.confident_gnmax(sigma=2, check_sigma=2, threshold=20, max_answers=2)
    found = teachers.label([[1.0]] * 5, vote, bits=DeterministicBits(1))
    assert found.answered.tolist() == [True, True, False, False, False]
    assert teachers.account.divergence(4) < 4 * 5 / 8 + 2 * 4 / 4
    doubted = teachers.label([[1.0]], vote, believed=[[0.9, 0.1]], bits=DeterministicBits(1))
    assert not doubted.answered.any()


def test_bad_input_is_refused_before_anything_is_paid() -> None:
    class Never:
        def pay(self, *args: Any, **given: Any) -> None:
            raise AssertionError("paid")

    for wrong in ({"count": 0}, {"teacher": 5}, {"teacher": dict}, {"y": LABELS[:3]}):
        with pytest.raises(InvalidParameterError):
            taught(**{"teacher": None, **wrong})  # type: ignore[arg-type]
    for queries, options in (
        ([], {}),
        ([1.0], {}),
        ([[1.0, 2.0]], {}),
        ([["a"]], {}),
        ([[1.0]], {"vote": 5}),
        ([[1.0]], {"believed": [[2, 0]]}),
        ([[1.0]], {"believed": [[1, 0, 0]]}),
        ([[1.0]], {"bits": 5}),
        ([[1.0]], {"ledger": 5}),
    ):
        with pytest.raises(InvalidParameterError):
            taught().label(queries, **{"vote": QUIET, "ledger": Never(), **options})  # type: ignore[arg-type]


def test_students_of_digits_learn_from_noisy_labels() -> None:
    datasets, trees = pytest.importorskip("sklearn.datasets"), pytest.importorskip("sklearn.naive_bayes")
    X, y = datasets.load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    private, public, test = np.split(order, [1100, 1400])
    teachers = Teachers(
        X[private], y[private], teacher=trees.GaussianNB(var_smoothing=0.1), count=20, classes=range(10)
    )
    found = teachers.label(X[public], Vote.gnmax(sigma=2))
    student = found.teach(trees.GaussianNB(var_smoothing=0.1))
    assert (student.predict(X[test]) == y[test]).mean() > 0.75
