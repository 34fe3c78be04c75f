"""How long do a reservation and a verification take in a long ledger, beside the disk and the database alone?

python benchmarks/ledger/scale.py [--entries 100000] [--rounds 60] [--folder .] [--url postgresql://...]

Every round times, in turn: a sync of one block, a commit of SQLite that writes as many bytes as an entry does, and a
reservation in an empty ledger and in a long one, so that other work on the machine slows all of them. With --url, the
same for a server. Medians, and ratios to the sync.
"""

import argparse
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from deniable.ledger import Entry, Ledger
from deniable.privacy import AddRemove, Budget, GaussianLoss, PrivacyLoss, PrivacyUnit, PureLoss


def opened(place: Path | str, dataset: str = "visits") -> Ledger:
    budget = Budget(epsilon=1000, delta="1e-6")
    return Ledger.open(place, budget=budget, relation=AddRemove, unit=PrivacyUnit(), dataset=dataset)


def entry(number: int, loss: PrivacyLoss) -> Entry:
    return Entry(question=f"{number:064x}", text=f"SELECT region, COUNT(*) FROM t WHERE x < {number}", loss=loss)


def fill(ledger: Ledger, entries: int) -> None:
    """Entries with answers, in one transaction, of 2,000 different costs; their sums are unlike fractions."""
    from deniable.ledger import chain

    with ledger._storage.transaction(write=True) as connection:
        for number in range(entries):
            loss = GaussianLoss(500 + number % 2000) if number % 2 else PureLoss(f"{1 + number % 2000}/10000000")
            paid = ledger._append(connection, entry(number, loss), ledger.budget.price(loss))
            body = {"entry": paid, "answer": "[" + ",".join(["[12345.0,17.5]"] * 20) + "]"}
            chain.append(connection, "answer", body, total=chain.last(connection).total)


def sync(path: Path) -> Callable[[int], object]:
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR)

    def run(number: int) -> None:
        os.pwrite(descriptor, bytes(4096), 4096 * number)
        os.fdatasync(descriptor)

    return run


def commit(path: Path) -> Callable[[int], object]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE t (number INTEGER PRIMARY KEY, question TEXT, body TEXT)")
    connection.execute("CREATE INDEX questions ON t (question)")
    return lambda number: connection.execute("INSERT INTO t VALUES (?, ?, ?)", (number, f"{number:064x}", "x" * 900))


def reserve(ledger: Ledger) -> Callable[[int], object]:
    return lambda number: ledger.reserve(entry(10**9 + number, PureLoss("1e-9")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--url")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        places: dict[str, Path | str] = {"file": folder / "long.ledger"}
        ways = {"sync of one block": sync(folder / "block"), "commit of SQLite": commit(folder / "bare")}
        ways["reservation, empty ledger in a file"] = reserve(opened(folder / "empty.ledger"))
        if options.url:
            places["server"] = f"{options.url}{'&' if '?' in options.url else '?'}schema=scale_{os.getpid()}"
        long = {kind: opened(place) for kind, place in places.items()}
        for kind, ledger in long.items():
            fill(ledger, options.entries)
            ways[f"reservation, {options.entries:,} entries, {kind}"] = reserve(ledger)
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(options.rounds):
            for way, run in ways.items():
                start = time.perf_counter()
                run(number)
                seconds[way].append(time.perf_counter() - start)
        floor = statistics.median(seconds["sync of one block"])
        print(f"| way, median of {options.rounds} | ms | slowest of ten | ratio |\n|---|---|---|---|")
        for way, taken in seconds.items():
            median, slow = statistics.median(taken), statistics.quantiles(taken, n=10)[-1]
            print(f"| {way} | {1e3 * median:.2f} | {1e3 * slow:.2f} | {median / floor:.2f} |")
        print(f"\n| {2 * options.entries:,} records | seconds | MB/s |\n|---|---|---|")
        for kind, ledger in long.items():
            start = time.perf_counter()
            ledger.verify()
            taken = time.perf_counter() - start
            size = sum(len(text) for (text,) in texts(ledger))
            print(f"| verified, {kind} | {taken:.1f} | {size / taken / 1e6:.0f} |")


def texts(ledger: Ledger) -> list[tuple[str]]:
    with ledger._storage.transaction(write=False) as connection:
        return connection.execute("SELECT body FROM records").fetchall()


if __name__ == "__main__":
    main()
