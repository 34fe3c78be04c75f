"""Alarms: one price for a whole stream, one answer, and a state that is drawn once."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.errors import BudgetExceededError, InvalidParameterError, StreamError, UnprovedError
from deniable.ledger import Ledger
from deniable.mechanisms import AboveThreshold, Laplace
from deniable.privacy import AddRemove, Budget, PrivacyUnit, Relation, Replace, of_count
from deniable.stream import Alarm

FACTS: dict[str, Any] = {"threshold": 70, "epsilon": 1}


@pytest.mark.parametrize(("relation", "window", "rows"), [(AddRemove, 2, 3), (Replace, 1, 1)])
def test_alarms_ring_as_often_as_the_law_of_their_loss_says(relation: Relation, window: int, rows: int) -> None:
    """500 alarms: the noise of the threshold within 20%, four standard errors, and that of the question likewise."""
    facts = FACTS | {"relation": relation, "window": window, "rows": rows}
    sensitivity = of_count(rows=rows * window, groups=1, relation=relation)
    known = AboveThreshold.calibrated(sensitivity, epsilon=1, monotone=relation is AddRemove)
    gap = round(1.5 * float(known.query_scale))
    levels, rang = [], []
    for _ in range(500):
        alarm = Alarm(**facts)
        with alarm._file.reading() as connection:
            levels.append(json.loads(connection.execute("SELECT secret FROM now").fetchone()[0])["level"])
        rang.append(alarm.check(levels[-1] - gap))  # rings if the noise of the question is at least the gap
    assert np.std(levels) == pytest.approx(Laplace(scale=known.threshold_scale).standard_deviation(), rel=0.2)
    chances = []
    for scale in (float(known.query_scale), float(known.query_scale) / 2):
        tail = np.exp(-1 / scale)
        chances.append(tail**gap / (1 + tail))
    error = 4 * np.sqrt(chances[0] / 500)
    assert np.mean(rang) == pytest.approx(chances[0], abs=error)
    assert chances[1] < chances[0] - error  # half of the scale is found out
    assert float(alarm.privacy_loss.pure_epsilon) == pytest.approx(1)


def test_an_alarm_is_paid_once_rings_once_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    books = Ledger.open(None, budget=Budget(epsilon=1), relation=AddRemove, unit=PrivacyUnit(), dataset="cases")
    path = tmp_path / "x.alarm"
    assert not Alarm(path, ledger=books, **FACTS).check(10)
    again = Alarm(path, ledger=books, **FACTS)
    assert [again.check(0), again.check(400)] == [False, True]
    assert again.history() == [False, False, True]
    assert [entry.text for entry in books.entries()] == [
        "alarm alarm above 70; epsilon=1; protects one event (add/remove)"
    ]
    for alarm in (again, Alarm(path, ledger=books, **FACTS)):
        with pytest.raises(StreamError, match="rang in step 3"):
            alarm.check(400)
    with pytest.raises(BudgetExceededError):
        Alarm(tmp_path / "other", ledger=books, **FACTS)


def test_windows_add_up_steps() -> None:
    alarm = Alarm(threshold=1000, epsilon=1, window=3)
    assert [alarm.check(count) for count in (450, 100, 100, 100, 450, 800)] == [False] * 5 + [True]


def test_of_two_processes_one_goes_on(tmp_path: Path) -> None:
    one, other = Alarm(tmp_path / "x", **FACTS), Alarm(tmp_path / "x", **FACTS)
    one.check(3)
    with pytest.raises(StreamError, match="Another process"):
        other.check(3)
    with pytest.raises(StreamError, match=r"another stream.*\(threshold\)"):
        Alarm(tmp_path / "x", **FACTS | {"threshold": 71})


def test_what_an_alarm_cannot_take_is_refused() -> None:
    for wrong in ({"epsilon": 0}, {"window": 0}, {"rows": 0}, {"threshold": 1.5}, {"relation": "all"}):
        with pytest.raises(InvalidParameterError):
            Alarm(**FACTS | wrong)
    for count in (1.5, None, "many"):
        with pytest.raises(InvalidParameterError):
            Alarm(**FACTS).check(count)  # type: ignore[arg-type]
    persons = PrivacyUnit(column="person", noun="person")
    books = Ledger.open(None, budget=Budget(epsilon=1), relation=AddRemove, unit=persons, dataset="cases")
    with pytest.raises(UnprovedError, match="protects one row"):
        Alarm(ledger=books, **FACTS)
    Alarm(ledger=books, unit=persons, **FACTS)
