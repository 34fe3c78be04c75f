import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import BudgetExceededError, InvalidParameterError, LedgerError, LedgerTamperedError, UnprovedError
from deniable.ledger import Entry, Ledger, chain
from deniable.privacy import ApproximateLoss, ConcentratedLoss, GaussianLoss, LaplaceLoss, PureLoss
from deniable.privacy.budget import Budget
from deniable.privacy.budget.rule import RULES
from deniable.privacy.budget.rules import PairsRule
from deniable.privacy.charge import Charge
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.notions.concentrated import largest_rho
from deniable.privacy.notions.gaussian_dp import largest_mu_squared
from deniable.privacy.relation import AddRemove, PrivacyUnit, Replace
from tests.ledger.conftest import UNIT, a_schema, entry, key, open_ledger


@pytest.fixture(params=["file", "postgres", "memory"])
def any_ledger(request: pytest.FixtureRequest, path: Path) -> Ledger:
    return open_ledger(
        {"file": lambda: path, "postgres": lambda: a_schema(request), "memory": lambda: None}[request.param]()
    )


# --- what is spent -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tenth", [Fraction(1, 10), 0.1, "0.1"])
def test_ten_times_a_tenth_fits_in_one_and_an_eleventh_is_refused(any_ledger: Ledger, tenth: object) -> None:
    for number in range(10):
        any_ledger.reserve(entry(number, tenth))
    assert any_ledger.spent().epsilon == 1
    with pytest.raises(BudgetExceededError):
        any_ledger.reserve(entry(11, tenth))
    assert any_ledger.spent().epsilon == 1
    any_ledger.verify()


@given(st.lists(st.fractions(min_value=Fraction(1, 50), max_value=Fraction(1, 2), max_denominator=50), max_size=12))
def test_the_total_is_the_exact_sum_of_what_was_admitted_and_never_above_the_budget(costs: list[Fraction]) -> None:
    ledger, total = open_ledger(None), Fraction(0)
    for number, cost in enumerate(costs):
        if total + cost <= 1:
            ledger.reserve(entry(number, cost))
            total += cost
        else:
            with pytest.raises(BudgetExceededError):
                ledger.reserve(entry(number, cost))
    assert ledger.spent().epsilon == total
    ledger.verify()


def test_a_refused_question_leaves_the_ledger_as_it_was(ledger: Ledger) -> None:
    ledger.reserve(entry(1, "0.7"))
    head = ledger.head
    with pytest.raises(BudgetExceededError) as refusal:
        ledger.reserve(entry(2, "0.4"))
    assert ledger.head == head
    assert len(ledger.entries()) == 1
    message = str(refusal.value)
    assert "0.4" in message
    assert "0.3" in message
    assert "Ask for less" in message


def test_a_smaller_question_still_fits_after_a_refusal(ledger: Ledger) -> None:
    ledger.reserve(entry(1, "0.7"))
    with pytest.raises(BudgetExceededError):
        ledger.reserve(entry(2, "0.4"))
    ledger.reserve(entry(3, "0.3"))
    assert ledger.spent().epsilon == 1


def test_a_loss_that_is_not_proved_for_the_relation_is_refused(ledger: Ledger) -> None:
    with pytest.raises(UnprovedError, match=r"^SELECT 1 is proved for replace; this ledger protects add/remove"):
        ledger.reserve(Entry(question=key(1), text="SELECT 1", loss=PureLoss("0.1").under(Replace)))
    assert ledger.entries() == []


def test_a_budget_of_rho_adds_up_rhos_and_refuses_what_has_none() -> None:
    ledger = open_ledger(None, budget=Budget(rho=1))
    ledger.reserve(Entry(question=key(1), text="SELECT 1", loss=ConcentratedLoss("0.75")))
    with pytest.raises(BudgetExceededError, match=r"cost rho=0.5, but only rho=0.25 of the budget rho=1 is left"):
        ledger.reserve(entry(2, 1))
    with pytest.raises(UnprovedError):
        ledger.reserve(Entry(question=key(3), text="SELECT 3", loss=ApproximateLoss("0.1", "1e-9")))
    ledger.reserve(Entry(question=key(4), text="SELECT 4", loss=ConcentratedLoss("0.25")))
    assert ledger.spent().rho == 1
    ledger.verify()


