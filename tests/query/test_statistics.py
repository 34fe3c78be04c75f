"""Every statistic on a database: its unit, its bounds, its ledger; paid before the look, and once for one question."""

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.errors import DeniableError, ExecutionError, UnprovedError
from deniable.noise.bits import DeterministicBits
from deniable.query.database import Database
from tests.query.test_database import Poisoned

ROWS = 600
RNG = np.random.default_rng(11)
VISITS = pa.table(
    {
        "patient": pa.array(np.arange(ROWS) // 50),
        "age": pa.array(RNG.integers(0, 90, ROWS), mask=np.arange(ROWS) % 13 == 0),
        "cost": RNG.random(ROWS) * 100,
        "gender": np.where(RNG.random(ROWS) < 0.5, "f", "m"),
        "ill": RNG.random(ROWS) < 0.3,
    }
)
COLUMNS = {
    "age": dn.Number(lower=0, upper=100),
    "cost": dn.Number(lower=0, upper="99.5"),
    "gender": dn.Keys(["f", "m"]),
}
CALLS: dict[str, tuple[tuple[object, ...], dict[str, Any]]] = {
    "count": (("age",), {}),
    "sum": (("age",), {}),
    "mean": (("ill",), {}),
    "variance": (("cost",), {}),
    "var": (("cost",), {}),
    "standard_deviation": (("age",), {}),
    "std": (("age",), {}),
    "covariance": ((["age", "cost"],), {}),
    "correlation": ((["age", "cost"],), {}),
    "vector_mean": ((["age", "cost"],), {"deviations": 30}),
    "vector_covariance": ((["age", "cost"],), {"deviations": 30}),
    "median": (("age",), {}),
    "quantile": (("age", 0.9), {}),
    "quantiles": (("age", [0.25, 0.75]), {}),
    "interquartile_range": (("age",), {}),
    "iqr": (("age",), {}),
    "minimum": (("age",), {}),
    "min": (("age",), {}),
    "maximum": (("age",), {}),
    "max": (("age",), {}),
    "cumulative_distribution": (("age", [20, 60]), {}),
    "histogram": (("gender",), {}),
    "key_counts": (("gender",), {"delta": "1e-6"}),
    "top_k": (("gender",), {"k": 1}),
    "mode": (("gender",), {}),
    "linear_regression": (("age", "cost"), {}),
    "one_sample_t_test": (("age",), {"mean": 40}),
    "two_sample_t_test": (("age", "gender"), {}),
    "anova": (("age", "gender"), {}),
    "mann_whitney": (("age",), {"by": "ill"}),
    "binomial_test": (("ill",), {"share": 0.5}),
    "chi_squared_fit": (("gender",), {"shares": [0.5, 0.5]}),
    "chi_squared_independence": (("gender", "ill"), {}),
    "subsampled_test": (("age",), {"test": lambda block: 1.0, "blocks": 3}),
}


def database(**options: Any) -> Database:
    settings = {
        "name": "visits",
        "unit": "patient",
        "rows": 2,
        "columns": COLUMNS,
        "budget": dn.Budget(epsilon=9, delta="1e-3"),
    }
    return dn.connect(VISITS, **(settings | options))


def asked(db: Database, name: str, **others: Any) -> dn.Release:
    places, named = CALLS[name]
    release: dn.Release = getattr(db, name)(*places, **({"epsilon": 1} | named | others))
    return release


def test_every_function_of_the_statistics_is_a_method() -> None:
    functions = {name for name in dn.statistics.__all__ if name.islower()} - {"bootstrap", "models", "plan"}
    assert functions | {"iqr", "max", "min", "std", "var"} == CALLS.keys()
    assert len(database().histogram("age", bins=10, epsilon=1)) == 10  # between the declared bounds


@pytest.mark.parametrize("name", CALLS)
def test_a_statistic_is_paid_before_the_look_and_answered_once(name: str) -> None:
    db = database()
    broken = Poisoned(db._engine)
    with pytest.raises(ExecutionError) as caught:
        asked(Database(broken, db.tables, db.ledger), name)
    assert (broken.reads, str(caught.value), caught.value.__context__) == (1, str(ExecutionError()), None)
    assert db.ledger.spent().epsilon == 1
    first, again = asked(db, name), asked(db, name)
    callable_given = name == "subsampled_test"  # a function has no text that names it
    assert db.ledger.spent().epsilon == (3 if callable_given else 2)
    if not callable_given:
        assert again.cost.charge().epsilon == 0
        for level in (0.5, 0.95):
            for shown, stored in zip(first.to_dicts(level=level), again.to_dicts(level=level), strict=True):
                assert shown == stored
        assert any("cost nothing" in note for note in again.notes)
    assert any(note.startswith("At most 2 rows of one patient count") for note in first.notes)
    assert first.protects == "one patient of visits (add/remove)"
    db.ledger.verify()


@pytest.mark.parametrize("name", CALLS)
def test_what_is_wrong_is_found_before_the_payment(name: str) -> None:
    db, owners = database(), database(unit=dn.PrivacyUnit(column="patient", noun="family", ids=2))
    engine = Poisoned(db._engine)
    healthy = Database(engine, db.tables, db.ledger)
    places, named = CALLS[name]
    for wrong in ({"epsilon": -1}, {"epsilom": 1}, {"where": "age >"}, {"where": "1 = 1) GROUP BY (gender"}):
        with pytest.raises(DeniableError):
            asked(healthy, name, **wrong)
    for column in (3, [], "agee", ["age", "age"]):
        with pytest.raises(DeniableError):
            getattr(healthy, name)(column, *places[1:], epsilon=1, **named)
    with pytest.raises(UnprovedError, match="one family may own 2"):
        asked(owners, name)
    assert engine.reads == 0
    assert db.ledger.entries() == owners.ledger.entries() == []


@pytest.mark.parametrize("name", ["count", "sum", "histogram", "quantiles", "two_sample_t_test", "key_counts"])
@pytest.mark.parametrize("unit", ["patient", None])
def test_the_rows_of_a_unit_are_bounded_as_the_statistic_bounds_them(name: str, unit: str | None) -> None:
    """The same draws on the same columns: what a database adds is where they come from."""
    bounded = {"rows": 2, "groups": 3} if unit else {}
    db = database(unit=unit or dn.each_row("patient"), **({"rows": None} | bounded))
    db._bits = DeterministicBits(5)
    given: dict[str, Any] = {
        "count": {},
        "sum": {"bounds": (0, 100)},
        "histogram": {"keys": ["f", "m"]},
        "quantiles": {"shares": [0.25, 0.75], "bounds": (0, 100)},
        "two_sample_t_test": {"bounds": (0, 100)},
        "key_counts": {"groups": bounded.get("groups", 1), "delta": "1e-6"},
    }[name]
    values, units = [VISITS["gender" if name in ("histogram", "key_counts") else "age"]], VISITS["patient"]
    if name == "two_sample_t_test":
        sides = [pa.array(np.asarray(VISITS["gender"]) == key) for key in ("f", "m")]
        values, units = (
            [values[0].filter(side) for side in sides],
            pa.concat_arrays([chunk for side in sides for chunk in units.filter(side).chunks]),
        )
    if unit:
        given |= {"units": units, "rows": 2}
    wanted = getattr(dn.statistics, name)(*values, epsilon=1, bits=DeterministicBits(5), **given)
    for one, other in zip(asked(db, name), wanted, strict=True):
        assert one == other


def test_a_filter_leaves_rows_out_as_sql_does() -> None:
    db = database(unit=dn.each_row("visit"), rows=None, budget=dn.Budget(epsilon="1e6"))
    filtered = db.sum("cost", where="gender = 'f' AND age > 30", epsilon=100_000).scalar()
    wanted = db.sql("SELECT SUM(cost) FROM visits WHERE gender = 'f' AND age > 30", epsilon=100_000).scalar()
    assert abs(filtered - wanted) < 0.1
    assert db.sum("cost", where="gender='f' and age>30", epsilon=100_000).scalar() == filtered
    assert "where=\"gender = 'f' AND age > 30\"" in db.ledger.entries()[0].text


def test_under_replace_nothing_that_moves_sizes_is_asked() -> None:
    db = database(relation=dn.Replace)
    for ask in (
        lambda: db.mean("age", where="age > 3", epsilon=1),
        lambda: db.mann_whitney("age", "ill", epsilon=1),
        lambda: db.two_sample_t_test("age", "gender", epsilon=1),
    ):
        with pytest.raises(UnprovedError, match="under replace"):
            ask()
    assert db.ledger.entries() == []
    assert db.mean("age", epsilon=1).safe


@pytest.mark.parametrize("paths", [{}, {"stays": ("age", "visits")}])
def test_under_replace_a_unit_may_have_no_row_in_one_of_several_tables(paths: dict[str, Any]) -> None:
    """The number of rows was taken for public: a sum over [10, 11] drew noise for 1 where one more row adds 10."""
    stays = VISITS.drop_columns(["patient"]) if paths else VISITS
    given: dict[str, Any] = {"unit": "patient", "columns": {"stays": COLUMNS}, "budget": dn.Budget(epsilon=9)}
    tables, given = {"visits": VISITS, "stays": stays}, {**given, "paths": paths, "relation": dn.Replace}
    db = dn.connect(tables, **given, rows=1)
    for ask in (
        lambda: db["stays"].sum("age", bounds=(10, 11), epsilon=1),
        lambda: db.median("age", bounds=(0, 9), epsilon=1),
    ):
        with pytest.raises(UnprovedError, match="one of 2 private tables, a patient may have none"):
            ask()
    assert db.ledger.entries() == []
    assert dn.connect(tables, **given, rows=2)["stays"].sum("age", epsilon=1).cost.charge().epsilon == 1


@pytest.mark.parametrize("name", CALLS)
def test_under_replace_what_is_paid_is_answered(name: str) -> None:
    """The number of rows is public there, but nobody knows it before the payment: it must not choose another price."""
    db = database(relation=dn.Replace, unit=dn.each_row("visit"), rows=None)
    try:
        assert len(asked(db, name))
    except UnprovedError:
        assert db.ledger.entries() == []


def test_total_rows_bound_a_statistic_too() -> None:
    db = database(rows=None, total_rows=5)
    assert db.count("cost", epsilon=1).cost.charge().epsilon == 1
    assert "rows=5" in db.ledger.entries()[0].text
    assert "at most 5 rows of one patient" in str(db.count("cost", epsilon=1)).lower()


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda db: db.median("gender", epsilon=1), "median takes numbers, and 'gender' is a column of kind text"),
        (lambda db: db.mean("patient", epsilon=1), r"columns=\{'patient': dn.Number\(lower=0, upper=100\)\}"),
        (lambda db: db.mode("age", epsilon=1), r"columns=\{'age': dn.Keys\(\[...\]\)\}"),
        (lambda db: db.mann_whitney("age", "cost", epsilon=1), "declare the two keys of 'cost'"),
        (lambda db: db.mean("aeg", epsilon=1), "Did you mean 'age'"),
    ],
)
def test_errors_say_what_to_declare(ask: Any, words: str) -> None:
    with pytest.raises(DeniableError, match=words):
        ask(database())


