"""Whoever holds an export finds out what was asked, paid and promised; a repeated answer has the first one's price."""

import json
import math
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.errors import InvalidParameterError
from deniable.privacy import PureLoss
from deniable.release import Provenance, Release
from deniable.release.columns import Bounds, Estimate, Key
from deniable.release.display import provenance_rows
from deniable.release.plot import _title

DAYS = [date(2025, 1, 1), date(2025, 1, 2)]
COLUMNS = {"day": dn.Date(lower=DAYS[0], upper=DAYS[1]), "x": dn.Number(lower=0, upper=9)}
FRAME = {"who": [1, 1, 2, 3], "day": [*DAYS, *DAYS], "x": [1.0, 2.0, 9.0, 4.0]}
GROUPED = "SELECT day, COUNT(*) AS n, AVG(x) AS mean FROM t GROUP BY day"


def database(ledger: Path | None) -> dn.Database:
    return dn.connect(
        pa.table(FRAME),
        name="t",
        unit="who",
        rows=2,
        groups=1,
        columns=COLUMNS,
        budget=dn.Budget(epsilon=9),
        ledger=ledger,
    )


def exported(release: Release, folder: Path) -> dict[str, Any]:
    """What each form of an export says beside the rows."""
    release.to_csv(folder / "a.csv")
    release.to_parquet(folder / "a.parquet")
    release.to_html(folder / "a.html")
    return {
        "json": json.loads(release.to_json()),
        "csv": json.loads((folder / "a.csv.json").read_text()),
        "parquet": json.loads(pq.read_schema(folder / "a.parquet").metadata[b"deniable"]),
        "html": (folder / "a.html").read_text(),
    }


@pytest.mark.parametrize("lasting", [True, False])
def test_every_export_says_what_was_asked_paid_and_promised(tmp_path: Path, lasting: bool) -> None:
    db = database(tmp_path / "t.ledger" if lasting else None)
    asked = {
        "sql": lambda: db.sql(GROUPED, epsilon=0.5),
        "statistic": lambda: db.mean("x", epsilon=0.5),
        "workload": lambda: db.workload([GROUPED, "SELECT COUNT(*) AS n FROM t"], epsilon=0.5)[0],
    }
    for name, ask in asked.items():
        first, again = ask(), ask()
        record = db.ledger.entries()[-1]
        for release, charged in ((first, "epsilon=0.5"), (again, "epsilon=0")):
            forms = exported(release, tmp_path)
            for form, said in forms.items():
                if form == "html":
                    wanted = [
                        str(record.number),
                        "epsilon=0.5",
                        dn.__version__,
                        "one who of t",
                        "add/remove",
                        "95% int",
                    ]
                    assert not [word for word in wanted if word not in said], (name, form)
                    assert ("paid before" in said) == (charged == "epsilon=0")
                    continue
                known = said["provenance"]
                assert (said["query"], said["cost"], said["charged"]) == (release.text, "epsilon=0.5", charged), form
                assert (known["entries"], known["mechanisms"]) == (
                    [record.number],
                    json.loads(json.dumps(record.mechanisms)),
                )
                assert known["policy"] == {
                    "data set": "t", "table": "t", "unit": "one who", "relation": "add/remove", "rows": 2, "groups": 1
                }  # fmt: skip
                assert (said["level"], said["version"], said["relations"]) == (0.95, dn.__version__, ["add/remove"])
                assert bool(known["head"]) == lasting
                if lasting:
                    db.ledger.verify(expected_head=known["head"])
            assert "paid before" in str(again)
            assert "cost epsilon=0.5, paid before" in _title(again, 0.95)


def test_every_form_says_the_loss_that_was_paid_and_the_level_that_it_has(tmp_path: Path) -> None:
    """A repeated answer is free: what an export states is the loss of the first, which its reader has to add up."""
    db = database(tmp_path / "t.ledger")
    first, again = (db.sql(GROUPED, epsilon=0.5) for _ in range(2))
    for release in (first, again):
        for level in (None, 0.5, 0.99):
            table = release.to_arrow(level=level)
            forms = (table.schema.metadata[b"deniable"], release.csv_facts(level=level), release.to_json(level=level))
            for said in map(json.loads, forms):
                assert said["loss"] == first.cost.to_data()
                assert said["level"] == (level or 0.95)
            assert np.array_equal(table["mean_lower"].to_pylist(), release.intervals(level)["mean"].lower)
        assert dict(provenance_rows(release))["paid"].startswith("epsilon=0.5")


def test_what_is_read_from_json_says_the_same_again() -> None:
    """All that a release may hold: unsafe noise, notes, ends that are open, a level of its own, NULL among keys."""
    ends = Bounds(np.array([-np.inf, 1.0, -np.inf]), np.array([2.0, np.inf, np.inf]))
    parts = (
        Key(name="day", values=(DAYS[0], None, DAYS[1]), kind="date32"),
        Estimate(name="x", estimates=np.array([1.5, np.nan, 2.0]), ends=lambda _: ends, post_processing="clamped"),
        Estimate(name="n", estimates=np.array([1, 2, 3])),
    )
    for safe in (True, False):
        release = Release(
            parts=parts, cost=PureLoss(1), text="q", safe=safe, notes=("a", "b"), protects="one row", level=0.9
        )
        again = Release.from_json(release.to_json())
        assert json.loads(again.to_json()) == json.loads(release.to_json())
        assert (again.safe, again.level) == (safe, 0.9)


def test_of_equal_answers_each_names_its_own_payment() -> None:
    db = dn.connect(pa.table({"who": [1, 2]}), name="t", unit="who", budget=dn.Budget(epsilon=10**6))
    asked = [db.sql("SELECT COUNT(*) FROM t", epsilon=10**5, fresh=number in (1, 2)) for number in range(4)]
    paid = [each.provenance.entries[0] for each in asked if each.provenance is not None]
    assert paid == [*(entry.number for entry in db.ledger.entries()), paid[0]]


def test_a_release_is_read_back_from_its_json() -> None:
    db = database(None)
    sources = [db.sql(GROUPED, epsilon=0.5), db.median("x", epsilon=0.1), db.quantiles("x", [0.1, 0.5], epsilon=0.1)]
    for release in (*sources, dn.statistics.mean([1, 2, 3], bounds=(0, 5), epsilon=1)):
        for level in (0.95, 0.5):
            read = Release.from_json(release.to_json(level=level))
            assert (read.columns, read.text, read.notes, read.level) == (
                release.columns,
                release.text,
                release.notes,
                level,
            )
            assert (read.paid, read.protects) == (release.paid, release.protects)
            for name in release.columns:
                assert list(map(repr, read[name].tolist())) == list(map(repr, release[name].tolist()))
            for name, ends in release.intervals(level).items():
                assert np.array_equal(read.intervals(level)[name], ends, equal_nan=True)
        if release.provenance is not None:
            names = [field.name for field in fields(Provenance) if field.name != "paid"]
            assert {name: _plain(getattr(read.provenance, name)) for name in names} == {
                name: _plain(getattr(release.provenance, name)) for name in names
            }
    good = json.loads(sources[0].to_json())
    rows = [{**row, "n": 10**30} for row in good["rows"]]
    odd = ({"rows": rows}, {"level": []}, {"query": math.nan}, {"provenance": {**good["provenance"], "policy": 3}})
    texts = [json.dumps({**good, **change}) for change in odd]
    for text in ("[]", "{}", "", "3", '{"columns": ["n"]}', "[" * 100_000, *texts):
        with pytest.raises(InvalidParameterError, match="not the JSON of a release"):
            Release.from_json(text)


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))
