"""Ask random questions about random databases until the time is over; what is found is made small. See `oracle`.

python -m tests.query.fuzz [--engine duckdb|postgres|spark|both] [--minutes 10] [--seed 1] [--world 7]

`both` holds the secret numbers of PostgreSQL against those of DuckDB. Prints the seed, how many questions were asked
and refused, the worst time of planning, and of what is found the smallest case and the command that asks it again.
Exits with the number of different findings.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from itertools import count
from secrets import randbits

from tests.query.fuzz.cases import Case, Tally, run
from tests.query.fuzz.engines import Engine, started


def _numbers(seconds: float, world: int | None, tally: Tally) -> Iterator[int]:
    """Numbers of worlds until the time is over; says every five minutes how far it is."""
    if world is not None:
        yield world
        return
    start = said = time.monotonic()
    for number in count():
        now = time.monotonic()
        if now - start > seconds:
            return
        if now - said > 300:
            said = now
            _say(f"{(now - start) / 60:.0f} minutes, {number} worlds: {tally.asked} questions")
        yield number


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=["duckdb", "postgres", "spark", "both"], default="duckdb")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--world", type=int, default=None)
    given = parser.parse_args()
    seed, tally, begun = given.seed if given.seed is not None else randbits(32), Tally(), time.monotonic()
    _say(f"seed {seed}, {given.engine}")
    findings: set[str] = set()
    with started(given.engine) as engine:
        for number in _numbers(60 * given.minutes, given.world, tally):
            case = run(engine, seed, [number], tally)
            if case is not None:
                findings.add(_told(engine, case, findings))
                _say(f"Again: python -m tests.query.fuzz --engine {given.engine} --seed {seed} --world {number}")
    _say(f"{(time.monotonic() - begun) / 60:.1f} minutes: {tally}\nworst: {tally.worst[1]}")
    return len(findings)


def _told(engine: Engine, case: Case, known: set[str]) -> str:
    """Print a case that fails, and how it begins; the first that begins so is made small."""
    found = case.finding(engine)
    if found is None:
        _say(f"FOUND after other questions of its world alone: {case}")
        return case.question.text
    begins = str(found)[:60]
    _say(f"FOUND: {case.question.text}\n{found}")
    if begins not in known:
        _say(f"The smallest such case:\n{case.smaller(engine, found.kind)}")
    return begins


if __name__ == "__main__":
    sys.exit(main())
