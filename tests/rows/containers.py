"""Every container of a column with every type that it can hold, and odd entries that one row may be."""

import datetime
import math
import warnings
from collections import UserList, deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

Make = Callable[[list[Any]], Any]


class Hostile:
    """An entry whose every use is an error."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


class Leaves:
    """An entry that leaves the program when it is read as a number, hashed, compared or shown."""

    def _leave(self, *_: object) -> Any:
        raise SystemExit("a row")

    __array__ = __float__ = __int__ = __index__ = __eq__ = __hash__ = __repr__ = __len__ = _leave  # type: ignore[assignment]


class Tells:
    """An entry that notes every use that a column of such entries has no need of."""

    heard: ClassVar[list[str]] = []

    def __getattribute__(self, name: str) -> Any:
        if name not in ("__class__", "__array__", "as_py"):
            Tells.heard.append(name)
        return object.__getattribute__(self, name)

    def _tell(self, *_: object) -> Any:
        Tells.heard.append("a method")
        return 1

    __float__ = __int__ = __index__ = __eq__ = __hash__ = __lt__ = __bool__ = __len__ = __iter__ = _tell  # type: ignore[assignment]
    __repr__ = __str__ = _tell  # type: ignore[assignment]


class Warns:
    """An entry that warns when it is read."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        warnings.warn("a row", stacklevel=2)
        return np.array(3, dtype)


BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime.datetime(2020, 1, 1, 12)
ITSELF: list[Any] = [1]
ITSELF.append(ITSELF)
ODD: dict[str, Any] = {
    "None": None,
    "NaN": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "NaT": pd.NaT,
    "NA": pd.NA,
    "no moment of numpy": np.datetime64("NaT"),
    "2^53 + 1": 2**53 + 1,
    "2^63": 2**63,
    "2^70": 2**70,
    "-2^70": -(2**70),
    "half": 0.5,
    "minus zero": -0.0,
    "true": True,
    "empty text": "",
    "text": "odd",
    "half a pair": "\ud800",
    "bytes": b"\xff",
    "masked": np.ma.masked,
    "decimal": Decimal("1.000"),
    "signalling NaN": Decimal("sNaN"),
    "huge decimal": Decimal("1e999"),
    "fraction": Fraction(1, 3),
    "moment of numpy": np.datetime64("2020-01-01", "ns"),
    "duration of numpy": np.timedelta64(5, "ns"),
    "number of numpy": np.float32(1.5),
    "signalling NaN of numpy": np.array([0x7F800001], dtype=np.uint32).view(np.float32)[0],
    "signalling NaN of 64 bits": np.array([0x7FF0000000000001], dtype=np.uint64).view(np.float64)[0],
    "long double": np.longdouble("1e4000"),
    "long duration of numpy": np.timedelta64(2**62, "s"),
    "duration without a unit": np.timedelta64(5),
    "no duration of numpy": np.timedelta64("NaT", "D"),
    "far year of numpy": np.datetime64(10**9, "Y"),
    "attoseconds of numpy": np.datetime64(5, "as"),
    "text of numpy": np.str_("\ud800"),
    "10^5000": 10**5000,
    "interval": pd.Interval(0, 1),
    "void": np.void(b"abc"),
    "structure": np.ones(1, dtype=[("a", "i4"), ("b", "f8")])[0],
    "date": datetime.date(2020, 1, 1),
    "moment": NOON,
    "moment with a zone": NOON.replace(tzinfo=BERLIN),
    "last moment": datetime.datetime.max.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=-9))),
    "complex": 1j,
    "list": [1],
    "list of itself": ITSELF,
    "array": np.ones(2),
    "dictionary": {"a": 1},
    "object": object(),
    "hostile": Hostile(),
    "leaves": Leaves(),
    "warns": Warns(),
    "tells": Tells(),
}

NUMBERS = [3, 1, 2, 3, 1, 2, 3]
TEXT = ["c", "a", "b", "c", "a", "b", "c"]
TRUTHS = [True, False, False, True, False, True, True]
DAYS = [datetime.date(2020, 1, n) for n in NUMBERS]
MOMENTS = [datetime.datetime(2020, 1, n, 12) for n in NUMBERS]
MIXED = [3, "a", 2.0, Decimal(3), None, True, 3]
PLACE = 3  # of the row that changes