def test_small_failing_questions_add_up_by_rho_and_failure() -> None:
    """Whitehouse et al. (2023): pairs, Gaussian noise and a stated training run in one (epsilon, delta) budget."""
    ledger = open_ledger(None, budget=Budget(epsilon=1, delta="1e-6"))
    run = GaussianLoss(2).poisson_sampled(rate="0.01").stated(epsilon="0.1", delta="1e-7")
    for number, loss in enumerate([ApproximateLoss("0.01", "1e-9") * 100, GaussianLoss(20), run]):
        ledger.reserve(Entry(question=key(number), text=f"SELECT {number}", loss=loss))
    assert ledger.spent().failure == Fraction(2, 10**7)
    assert ledger.spent().failing_rho == Fraction(1, 200) + Fraction(1, 800) + Fraction(1, 200)
    with pytest.raises(
        BudgetExceededError, match=r"cost epsilon=0.2 or rho=0.02, with failure=0, but only .*, with failure=3e-07"
    ):
        ledger.reserve(Entry(question=key(9), text="SELECT 9", loss=PureLoss("0.2")))
    with pytest.raises(BudgetExceededError, match=r"rho=5e-07, with failure=4e-07, but"):
        ledger.reserve(Entry(question=key(9), text="SELECT 9", loss=ApproximateLoss("0.001", "4e-7")))
    ledger.verify()


def test_a_renyi_budget_pays_for_training_step_by_step() -> None:
    ledger = open_ledger(None, budget=Budget(renyi="0.1", order=8))
    step = GaussianLoss(1).poisson_sampled(rate="0.01")
    for number in range(2):
        ledger.reserve(Entry(question=key(number), text="train", loss=step * 50))
    with pytest.raises(BudgetExceededError, match=r"cost renyi=~0.0446822, but only .* of the budget renyi=0.1"):
        ledger.reserve(Entry(question=key(2), text="train", loss=step * 50))
    ledger.reserve(Entry(question=key(3), text="count", loss=PureLoss("0.01")))
    with pytest.raises(UnprovedError, match="may fail"):
        ledger.reserve(Entry(question=key(4), text="SELECT 4", loss=ApproximateLoss("0.1", "1e-9")))
    ledger.verify()


def admitted_before(budget: Budget, first: Charge, total: Charge) -> bool:
    """What an (epsilon, delta) ledger admitted before entries named its rule, written from the description of then."""
    assert budget.pair is not None
    epsilon, delta = budget.pair
    unknown = Fraction(10**9)

    def share(spent: Fraction | None, whole: Fraction) -> Fraction:
        return unknown if spent is None else spent / whole

    def pairs(c: Charge) -> Fraction:
        return max(share(c.epsilon, epsilon), c.delta / delta)

    def squares(c: Charge) -> Fraction:
        rhos = share(c.failing_rho, largest_rho(epsilon, delta / 2))
        return max(min(share(c.failing_epsilon, epsilon), rhos), c.failure / (delta / 2))

    if first.failure:
        return (squares if squares(first) <= 1 and squares(first) < pairs(first) else pairs)(total) <= 1
    rho = [share(c.rho, largest_rho(epsilon, delta)) for c in (first, total)]
    mu = [share(c.mu_squared, largest_mu_squared(epsilon, delta)) for c in (first, total)]
    summed = rho if rho[0] <= mu[0] else mu
    pure = [c.epsilon is not None and c.delta == 0 and c.epsilon <= epsilon for c in (first, total)]
    if summed[0] == unknown or not (pure[0] or summed[0] <= 1):
        return pairs(total) <= 1
    return pure[1] or summed[1] <= 1


OLDER = [
    *(
        PureLoss("1/2"),
        PureLoss("1/20"),
        GaussianLoss(10),
        GaussianLoss(30),
        ConcentratedLoss("0.004"),
        LaplaceLoss(25),
    ),
    *(ApproximateLoss("0.01", "1e-9"), ApproximateLoss("0.3", "4e-7"), ApproximateLoss("0.9", "1e-9"), PureLoss(0)),
    *(
        GaussianLoss(40).stated(epsilon="0.1", delta="1e-6"),
        GaussianLoss(2).poisson_sampled(rate="0.01").stated(epsilon="0.2", delta="8e-9"),
    ),
]


