"""Every exception that deniable raises on purpose.

DeniableError
├── InvalidParameterError      a value that the caller passed is outside its domain (also a ValueError)
│   └── UnknownLossError       a stored loss is of a class that this program has not imported
├── UnprovedError              no theorem covers this use: a relation, an adaptive choice, a conversion
├── CatalogError               the declaration of the data is incomplete or contradicts the schema
├── UnsupportedQueryError      the text asks for something that is not on the allow-list
├── BudgetExceededError        the question would cost more than what is left
├── LedgerError                the ledger cannot be opened, or a statement about it is refused
│   └── LedgerTamperedError    its contents do not verify
├── StreamError                a stream cannot go on: it is another one, used elsewhere, or at its end
├── SourceError                the data cannot be opened; found before any row is read
├── ExecutionError             the engine stopped; one constant text, because the cause may depend on data
├── UnsafeReleaseError         noise from a test stream was about to be published
└── MissingExtraError          an optional package is not installed (also an ImportError)

Messages say what was wrong, what is needed and what to do. They never hold a value computed from private rows, nor the
secret of an address.
"""

import re

_URL = re.compile(r"([a-zA-Z][\w+.:-]+):/{1,2}(.*)", re.DOTALL)
_SERVER = re.compile(r"([\w.,%~-]*|\[[0-9a-fA-F:.]*\])(:\d*)?(/[^@:]*)?")
_USER = re.compile(r"[^/\\\s:@]{2,}:.*@", re.DOTALL)
_NAMES = "password|passwd|passphrase|pass|pwd|secret|(secret|access|account|api)_?key|token|credentials?|signature|sig"
_NAMED = re.compile(rf"((?<![a-z])(\w*[_-])?(ssl|pg)?({_NAMES})\s*=).*", re.DOTALL | re.IGNORECASE)


def redacted(address: object) -> str:
    """Return the address of a file or server without secrets.

    User, password, token and all other options of a URL are left out.

    What cannot be told apart from a password is left out: "postgresql://...".
    """
    text = str(address)
    url = _URL.search(text)
    if url is None:
        return _NAMED.sub(r"\1...", _USER.sub("...@", text))
    scheme, rest = url.groups()
    plain = re.split("[?#]", rest, maxsplit=1)[0]
    server = _SERVER.fullmatch(plain.rpartition("@")[2]) if rest.count("@") == plain.count("@") else None
    return f"{text[: url.start()]}{scheme}://{_NAMED.sub('...', server[0]) if server else '...'}"


class DeniableError(Exception):
    """Root of all errors raised by deniable."""


class InvalidParameterError(DeniableError, ValueError):
    """A parameter is outside its domain."""


class UnknownLossError(InvalidParameterError):
    """A stored loss is of a class that this program has not imported."""


class UnprovedError(DeniableError):
    """No proved statement covers what was asked."""


class CatalogError(DeniableError):
    """The declaration of tables, columns or units cannot be used."""


class UnsupportedQueryError(DeniableError):
    """The query asks for something that is not on the allow-list."""

    position: int | None = None  # in the text, counted from 0, where it is known


class BudgetExceededError(DeniableError):
    """The question costs more than what is left of the budget."""


class LedgerError(DeniableError):
    """The ledger cannot be used as asked."""


class LedgerTamperedError(LedgerError):
    """The ledger's contents do not verify against its hash chain."""


class StreamError(DeniableError):
    """The stream cannot go on as asked."""


class SourceError(DeniableError):
    """The data source cannot be opened."""


class ExecutionError(DeniableError):
    """The engine could not finish.

    The text is constant, since the cause may depend on private rows.
    """

    def __init__(self) -> None:
        super().__init__(
            "The engine could not finish this query. The cost stays charged. "
            "The owner of the data can run `deniable doctor` to find the cause."
        )


class UnsafeReleaseError(DeniableError):
    """A value made with a test stream of bits cannot be released."""


class MissingExtraError(DeniableError, ImportError):
    """A feature needs an optional package that is not installed."""

    @classmethod
    def of(cls, extra: str, what: str) -> "MissingExtraError":
        """Return the error for a feature that needs an extra of this library.

        Args:
            extra: as pyproject.toml names it.
            what: the feature, and the package that it needs, as in "plot() needs matplotlib".
        """
        return cls(f"{what}. Install the extra {extra!r}, from a checkout of deniable: pip install '.[{extra}]'")
