"""One SELECT is parsed; everything else is refused with the place at which reading stopped."""

import pytest
from sqlglot import exp

from deniable.errors import InvalidParameterError, UnsupportedQueryError
from deniable.query.statement import MAX_TEXT_LENGTH, read_statement


def test_functions_remember_how_they_were_spelt() -> None:
    (function,) = read_statement("SELECT dayofmonth(d) FROM t").find_all(exp.Func)
    assert function.meta["spelling"] == "dayofmonth"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("DROP TABLE t", "only SELECT"),
        ("SELECT 1; SELECT 2", "2 statements"),
        (" ", "must be text"),
        ("SELECT '\ud800'", "UTF-8"),
        ("SELECT " + " " * MAX_TEXT_LENGTH, "at most 100,000"),
    ],
)
def test_a_text_that_is_not_one_select_is_refused(text: str, words: str) -> None:
    with pytest.raises(UnsupportedQueryError, match=words):
        read_statement(text)


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="duckdb, postgres"):
        read_statement("SELECT 1", "mysql")


def test_what_the_parser_thinks_aloud_is_not_heard(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(UnsupportedQueryError):
        read_statement("SELECT COUNT(*) FROM t; VACUUM FULL t")
    assert capfd.readouterr().err == ""
    assert not caplog.records


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT COUNT(*) AS select FROM t", "'select' is a word of SQL. As a name, write it \"select\""),
        ("SELECT COUNT(*) FROM t WHERE when > 3", "line 1, column 33"),
        ("SELECT COUNT(*) FROM t WHERE a >< 3", "Check its spelling"),
    ],
)
def test_the_word_at_which_reading_stopped_is_named(text: str, words: str) -> None:
    with pytest.raises(UnsupportedQueryError) as caught:
        read_statement(text)
    assert words in str(caught.value)