@given(st.lists(st.tuples(st.sampled_from(OLDER), st.integers(1, 9)), min_size=1, max_size=6))
def test_a_ledger_from_before_entries_named_their_rule_goes_on_as_it_did(asked: list[tuple[PrivacyLoss, int]]) -> None:
    budget = Budget(epsilon=1, delta="1e-6")
    ledger = open_ledger(None, budget=budget)
    first, total = None, Charge.nothing()
    for loss, count in asked:
        charge = budget.price(loss) * count
        fits = admitted_before(budget, first or charge, total + charge)
        try:
            ledger.reserve(Entry(question=key(1), text="q", loss=loss * count))
        except (BudgetExceededError, UnprovedError):
            assert not fits
            continue
        assert fits
        first, total = first or charge, total + charge
        forget_the_rule(ledger)
    ledger.verify()


def forget_the_rule(ledger: Ledger) -> None:
    """Write the last entry again as it was written before entries named their rule."""
    with ledger._storage.transaction(write=True) as connection:
        link, earlier = chain.last(connection), chain.at(connection, chain.last(connection).number - 1)
        assert earlier is not None
        assert link.body.pop("rule")
        text = chain.canonical(link.body)
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        changed = (text, chain.digest(text))
        connection.execute("UPDATE records SET body = ?, hash = ? WHERE number = ?", (*changed, link.number))
        connection.execute("UPDATE head SET hash = ?", changed[1:])
        for _, definition in triggers:
            connection.execute(definition)


