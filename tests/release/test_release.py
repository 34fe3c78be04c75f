import io
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from deniable.errors import InvalidParameterError, MissingExtraError, UnsafeReleaseError
from deniable.privacy import PrivacyLoss, PureLoss
from deniable.release import Release
from deniable.release.columns import Key, Measure, Noisy
from tests.release.conftest import average, laplace, one

NAMES = ["region", "n", "n_lower", "n_upper", "average", "average_lower", "average_upper"]


def test_columns_are_read_by_name(release: Release) -> None:
    assert release.columns == ("region", "n", "average")
    assert len(release) == 3
    assert release["region"].tolist() == ["north", None, "<b>s&p</b>"]
    assert release["n"].tolist() == [2053, 40, 0]
    assert release["average"] == pytest.approx([29.23, 25.0, 0.67], abs=0.005)
    with pytest.raises(InvalidParameterError, match="the columns are region, n, average"):
        release["age"]


def test_a_single_answer_is_a_number() -> None:
    assert one(np.array([12]), laplace(1)).scalar() == 12
    assert isinstance(one(np.array([12]), laplace(1)).scalar(), int)
    rounded = one([1.25], laplace(1), digits=1)
    assert rounded.scalar() == float(rounded) == 1.2
    assert int(one(np.array([12]), laplace(1))) == 12
    with pytest.raises(InvalidParameterError, match=r"round\(float\(release\)\)"):
        int(rounded)


def test_a_table_is_not_a_single_answer(release: Release) -> None:
    for wrong in (release, release.select(["n"]), release.select(["region"]).take([0])):
        with pytest.raises(InvalidParameterError, match="one row and one noisy column"):
            wrong.scalar()


def test_intervals_hold_the_values(release: Release) -> None:
    for level in (0.5, 0.95, 0.99):
        for name, bounds in release.intervals(level).items():
            assert (bounds.lower <= release[name]).all()
            assert (release[name] <= bounds.upper).all()


def test_intervals_widen_with_the_level(release: Release) -> None:
    narrow, wide = release.intervals(0.5)["n"], release.intervals(0.99)["n"]
    assert (narrow.upper - narrow.lower < wide.upper - wide.lower).all()


def test_rows_are_dictionaries(release: Release) -> None:
    rows = release.to_dicts()
    assert list(release) == rows
    assert list(rows[0]) == NAMES
    assert rows[0]["n"] == 2053
    assert rows[1]["region"] is None
    assert list(release.to_dicts(intervals=False)[0]) == ["region", "n", "average"]


def test_json_holds_rows_cost_and_notes(release: Release) -> None:
    document = json.loads(release.to_json(level=0.9))
    assert document["query"] == release.text
    assert document["rows"][0]["n"] == 2053
    assert document["level"] == 0.9
    assert (document["cost"], document["left"]) == ("epsilon=0.1", "epsilon=0.9")
    assert PrivacyLoss.from_data(document["loss"]) == PureLoss("0.1")
    assert document["post_processing"]["n"] == "clamped to [0, inf]"
    assert document["notes"] == ["Rows were chosen by their noisy values."]
    assert document["safe"] is True


def test_what_is_unbounded_or_undefined_is_null_in_json() -> None:
    release = Release(
        parts=(average(),),
        noisy=(
            Noisy(name="total", values=np.array([5.0, 5.0]), law=laplace(10)),
            Noisy(name="n", values=np.array([0, 1]), law=laplace(10)),
        ),
        cost=PureLoss(1),
    )
    rows = json.loads(release.to_json())["rows"]
    assert rows[0] == {"average": None, "average_lower": None, "average_upper": None}
    assert rows[1] == {"average": 5.0, "average_lower": None, "average_upper": None}
    assert release.to_arrow()["average"].null_count == 1
    assert release.to_arrow()["average_upper"].to_pylist() == [float("inf")] * 2


