"""Declarations of columns: public facts, and nothing learned from the rows."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from math import ceil, floor
from typing import Any

from deniable.errors import CatalogError
from deniable.numbers.rationals import exact_rational, readable
from deniable.query.expression import Facts, Key, Kind

LARGEST_BOUND = 2**53  # integers up to here are exact in every engine and in float64
LARGEST_KEYS = 1_000_000
MOST_DERIVED_KEYS = 10_000
Row = tuple[Key, ...]  # the values of several columns together


@dataclass(frozen=True, kw_only=True, repr=False)
class Declaration:
    """Public facts of a column. Made by `Number`, `Keys`, `Text`, `Date`, ...

    Lists of values are joined by `|`, taken out by `-`, and paired by `*`; so are whole numbers and days with bounds.
    """

    kind: Kind | None = None  # None: as the source's schema says
    lower: Fraction | None = None
    upper: Fraction | None = None
    keys: tuple[Key, ...] | None = None
    null: Fraction | None = None  # what a missing number counts as; None: it is left out
    auto: bool = False  # bounds are found privately where a question needs them
    joint: tuple[Row, ...] | None = None  # what several columns can be together

    def __post_init__(self) -> None:
        if (self.lower is None) != (self.upper is None):
            raise CatalogError("bounds come in pairs: give both lower and upper, or neither.")
        if self.lower is not None and self.upper is not None:
            if self.lower >= self.upper:
                ends = [plain(end, self.kind) for end in (self.lower, self.upper)]
                raise CatalogError(f"lower must be below upper, got lower={ends[0]} and upper={ends[1]}.")
            if max(abs(self.lower), abs(self.upper)) > LARGEST_BOUND:
                raise CatalogError("bounds must lie within -2**53 and 2**53. Use another unit (thousands, millions).")
        if self.null is not None and not self._holds(self.null):
            raise CatalogError(
                "null, what a missing value counts as, must lie within the bounds, or within -2**53 and 2**53."
            )
        if self.keys is not None:
            _check_keys(self.keys)
        if self.joint is not None:
            _check_joint(self.joint)

    def __repr__(self) -> str:
        """Return the call that makes the declaration: Number(lower=0, upper=0.5)."""
        if self.joint is not None or self.keys is not None:
            return f"Keys({list(self.joint or self.keys or ())!r})"
        is_date = self.kind in (Kind.DATE, Kind.TIMESTAMP)
        name = "Number" if self.kind in (None, Kind.INTEGER, Kind.REAL) else str(self.kind and self.kind.value).title()
        given: dict[str, object] = {}
        if self.lower is not None and self.upper is not None:
            ends = {"lower": self.lower, "upper": self.upper}
            given = {word: plain(end, self.kind) if is_date else readable(end) for word, end in ends.items()}
        if self.auto:
            given = {"lower": "auto", "upper": "auto"}
        if name == "Number" and self.kind is not None:
            given["integer"] = self.kind is Kind.INTEGER
        if self.null is not None:
            given["null"] = readable(self.null)
        return f"{name}({', '.join(f'{word}={value!r}' for word, value in given.items())})"

    def __or__(self, other: object) -> "Declaration":
        return Keys(dict.fromkeys((*self._listed(), *_listed_by(other))))

    def __sub__(self, other: object) -> "Declaration":
        out = set(_listed_by(other))
        return Keys([key for key in self._listed() if key not in out])

    def __mul__(self, other: object) -> "Declaration":
        left, right = self._listed(), _listed_by(other)
        if len(left) * len(right) > LARGEST_KEYS:
            raise CatalogError(f"keys must list at most {LARGEST_KEYS:,} values, got {len(left) * len(right):,}.")
        return Keys([(*_row(one), *_row(two)) for one in left for two in right])

    def _listed(self) -> tuple[Any, ...]:
        values = self.joint if self.joint is not None else listed_keys(self)
        if values is None:
            raise CatalogError("only lists of values are joined: dn.Keys([...]), or days or whole numbers with bounds.")
        return values

    @property
    def parts(self) -> int:
        """Number of columns or expressions that the declaration is about.

        Several where keys are pairs.
        """
        return 1 if self.joint is None else len(self.joint[0])

    def _holds(self, value: Fraction) -> bool:
        """Whether a value lies within the bounds.

        Without bounds, those of every number hold.
        """
        lower = Fraction(-LARGEST_BOUND) if self.lower is None else self.lower
        upper = Fraction(LARGEST_BOUND) if self.upper is None else self.upper
        return lower <= value <= upper


def Number(  # noqa: N802
    *, lower: object = None, upper: object = None, integer: bool | None = None, null: object = None
) -> Declaration:
    """Declare a column of numbers, with the public bounds that sums and averages need.

    Args:
        lower: the least value that counts; values below it are clamped to it. "auto", for both bounds, has them
            estimated privately by the first question that needs them, for a quarter of its price.
        upper: the largest value that counts; values above it are clamped to it.
        integer: whether values of text files and mixed columns are read as whole numbers; None leaves it to the schema
            of the source.
        null: the number as which a missing value or NaN counts; None leaves it out of sums and averages.

    Raises: CatalogError if only one bound is given, or they do not rise within -2**53 and 2**53.

    >>> age = Number(lower=0, upper=120, integer=True)
    >>> print(age.lower, age.upper)
    0 120
    """
    kind = None if integer is None else Kind.INTEGER if integer else Kind.REAL
    if (lower, upper) == ("auto", "auto"):
        return Declaration(kind=kind, null=_bound("null", null), auto=True)
    if "auto" in (lower, upper):
        raise CatalogError('bounds are found together: give lower="auto" and upper="auto", or two numbers.')
    return Declaration(kind=kind, lower=_bound("lower", lower), upper=_bound("upper", upper), null=_bound("null", null))


def Keys(values: Any, *, null: bool = False) -> Declaration:  # noqa: N802
    """Declare the public values of a column, which may then be grouped by.

    Rows with another value belong to no group. Lists are joined by `|`, taken out by `-`, and paired by `*`. Pairs are
    declared for columns together, under both names, and are then all the groups of the two:
    {"region, product": dn.Keys([("n", 7)])}.

    Args:
        values: a list or array of text, whole numbers, dates or truth values, a column of a frame of public rows, or a
            frame of several columns; tuples are values of several columns together.
        null: whether missing values are a group, too.

    Raises: CatalogError if there are no values, more than 1,000,000, or values of several kinds.

    >>> Keys(["north", "south"], null=True).keys
    ('north', 'south', None)
    >>> (Keys(["n", "s"]) * Keys([7, 8]) - Keys([("s", 8)])).joint
    (('n', 7), ('n', 8), ('s', 7))
    """
    keys = tuple(_values_of(values))
    if keys and isinstance(keys[0], tuple):
        if null:
            raise CatalogError("null=True is for one column. Among pairs, write None for a missing value.")
        return Declaration(joint=keys)
    keys = (*keys, None) if null else keys
    _check_keys(keys)
    known = [key for key in keys if key is not None]
    kind = _kind_of_key(known[0])
    if kind is Kind.INTEGER and min(known) < max(known):
        return Declaration(kind=kind, lower=Fraction(min(known)), upper=Fraction(max(known)), keys=keys)
    return Declaration(kind=kind, keys=keys)


def Text() -> Declaration:  # noqa: N802
    """Declare a column of text, which may be filtered on.

    >>> print(Text().kind.value)
    text
    """
    return Declaration(kind=Kind.TEXT)


def Boolean() -> Declaration:  # noqa: N802
    """Declare a column of truth values; its two groups are known.

    >>> print(Boolean().kind.value)
    boolean
    """
    return Declaration(kind=Kind.BOOLEAN)


def Date(*, lower: date | str | None = None, upper: date | str | None = None) -> Declaration:  # noqa: N802
    """Declare a column of calendar dates, whose days may be groups.

    With both days, days and years are groups: GROUP BY d, GROUP BY YEAR(d). Rows of other days belong to none of them.

    Args:
        lower: the first public day, a date or text such as "2025-01-01".
        upper: the last public day.

    Raises: CatalogError if one is not a valid date, or only one is given.

    >>> day = Date(lower="2025-01-01", upper="2025-12-31")  # or datetime.date(2025, 1, 1), ...
    >>> print(day.kind.value)
    date
    """
    return Declaration(kind=Kind.DATE, lower=_day("lower", lower), upper=_day("upper", upper))


def Timestamp(*, lower: date | str | None = None, upper: date | str | None = None) -> Declaration:  # noqa: N802
    """Declare a column of moments in time, whose years may be groups.

    Args:
        lower: the first public day, a date or text such as "2025-01-01".
        upper: the last public day.

    Raises: CatalogError if one is not a valid date, or only one is given.

    >>> print(Timestamp().kind.value)
    timestamp
    """
    return Declaration(kind=Kind.TIMESTAMP, lower=_day("lower", lower), upper=_day("upper", upper))


def plain(value: Fraction, kind: Kind | None = None) -> str:
    """A bound, for people: that of a column of dates or moments as a day."""
    return str(date.fromordinal(int(value))) if kind in (Kind.DATE, Kind.TIMESTAMP) else f"{float(value):g}"


def listed_keys(facts: Declaration | Facts) -> tuple[Key, ...] | None:
    """Return the values that public facts leave, if they can be listed.

    Keys, or all whole numbers or days between bounds.
    """
    if facts.keys is not None and facts.kind not in (Kind.REAL, Kind.TIMESTAMP):
        return facts.keys
    if facts.kind not in (Kind.INTEGER, Kind.DATE) or facts.lower is None or facts.upper is None:
        return (False, True) if facts.kind is Kind.BOOLEAN else None
    whole = range(ceil(facts.lower), floor(facts.upper) + 1)
    if not 0 < floor(facts.upper) + 1 - whole.start <= MOST_DERIVED_KEYS:
        return None
    return tuple(whole) if facts.kind is Kind.INTEGER else tuple(map(date.fromordinal, whole))


def _listed_by(other: object) -> tuple[Any, ...]:
    return other._listed() if isinstance(other, Declaration) else tuple(_values_of(other))


def _row(key: Any) -> Row:
    return key if isinstance(key, tuple) else (key,)


def _values_of(values: Any) -> Iterable[Any]:
    """Keys as Python has them; of a frame or a column of one, each once."""
    held = values
    if type(values).__module__ not in ("builtins", "numpy"):
        import narwhals as nw

        held = nw.from_native(values, allow_series=True, pass_through=True)
        if isinstance(held, nw.Series):
            return dict.fromkeys(held.to_list())
        if isinstance(held, nw.DataFrame):
            rows = dict.fromkeys(held.rows())
            return (row if len(row) > 1 else row[0] for row in rows)
    held = held.tolist() if hasattr(held, "tolist") else held
    if isinstance(held, str | Declaration) or not isinstance(held, Iterable):
        raise CatalogError(f"keys must be a list of values, got {values!r}. Write Keys([...]).")
    return (tuple(key) if isinstance(key, list) else key for key in held)


def _bound(name: str, value: object) -> Fraction | None:
    return None if value is None else exact_rational(name, value)


def _day(name: str, value: object) -> Fraction | None:
    """Return a day as its number, counted from 0001-01-01.

    So bounds of all kinds are numbers.
    """
    day = value
    if isinstance(value, str):
        with suppress(ValueError):
            day = date.fromisoformat(value)
    if day is not None and (not isinstance(day, date) or isinstance(day, datetime)):
        raise CatalogError(f'{name} must be a date, got {value!r}. Write "2025-12-31" or datetime.date(2025, 12, 31).')
    return None if day is None else Fraction(day.toordinal())


def _check_keys(keys: tuple[Key, ...]) -> None:
    known = [key for key in keys if key is not None]
    if not known:
        raise CatalogError("keys must list at least one value.")
    if len(keys) > LARGEST_KEYS:
        raise CatalogError(f"keys must list at most {LARGEST_KEYS:,} values, got {len(keys):,}.")
    if len({_kind_of_key(key) for key in known}) > 1:
        raise CatalogError("keys must be of one kind: all whole numbers, all text, all true/false or all dates.")
    if len(set(keys)) < len(keys):
        raise CatalogError("keys must differ from each other; one is listed twice.")


def _check_joint(rows: tuple[Row, ...]) -> None:
    if len({len(row) if isinstance(row, tuple) else 0 for row in rows}) != 1:
        raise CatalogError("joint keys are tuples of equally many values: Keys([('n', 7), ('s', 8)]).")
    if len(set(rows)) < len(rows) or len(rows) > LARGEST_KEYS:
        raise CatalogError(f"joint keys must differ from each other, and be at most {LARGEST_KEYS:,}.")
    for column in zip(*rows, strict=True):
        _check_keys(tuple(dict.fromkeys(column)))


def _kind_of_key(key: Key) -> Kind:
    match key:
        case bool():
            return Kind.BOOLEAN
        case int() if abs(key) <= LARGEST_BOUND:
            return Kind.INTEGER
        case str():
            return Kind.TEXT
        case date() if type(key) is date:
            return Kind.DATE
    raise CatalogError(
        f"a key must be a whole number, text, true/false or a date, got {type(key).__name__}. Fractions make no "
        "groups: group by CASE, FLOOR or ROUND to whole numbers instead."
    )
