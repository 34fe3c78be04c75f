"""Plain text for pipes, boxes for terminals, nothing that steers a terminal."""

import io
import sys

import pyarrow as pa
import pytest

import deniable as dn
from deniable.app.terminal import hint, printable, say, show_pairs, show_release, show_table, waiting

HOSTILE = "a\x1b[31mred\x07[bold]b[/]"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def attached(monkeypatch: pytest.MonkeyPatch, *, columns: int = 100) -> Terminal:
    """Put a terminal in the place of stdout and stderr. Called in the test: pytest sets its own streams before it."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    return stream


def answer() -> dn.Release:
    frame = pa.table({"region": ["north", "south"] * 50})
    db = dn.connect(
        frame,
        name="t",
        unit=dn.each_row(),
        budget=dn.Budget(epsilon=1),
        columns={"region": dn.Keys(["north", "south"])},
    )
    return db.sql("SELECT region, COUNT(*) AS n FROM t GROUP BY region", epsilon=1)


def test_what_could_steer_a_terminal_is_escaped() -> None:
    assert printable(HOSTILE) == r"a\x1b[31mred\x07[bold]b[/]"
    assert printable("Ärger π") == "Ärger π"
    assert printable("a\nb\u202e") == r"a\nb\u202e"


def test_a_pipe_gets_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    show_release(answer())
    show_table(("name", "n"), [("x", "1"), ("long", "10")], right=frozenset({"n"}))
    show_pairs([("a", "b"), ("long", HOSTILE)])
    hint("for people at a terminal")
    say(f"above\n{HOSTILE}")
    with waiting("..."):
        say("done\nit is")
    told = capsys.readouterr()
    assert told.err == ""
    assert "region" in told.out
    assert "name   n\n----  --\nx      1\nlong  10\n" in told.out
    assert "\x1b" not in told.out
    assert f"above\n{printable(HOSTILE)}\ndone" in told.out
    assert told.out.endswith("done\nit is\n")


def test_a_terminal_gets_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = attached(monkeypatch)
    show_release(answer())
    show_table(("name", "n"), [("x", "1"), (HOSTILE, "10")], right=frozenset({"n"}))
    show_pairs([("a", "b"), ("long", HOSTILE)])
    hint("fill it in")
    with waiting("asking..."):
        pass
    told = terminal.getvalue()
    assert "╭" in told
    assert "95% intervals" in told
    assert "fill it in" in told
    assert told.count("[bold]b[/]") == 2
    assert "\x1b[31m" not in told


def test_an_answer_wider_than_the_terminal_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = attached(monkeypatch, columns=20)
    show_release(answer())
    assert "╭" not in terminal.getvalue()
    assert "95% intervals; cost epsilon=1; left epsilon=0" in terminal.getvalue()


def test_a_bar_is_shown_once_a_share_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = attached(monkeypatch)
    with waiting("asking...") as progress:
        assert progress is not None
        assert "%" not in terminal.getvalue()
        progress(0.25)
        progress(0.5)
    assert "50%" in terminal.getvalue()