def test_the_rule_that_an_entry_named_is_kept(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """A version that would choose otherwise today still adds up as the ledger began."""
    budget = Budget(epsilon=1, delta="1e-6")
    with monkeypatch.context() as other:
        other.setattr(Budget, "rule", lambda self, *_first, name=None, reserve=True: PairsRule.under(self))
        open_ledger(path, budget=budget).reserve(entry(1, "0.01"))
    ledger = open_ledger(path, budget=None)
    assert budget.rule(PureLoss("0.01").charge()).name == "reserved"  # under which 300 would fit
    ledger.reserve(Entry(question=key(2), text="q", loss=PureLoss("0.01") * 99))
    with pytest.raises(BudgetExceededError, match=r"cost epsilon=0.01, .* only epsilon=0, delta=1e-06 of the budget"):
        ledger.reserve(entry(3, "0.01"))
    ledger.verify()
    with monkeypatch.context() as other:  # a version without that rule
        other.delitem(RULES, "pairs")
        for use in (ledger.left, ledger.verify, lambda: ledger.reserve(entry(4, "0.01"))):
            with pytest.raises(LedgerError, match=r"rule 'pairs'.*newer version"):
                use()


def test_what_json_cannot_hold_is_refused_and_spends_nothing(ledger: Ledger) -> None:
    with pytest.raises(InvalidParameterError, match="plain JSON"):
        ledger.reserve(entry(1, mechanisms=object()))
    with pytest.raises(InvalidParameterError, match="plain JSON"):
        ledger.reserve(entry(1, mechanisms=[float("nan")]))
    assert ledger.spent().epsilon == 0


# --- stored answers ----------------------------------------------------------------------------------------------


def test_a_repeated_question_returns_the_stored_answer_at_no_cost(any_ledger: Ledger) -> None:
    assert any_ledger.recall(key(1)) is None
    any_ledger.store(any_ledger.reserve(entry(1)), '{"n": 17}')
    spent = any_ledger.spent()
    assert any_ledger.recall(key(1)) == '{"n": 17}'
    assert any_ledger.recall(key(1)) == '{"n": 17}'
    assert any_ledger.spent() == spent


def test_a_reservation_without_an_answer_is_paid_and_recalls_nothing(ledger: Ledger) -> None:
    ledger.reserve(entry(1))
    assert ledger.recall(key(1)) is None
    assert ledger.spent().epsilon == Fraction(1, 10)
    assert [record.answered for record in ledger.entries()] == [False]


def test_two_who_ask_the_same_at_once_both_pay_and_later_the_first_answer_is_recalled(ledger: Ledger) -> None:
    one, two = ledger.reserve(entry(1)), ledger.reserve(entry(1))
    ledger.store(two, '"finished first"')
    assert ledger.recall(key(1)) == '"finished first"'
    ledger.store(one, '"finished second"')
    assert ledger.recall(key(1)) == '"finished first"'
    assert ledger.spent().epsilon == Fraction(2, 10)


def test_answers_are_not_shared_between_analysts(ledger: Ledger) -> None:
    ledger.store(ledger.reserve(entry(1, analyst="ada")), "1")
    assert ledger.recall(key(1), analyst="ada") == "1"
    assert ledger.recall(key(1), analyst="bob") is None
    assert ledger.recall(key(1)) is None


def test_an_answer_with_test_noise_is_never_recalled_as_a_safe_one(ledger: Ledger) -> None:
    ledger.store(ledger.reserve(entry(1, safe=False)), "1")
    assert ledger.recall(key(1)) is None
    assert ledger.recall(key(1), safe=False) == "1"
    ledger.store(ledger.reserve(entry(1)), "2")
    assert ledger.recall(key(1)) == "2"


def test_an_entry_has_one_answer(ledger: Ledger) -> None:
    reservation = ledger.reserve(entry(1))
    ledger.store(reservation, "1")
    with pytest.raises(LedgerError, match="has its answer already"):
        ledger.store(reservation, "2")
    assert ledger.recall(key(1)) == "1"


def test_an_answer_needs_a_reservation(ledger: Ledger) -> None:
    answer = ledger.reserve(entry(1)) + 1
    for number in (0, answer, 99):
        with pytest.raises(LedgerError, match="not a reservation"):
            ledger.store(number, "1")


def test_an_answer_may_hold_any_text(ledger: Ledger) -> None:
    text = "é \x00 \ud800 '; DROP TABLE records; --"
    ledger.store(ledger.reserve(entry(1)), text)
    assert ledger.recall(key(1)) == text
    ledger.verify()


# --- reading it back ---------------------------------------------------------------------------------------------


def test_entries_tell_what_was_asked(ledger: Ledger) -> None:
    mechanisms = [{"mechanism": "laplace", "scale": "10"}]
    number = ledger.reserve(entry(1, "0.25", mechanisms=mechanisms, analyst="ada", safe=False))
    ledger.reserve(entry(2))
    ledger.store(number, "1")
    first, second = ledger.entries()
    assert (first.number, first.question, first.text) == (number, key(1), "SELECT 1")
    assert first.loss == PureLoss("0.25")
    assert first.charge == PureLoss("0.25").charge()
    assert (first.mechanisms, first.analyst, first.safe) == (mechanisms, "ada", False)
    assert (first.answered, second.answered) == (True, False)
    assert abs(first.time - datetime.now(UTC)) < timedelta(minutes=5)


def test_what_is_left_shrinks_with_what_is_spent(ledger: Ledger) -> None:
    assert ledger.left().epsilon == 1
    ledger.reserve(entry(1, "0.4"))
    assert ledger.left().epsilon == Fraction(6, 10)


def test_a_ledger_is_remembered(path: Path, ledger: Ledger) -> None:
    ledger.store(ledger.reserve(entry(1)), "1")
    for again in (open_ledger(path), open_ledger(path, budget=None), open_ledger(str(path))):
        assert again.spent() == ledger.spent()
        assert again.recall(key(1)) == "1"
        assert again.head == ledger.head
        assert (again.budget, again.unit, again.dataset) == (ledger.budget, UNIT, "survey")
    assert str(path) in repr(ledger)


def test_ledgers_in_memory_are_apart() -> None:
    one, two = open_ledger(None), open_ledger(None)
    one.reserve(entry(1))
    assert two.spent().epsilon == 0


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("budget", {"budget": 2}),
        ("relation", {"relation": Replace}),
        ("unit", {"unit": PrivacyUnit(column="household", noun="household")}),
        ("unit", {"unit": PrivacyUnit(column="id", noun="respondent", ids=2)}),
        ("dataset", {"dataset": "census"}),
    ],
)
def test_a_ledger_is_not_opened_for_something_else(
    path: Path, ledger: Ledger, name: str, others: dict[str, object]
) -> None:
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=rf"was opened for {name} .*another path"):
        open_ledger(path, **others)  # type: ignore[arg-type]
    assert path.read_bytes() == before


@pytest.mark.parametrize("given_path", [True, False])
def test_a_new_ledger_needs_a_budget(path: Path, given_path: bool) -> None:
    with pytest.raises(LedgerError, match="Give a budget"):
        open_ledger(path if given_path else None, budget=None)
    assert not path.exists()


