"""Text to one SELECT statement, as sqlglot parses it."""

import logging

import sqlglot
from sqlglot import exp

from deniable.errors import InvalidParameterError, UnsupportedQueryError
from deniable.query.allowlist import SUPPORTED, spoken

DIALECTS = ("duckdb", "postgres")
MAX_TEXT_LENGTH = 100_000  # characters: far more than people write, and parsed within a second


def read_statement(text: str, dialect: str = "duckdb") -> exp.Select:
    """Return the one SELECT that a text holds, as sqlglot parses it.

    `allowlist` checks its nodes where they are read.

    Args:
        text: of the question; at most `MAX_TEXT_LENGTH` characters.
        dialect: of the text, one of `DIALECTS`.

    Raises: UnsupportedQueryError if the text is not one SELECT; InvalidParameterError for an unknown dialect.
    """
    if dialect not in DIALECTS:
        raise InvalidParameterError(f"dialect must be one of {', '.join(DIALECTS)}, got {dialect!r}")
    if not isinstance(text, str) or not text.strip():
        raise UnsupportedQueryError("the query must be text that holds one SELECT statement.")
    if any(0xD800 <= ord(letter) <= 0xDFFF for letter in text):
        raise UnsupportedQueryError("the query is not valid UTF-8 text. Type it again.")
    if len(text) > MAX_TEXT_LENGTH:
        raise UnsupportedQueryError(f"the query has {len(text):,} characters; at most {MAX_TEXT_LENGTH:,} are read.")
    try:
        logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # it would show its doubts beside our refusals
        trees = [tree for tree in sqlglot.parse(text, dialect=dialect) if tree is not None]
    except RecursionError:
        raise UnsupportedQueryError("the query is too deeply nested. Write it with fewer nested expressions.") from None
    except sqlglot.errors.SqlglotError as error:
        raise UnsupportedQueryError(f"the query is not valid SQL{_stopped_at(error, dialect)}") from None
    if len(trees) != 1:
        raise UnsupportedQueryError(f"ask one question at a time: the text has {len(trees)} statements.")
    for function in trees[0].find_all(exp.Func):
        if "start" in function.meta:
            function.meta["spelling"] = text[function.meta["start"] : function.meta["end"] + 1]
    for like in trees[0].find_all(exp.Like, exp.ILike) if dialect == "postgres" else ():
        if "\\" in str(like.expression.this):
            raise UnsupportedQueryError("a backslash in LIKE is read otherwise by each database. Write it without.")
    if not isinstance(trees[0], exp.Select):
        raise UnsupportedQueryError(f"only SELECT is answered, got {spoken(trees[0])}. {SUPPORTED}")
    return trees[0]


def _stopped_at(error: Exception, dialect: str) -> str:
    """Return the end of a sentence: where the parser stopped, what to check there."""
    details = getattr(error, "errors", None)
    if not details or not details[0].get("line"):
        return ". Check its spelling."
    where = f" (line {details[0]['line']}, column {details[0]['col']})"
    word = details[0].get("highlight") or ""
    if word.upper() in sqlglot.Dialect.get_or_raise(dialect).tokenizer_class.KEYWORDS and word.isalpha():
        return f'{where}: {word!r} is a word of SQL. As a name, write it "{word}"; else check the spelling before it.'
    return f"{where}. Check its spelling."
