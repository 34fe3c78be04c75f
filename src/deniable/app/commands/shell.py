"""`deniable shell`: questions at a prompt that shows what is left."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.app.opening import read
from deniable.app.options import Delta, Epsilon, Memory, Moved, PolicyFile, Rho, Threads
from deniable.app.terminal import complain, say, show_pairs, show_release, waiting
from deniable.errors import DeniableError, InvalidParameterError

if TYPE_CHECKING:
    from deniable.query.database import Database

HELP = """A question ends with a semicolon. The same question again is free.
\\explain SELECT ...;   what it would cost, and how exact it would be; free
\\price epsilon=0.1     what each question may cost from now on; also delta=..., rho=..., error=..., dialect=postgres,
                        and smaller limits on a unit: rows=..., groups=..., total_rows=...
\\budget  \\history  \\columns  \\q"""
PRICE = ("epsilon", "delta", "rho", "error", "dialect", "rows", "groups", "total_rows")


def shell(
    policy: PolicyFile,
    *,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    history: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep what is typed in FILE.")] = None,
    moved: Moved = False,
    memory: Memory = None,
    threads: Threads = None,
) -> None:
    """Ask at a prompt, with completion. Each question costs the price given here, or by `\\price`."""
    read(policy)
    from deniable.query.database import connect

    database = connect(policy, moved=moved, memory=memory, threads=threads)
    price = {word: value for word, value in zip(PRICE, (epsilon, delta, rho), strict=False) if value is not None}
    if sys.stdin.isatty():
        say(f"{database.budget}. \\? helps.")
        converse(database, price, _typed(database, history), patient=True)
    else:
        converse(database, price, sys.stdin, patient=False)


def converse(database: "Database", price: Mapping[str, str], lines: Iterable[str], *, patient: bool) -> None:
    """Do what the lines say until they end, or one is \\q; the first refusal is raised unless `patient`."""
    text = ""
    for line in lines:
        text = f"{text}\n{line}".strip()
        command, _, rest = text.partition(" ")
        if not text.endswith(";") and (not text.startswith("\\") or command == "\\explain"):
            continue
        if command == "\\q":
            return
        try:
            if command == "\\price":
                price = price_of(rest.split())
            else:
                _do(database, price, command, rest if command == "\\explain" else text)
        except DeniableError as error:
            if not patient:
                raise
            complain(str(error))
        text = ""
    if text:
        raise InvalidParameterError("the last question has no semicolon at its end, and was not asked.")


def _do(database: "Database", price: Mapping[str, Any], command: str, text: str) -> None:
    listed: dict[str, Callable[[], object]] = {
        "\\history": database.history,
        "\\columns": lambda: database.columns,
        "\\budget": lambda: database.budget,
    }
    if command == "\\explain":
        show_pairs(list(database.explain(text, **price).rows()))
    elif command.startswith("\\"):
        say(str(listed[command]()) if command in listed else HELP)
    else:
        with waiting("asking...") as progress:
            release = database.sql(text, progress=progress, **price)
        show_release(release)


def price_of(words: Sequence[str]) -> dict[str, str]:
    """A price as it is typed, in words such as epsilon=0.1.

    Raises: InvalidParameterError if a word is none of it.
    """
    for word in words:
        if word.partition("=")[0] not in PRICE or not word.partition("=")[2]:
            raise InvalidParameterError(f"a price is written epsilon=0.1, perhaps with delta=1e-6, got {word!r}.")
    return dict(word.split("=", 1) for word in words)


def completions(database: "Database", text: str) -> list[str]:
    """Commands, tables, columns and functions that begin with a text."""
    from sqlglot import exp

    from deniable.query.allowlist import ARGUMENTS

    known = ["\\explain", "\\price", "\\budget", "\\history", "\\columns", "\\q", "SELECT", "FROM", "WHERE", "GROUP BY"]
    known += [name for table in database.tables.values() for name in (table.name, *table.schema)]
    known += [f"{name}(" for kind in ARGUMENTS if issubclass(kind, exp.Func) for name in kind.sql_names()]
    return sorted({word for word in known if word.casefold().startswith(text.casefold())})


def _typed(database: "Database", history: Path | None) -> Iterator[str]:
    """Lines as a person types them."""
    import readline

    readline.set_completer_delims(" \t\n,()=<>+-*/")
    readline.set_completer(lambda text, number: (*completions(database, text), None)[number])
    readline.parse_and_bind("tab: complete")
    if history is not None and history.exists():
        readline.read_history_file(history)
    try:
        while True:
            yield input(f"left {database.ledger.left()}> ")
    except EOFError:
        typer.echo()
    finally:
        if history is not None:
            readline.write_history_file(history)
