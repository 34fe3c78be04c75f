"""One tree of exceptions, drawn in the module's first lines, and one text for everything that may depend on a row."""

import inspect
import json
import re
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pyarrow as pa
import pytest
import typer
from typer.testing import CliRunner

import deniable as dn
import deniable.errors
from deniable.app.cli import app
from deniable.errors import DeniableError, ExecutionError, InvalidParameterError, redacted
from deniable.ledger import Ledger
from deniable.query.policy import read_policy

CLASSES = {name: kind for name, kind in vars(deniable.errors).items() if inspect.isclass(kind)}


def test_every_error_is_in_the_tree_and_in_the_picture() -> None:
    drawn = re.findall(r"^[├└│─ ]*([A-Z][A-Za-z]+Error)\b", deniable.errors.__doc__ or "", flags=re.MULTILINE)
    assert set(drawn) == set(CLASSES)
    assert all(issubclass(kind, DeniableError) for kind in CLASSES.values())
    assert all(kind.__doc__ for kind in CLASSES.values())


def test_a_bad_parameter_is_a_value_error_too() -> None:
    assert issubclass(InvalidParameterError, ValueError)


def test_an_execution_error_takes_no_words() -> None:
    assert str(ExecutionError()) == str(ExecutionError())
    assert list(inspect.signature(ExecutionError).parameters) == []


ADDRESSES = {  # as they are given, and as they are shown
    "postgresql://reader:SECRET@127.0.0.1:1/shop": "postgresql://127.0.0.1:1/shop",
    "postgresql://reader:SE/CR@ET/SECRET@127.0.0.1:1/shop": "postgresql://127.0.0.1:1/shop",
    "postgresql://127.0.0.1:1/shop?user=a&password=SECRET": "postgresql://127.0.0.1:1/shop",
    "postgresql://127.0.0.1:1/shop?password=SE@SECRET": "postgresql://...",
    "postgresql://reader:SECRET": "postgresql://...",
    "mysql://reader:SECRET@127.0.0.1/shop": "mysql://127.0.0.1/shop",
    "https://127.0.0.1/x.csv?token=SECRET": "https://127.0.0.1/x.csv",
    "host=127.0.0.1 port=1 password=SECRET dbname=shop": "host=127.0.0.1 port=1 password=...",
    "Server=127.0.0.1;Pwd=SECRET;Database=shop.toml": "Server=127.0.0.1;Pwd=...",
    "PGPASSWORD=SECRET": "PGPASSWORD=...",
    "pass=SECRET host=127.0.0.1": "pass=...",
    "Endpoint=blob;AccountKey=SECRET": "Endpoint=blob;AccountKey=...",
    "reader:SECRET@127.0.0.1/shop.csv": "...@127.0.0.1/shop.csv",
}
KEPT = [
    "visits.csv",
    "data/year=2024/key=3/*.parquet",
    r"C:\data\x.csv",
    "C:/data/x.csv",
    "a:b/passenger=1",
    "compass=1/bypass=2",
    "me@home.csv",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_shown_without_its_secrets(address: str) -> None:
    assert redacted(address) == ADDRESSES[address]
    one_slash = str(Path(address))
    assert "SECRET" not in redacted(Path("/home/me") / one_slash) + redacted(one_slash)


@pytest.mark.parametrize("path", KEPT)
def test_a_path_is_shown_as_it_is(path: str) -> None:
    assert redacted(path) == path


def commands() -> Iterator[tuple[list[str], list[tuple[Any, bool]]]]:
    """Every command of the program, with its parameters and whether each is a file."""

    def below(command: Any, names: list[str]) -> Iterator[tuple[list[str], list[tuple[Any, bool]]]]:
        for name, inner in getattr(command, "commands", {}).items():
            yield from below(inner, [*names, name])
        if not hasattr(command, "commands"):
            kinds = get_type_hints(command.callback)
            yield names, [(each, "Path" in str(kinds.get(each.name))) for each in command.params]

    return below(typer.main.get_command(app), [])


@pytest.mark.parametrize(("names", "parameters"), [pytest.param(*each, id=" ".join(each[0])) for each in commands()])
def test_no_command_shows_the_secret_of_an_address(
    names: list[str], parameters: list[tuple[Any, bool]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address stands wherever a file is expected; other words that a command needs are 1."""
    monkeypatch.chdir(tmp_path)
    for address in list(ADDRESSES)[::3] if any(is_file for _, is_file in parameters) else ():
        given = list(names)
        for each, is_file in parameters:
            if each.opts[0].startswith("-") and (is_file or each.required):
                given += [each.opts[0], address if is_file else "1"]
            elif each.required:
                given.append(address if is_file else "1")
        result = CliRunner().invoke(app, given)
        assert result.exit_code != 0
        assert "SECRET" not in result.output + "".join(traceback.format_exception(*(result.exc_info or [None] * 3)))


def opened(address: str, folder: Path) -> Iterator[Callable[[], object]]:
    """What takes the address of a source or a ledger."""
    frame, limit = pa.table({"u": [1], "x": [1]}), dn.Budget(epsilon=1)
    policy = folder / "p.toml"
    for data, kept in ((address, "p.ledger"), ("t.csv", address)):
        policy.write_text(
            f"[data]\nsource = {json.dumps(data)}\ntable = 't'\n[privacy]\nunit = 'u'\nrows = 1\n"
            f"[budget]\nepsilon = 1\nledger = {json.dumps(kept)}\n[columns.x]\nlower = 0\nupper = 1\n"
        )
        yield lambda: repr(read_policy(policy))
        yield lambda: dn.connect(policy)
    yield lambda: dn.connect(address, table="t", unit="u", columns={}, budget=limit)
    yield lambda: dn.connect(address, unit="u", columns={}, budget=limit)
    yield lambda: dn.connect({"a": address, "b": frame}, unit="u", columns={}, budget=limit, name="d")
    yield lambda: dn.connect(address, table={"a": "t"}, unit="u", columns={}, budget=limit, name="d")
    yield lambda: dn.connect(frame, unit="u", columns={}, budget=limit, name="d", ledger=f"{address}/none/x")
    yield lambda: Ledger.open(
        f"{address}/none/x", budget=limit, relation=dn.AddRemove, unit=dn.each_row("p"), dataset="d"
    )
    yield lambda: dn.import_csv(address)


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_function_shows_the_secret_of_an_address(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, use in enumerate(opened(address, tmp_path)):
        said = ""
        try:
            said = repr(use())
        except Exception as error:
            said = "".join(map(str, chained(error)))
        assert "SECRET" not in said, number


def chained(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and all that would be printed with it."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
