"""Release as text and back, for ledgers and for exports as JSON.

The error law of a statistic is code and cannot be kept. Its intervals at some levels can; between two of them the wider
one is given, which holds the truth more often than it says.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Floats
from deniable.privacy.loss import PrivacyLoss
from deniable.release.columns import Bounds, Estimate, Key, Numbers, free
from deniable.release.provenance import Provenance, facts

if TYPE_CHECKING:
    from deniable.release.release import Release

LEVELS = (0.5, 0.68, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
_Ends = Sequence[tuple[float, Bounds]]

_PLAIN = (bool, int, float, str, type(None))
_READERS: Mapping[str, Callable[[str], object]] = {
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "Decimal": Decimal,
    "bytes": bytes.fromhex,
}


def as_text(release: "Release") -> str:
    """Return keys, values, intervals and notes as text; the ledger has the price."""
    intervals = [(level, release.intervals(level)) for level in LEVELS]
    parts: list[dict[str, Any]] = []
    for part in release.parts:
        if isinstance(part, Key):
            parts.append({"name": part.name, "kind": part.kind, "keys": [_written(value) for value in part.values]})
            continue
        values = release[part.name]
        given = not (isinstance(part, Estimate) and part.ends is None)
        parts.append(
            {
                "name": part.name,
                "whole": bool(values.dtype.kind in "iu"),
                "digits": part.digits,
                "post_processing": part.post_processing,
                "values": values.tolist(),
                "ends": [[level, *(end.tolist() for end in bounds[part.name])] for level, bounds in intervals]
                if given
                else None,
            }
        )
    return json.dumps({"parts": parts, "notes": release.notes})


def from_text(text: str) -> tuple[tuple[Key | Estimate, ...], tuple[str, ...]]:
    """Return the columns, and the notes."""
    kept = json.loads(text)
    return tuple(map(_part, kept["parts"])), tuple(kept["notes"])


def document(release: "Release", level: float | None) -> dict[str, Any]:
    """Return a release as plain data: its rows, and all else that is known of it.

    Args:
        level: of the intervals; None leaves them out.
    """
    known = facts(release, level)
    given = [part.name for part in release.measures if not (isinstance(part, Estimate) and part.ends is None)]
    return {
        **{word: known.pop(word) for word in ("query", "columns")},
        "keys": {key.name: {"kind": key.kind, "type": _type_of(key.values)} for key in release.keys},
        "intervals": given if level is not None else [],
        "rows": release.to_dicts(intervals=level is not None, level=level or release.level),
        **known,
    }


def from_document(text: str, make: "type[Release]") -> "Release":
    """Return the release that `document` describes, made by its class.

    Raises: InvalidParameterError if the text is something else, or holds what no form of a release could show.
    """
    try:
        kept = json.loads(text)
        parts = tuple(_column(kept, name) for name in kept["columns"])
        paid = PrivacyLoss.from_data(kept["loss"])
        known = kept["provenance"]
        release = make(
            parts=parts,
            cost=paid,
            text=kept["query"],
            safe=kept["safe"],
            notes=tuple(kept["notes"]),
            protects=kept["protects"],
            provenance=None if known is None else Provenance.from_data(known, paid=paid),
            level=kept["level"] or 0.95,
        )
        for form in (release.to_json, release.to_arrow, release.to_html):
            form()
    except Exception as error:  # whatever a stranger's text makes fail
        raise InvalidParameterError(f"this is not the JSON of a release ({type(error).__name__}).") from None
    return release


def _column(kept: Mapping[str, Any], name: str) -> Key | Estimate:
    values = [row[name] for row in kept["rows"]]
    if name in kept["keys"]:
        key = kept["keys"][name]
        read = float if key["kind"] == "float64" else _READERS.get(key["type"])
        keys = values if read is None else [None if value is None else read(value) for value in values]
        return Key(name=name, values=tuple(keys), kind=key["kind"])
    ends = _ends_of(kept, name)
    whole = all(isinstance(value, int) for value in values)
    return Estimate(
        name=name,
        estimates=np.array(values, dtype=np.int64) if whole else _or(values, np.nan),
        ends=ends and partial(_at, [(kept["level"], ends)]),
        post_processing=kept["post_processing"].get(name, ""),
    )


def _ends_of(kept: Mapping[str, Any], name: str) -> Bounds | None:
    """Return the ends of a column's intervals in the rows."""
    if name not in kept["intervals"]:
        return None
    names = [free(f"{name}_{end}", kept["columns"]) for end in Bounds._fields]
    lower, upper = ([row[each] for row in kept["rows"]] for each in names)
    return Bounds(_or(lower, -np.inf), _or(upper, np.inf))


def _or(values: Sequence[float | None], missing: float) -> Floats:
    return np.array([missing if value is None else value for value in values], dtype=np.float64)


def _type_of(values: Sequence[object]) -> str | None:
    """Return the type of keys that JSON holds as text; None of all others."""
    known = next((value for value in values if value is not None), None)
    return next((name for name in ("datetime", "date", "Decimal") if _is_a(known, name)), None)


def _part(kept: Mapping[str, Any]) -> Key | Estimate:
    if "keys" in kept:
        return Key(name=kept["name"], values=tuple(map(_read, kept["keys"])), kind=kept["kind"])
    values: Numbers = np.array(kept["values"], dtype=np.int64) if kept["whole"] else _floats(kept["values"])
    ends = kept["ends"] and [(level, Bounds(_floats(low), _floats(high))) for level, low, high in kept["ends"]]
    return Estimate(
        name=kept["name"],
        estimates=values,
        ends=partial(_at, ends) if ends else None,
        post_processing=kept["post_processing"],
        digits=kept["digits"],
    )


def _floats(values: Sequence[float]) -> Floats:
    return np.array(values, dtype=np.float64)


def _at(ends: _Ends, level: float) -> Bounds:
    """Return the intervals of the next level that is kept.

    Above all of them nothing is known.
    """
    for kept, bounds in ends:
        if kept >= level:
            return bounds
    size = len(ends[0][1].lower)
    return Bounds(np.full(size, -np.inf), np.full(size, np.inf))


def _written(value: object) -> object:
    """Return a key as JSON; one that JSON does not know as its type and its text."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, _PLAIN):
        return plain
    kind = next(name for name in ("datetime", "date", "Decimal", "bytes") if _is_a(plain, name))
    text = plain.hex() if isinstance(plain, bytes) else plain.isoformat() if isinstance(plain, date) else str(plain)
    return {"type": kind, "text": text}


def _is_a(value: object, name: str) -> bool:
    return any(kind.__name__ == name for kind in type(value).__mro__)


def _read(kept: Any) -> object:
    return _READERS[kept["type"]](kept["text"]) if isinstance(kept, dict) else kept