# --- keys --------------------------------------------------------------------------------------------------------


def test_a_key_is_made_once_and_stays(any_ledger: Ledger) -> None:
    one = any_ledger.secret("rows")
    assert len(one) == 32
    assert any_ledger.secret("rows") == one
    assert any_ledger.secret("groups") != one
    any_ledger.verify()


def test_a_key_survives_and_differs_between_ledgers(path: Path, ledger: Ledger) -> None:
    assert open_ledger(path).secret("rows") == ledger.secret("rows") != open_ledger(None).secret("rows")


def test_a_key_costs_nothing(ledger: Ledger) -> None:
    ledger.reserve(entry(1))
    ledger.secret("rows")
    assert ledger.spent().epsilon == Fraction(1, 10)


# --- threads -----------------------------------------------------------------------------------------------------


def test_threads_share_one_budget(any_ledger: Ledger) -> None:
    won: list[int] = []

    def ask(number: int) -> None:
        with suppress(BudgetExceededError):
            won.append(any_ledger.reserve(entry(number, "0.3")))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == len(set(won)) == 3
    assert any_ledger.spent().epsilon == Fraction(9, 10)
    any_ledger.verify()


def test_a_clock_that_goes_back_changes_no_order(any_ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    class Backwards(datetime):
        days = 0

        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            cls.days += 1
            return datetime.now(UTC) - timedelta(days=cls.days)

    monkeypatch.setattr("deniable.ledger.ledger.datetime", Backwards)
    for number in range(3):
        any_ledger.store(any_ledger.reserve(entry(0)), str(number))
    assert any_ledger.recall(key(0)) == "0"
    times = [record.time for record in any_ledger.entries()]
    assert times == sorted(times, reverse=True)
    assert any_ledger.spent().epsilon == Fraction(3, 10)
    any_ledger.verify()


# --- tampering ---------------------------------------------------------------------------------------------------


@pytest.fixture
def used(ledger: Ledger) -> Ledger:
    """Opening (0), entry (1), answer (2), entry (3), key (4), entry (5)."""
    ledger.store(ledger.reserve(entry(1)), "1")
    ledger.reserve(entry(2))
    ledger.secret("rows")
    ledger.reserve(entry(3))
    ledger.verify()
    return ledger


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize(
    "change",
    [
        "body = replace(body, '1', '2')",
        "body = body || ' '",
        "hash = replace(hash, substr(hash, 1, 1), 'x')",
        "kind = CASE kind WHEN 'key' THEN 'answer' ELSE 'key' END",
        "body = x'00ff'",
        "question = 'another'",
    ],
)
def test_an_edited_record_is_named(used: Ledger, edit: Callable[..., None], number: int, change: str) -> None:
    edit(f"UPDATE records SET {change} WHERE number = {number}")
    with pytest.raises(LedgerTamperedError, match=f"Record {number} of the ledger "):
        used.verify()


@pytest.mark.parametrize("number", range(6))
def test_a_deleted_record_is_noticed(used: Ledger, edit: Callable[..., None], number: int) -> None:
    edit(f"DELETE FROM records WHERE number = {number}")
    wanted = "Record 4 .*head of the ledger" if number == 5 else f"Record {number} of the ledger is missing"
    with pytest.raises(LedgerTamperedError, match=wanted):
        used.verify()


def test_a_ledger_that_lost_its_last_record_is_neither_opened_nor_used(
    used: Ledger, path: Path, edit: Callable[..., None]
) -> None:
    edit("DELETE FROM records WHERE number = 5")
    for attempt in (lambda: open_ledger(path), lambda: used.reserve(entry(9)), used.left, used.spent):
        with pytest.raises(LedgerTamperedError, match=r"Record 4 .*head"):
            attempt()


def test_an_edited_answer_is_not_recalled(used: Ledger, edit: Callable[..., None]) -> None:
    edit("""UPDATE records SET body = replace(body, '"answer":"1"', '"answer":"9"') WHERE number = 2""")
    with pytest.raises(LedgerTamperedError, match=r"Record 2 .*does not match its hash"):
        used.recall(key(1))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE records SET body = '{}' WHERE number = 1",
        "DELETE FROM records WHERE number = 5",
        "INSERT OR REPLACE INTO records VALUES (1, 'entry', NULL, NULL, '{}', '')",
        "INSERT INTO records VALUES (-1, 'entry', NULL, NULL, '{}', '')",
        "UPDATE head SET number = 4",
        "UPDATE head SET number = 6",
        "DELETE FROM head",
        "INSERT OR REPLACE INTO head VALUES (1, 0, '')",
        "UPDATE keys SET key = x'00'",
        "DELETE FROM keys",
        "INSERT OR REPLACE INTO keys VALUES ('rows', x'00')",
    ],
)
def test_the_database_itself_refuses_to_forget(used: Ledger, path: Path, statement: str) -> None:
    head, connection = used.head, sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)
    connection.close()
    assert used.head == head
    used.verify()


