"""The allow-list of operators: the kinds each takes and gives, and its range.

`OPERATORS` is the only list. An engine translates each entry (`engines/`), the result side evaluates some of them with
numpy (`evaluate.py`), and a test holds the three together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from math import ceil, floor, isqrt

from deniable.errors import UnsupportedQueryError
from deniable.query.effort import check_time
from deniable.query.expression import WRITTEN, Call, Expression, Facts, Key, Kind, text_of

Bound = Fraction | None
LARGEST_SIZE = 5_000  # parts of one expression; a value that an operator needs twice counts twice
LARGEST_DEPTH = 150
MOST_DAYS = 10_000  # that are listed as the values of an expression
Range = tuple[Bound, Bound]
UNKNOWN: Range = (None, None)
Typing = Callable[[Sequence[Kind]], Kind | None]
RangeRule = Callable[[Sequence[Facts]], Range]
Listing = Callable[[Sequence[Facts]], tuple[Key, ...] | None]
Lengths = Callable[[Sequence[Facts]], int]


def _longest(facts: Sequence[Facts]) -> int:
    return max(fact.longest for fact in facts)


@dataclass(frozen=True)
class Operator:
    """An operator: its kinds, its range and its length.

    `typing` gives the kind of the result or None if the arguments do not fit; `range_of` gives its range.

    `length` bounds the characters of a text. LOWER and UPPER change each letter into one, whatever bytes it then takes.
    """

    typing: Typing
    takes: str  # in the user's words, for the error
    range_of: RangeRule = lambda facts: UNKNOWN
    keys: Listing = lambda facts: None
    length: Lengths = _longest


SIGNS = WRITTEN | {"concat": "||"}


def call(name: str, *arguments: Expression) -> Call:
    """`name(*arguments)` with its facts.

    Raises: UnsupportedQueryError if the operator does not take values of these kinds.
    """
    check_time()
    operator = OPERATORS[name]
    facts = [argument.facts for argument in arguments]
    kind = operator.typing([fact.kind for fact in facts])
    if kind is None:
        given = [f"{text_of(argument)} of kind {argument.facts.kind.value}" for argument in arguments]
        raise UnsupportedQueryError(
            f"{SIGNS.get(name, name.upper())} takes {operator.takes}, got {' and '.join(given)}. Write values that "
            "fit, or CAST one of them."
        )
    lower, upper = operator.range_of(facts) if kind.is_number else UNKNOWN
    nullable = name != "coalesce" or all(fact.nullable for fact in facts)
    length = operator.length(facts) if kind is Kind.TEXT else None
    keys = operator.keys(facts)
    derived = Facts(kind=kind, lower=lower, upper=upper, keys=keys, nullable=nullable, length=length)
    size = 1 + sum(argument.size for argument in arguments)
    depth = 1 + max(argument.depth for argument in arguments)
    if size > LARGEST_SIZE or depth > LARGEST_DEPTH:
        raise UnsupportedQueryError(
            f"the query is too long: an expression may have {LARGEST_SIZE:,} parts, {LARGEST_DEPTH} of them nested in "
            "each other. Write it with fewer; a long list of alternatives reads better as IN (...)."
        )
    return Call(name, arguments, derived, size, depth)


# Kinds ------------------------------------------------------------------------------------------------------------


def _numbers(kinds: Sequence[Kind]) -> Kind | None:
    """INTEGER if all are, REAL if all are numbers; NULL literals fit anywhere."""
    known = [kind for kind in kinds if kind is not Kind.NULL]
    if not known or not all(kind.is_number for kind in known):
        return None
    return Kind.INTEGER if all(kind is Kind.INTEGER for kind in known) else Kind.REAL


def _alike(kinds: Sequence[Kind]) -> Kind | None:
    """The one kind that all share: numbers mix, dates mix with timestamps."""
    known = {kind for kind in kinds if kind is not Kind.NULL}
    if not known:
        return Kind.NULL
    if len(known) == 1:
        return next(iter(known))
    if known <= {Kind.DATE, Kind.TIMESTAMP}:
        return Kind.TIMESTAMP
    return _numbers(list(known))


def _giving(result: Kind, typing: Typing) -> Typing:
    """One kind for all arguments that fit together."""
    return lambda kinds: result if typing(kinds) else None


def _of(result: Kind, *sources: Kind) -> Typing:
    """One kind for arguments of these kinds."""
    return lambda kinds: result if all(kind in sources for kind in kinds) else None


def _case(kinds: Sequence[Kind]) -> Kind | None:
    """CASE is laid out as condition, value, condition, value, ..., else."""
    if _BOOLEAN(kinds[:-1:2]) is None:
        return None
    return _alike([*kinds[1::2], kinds[-1]])


def _substring(kinds: Sequence[Kind]) -> Kind | None:
    return Kind.TEXT if kinds[0] is Kind.TEXT and all(kind is Kind.INTEGER for kind in kinds[1:]) else None


def _cut(facts: Sequence[Facts]) -> int:
    """Return the length of SUBSTRING: at most as many characters as it is given.

    It does not matter on which side of the start they are.
    """
    text, length = facts[0], facts[2]
    return min(text.longest, max(map(abs, map(int, length.ends)))) if length.bounded else text.longest


def _or_null(result: Kind, *sources: Kind) -> Typing:
    return _of(result, *sources, Kind.NULL)


_REAL, _WHOLE = _giving(Kind.REAL, _numbers), _giving(Kind.INTEGER, _numbers)
_COMPARISON = _giving(Kind.BOOLEAN, _alike)
_BOOLEAN = _or_null(Kind.BOOLEAN, Kind.BOOLEAN)


# Ranges -----------------------------------------------------------------------------------------------------------


def _values(facts: Sequence[Facts]) -> list[Facts]:
    """The facts of arguments that can be something else than NULL."""
    return [fact for fact in facts if fact.kind is not Kind.NULL]


def _all(best: Callable[..., Fraction | int], bounds: Sequence[Bound]) -> Bound:
    """The best of bounds; None if one is not known."""
    known = [bound for bound in bounds if bound is not None]
    return Fraction(best(known)) if known and len(known) == len(bounds) else None


def _hull(facts: Sequence[Facts]) -> Range:
    known = _values(facts)
    return _all(min, [fact.lower for fact in known]), _all(max, [fact.upper for fact in known])


def _range_of_least(facts: Sequence[Facts]) -> Range:
    known = [fact.upper for fact in facts if fact.upper is not None]
    return _all(min, [fact.lower for fact in facts]), min(known, default=None)


def _range_of_greatest(facts: Sequence[Facts]) -> Range:
    known = [fact.lower for fact in facts if fact.lower is not None]
    return max(known, default=None), _all(max, [fact.upper for fact in facts])


def _add(facts: Sequence[Facts]) -> Range:
    return _all(sum, [fact.lower for fact in facts]), _all(sum, [fact.upper for fact in facts])


def _negate(facts: Sequence[Facts]) -> Range:
    lower, upper = facts[0].lower, facts[0].upper
    return None if upper is None else -upper, None if lower is None else -lower


def _subtract(facts: Sequence[Facts]) -> Range:
    lower, upper = _negate(facts[1:])
    return _add([facts[0], replace(facts[1], lower=lower, upper=upper)])


def _multiply(facts: Sequence[Facts]) -> Range:
    a, b = facts
    if a.lower is None or a.upper is None or b.lower is None or b.upper is None:
        return UNKNOWN
    corners = [x * y for x in (a.lower, a.upper) for y in (b.lower, b.upper)]
    return min(corners), max(corners)


def _divide(facts: Sequence[Facts]) -> Range:
    a, b = facts
    if b.lower is None or b.upper is None or b.lower <= 0 <= b.upper:
        return UNKNOWN
    return _multiply([a, replace(b, lower=1 / b.upper, upper=1 / b.lower)])


def _modulo(facts: Sequence[Facts]) -> Range:
    b = facts[1]
    if b.lower is None or b.upper is None:
        return UNKNOWN
    size = max(abs(b.lower), abs(b.upper))
    lower = Fraction(0) if facts[0].lower is not None and facts[0].lower >= 0 else -size
    return lower, size


def _absolute(facts: Sequence[Facts]) -> Range:
    lower, upper = facts[0].lower, facts[0].upper
    largest = None if lower is None or upper is None else max(abs(lower), abs(upper))
    if lower is not None and lower > 0:
        return lower, largest
    if upper is not None and upper < 0:
        return -upper, largest
    return Fraction(0), largest


def _rounded(facts: Sequence[Facts]) -> Range:
    """Return the range of ROUND to no or some decimals.

    It moves a value by less than one unit of the integer grid.
    """
    lower, upper = facts[0].lower, facts[0].upper
    return None if lower is None else Fraction(floor(lower)), None if upper is None else Fraction(ceil(upper))


def _root(facts: Sequence[Facts]) -> Range:
    upper = facts[0].upper
    return Fraction(0), None if upper is None else Fraction(isqrt(max(0, ceil(upper))) + 1)


def _same(facts: Sequence[Facts]) -> Range:
    return (Fraction(0), Fraction(1)) if facts[0].kind is Kind.BOOLEAN else (facts[0].lower, facts[0].upper)


def _to_integer(facts: Sequence[Facts]) -> Range:
    return _same(facts) if facts[0].kind is Kind.BOOLEAN else _rounded(facts)


def _years(facts: Sequence[Facts]) -> Range:
    """Return the years of a date with public bounds.

    Bounds are counted in days from 0001-01-01.
    """
    lower, upper = facts[0].lower, facts[0].upper
    if lower is None or upper is None:
        return UNKNOWN
    return Fraction(date.fromordinal(int(lower)).year), Fraction(date.fromordinal(int(upper)).year)


def _between(lower: int, upper: int) -> RangeRule:
    return lambda facts: (Fraction(lower), Fraction(upper))


# Keys: what a value can be, where that is a short public list ---------------------------------------------------------


def _every(*keys: Key) -> Listing:
    return lambda facts: keys


_TRUTH = _every(False, True)


def _union(facts: Sequence[Facts]) -> tuple[Key, ...] | None:
    keys: dict[Key, None] = {}
    for fact in _values(facts):
        if fact.keys is None or fact.kind is Kind.REAL:
            return None
        keys.update(dict.fromkeys(fact.keys))
    return tuple(keys) or None


def _case_values(facts: Sequence[Facts]) -> list[Facts]:
    return [*facts[1::2], facts[-1]]


def _first_days(*, days: int = 0, months: int = 0) -> Listing:
    """Return the days on which weeks or other periods begin.

    The date has public bounds; there are at most `MOST_DAYS` of them.

    Args:
        days: of a period, counted from a Monday.
        months: of a period, counted from a January.
    """

    def keys(facts: Sequence[Facts]) -> tuple[Key, ...] | None:
        lower, upper = facts[0].lower, facts[0].upper
        if lower is None or upper is None:
            return None
        if days:
            first, last = ((int(end) - 1) // days for end in (lower, upper))
            starts = (date.fromordinal(1 + index * days) for index in range(first, last + 1))
        else:
            ends = [date.fromordinal(int(end)) for end in (lower, upper)]
            first, last = ((end.year * 12 + end.month - 1) // months for end in ends)
            starts = (date(index * months // 12, index * months % 12 + 1, 1) for index in range(first, last + 1))
        return tuple(starts) if last - first < MOST_DAYS else None

    return keys


def _period(keys: Listing) -> Operator:
    return Operator(_or_null(Kind.DATE, Kind.DATE, Kind.TIMESTAMP), "a date or a timestamp", keys=keys)


_PLAIN = (Kind.BOOLEAN, Kind.INTEGER, Kind.REAL, Kind.TEXT)
_DATED = (Kind.DATE, Kind.TIMESTAMP, Kind.TEXT)
_NUMBER_PAIR = "two numbers"
_NUMBER = "a number"
_ALIKE = "values of one kind (two numbers, two texts, two dates)"


def _part(lower: int, upper: int, *, clock: bool = False) -> Operator:
    kinds, takes = ((), "a timestamp") if clock else ((Kind.DATE,), "a date or a timestamp")
    typing = _of(Kind.INTEGER, Kind.TIMESTAMP, *kinds)
    return Operator(typing, takes, _between(lower, upper), _every(*range(lower, upper + 1)))


OPERATORS: dict[str, Operator] = {
    "add": Operator(_numbers, _NUMBER_PAIR, _add),
    "subtract": Operator(_numbers, _NUMBER_PAIR, _subtract),
    "multiply": Operator(_numbers, _NUMBER_PAIR, _multiply),
    "divide": Operator(_REAL, _NUMBER_PAIR, _divide),
    "modulo": Operator(_numbers, _NUMBER_PAIR, _modulo),
    "negate": Operator(_numbers, _NUMBER, _negate),
    "abs": Operator(_numbers, _NUMBER, _absolute),
    "round": Operator(_REAL, "a number and, if wanted, a count of decimals", _rounded),
    **dict.fromkeys(("floor", "ceil"), Operator(_WHOLE, _NUMBER, _rounded)),
    "sqrt": Operator(_REAL, _NUMBER, _root),
    **dict.fromkeys(("ln", "log10", "exp"), Operator(_REAL, _NUMBER)),
    "power": Operator(_REAL, _NUMBER_PAIR),
    "sign": Operator(_WHOLE, _NUMBER, _between(-1, 1), _every(-1, 0, 1)),
    "least": Operator(_numbers, "numbers", _range_of_least),
    "greatest": Operator(_numbers, "numbers", _range_of_greatest),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), Operator(_COMPARISON, _ALIKE, keys=_TRUTH)),
    "in": Operator(_COMPARISON, "a value and constants of its kind", keys=_TRUTH),
    "is_null": Operator(_of(Kind.BOOLEAN, *Kind), "any value", keys=_TRUTH),
    **dict.fromkeys(("like", "ilike"), Operator(_or_null(Kind.BOOLEAN, Kind.TEXT), "text and a pattern", keys=_TRUTH)),
    **dict.fromkeys(("and", "or", "not"), Operator(_BOOLEAN, "conditions", keys=_TRUTH)),
    "case": Operator(
        _case,
        "conditions and values of one kind",
        lambda facts: _hull(_case_values(facts)),
        lambda facts: _union(_case_values(facts)),
    ),
    "coalesce": Operator(_alike, "values of one kind", _hull, _union),
    "nullif": Operator(_alike, "two values of one kind", _same, lambda facts: facts[0].keys),
    **dict.fromkeys(("lower", "upper", "trim"), Operator(_or_null(Kind.TEXT, Kind.TEXT), "text")),
    "concat": Operator(
        _or_null(Kind.TEXT, Kind.TEXT), "texts", length=lambda facts: sum(fact.longest for fact in facts)
    ),
    "length": Operator(_or_null(Kind.INTEGER, Kind.TEXT), "text", lambda facts: (Fraction(0), None)),
    "substring": Operator(_substring, "text, a start and a length", length=_cut),
    "year": Operator(_of(Kind.INTEGER, Kind.DATE, Kind.TIMESTAMP), "a date or a timestamp", _years),
    "quarter": _part(1, 4),
    "month": _part(1, 12),
    "week": _part(1, 53),
    "day": _part(1, 31),
    "dayofweek": _part(0, 6),
    "dayofyear": _part(1, 366),
    "hour": _part(0, 23, clock=True),
    "minute": _part(0, 59, clock=True),
    "to_integer": Operator(_or_null(Kind.INTEGER, *_PLAIN), "a number, text or a condition", _to_integer),
    "to_real": Operator(_or_null(Kind.REAL, *_PLAIN), "a number, text or a condition", _same),
    "to_text": Operator(
        _or_null(Kind.TEXT, Kind.BOOLEAN, Kind.INTEGER, Kind.TEXT, Kind.DATE), "text, an integer, a date or a condition"
    ),
    "to_boolean": Operator(
        _or_null(Kind.BOOLEAN, Kind.BOOLEAN, Kind.INTEGER), "a condition or an integer", keys=_TRUTH
    ),
    "to_date": Operator(_or_null(Kind.DATE, *_DATED), "a date, a timestamp or text", keys=_first_days(days=1)),
    "to_week": _period(_first_days(days=7)),
    "to_month": _period(_first_days(months=1)),
    "to_quarter": _period(_first_days(months=3)),
    "to_year": _period(_first_days(months=12)),
    "to_timestamp": Operator(_or_null(Kind.TIMESTAMP, *_DATED), "a date, a timestamp or text"),
}