def test_arrow_keeps_types(release: Release) -> None:
    table = release.to_arrow()
    assert table.column_names == NAMES
    assert table.schema.field("region").type == pa.string()
    assert table.schema.field("n").type == pa.int64()
    assert table["region"].to_pylist() == ["north", None, "<b>s&p</b>"]
    assert release.to_arrow(intervals=False).column_names == ["region", "n", "average"]


def test_a_release_without_rows_keeps_its_schema(release: Release) -> None:
    assert release.take([]).to_arrow().schema == release.to_arrow().schema
    assert release.take([]).to_dicts() == []
    assert "average" in str(release.take([]))
    assert "average" in release.take([])._repr_html_()


def test_pandas_and_polars_get_the_same_table(release: Release) -> None:
    rows = release.to_dicts()
    assert release.to_polars().to_dicts() == rows
    pandas = release.to_pandas(intervals=False)
    assert list(pandas.columns) == ["region", "n", "average"]
    assert pandas["n"].tolist() == [2053, 40, 0]


def test_any_library_that_speaks_arrow_reads_a_release(release: Release) -> None:
    import polars

    assert polars.DataFrame(release).columns == NAMES
    assert pa.table(release).equals(release.to_arrow())


def test_interval_columns_do_not_hide_a_column_of_the_same_name() -> None:
    base = Noisy(name="n", values=np.array([1.0]), law=laplace(1))
    parts = (Measure(name="n", bases=("n",)), Key(name="n_lower", values=("public",)))
    table = Release(parts=parts, noisy=(base,), cost=PureLoss(1)).to_arrow()
    assert table.column_names == ["n", "n_lower_", "n_upper", "n_lower"]
    assert table["n_lower"].to_pylist() == ["public"]


def test_rows_and_columns_are_chosen_after_the_noise(release: Release) -> None:
    chosen = release.take([2, 0], note="The two that matter.").select(["average", "region"])
    assert chosen.columns == ("average", "region")
    assert chosen["region"].tolist() == ["<b>s&p</b>", "north"]
    assert chosen["average"].tolist() == release["average"][[2, 0]].tolist()
    assert chosen.notes == (*release.notes, "The two that matter.")
    for end, all_ends in zip(chosen.intervals()["average"], release.intervals()["average"], strict=True):
        assert end.tolist() == all_ends[[2, 0]].tolist()
    with pytest.raises(InvalidParameterError, match="no column"):
        release.select(["age"])


def parquet(release: Release) -> pa.Table:
    buffer = io.BytesIO()
    release.to_parquet(buffer)
    return pyarrow.parquet.read_table(buffer)


HOSTILE = "=1+1\n\x1b[31m\u202eevil\u200b<b>&\udc80"
FORMS: dict[str, Callable[[Release], object]] = {  # every way out of a release
    "to_arrow": lambda release: release.to_arrow().to_pylist(),
    "to_csv": lambda release: release.to_csv(),
    "to_dicts": lambda release: release.to_dicts(),
    "to_html": lambda release: release.to_html(),
    "to_json": lambda release: json.loads(release.to_json()),
    "from_json": lambda release: str(Release.from_json(release.to_json())),
    "to_parquet": lambda release: parquet(release).to_pylist(),
    "to_pandas": lambda release: release.to_pandas(intervals=False).to_dict("records"),
    "to_polars": lambda release: release.to_polars().to_dicts(),
    "stream": lambda release: pa.table(release).to_pylist(),
    "rows": list,
    "text": str,
    "repr": repr,
    "html": lambda release: release._repr_html_(),
    "plot": lambda release: release.plot().get_title(),
    "scalar": lambda release: release.scalar(),
    "float": float,
    "int": int,
}
SHOWN = ("to_csv", "text", "repr", "html", "to_html", "plot")  # by screens and spreadsheets
MARKS = ("unsafe_test_noise", "UNSAFE", "safe=False")


