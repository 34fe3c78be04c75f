"""A release as text that a ledger keeps, and back: what is public about it, at the levels that people ask for.

The error law of a statistic is code and cannot be kept. Its intervals at some levels can; between two of them the wider
one is given, which holds the truth more often than it says.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np

from deniable.release.columns import Bounds, Estimate, Floats, Key, Numbers
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


def as_text(release: Release) -> str:
    """Keys, values, intervals and notes; not the price, which the ledger knows."""
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
                "ends": [[level, *(end.tolist() for end in found[part.name])] for level, found in intervals]
                if given
                else None,
            }
        )
    return json.dumps({"parts": parts, "notes": release.notes})


def from_text(text: str) -> tuple[tuple[Key | Estimate, ...], tuple[str, ...]]:
    """The columns, and the notes."""
    kept = json.loads(text)
    return tuple(map(_part, kept["parts"])), tuple(kept["notes"])


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
    """The intervals of the next level that is kept; above all of them nothing is known."""
    for kept, bounds in ends:
        if kept >= level:
            return bounds
    size = len(ends[0][1].lower)
    return Bounds(np.full(size, -np.inf), np.full(size, np.inf))


def _written(value: object) -> object:
    """A key as JSON; one that JSON does not know as its type and its text."""
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