def test_bounds_may_be_given_or_found() -> None:
    db = database()
    assert "[" in db.sum("patient", bounds="auto", epsilon=1).notes[0]
    assert db.sum("patient", bounds=(0, 3), epsilon=1).safe
    assert db.ledger.spent().epsilon == Fraction(2)


@pytest.mark.parametrize(("paid", "ratios"), [("epsilon", (0.86, 0.76, 0.66)), ("rho", (1.16, 1.05, 0.94))])
def test_the_guide_says_which_mean_is_nearer(paid: str, ratios: tuple[float, ...]) -> None:
    """Two sums s, n - s of one price against a centred sum and a count that share it; errors to first order."""
    db = dn.connect(VISITS, name="t", unit="patient", rows=5, columns=COLUMNS, budget=dn.Budget(**{paid: 1}))
    plan = db.explain("SELECT AVG(age) FROM t", **{paid: "0.1"}).plan
    sums = {part.aggregate.function: part.law.standard_deviation() for part in plan.parts}  # type: ignore[attr-defined]
    sides = dn.statistics.mean([1, 2], bounds=(0, 100), units=[1, 2], rows=5, **{paid: "0.1"}).noisy
    deviation = 100 * sides[0].law.standard_deviation()
    for place, ratio in zip((0.5, 0.75, 1), ratios, strict=True):
        split = np.hypot(sums["sum"], 100 * (place - 0.5) * sums["count"])
        assert deviation * np.hypot(place, 1 - place) / split == pytest.approx(ratio, abs=0.006)