_OF_ARROW = {
    "number": [
        *(pa.int8(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()),
        *(pa.decimal128(38, 3), pa.decimal256(60, 3)),
    ],
    "text": [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()],
    "truth": [pa.bool_()],
    "day": [pa.date32(), pa.date64()],
    "moment": [
        *(pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns")),
        *(pa.timestamp("us", "UTC"), pa.timestamp("ns", "Asia/Tokyo")),
    ],
}
_OF_NUMPY = {
    "number": ["i1", "i8", ">i8", "u8", "f2", "f4", "f8", ">f8", "g"],
    "text": ["U5", "S5", "T"],
    "truth": ["?"],
    "day": ["M8[D]"],
    "moment": ["M8[h]", "M8[s]", "M8[us]", "M8[ns]"],
}
_OF_POLARS: dict[str, list[Any]] = {
    "number": [pl.Int8, pl.Int64, pl.UInt64, pl.Int128, pl.Float32, pl.Float64, pl.Decimal(38, 3)],
    "text": [pl.String, pl.Binary, pl.Categorical, pl.Enum(["a", "b", "c", "odd", ""])],
    "truth": [pl.Boolean],
    "day": [pl.Date],
    "moment": [pl.Datetime("us"), pl.Datetime("ns"), pl.Datetime("ms", "UTC")],
}
_OF_PANDAS: dict[str, list[Any]] = {
    "number": [
        *("Int8", "Int64", "UInt64", "Float32", "Float64", "int64", "float64", "Sparse[float]", "Sparse[int]"),
        pd.CategoricalDtype([1, 2, 3, 2**53 + 1, -(2**53)]),
        pd.CategoricalDtype([1.0, 2.0, 3.0, 0.5, -0.0, math.inf]),
    ],
    "text": ["str", "string[python]", "string[pyarrow]", pd.CategoricalDtype(["a", "b", "c", "odd", ""])],
    "truth": ["boolean", "bool"],
    "day": [],
    "moment": ["datetime64[ns]", "datetime64[s]", "datetime64[us, UTC]", "datetime64[ns, Asia/Tokyo]"],
}
ROWS: dict[str, list[Any]] = {
    "number": NUMBERS,
    "text": TEXT,
    "truth": TRUTHS,
    "day": DAYS,
    "moment": MOMENTS,
    "mixed": MIXED,
    "array": [np.int64(n) for n in NUMBERS],
}


def _arrow(kind: Any) -> Make:
    def make(rows: list[Any]) -> Any:
        if any(isinstance(row, bytes) for row in rows) and pa.types.is_string(kind):
            made = pa.array([row.encode() if isinstance(row, str) else row for row in rows], pa.binary())
            return made.view(kind)
        return pa.array([None if row is np.ma.masked else row for row in rows], kind)

    return make


def _dictionary(kind: Any) -> Make:
    """Equal values and a NULL among the values, whatever the rows hold."""

    def make(rows: list[Any]) -> Any:
        values = pa.array([*rows, None, *rows], kind)
        places = [None if row is np.ma.masked else place for place, row in enumerate(rows)]
        return pa.DictionaryArray.from_arrays(pa.array([*places[:-1], 2 * len(rows)], pa.uint8()), values)

    return make


def _runs(kind: Any) -> Make:
    ends = pa.array(range(1, len(NUMBERS) + 1), pa.int16())
    return lambda rows: pa.RunEndEncodedArray.from_arrays(ends, pa.array(rows, kind))


def _masked(kind: str) -> Make:
    def make(rows: list[Any]) -> Any:
        hidden = [row is np.ma.masked or row is None for row in rows]
        filled = np.array([rows[0] if hide else row for row, hide in zip(rows, hidden, strict=True)], dtype=kind)
        return np.ma.masked_array(filled, mask=hidden)

    return make


def _numpy(kind: str) -> Make:
    def make(rows: list[Any]) -> Any:
        with np.errstate(all="ignore"):
            return np.array(rows, dtype=np.dtypes.StringDType() if kind == "T" else kind)

    return make


def _objects(rows: list[Any]) -> Any:
    return np.fromiter(rows, dtype=object, count=len(rows))


def _storage(rows: list[Any]) -> Any:
    return pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "a", "b"), pa.array(rows, pa.int64()))


