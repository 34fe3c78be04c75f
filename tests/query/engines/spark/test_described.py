"""A policy is drafted from Spark's catalogue, filled in, and answered, in the session in hand. No row is printed."""

from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable.app.commands.init import init
from deniable.errors import SourceError


def test_a_policy_of_sparks_catalogue_is_drafted_and_answered(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spark.sql(
        "CREATE TABLE visits (patient STRING, cost INT COMMENT 'in euros', odd MAP<INT, INT>, ward STRING) "
        f"USING parquet PARTITIONED BY (ward) COMMENT 'One row a visit.\n[budget]' LOCATION '{tmp_path}/visits'"
    )
    try:
        spark.sql("INSERT INTO visits SELECT 'Rumpelstiltskin' || id, 7, NULL, 'surgery' FROM range(400)")
        init(["spark"])
        everything = capsys.readouterr().out
        init(["spark"], table="default.visits")
        text = capsys.readouterr().out
        assert everything.replace("spark_catalog.", "") == text
        for said in ("comment: One row a visit. [budget]", "partitioned by: ward", "# in euros", 'source = "spark"'):
            assert said in text
        assert "Rumpelstiltskin" not in text
        assert "surgery" not in text
        for line, filled in (
            ('# unit = "..." ', 'unit = "patient" '),
            ('# keys = ["north", "south"]', 'keys = ["surgery", "children"]'),
        ):
            patient, ward, place = text.partition("[columns.ward]") if line.startswith("# keys") else ("", "", text)
            assert line in place
            text = patient + ward + place.replace(line, filled)
        (tmp_path / "visits.toml").write_text(text, encoding="utf-8")
        answer = dn.connect(str(tmp_path / "visits.toml")).sql(
            "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=1
        )
        surgery, children = (row["n"] for row in answer)
        assert abs(surgery - 400) < 100 > abs(children)  # P[|noise| >= 100] < 1e-21
    finally:
        spark.sql("DROP TABLE visits")
    for table in ("visits", "no.such.table"):
        with pytest.raises(SourceError, match="cannot be opened"):
            init(["spark"], table=table)
    with pytest.raises(SourceError, match="no table that can be listed"):
        init(["spark"])
