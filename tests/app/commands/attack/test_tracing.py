"""A simulated pool, and people and frequencies from files."""

import json
from pathlib import Path

import numpy as np
import pytest

from deniable.attacks.tracing import draw_pool
from tests.app.conftest import Call


def test_exact_frequencies_give_a_pool_away_and_private_ones_do_not(call: Call, place: Path) -> None:
    result = call("attack", "tracing", "--people", "60", "--snps", "1000", "--json", "--plot", "pool.png")
    assert (result.exit_code, result.stderr) == (0, "")
    told = json.loads(result.stdout)
    assert list(told) == ["exact", "exact, by Homer", "rounded to 0.01", "private, epsilon=1"]
    assert [one["succeeded"] for one in told.values()] == [True, True, True, False]
    assert told["exact"]["share"] > 0.9
    assert (place / "pool.png").exists()


@pytest.fixture
def files(place: Path) -> Path:
    pool = draw_pool(people=30, attributes=300, strangers=300, seed=2)
    names = [f"rs{number}" for number in range(300)]
    rows = [f"{inside}," + ",".join(map(str, row)) for inside, group in ((1, pool.members), (0, pool.strangers))
            for row in group]  # fmt: skip
    (place / "people.csv").write_text("\n".join([",".join(["member", *names]), *rows]), encoding="utf-8")
    told = np.column_stack([pool.reference, pool.frequencies])
    lines = [f"{name},{p},{m}" for name, (p, m) in zip(names, told, strict=True)]
    (place / "told.csv").write_text("\n".join(["attribute,reference,published", *lines]), encoding="utf-8")
    return place


def test_people_are_traced_from_files(call: Call, files: Path) -> None:
    result = call("attack", "tracing", "people.csv", "told.csv", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    told = json.loads(result.stdout)
    assert list(told) == ["likelihood ratio", "Homer"]
    assert told["likelihood ratio"]["succeeded"]
    assert told["likelihood ratio"]["attempts"] == 30


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("people.csv",), "two files, PEOPLE and FREQUENCIES, or none"),
        (("people.csv", "people.csv"), "needs the columns attribute, reference and published"),
        (("told.csv", "told.csv"), "no column 'member'"),
        (("--epsilon", "0"), "epsilon must be > 0"),
        (("--rate", "0.001", "--snps", "5"), "at least 3,688 strangers"),
    ],
)
def test_what_cannot_be_traced_is_refused(call: Call, files: Path, words: tuple[str, ...], message: str) -> None:
    result = call("attack", "tracing", *words)
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr
