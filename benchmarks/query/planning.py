"""How long does it take to plan a question, and to answer it again? Random questions, and hard ones that are known.

python benchmarks/query/planning.py [--questions 300] [--seed 1]

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

import deniable as dn
from deniable.errors import DeniableError
from deniable.query.database import Database

TABLE = pa.table({"u": [1, 2, 3], "x": [1, 2, 3], "r": [1.0, 2.0, 3.5], "s": ["a", "b", "c"], "g": ["a", "b", "a"]})
PLAIN = "SELECT COUNT(*) AS n FROM t"
OF_NUMBERS = (
    *("LEAST({0}, {1})", "GREATEST({0}, {1})", "({0} + {1})", "({0} * {1})", "({0} % {1})", "ROUND({0}, 1)"),
    *("COALESCE({0}, {1})", "WIDTH_BUCKET({0}, 0, 9, 5)", "CASE WHEN {0} > {1} THEN {0} ELSE 1 END", "ABS({0})"),
    *("CAST(CAST({0} AS TEXT) AS DOUBLE)", "NULLIF({0}, {1})", "FLOOR({0})", "SQRT({0})"),
)
TOTALS = ("SUM", "AVG", "STDDEV", "COUNT", "MEDIAN", "VAR_POP")


def database() -> Database:
    columns = {
        "x": dn.Number(lower=0, upper=3, integer=True),
        "r": dn.Number(lower=0, upper=5),
        "g": dn.Keys(["a", "b"]),
    }
    return dn.connect(
        {"t": TABLE, "w": TABLE}, unit="u", columns={"t": columns, "w": columns}, budget=dn.Budget(epsilon=1000)
    )


class Grammar:
    """Random questions about the columns u, x and r of two tables."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def number(self, depth: int, columns: tuple[str, ...]) -> str:
        if depth == 0:
            return self.draw.choice((*columns, *columns, "2", "0.5"))
        operator = self.draw.choice(OF_NUMBERS)
        return operator.format(*(self.number(depth - 1, columns) for _ in range(1 + operator.count("{1}"))), "")

    def rows(self, depth: int) -> str:
        """A FROM that has the columns u, x and r."""
        if depth == 0:
            return self.draw.choice("tw")
        inner = f"(SELECT u, x, r FROM {self.rows(depth - 1)}) AS a"
        value, other = (self.number(self.draw.randint(0, 3), ("x", "r")) for _ in range(2))
        match self.draw.randrange(5):
            case 0:
                return f"(SELECT u, {value} AS x, {other} AS r FROM {inner} WHERE {other} > 1) AS q"
            case 1:
                return (
                    f"(SELECT u, COUNT(*) AS x, SUM(LEAST(GREATEST({value}, 0), 9)) AS r FROM {inner} GROUP BY u) AS q"
                )
            case 2:
                join = self.draw.choice(("JOIN", "LEFT JOIN"))
                return (
                    f"(SELECT a.u AS u, a.x + COALESCE(b.x, 0) AS x, b.r AS r FROM {inner} {join} "
                    f"(SELECT u, x, r FROM {self.rows(depth - 1)}) AS b ON a.u = b.u) AS q"
                )
            case 3:
                return f"(SELECT u, x, r FROM {inner} UNION ALL SELECT u, r AS x, x AS r FROM w) AS q"
        return f"(SELECT DISTINCT u, x, {value} AS r FROM {inner}) AS q"

    def question(self) -> str:
        asked = []
        for place in range(self.draw.choice((1, 2, 5, 20))):
            value = self.number(self.draw.randint(0, 4), ("x", "r"))
            asked.append(f"{self.draw.choice(TOTALS)}(LEAST(GREATEST({value}, 0), 9)) AS a{place}")
        where = f" WHERE {self.number(self.draw.randint(0, 4), ('x', 'r'))} > 1" if self.draw.random() < 0.5 else ""
        return f"SELECT {', '.join(asked)} FROM {self.rows(self.draw.randint(0, 5))}{where}"


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
    db, grammar = database(), Grammar(seed)
    seconds(db, PLAIN)
    plain = min(seconds(database(), PLAIN)[0] for _ in range(5))
    db.sql(PLAIN, epsilon=1)
    starts = []
    for _ in range(50):
        start = time.perf_counter()
        db.sql(PLAIN, epsilon=1)
        starts.append(time.perf_counter() - start)
    texts = [grammar.question() for _ in range(questions)]
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