@pytest.mark.parametrize("form", FORMS)
def test_test_noise_is_marked_in_every_form(form: str) -> None:
    """A form that is added to Release and not to the list fails the last line."""
    safe = one(np.array([12]), laplace(1))
    assert not any(mark in str(FORMS[form](safe)) for mark in MARKS)
    unsafe = replace(safe, safe=False)
    if form in ("scalar", "float", "int"):
        with pytest.raises(UnsafeReleaseError, match=r"test stream.*scalar\(unsafe=True\)"):
            FORMS[form](unsafe)
        assert unsafe.scalar(unsafe=True) == 12
    else:
        assert any(mark in str(FORMS[form](unsafe)) for mark in MARKS)
    assert {name for name in dir(Release) if name.startswith("to_")} <= set(FORMS)


def test_the_mark_is_a_column_that_no_name_hides_and_no_row_lacks(release: Release) -> None:
    unsafe = replace(release, safe=False)
    assert unsafe.to_arrow().column_names == ["unsafe_test_noise", *NAMES]
    assert all(row["unsafe_test_noise"] is True for row in unsafe)
    assert unsafe.take([]).to_arrow().schema == unsafe.to_arrow().schema
    taken = replace(unsafe, parts=(Key(name="unsafe_test_noise", values=(False, False, False)), *release.parts))
    assert [(row["unsafe_test_noise_"], row["unsafe_test_noise"]) for row in taken] == [(True, False)] * 3


@pytest.mark.parametrize("form", SHOWN)
def test_what_steers_a_screen_or_a_spreadsheet_is_escaped(form: str) -> None:
    """Line breaks, colours, turned writing, signs without width, half letters, tags and formulas; in keys, names, the
    question and the notes."""
    noisy = (Noisy(name="n", values=np.array([1.0]), law=laplace(1)),)
    key = HOSTILE if form != "to_csv" else HOSTILE[:-1]  # no Arrow text holds half a letter
    parts = (Key(name=key, values=(key,)), Measure(name=f"n{key}", bases=("n",)))
    hostile = Release(parts=parts, noisy=noisy, cost=PureLoss(1), text=HOSTILE, notes=(HOSTILE,), protects=HOSTILE)
    shown = str(FORMS[form](hostile))
    assert all(letter.isprintable() or letter == "\n" for letter in shown)
    assert r"\x1b[31m\u202eevil\u200b" in shown
    assert form != "html" or "<b>" not in shown


N = Noisy(name="n", values=np.array([1, 2]), law=laplace(1))


@pytest.mark.parametrize(
    ("parts", "noisy"),
    [
        ((Measure(name="n", bases=("n",)), Key(name="n", values=(1, 2))), (N,)),
        ((Measure(name="n", bases=("n",)),), (N, N)),
        ((Measure(name="n", bases=("m",)),), (N,)),
        ((Measure(name="n", bases=("n",)), Key(name="k", values=(1,))), (N,)),
        ((), (N,)),
    ],
    ids=["columns of one name", "bases of one name", "unknown base", "lengths", "no columns"],
)
def test_a_release_is_born_consistent(parts: Any, noisy: Any) -> None:
    with pytest.raises(InvalidParameterError):
        Release(parts=parts, noisy=noisy, cost=PureLoss(1))


@pytest.mark.parametrize(
    ("module", "form"),
    [
        ("pandas", lambda release: release.to_pandas()),
        ("polars", lambda release: release.to_polars()),
        ("matplotlib.pyplot", lambda release: release.plot()),
    ],
)
def test_a_missing_extra_is_named(
    release: Release, monkeypatch: pytest.MonkeyPatch, module: str, form: Callable[[Release], object]
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"needs {module.partition('.')[0]}\. Install (it|the extra)"):
        form(release)


def test_a_release_is_shown_without_pandas_or_matplotlib() -> None:
    code = (
        "import sys, deniable.release, numpy as np\n"
        "print(sorted({'pandas', 'polars', 'matplotlib', 'pyarrow', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