@pytest.mark.parametrize(
    "statement",
    ["UPDATE keys SET key = x'00'", "DELETE FROM keys", "INSERT INTO keys VALUES ('more', x'00')"],
)
def test_a_changed_key_is_noticed(used: Ledger, edit: Callable[..., None], statement: str) -> None:
    edit(statement)
    with pytest.raises(LedgerTamperedError, match="keys"):
        used.verify()


def test_a_rolled_back_copy_is_noticed_by_a_head_that_was_noted(path: Path, ledger: Ledger) -> None:
    ledger.reserve(entry(1))
    noted = ledger.head
    ledger.close()
    copy = path.read_bytes()
    ledger.reserve(entry(2))
    later = ledger.head
    ledger.verify(expected_head=noted)
    ledger.verify(expected_head=later)
    ledger.close()
    path.write_bytes(copy)
    ledger.verify(expected_head=noted)
    ledger.verify()  # without a noted head a copy is as good as the original: nothing inside the file can tell
    with pytest.raises(LedgerTamperedError, match="replaced, rolled back or cut"):
        ledger.verify(expected_head=later)


def test_a_statistic_can_pay() -> None:
    ledger = Ledger.open(None, budget=Budget(epsilon=1), relation=AddRemove, unit=PrivacyUnit(), dataset="t")
    left = ledger.pay(PureLoss("1/4"), question="0" * 64, text="count()", safe=True)
    assert str(left) == "epsilon=0.75"
    assert [entry.text for entry in ledger.entries()] == ["count()"]


@pytest.mark.parametrize(
    ("unit", "by_row", "by_value"),
    [
        (PrivacyUnit(), True, True),
        (PrivacyUnit(column="id", noun="patient"), False, True),
        (PrivacyUnit(column="id", noun="family", ids=3), False, False),
    ],
)
def test_a_ledger_takes_only_losses_of_its_own_unit(unit: PrivacyUnit, by_row: bool, by_value: bool) -> None:
    ledger = open_ledger(None, unit=unit)
    for units, admitted in ((False, by_row), (True, by_value)):
        with nullcontext() if admitted else pytest.raises(UnprovedError, match="protects one"):
            ledger.pay(PureLoss("1/4"), question=key(1), text="count()", safe=True, units=units)
    assert ledger.spent().epsilon == Fraction(by_row + by_value, 4)


# --- one answer for many askers ----------------------------------------------------------------------------------


def test_of_threads_that_ask_the_same_at_once_one_pays_and_all_get_its_answer(any_ledger: Ledger) -> None:
    computed: list[int] = []
    together = threading.Barrier(6)
    answers: list[tuple[str, bool]] = []

    def compute() -> str:
        computed.append(1)
        time.sleep(0.1)
        return str(len(computed))

    def ask() -> None:
        together.wait()
        answers.append(any_ledger.answer(entry(1), compute))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [("1", False)] + [("1", True)] * 5
    assert any_ledger.spent().epsilon == Fraction(1, 10)
    assert any_ledger.answer(entry(1), compute, fresh=True) == ("2", False)
    assert any_ledger.recall(key(1)) == "1"


def test_an_answer_that_failed_stays_paid_and_blocks_nobody(any_ledger: Ledger) -> None:
    with pytest.raises(ZeroDivisionError):
        any_ledger.answer(entry(1), lambda: str(1 // 0))
    assert any_ledger.answer(entry(1), lambda: "2") == ("2", False)
    assert any_ledger.spent().epsilon == Fraction(2, 10)
