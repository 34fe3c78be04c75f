"""Second reads, equivalent forms and parallel analysts, against a textbook interface and against ours."""

import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.attacks.implementation import average_repeats, overspend
from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits

FORMS = [
    "SELECT COUNT(*) AS n FROM t WHERE x = 1",
    "SELECT COUNT(*) AS other FROM t WHERE x = 1",
    "select count(*) from t where (x = 1)",
    "SELECT COUNT(*) AS n FROM t AS alias WHERE 1 = x",
    "SELECT COUNT(*) AS n, SUM(x) AS s FROM t WHERE x = 1",
    "SELECT SUM(x) AS s, COUNT(*) AS n FROM t WHERE x = 1",
]


class Textbook:
    """Fresh noise for every reader; the budget is checked before the answer, and charged after it."""

    def __init__(self, affordable: int, analysts: int = 1) -> None:
        self.left, self.dice, self.lock = affordable, np.random.default_rng(3), threading.Lock()
        self.checked = threading.Barrier(analysts)  # as if all analysts passed the check at the same time

    def count(self, question: str) -> float:
        return 40 + self.dice.laplace(scale=10)

    def pay(self, asker: int) -> float:
        enough = self.left > 0
        self.checked.wait()
        if not enough:
            raise ValueError("no budget")
        with self.lock:
            self.left -= 1
        return 1.0


def ours(path: Path, epsilon: float) -> dn.Database:
    table = pa.table({"person": range(100), "x": pa.array([1] * 40 + [0] * 60, pa.int64())})
    columns = {"x": dn.Number(lower=0, upper=1)}
    return dn.connect(table, name="t", unit="person", budget=dn.Budget(epsilon=epsilon), columns=columns, ledger=path)


def test_fresh_noise_averages_out() -> None:
    """4,000 answers of standard deviation 14: the mean is within 0.5 with probability 0.97, for a fixed seed."""
    api = Textbook(0)
    result = average_repeats(api.count, [FORMS], [40], repeats=4000)
    assert result.success.value == 1
    assert result.facts is not None
    assert result.facts["different answers a question"] == "4000"


def test_our_second_read_is_the_first(tmp_path: Path) -> None:
    """Each question, in six forms, 24 times: what costs nothing is what was said before."""
    db = ours(tmp_path / "ledger", epsilon=10)
    db._bits = DeterministicBits(2)
    groups = [FORMS, [form.replace("x = 1", "x = 0").replace("1 = x", "0 = x") for form in FORMS]]
    result = average_repeats(
        lambda text: next(iter(db.sql(text, epsilon=0.05)))[_count_name(text)],
        groups,
        [40, 60],
        left=lambda: float(db.budget.spent.epsilon),
        repeats=24,
    )
    assert result.facts is not None
    assert float(str(result.facts["different answers a question"])) == 1
    assert float(str(result.facts["free answers a question"])) > 10
    assert not result.succeeded


def test_our_statistics_have_no_second_read_either(tmp_path: Path) -> None:
    """The same statistic of the same table, with the same numbers written otherwise."""
    db = ours(tmp_path / "ledger", epsilon=10)
    db._bits = DeterministicBits(4)
    forms = {"one": 0.1, "two": "1/10", "three": "0.10"}
    result = average_repeats(
        lambda form: db.sum("x", bounds=(0, 1), epsilon=forms[form]).scalar(unsafe=True),
        [list(forms)],
        [40],
        left=lambda: float(db.budget.spent.epsilon),
        repeats=12,
    )
    assert result.facts is not None
    assert (result.facts["free answers a question"], result.facts["different answers a question"]) == ("12", "1")


def _count_name(text: str) -> str:
    return "other" if "other" in text else "n" if "AS n" in text else "count"


def test_parallel_askers_overspend_the_textbook() -> None:
    result = overspend(Textbook(2, analysts=8).pay, analysts=8, affordable=2)
    assert result.success.right == 6
    assert result.succeeded


def test_parallel_askers_cannot_overspend_our_ledger(tmp_path: Path) -> None:
    """Eight connections to one ledger, each with a question of its own; the budget pays for three."""
    databases = [ours(tmp_path / "ledger", epsilon=0.3) for _ in range(8)]
    ask = lambda asker: databases[asker].sql(f"SELECT COUNT(*) AS n FROM t WHERE x > -{asker + 1}", epsilon=0.1)  # noqa: E731
    result = overspend(ask, analysts=8, affordable=3)
    assert result.success.right == 0
    assert result.facts is not None
    assert 1 <= int(str(result.facts["answers"])) <= 3
    assert databases[0].budget.spent.epsilon <= Fraction(3, 10)


def test_a_refusal_ends_the_repeats() -> None:
    answers = iter([1.0, 2.0])
    assert average_repeats(lambda _: next(answers), [["q"]], [1.5], repeats=9).learned == pytest.approx(1.5)
    nothing = average_repeats(lambda _: 1 / 0, [["q"]], [1])
    assert (nothing.success.right, nothing.baseline) == (0, 0)


def test_paid_answers_do_not_count_as_an_attack() -> None:
    """The twin of `left`: without it every answer is averaged."""
    spent, dice = iter(range(9999)), np.random.default_rng(1)
    ask = lambda _: 40 + dice.laplace(scale=10)  # noqa: E731
    paid = average_repeats(ask, [FORMS], [40], left=lambda: next(spent), repeats=50)
    assert paid.facts is not None
    assert paid.facts["free answers a question"] == "1"


def test_what_cannot_be_asked_is_refused() -> None:
    for questions, exact, repeats in (([["q"]], [1, 2], 5), ([[]], [1], 5), ([["q"]], [1], 1)):
        with pytest.raises(InvalidParameterError, match=r"at least one form|repeats must"):
            average_repeats(lambda _: 1.0, questions, exact, repeats=repeats)
    for analysts, affordable in ((2, 2), (2, -1)):
        with pytest.raises(InvalidParameterError, match="affordable must be"):
            overspend(lambda _: 1, analysts=analysts, affordable=affordable)
