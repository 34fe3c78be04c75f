"""A program of its own for the tests of storage: it forks children that share one ledger, and prints what they saw.

It runs apart from pytest, so that a process is forked before it has threads.
"""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from fractions import Fraction

from deniable.errors import BudgetExceededError, LedgerError
from deniable.ledger import Entry, Ledger
from deniable.privacy import PureLoss
from deniable.privacy.budget import Budget
from deniable.privacy.relation import AddRemove, PrivacyUnit


def opened(path: str | None, budget: object) -> Ledger:
    return Ledger.open(path, budget=Budget(epsilon=budget), relation=AddRemove, unit=PrivacyUnit(), dataset="survey")


def entry(number: int, epsilon: Fraction) -> Entry:
    return Entry(question=f"{number:064x}", text=f"SELECT {number}", loss=PureLoss(epsilon))


def fork(work: Callable[[], int]) -> int:
    """Run `work` in a child; its result is the exit status. Returns the child's id."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            status = work()
        finally:
            os._exit(status)
    return child


def race(place: str) -> dict[str, object]:
    """Twenty processes want the last tenth of a budget."""
    ledger = opened(place, 1)
    ledger.reserve(entry(0, Fraction(9, 10)))
    gate_out, gate_in = os.pipe()

    def ask(number: int) -> int:
        os.close(gate_in)
        os.read(gate_out, 1)  # returns when the parent opens the gate
        try:
            ledger.reserve(entry(number, Fraction(1, 10)))
        except BudgetExceededError:
            return 1
        return 0

    children = [fork(lambda number=number: ask(number)) for number in range(1, 21)]  # type: ignore[misc]
    os.close(gate_in)
    statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    ledger.verify()
    return {"statuses": sorted(statuses), "spent": str(ledger.spent().epsilon), "entries": len(ledger.entries())}


def create(place: str) -> dict[str, object]:
    """Twenty processes open a ledger that does not exist yet."""
    gate_out, gate_in = os.pipe()

    def ask(number: int) -> int:
        os.close(gate_in)
        os.read(gate_out, 1)
        opened(place, 1).reserve(entry(number, Fraction(1, 20)))
        return 0

    children = [fork(lambda number=number: ask(number)) for number in range(20)]  # type: ignore[misc]
    os.close(gate_in)
    statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    ledger = opened(place, 1)
    ledger.verify()
    seen = {"statuses": statuses, "spent": str(ledger.spent().epsilon)}
    ledger.close()
    return seen


def kill(place: str) -> dict[str, object]:
    """Many processes reserve and store until they are killed; each reports what returned.

    On a busy machine some are killed before they are at work, so there are more until enough reservations returned.
    """
    enough = 20 if place.startswith("postgresql") else 100  # a server is slower to reach
    delays = random.Random(20240611)
    cost = Fraction(1, 1000)
    ledger = opened(place, 1000)
    paid, stored, number, killed = 0, 0, 0, 0

    def ask(first: int, report: int) -> int:
        for question in range(first, first + 10_000):
            reservation = ledger.reserve(entry(question, cost))
            os.write(report, b"r")
            ledger.store(reservation, "1")
            os.write(report, b"s")
        return 0

    statuses = set()
    while killed < enough or paid < enough:
        children = []
        for _ in range(10):
            report_out, report_in = os.pipe()
            number += 10_000
            children.append((fork(lambda n=number, r=report_in: ask(n, r)), report_out))  # type: ignore[misc]
            os.close(report_in)
        for child, report_out in children:
            time.sleep(delays.uniform(0, 0.03))
            os.kill(child, signal.SIGKILL)
            killed += 1
            statuses.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            with os.fdopen(report_out, "rb") as report:
                seen = report.read()
            paid, stored = paid + seen.count(b"r"), stored + seen.count(b"s")
        opened(place, 1000).verify()
    entries = ledger.entries()
    return {
        "statuses": sorted(statuses),
        "killed": killed,
        "paid": paid,
        "stored": stored,
        "entries": len(entries),
        "answers": sum(record.answered for record in entries),
        "spent_is_the_sum": ledger.spent().epsilon == len(entries) * cost,
    }


def inherit(place: str) -> dict[str, object]:
    """A child may use its parent's ledger in a file, and is refused its parent's ledger in memory."""
    in_file, in_memory = opened(place, 1), opened(None, 1)
    in_file.reserve(entry(0, Fraction(1, 10)))

    def use_file() -> int:
        in_file.reserve(entry(1, Fraction(1, 10)))
        return 0

    def use_memory() -> int:
        try:
            in_memory.reserve(entry(1, Fraction(1, 10)))
        except LedgerError as error:
            return 7 if "forked copy" in str(error) else 8
        return 0

    statuses = [os.waitstatus_to_exitcode(os.waitpid(fork(work), 0)[1]) for work in (use_file, use_memory)]
    in_memory.reserve(entry(2, Fraction(1, 10)))
    return {"statuses": statuses, "spent": [str(in_file.spent().epsilon), str(in_memory.spent().epsilon)]}


def same(place: str) -> dict[str, object]:
    """Eight processes ask the same at once, then one is killed over a question that the parent asks too."""
    ledger = opened(place, 1)

    def answer(number: int, seconds: float) -> int:
        def compute() -> str:
            time.sleep(seconds)
            return str(os.getpid())

        opened(place, 1).answer(entry(number, Fraction(1, 10)), compute)
        return 0

    for child in [fork(lambda: answer(0, 0.2)) for _ in range(8)]:
        os.waitpid(child, 0)
    paid = len(ledger.entries())
    stuck = fork(lambda: answer(1, 600))
    while len(ledger.entries()) == paid:
        time.sleep(0.01)
    os.kill(stuck, signal.SIGKILL)
    answer(1, 0)  # while the killed child is a zombie
    os.waitpid(stuck, 0)
    return {"paid": paid, "after": [record.answered for record in ledger.entries()]}


if __name__ == "__main__":
    opened(None, 1).reserve(entry(0, Fraction(1)))  # loads what the children need: they live for milliseconds
    if sys.argv[2].startswith("postgresql"):
        __import__("psycopg")
    scene = {"same": same, "race": race, "create": create, "kill": kill, "inherit": inherit}[sys.argv[1]]
    sys.stdout.write(json.dumps(scene(sys.argv[2])))