def containers() -> dict[str, tuple[str, Make]]:
    """By name: the kind of the rows, and what makes a container of them that always has one type."""
    found: dict[str, tuple[str, Make]] = {}
    for kind in ROWS:
        found[f"list of {kind}"] = kind, list
    found |= {
        "tuple": ("number", tuple),
        "queue": ("mixed", deque),
        "user list": ("mixed", UserList),
        "objects": ("mixed", _objects),
        "objects of numbers": ("number", _objects),
        "masked objects": ("mixed", lambda rows: np.ma.masked_array(_objects(rows), mask=[r is None for r in rows])),
        "objects of pandas": ("mixed", lambda rows: pd.Series(_objects(rows), dtype=object)),
        "index of objects": ("mixed", lambda rows: pd.Index(_objects(rows), dtype=object)),
        "objects of polars": ("mixed", lambda rows: pl.Series("a", rows, dtype=pl.Object)),
        "objects of narwhals": (
            "mixed",
            lambda rows: nw.from_native(pd.Series(_objects(rows), dtype=object), series_only=True),
        ),
        "extension": ("number", _storage),
    }
    for kind, types in _OF_NUMPY.items():
        for name in types:
            found[f"numpy {name}"] = kind, _numpy(name)
            if name not in ("T", "g"):
                found[f"masked {name}"] = kind, _masked(name)
    for kind, given in _OF_ARROW.items():
        for each in given:
            found[f"arrow {each}"] = kind, _arrow(each)
            found[f"chunks of {each}"] = kind, _then(_chunks, _arrow(each))
            found[f"dictionary of {each}"] = kind, _dictionary(each)
            found[f"ArrowDtype {each}"] = kind, _then(_of_pandas, _arrow(each))
            if "view" not in str(each):
                found[f"runs of {each}"] = kind, _runs(each)
    for kind, wanted in _OF_POLARS.items():
        for each in wanted:
            found[f"polars {each}"] = kind, _polars(each)
    for kind, wanted in _OF_PANDAS.items():
        for each in wanted:
            found[f"pandas {each}"] = kind, lambda rows, each=each: pd.Series(rows, dtype=each)
    found["narwhals"] = "number", _then(lambda series: nw.from_native(series, series_only=True), _polars(pl.Int64))
    return found


def _then(wrap: Callable[[Any], Any], make: Make) -> Make:
    return lambda rows: wrap(make(rows))


def _polars(kind: Any) -> Make:
    plain = (int, float, str, bytes, datetime.date, Decimal, type(None))

    def make(rows: list[Any]) -> Any:
        odd = rows[PLACE]
        far = isinstance(odd, Decimal) and (not odd.is_finite() or odd > 2**64)
        if far or not isinstance(odd, plain) or isinstance(odd, np.generic | pd.Timestamp):
            raise TypeError  # before Polars panics
        return pl.Series("a", rows, dtype=kind, strict=False)

    return make


def _of_pandas(array: Any) -> Any:
    return pd.Series(pd.arrays.ArrowExtensionArray(array))


def _chunks(array: Any) -> Any:
    return pa.chunked_array([array[:2], array[2:2], array[2:]])


def changed(kind: str, odd: Any) -> list[Any]:
    rows = list(ROWS[kind])
    rows[PLACE] = odd
    return rows


def made(make: Make, rows: list[Any]) -> Any:
    """The container, or None where it cannot hold such a row, which its own library says when it is made."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return make(rows)
    except BaseException:
        return None


def type_of(container: Any) -> str:
    return f"{type(container).__name__} {getattr(container, 'dtype', getattr(container, 'type', ''))}"
