"""`deniable shell`: questions at a prompt that shows what is left."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from deniable.app.opening import read
from deniable.app.options import Analyst, Delta, Epsilon, Memory, Moved, PolicyFile, Rho, Threads
from deniable.app.terminal import complain, say, show_pairs, show_release, waiting
from deniable.errors import DeniableError, InvalidParameterError

if TYPE_CHECKING:
    from deniable.query.database import Database

HELP = """A question ends with a semicolon. The same question again is free.
\\explain SELECT ...;   what it would cost, and how exact it would be; free
\\price epsilon=0.1     what each question may cost from now on; also delta=..., rho=..., error=..., dialect=postgres,
                        and smaller limits on a unit: rows=..., groups=..., total_rows=...;
                        limits and dialect stay until they are changed
\\budget  \\history  \\columns   at any time
\\r  or Ctrl-C          drop a question that is not finished
\\q  or Ctrl-D          leave"""
UNFINISHED = "This line was left out: the question goes on. End it with a semicolon, or drop it with \\r or Ctrl-C."
INTERRUPTED = "interrupted. What was charged stays charged, and \\history shows it."
Read: TypeAlias = Callable[[bool], str | None]
WORDS = ("help", "quit", "exit")
PRICE = ("epsilon", "delta", "rho", "error", "dialect", "rows", "groups", "total_rows")


def shell(
    policy: PolicyFile,
    *,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    history: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep what is typed in FILE.")] = None,
    moved: Moved = False,
    analyst: Analyst = None,
    memory: Memory = None,
    threads: Threads = None,
) -> None:
    """Ask at a prompt, with completion, at the price given here or by `\\price`."""
    read(policy)
    from deniable.query.connect import connect

    database = connect(policy, moved=moved, memory=memory, threads=threads, analyst=analyst)
    price = {word: value for word, value in zip(PRICE, (epsilon, delta, rho), strict=False) if value is not None}
    if sys.stdin.isatty():
        say(f"{database.budget}. \\? helps.")
        with _typing(database, history) as read_line:
            converse(database, price, read_line, patient=True)
    else:
        lines = iter(sys.stdin)
        converse(database, price, lambda _: next(lines, None), patient=False)


def converse(database: "Database", price: Mapping[str, str], read_line: Read, *, patient: bool) -> None:
    r"""Run the lines until they end, or one is \q.

    Args:
        read_line: the next line, None at the end; is told whether it goes on with an unfinished question.
        patient: a person types, who may try again; else the first refusal is raised.
    """
    text = ""
    while True:
        asking = False
        try:
            line = read_line(bool(text))
            if line is None:
                break
            finished = _finished(f"{text}\n{line}".strip(), alone=not text, patient=patient)
            if finished is None:
                if not patient or line.strip().casefold() not in WORDS or text.count("'") % 2 or text.count('"') % 2:
                    text = f"{text}\n{line}".strip()
                continue
            command, _, rest = finished.partition(" ")
            if command == "\\q":
                return
            if not command.startswith("\\") or command in ("\\explain", "\\r"):
                text = ""
            if command == "\\price":
                price = changed(price, price_of(rest.split()))
            elif command != "\\r":
                asking = True
                _do(database, price, command, rest if command == "\\explain" else finished)
        except KeyboardInterrupt:
            if not patient:
                raise
            if asking or text:
                complain(INTERRUPTED if asking else "the unfinished question was dropped.")
            text = ""
        except DeniableError as error:
            if not patient:
                raise
            complain(str(error))
    if text and not patient:
        raise InvalidParameterError("the last question has no semicolon at its end, and was not asked.")


def _finished(text: str, *, alone: bool, patient: bool) -> str | None:
    """Return the command or question that a text completes; None if it goes on.

    Args:
        alone: whether the last line is the first.
    """
    before, _, line = text.rpartition("\n")
    inside = before.count("'") % 2 or before.count('"') % 2  # of a quoted text, where a backslash is a letter
    if line.startswith("\\") and not inside and (line.partition(" ")[0] != "\\explain" or line.endswith(";")):
        return line.strip()
    if text.endswith(";"):
        return text
    word = line.strip().casefold()
    if alone and word in (*WORDS, ""):
        return {"help": "\\?", "": None}.get(word, "\\q")
    if patient and not inside and word in WORDS:
        say(UNFINISHED)
    return None


def _do(database: "Database", price: Mapping[str, Any], command: str, text: str) -> None:
    listed: dict[str, Callable[[], object]] = {
        "\\history": database.history,
        "\\columns": lambda: database.columns,
        "\\budget": lambda: database.budget,
    }
    if command == "\\explain":
        show_pairs(list(database.explain(text, **price).rows()))
    elif command.startswith("\\"):
        if command not in listed and command != "\\?":
            raise InvalidParameterError(f"there is no command {command}. \\? lists those that there are.")
        say(str(listed[command]()) if command in listed else HELP)
    else:
        with waiting("asking...") as progress:
            release = database.sql(text, progress=progress, **price)
        show_release(release)


def price_of(words: Sequence[str]) -> dict[str, str]:
    """Return a price as it is typed, in words such as epsilon=0.1.

    Raises: InvalidParameterError if a word is none of it.
    """
    for word in words:
        if word.partition("=")[0] not in PRICE or not word.partition("=")[2]:
            raise InvalidParameterError(f"a price is written epsilon=0.1, perhaps with delta=1e-6, got {word!r}.")
    return dict(word.split("=", 1) for word in words)


def changed(price: Mapping[str, str], words: Mapping[str, str]) -> dict[str, str]:
    """Return a price with new words, the others unchanged.

    Another kind of price replaces the old one.
    """
    kinds = {"epsilon", "delta", "rho", "error"}
    kept = price if kinds.isdisjoint(words) else {word: value for word, value in price.items() if word not in kinds}
    return {**kept, **words}


def completions(database: "Database", text: str) -> list[str]:
    """Return commands, tables, columns and functions that begin with a text."""
    from sqlglot import exp

    from deniable.query.allowlist import ARGUMENTS

    known = [
        "\\explain",
        "\\price",
        "\\budget",
        "\\history",
        "\\columns",
        "\\r",
        "\\q",
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP BY",
    ]
    known += [name for table in database.tables.values() for name in (table.name, *table.schema)]
    known += [f"{name}(" for kind in ARGUMENTS if issubclass(kind, exp.Func) for name in kind.sql_names()]
    return sorted({word for word in known if word.casefold().startswith(text.casefold())})


@contextmanager
def _typing(database: "Database", history: Path | None) -> Iterator[Read]:
    """Yield lines as a person types them, with completion and history.

    Where the system has them.
    """
    edited: Any = None
    with suppress(ImportError):  # Windows has none
        edited = import_module("readline")
    if edited is not None:
        edited.set_completer_delims(" \t\n,()=<>+-*/")
        edited.set_completer(lambda text, number: (*completions(database, text), None)[number])
        edited.parse_and_bind("tab: complete")
        if history is not None and history.exists():
            edited.read_history_file(history)
    elif history is not None:
        complain("this system keeps no history of what is typed: Python has no module readline here.")

    def read_line(unfinished: bool) -> str | None:
        prompt = f"left {database.ledger.left()}> "
        try:
            return input("-> ".rjust(len(prompt)) if unfinished else prompt)
        except EOFError:
            typer.echo()
            return None
        except KeyboardInterrupt:
            typer.echo()
            raise

    try:
        yield read_line
    finally:
        if history is not None and edited is not None:
            edited.write_history_file(history)
