"""How long does it take to plan a question, and to answer it again? Random questions, and hard ones that are known.

PYTHONPATH=. python benchmarks/query/planning.py [--questions 300] [--seed 1]

Random questions nest functions, subqueries, groups, joins and unions, up to what the limits admit. All times are of one
run on one machine, each also over that of the plainest question. "refused" are questions that the limits or the grammar
refuse, which must be quick too. The worst random question is printed with its time.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator

import pyarrow as pa
from tests.query.fuzz.grammar import Column, Grammar, Source

import deniable as dn
from deniable.errors import DeniableError
from deniable.query.database import Database

TABLE = pa.table({"u": [1, 2, 3], "x": [1, 2, 3], "r": [1.0, 2.0, 3.5], "s": ["a", "b", "c"], "g": ["a", "b", "a"]})
PLAIN = "SELECT COUNT(*) AS n FROM t"
NUMBERS = (Column("x", "I", bounded=True), Column("r", "R", bounded=True))
COLUMNS = (Column("u", "I"), *NUMBERS, Column("s", "T"), Column("g", "T", keyed=True))


def database() -> Database:
    columns = {
        "x": dn.Number(lower=0, upper=3, integer=True),
        "r": dn.Number(lower=0, upper=5),
        "g": dn.Keys(["a", "b"]),
    }
    return dn.connect(
        {"t": TABLE, "w": TABLE}, unit="u", columns={"t": columns, "w": columns}, budget=dn.Budget(epsilon=1000)
    )


def grammar(seed: int) -> Grammar:
    """Random questions of the fuzz (`make fuzz-queries`), nested more deeply, with more aggregates."""
    tables = {name: Source(name, COLUMNS, unit=("u",)) for name in "tw"}
    return Grammar(random.Random(seed), tables, depths=range(6), outputs=(1, 2, 5, 20))


def hard() -> Iterator[tuple[str, str]]:
    """Questions that took from seconds to hours, or whose cost doubled with each level."""
    rows = "t"
    for _ in range(13):
        rows = f"(SELECT u, x + x AS x FROM {rows})"
    yield "13 levels of x + x", f"SELECT SUM(LEAST(GREATEST(x, 0), 2)) AS n FROM {rows}"
    nested = "LEAST(GREATEST(LEAST(GREATEST(LEAST(GREATEST(r, 0), 3), 1), 3), 0), 2)"
    yield "6 nested LEAST and GREATEST", f"SELECT SUM({nested}) AS n FROM t"
    yield "12 nested ROUND", f"SELECT COUNT(*) AS n FROM t WHERE {'ROUND(' * 12}r{', 1)' * 12} > 1"
    bucket = "WIDTH_BUCKET(WIDTH_BUCKET(WIDTH_BUCKET(COALESCE(t.r, w.r), 0, 5, 5), 0, 6, 4), 0, 5, 3)"
    yield (
        "WIDTH_BUCKET, COALESCE, STDDEV",
        f"SELECT STDDEV(LEAST(GREATEST(COALESCE({bucket}, 0), 0), 3)) AS sd FROM t LEFT JOIN w ON t.u = w.u",
    )
    sums = ", ".join(f"SUM(LEAST(GREATEST(x, 0), {n + 1})) AS a{n}" for n in range(200))
    yield "200 aggregates", f"SELECT {sums} FROM t"
    parts = [f"(SELECT u, COUNT(*) AS n{n} FROM t GROUP BY u) AS q{n}" for n in range(32)]
    joins = "".join(f" JOIN {part} ON q{n}.u = q{n + 1}.u" for n, part in enumerate(parts[1:]))
    yield "32 joined subqueries", f"SELECT SUM(LEAST(n0, 9)) AS n FROM {parts[0]}{joins}"
    rows = "t"
    for _ in range(20):
        rows = f"(SELECT u, SUM(x) AS x FROM {rows} GROUP BY u)"
    yield "20 levels of GROUP BY", f"SELECT SUM(LEAST(GREATEST(x, 0), 2)) AS n FROM {rows}"


def seconds(db: Database, text: str) -> tuple[float, bool]:
    """The time to plan a question, and whether it was planned."""
    start, planned = time.perf_counter(), True
    try:
        db.explain(text, epsilon=1)
    except DeniableError:
        planned = False
    return time.perf_counter() - start, planned


def main(questions: int, seed: int) -> None:
    db, questions_of = database(), grammar(seed)
    seconds(db, PLAIN)
    plain = min(seconds(database(), PLAIN)[0] for _ in range(5))
    db.sql(PLAIN, epsilon=1)
    starts = []
    for _ in range(50):
        start = time.perf_counter()
        db.sql(PLAIN, epsilon=1)
        starts.append(time.perf_counter() - start)
    texts = [questions_of.question() for _ in range(questions)]
    times = sorted((*seconds(db, text), text) for text in texts)
    planned = [each for each, done, _ in times if done]
    refused = [each for each, done, _ in times if not done]
    rows = [("plainest question, by a new database", plain), ("its stored answer (median)", sorted(starts)[25])]
    rows += [
        (f"{name}{'' if done else ' (refused)'}", each) for name, text in hard() for each, done in [seconds(db, text)]
    ]
    for name, kind in ((f"random questions, {len(planned)} planned", planned), (f"{len(refused)} refused", refused)):
        if kind:
            rows += [(f"{name}: median", kind[len(kind) // 2]), (f"{name}: worst", kind[-1])]
    for name, each in rows:
        sys.stdout.write(f"{name:<50}{each * 1e3:>10.1f} ms{each / plain:>10.1f} x\n")
    sys.stdout.write(f"\nworst random question ({times[-1][0]:.2f} s):\n{times[-1][2]}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    main(given.questions, given.seed)
