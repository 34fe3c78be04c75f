"""A shell answers what it is told through a pipe, at the price that was said, and completes names."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import deniable as dn
from deniable.app.cli import app
from deniable.app.commands.shell import Read, _typing, changed, completions, converse, price_of
from deniable.errors import InvalidParameterError
from tests.app.conftest import Call, spent

COUNT = "SELECT COUNT(*) AS n\nFROM survey;\n"


def told(text: str, *options: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["shell", "policy.toml", *options], input=text)
    return result.exit_code, result.stdout, result.stderr


def test_a_pipe_asks_each_question_once_and_pays_once(call: Call) -> None:
    code, shown, wrong = told(
        f"\\explain {COUNT}{COUNT}{COUNT}\\budget\n\\history\n\\columns\n\\?\n", "--epsilon", "0.25"
    )
    assert (code, wrong) == (0, "")
    for words in (
        "cost      epsilon=0.25",
        "stored answer cost nothing",
        "left epsilon=0.75",
        "SELECT COUNT(*)",
        "region",
    ):
        assert words in shown
    assert "A question ends with a semicolon" in shown
    assert len(spent(call)["entries"]) == 1


def test_a_price_may_change_and_q_ends(call: Call) -> None:
    lines = "\\price epsilon=0.5 delta=1e-9\n\\price rho=0.01\n\\price epsilon=0.125\n"
    assert told(f"{lines}{COUNT}\\q\nSELECT SUM(age) FROM survey;")[0] == 0
    assert [entry["charge"]["epsilon"] for entry in spent(call)["entries"]] == ["1/8"]


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (COUNT, 2, "epsilon"),
        ("\\price epsilon\n", 2, "a price is written"),
        ("\\bugdet\n", 2, "there is no command \\bugdet. \\? lists"),
        ("\\price epsilon=5\n" + COUNT, 3, "would cost epsilon=5"),
        ("\\price epsilon=0.1\n" + COUNT.replace(";", ""), 2, "no semicolon"),
        ("\\price epsilon=0.1\nSELECT nothing FROM survey;\n" + COUNT, 2, "no column 'nothing'"),
    ],
)
def test_a_refusal_ends_a_pipe_with_its_code(call: Call, text: str, code: int, words: str) -> None:
    ended, _, wrong = told(text)
    assert (ended, words in wrong, spent(call)["entries"]) == (code, True, [])


def typed(*lines: str | type[BaseException], unfinished: list[bool] | None = None) -> Read:
    """Lines as a person types them; an exception is Ctrl-C."""
    left = iter(lines)

    def read_line(goes_on: bool) -> str | None:
        if unfinished is not None:
            unfinished.append(goes_on)
        line = next(left, None)
        if isinstance(line, type):
            raise line
        return line

    return read_line


def test_an_unfinished_question_can_be_dropped_and_swallows_no_command(
    call: Call, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = dn.connect(place / "policy.toml")
    unfinished: list[bool] = []
    lines: tuple[Any, ...] = (
        "SELECT COUNT(*) AS n", "\\budget", "help", "FROM survey", KeyboardInterrupt,  # dropped
        "SELECT COUNT(*) AS m", "\\r",  # dropped
        "help", "", "SELECT COUNT(*) FILTER (WHERE region = '", "\\budget') AS k", "FROM survey", "help", ";",
        "exit", "SELECT COUNT(*) AS never FROM survey;",
    )  # fmt: skip
    converse(db, {"epsilon": "0.1"}, typed(*lines, unfinished=unfinished), patient=True)
    shown = capsys.readouterr()
    assert unfinished == [False, *[True] * 4, False, True, False, False, False, *[True] * 4, False]
    assert shown.out.count("budget epsilon=1; left epsilon=1\n") == 1
    assert "This line was left out" in shown.out
    assert shown.out.count("A question ends with a semicolon") == 1
    assert "dropped" in shown.err
    (entry,) = spent(call)["entries"]
    assert entry["question"].endswith("AS k\nFROM survey\n;")  # no alias


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_line_inside_of_quotes_is_no_command(place: Path, quote: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("deniable.app.commands.shell._do", lambda *given: asked.append(given[-1]))
    lines = [f"SELECT COUNT(*) AS n, {quote}a", f"\\q{quote} AS k FROM survey;"]
    converse(dn.connect(place / "policy.toml"), {"epsilon": "0.1"}, typed(*lines), patient=False)
    assert asked == ["\n".join(lines)]


def test_ctrl_c_ends_a_question_and_not_the_shell(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Interrupted:
        asked = 0
        history = None

        def sql(self, *_: object, **__: object) -> object:
            self.asked += 1
            raise KeyboardInterrupt

    db: Any = Interrupted()
    converse(db, {}, typed("SELECT 1;", "SELECT 2;"), patient=True)
    assert db.asked == 2
    assert "What was charged stays charged" in capsys.readouterr().err
    with pytest.raises(KeyboardInterrupt):
        converse(db, {}, typed("SELECT 1;"), patient=False)


def test_a_shell_needs_no_readline(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "readline", None)
    prompts: list[str] = []
    lines = iter(["SELECT COUNT(*)", "FROM survey;"])

    def typed_line(prompt: str) -> str:
        prompts.append(prompt)
        return _next(lines)

    monkeypatch.setattr("builtins.input", typed_line)
    db = dn.connect(place / "policy.toml")
    with _typing(db, None) as read_line:
        converse(db, {"epsilon": "0.1"}, read_line, patient=True)
    assert prompts == ["left epsilon=1> ", "             -> ", "left epsilon=0.9> "]


def _next(lines: Iterator[str]) -> str:
    for line in lines:
        return line
    raise EOFError


def test_a_person_may_try_again(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = dn.connect(place / "policy.toml")
    converse(db, {"epsilon": "0.1"}, typed("SELECT;", COUNT.strip()), patient=True)
    shown = capsys.readouterr()
    assert "deniable: " in shown.err
    assert "left epsilon=0.9" in shown.out
    assert completions(db, "inc") == ["income"]
    assert {"survey"} <= set(completions(db, "su"))
    assert {"MEDIAN("} <= set(completions(db, "med"))
    assert "\\explain" in completions(db, "\\")


def test_a_price_is_words_with_values() -> None:
    assert price_of(["epsilon=1/2", "delta=1e-6"]) == {"epsilon": "1/2", "delta": "1e-6"}
    assert changed({"epsilon": "1", "delta": "0.1"}, {"rows": "1"}) == {"epsilon": "1", "delta": "0.1", "rows": "1"}
    assert changed({"epsilon": "1", "delta": "0.1", "rows": "1"}, {"rho": "2"}) == {"rho": "2", "rows": "1"}
    for wrong in ("epsilon=", "eps=1", "fresh=1"):
        with pytest.raises(InvalidParameterError, match="a price is written"):
            price_of([wrong])
