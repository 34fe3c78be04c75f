"""Three small made-up tables to try things on.

They describe nobody, and anybody may use them for anything.

>>> import deniable as dn
>>> dn.datasets.visits().column_names
['visit', 'patient', 'ward', 'age', 'cost', 'day']
>>> dn.datasets.survey().num_rows
4000
"""

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from deniable.errors import InvalidParameterError, redacted
from deniable.numbers.arrays import Floats

if TYPE_CHECKING:
    import pyarrow


WARDS = ("surgery", "children", "emergency")
DEPARTMENTS = ("care", "kitchen", "laboratory", "maintenance", "office", "research")
_PATIENTS = 2_500
_EMPLOYEES = 4_000
_BIDDERS = 1_000
_NEWCOMER = 1_977  # the row of the only person of 58 or older who joined the researchers within the last year


def visits() -> "pyarrow.Table":
    """Return made-up visits to a hospital in 2025, one row a visit.

    Some 6,000 rows; most patients came more than once. Columns: visit (a number), patient ("p0000" to "p2499"), ward
    (one of `WARDS`), age in years at the visit, cost in whole and half euros, missing for one visit in a hundred, and
    day.

    >>> visits().column_names[:3]
    ['visit', 'patient', 'ward']
    """
    import pyarrow as pa

    came = 1 + (4.6 * _spread(0, _PATIENTS) ** 2).astype(np.int64)  # 1 to 5 times
    patient = np.repeat(np.arange(_PATIENTS), came)
    size = len(patient)
    born = _spread(1, _PATIENTS)
    age = (48 * born * (1 + born)).astype(np.int64)[patient]
    ward = np.select([_spread(2, size) < 0.35, age < 16], [2, 1], default=0)
    cost = 20 + np.floor(2 * 900 * _spread(3, size) ** 2 * np.array([1.0, 0.5, 0.4])[ward]) / 2
    day = np.datetime64("2025-01-01") + np.floor(365 * _spread(5, size)).astype("timedelta64[D]")
    order = np.argsort(day, kind="stable")
    return pa.table(
        {
            "visit": np.arange(size),
            "patient": [f"p{number:04}" for number in patient[order].tolist()],
            "ward": [WARDS[index] for index in ward[order].tolist()],
            "age": age[order],
            "cost": pa.array(cost[order], mask=_spread(6, size) < 0.01),
            "day": day[order],
        }
    )


def survey() -> "pyarrow.Table":
    """Return a made-up survey of 4,000 employees, one row an employee.

    Columns: respondent (a number), department (one of `DEPARTMENTS`), age and years with the employer, overtime in
    hours a week, satisfaction from 1 to 5, and leaving: whether they look for another job.

    >>> survey().num_rows
    4000
    """
    import pyarrow as pa

    size = _EMPLOYEES
    department = (len(DEPARTMENTS) * _spread(7, size)).astype(np.int64)
    age = 18 + (49 * _spread(8, size)).astype(np.int64)
    years = ((age - 17) * _spread(9, size) ** 2).astype(np.int64)
    overtime = np.floor(2 * 16 * _spread(10, size) ** 2 * _spread(13, size)) / 2
    satisfaction = 1 + (5 * np.clip(_spread(11, size) * 1.25 - overtime / 40, 0, 0.99)).astype(np.int64)
    leaving = _spread(12, size) < np.array([0.6, 0.4, 0.2, 0.1, 0.05])[satisfaction - 1]
    # Who is older than 57 in research has been there for long, but for one.
    research = DEPARTMENTS.index("research")
    years = np.where((department == research) & (age >= 58), np.maximum(years, 3), years)
    department[_NEWCOMER] = research
    age[_NEWCOMER] = 61
    years[_NEWCOMER] = 0
    leaving[_NEWCOMER] = True
    return pa.table(
        {
            "respondent": np.arange(size),
            "department": [DEPARTMENTS[index] for index in department.tolist()],
            "age": age,
            "years": years,
            "overtime": overtime,
            "satisfaction": satisfaction,
            "leaving": leaving,
        }
    )


def bids() -> "pyarrow.Table":
    """Return made-up bids of 1,000 people for a digital map of hiking trails.

    Columns: bidder (a number), member of the hiking club, and bid in whole and half euros. A third of them bid a round
    number of tens, so a price a little above one earns much less.

    >>> bids().num_rows
    1000
    """
    import pyarrow as pa

    member = _spread(14, _BIDDERS) < 0.4
    bid = np.floor(2 * (1 + 34 * _spread(15, _BIDDERS) ** np.where(member, 1, 2))) / 2
    tens = np.maximum(np.round(bid / 10) * 10, 10)
    return pa.table(
        {
            "bidder": np.arange(_BIDDERS),
            "member": member,
            "bid": np.where(_spread(16, _BIDDERS) < 1 / 3, tens, bid),
        }
    )


TABLES: Mapping[str, "Callable[[], pyarrow.Table]"] = {"visits": visits, "survey": survey, "bids": bids}


def path(name: str, folder: str | Path = ".") -> Path:
    """Return the path of a file with one of the tables, written if it is missing.

    Args:
        name: "visits.csv", "survey.parquet", ...; without an ending, Parquet.
        folder: where the file is, or will be.

    Raises: InvalidParameterError if there is no such table or form.

    >>> path("survey").name
    'survey.parquet'
    """
    file = Path(folder) / (name if Path(name).suffix else f"{name}.parquet")
    if not file.exists():
        write(file.stem, file)
    return file


def write(name: str, file: str | Path) -> None:
    """Write one of the tables to a .csv or .parquet file, whole or not at all.

    Args:
        name: "visits", "survey" or "bids".
        file: path of the file, in an existing folder; it is overwritten.

    Raises: InvalidParameterError if there is no such table or form, or no such folder.

    >>> write("visits", "my-visits.csv")
    """
    target = Path(file)
    if name not in TABLES or target.suffix not in (".csv", ".parquet") or not target.parent.is_dir():
        raise InvalidParameterError(
            f"{redacted(file)!r} cannot be written: the tables are {', '.join(TABLES)}, the endings .csv and .parquet, "
            "and the folder must be there."
        )
    import pyarrow.csv
    import pyarrow.parquet

    table = TABLES[name]()
    with tempfile.TemporaryDirectory(prefix=".deniable-", dir=target.parent) as folder:
        draft = Path(folder) / target.name
        if target.suffix == ".parquet":
            pyarrow.parquet.write_table(table, draft)
        else:
            plain = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
            with draft.open("wb") as stream:
                stream.write(",".join(table.column_names).encode() + b"\n")
                pyarrow.csv.write_csv(table, stream, plain)
        os.replace(draft, target)


def _spread(column: int, size: int) -> Floats:
    """Return numbers in [0, 1) without a visible pattern, equal on every machine.

    They are splitmix64 of column and row.
    """
    with np.errstate(over="ignore"):
        state = np.arange(size, dtype=np.uint64) + np.uint64(column * 2**32 + 1)
        state *= np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return np.asarray((state >> np.uint64(11)) * 2.0**-53, dtype=np.float64)
