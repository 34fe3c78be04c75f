"""The first journey: a table of one's own, exact counts that give it away, private counts that do not."""

import json
from pathlib import Path

import numpy as np
import pytest

from deniable import AddRemove, Budget, Database, Keys, connect, statistics
from deniable.app.commands.attack.reconstruction import answer_privately
from deniable.attacks import Subsets, attack_by_reconstruction, random_subsets
from deniable.errors import BudgetExceededError
from tests.app.conftest import Call

RNG = np.random.default_rng(13)


@pytest.fixture
def fair(place: Path) -> Path:
    """The survey of extramarital affairs of 1974, of 6,366 women."""
    data = pytest.importorskip("statsmodels.api").datasets.fair.load_pandas().data
    data.to_csv(place / "fair.csv", index=False)
    return place / "fair.csv"


def test_exact_counts_give_everybody_away_and_private_counts_nobody(call: Call, fair: Path) -> None:
    result = call("attack", "reconstruction", "fair.csv", "--secret", "affairs > 0", "--json", "--plot", "out.png")
    assert (result.exit_code, result.stderr) == (0, "")
    told = json.loads(result.stdout)
    exact, suppressed, rounded, private = told.values()
    assert list(told)[-1] == "private, epsilon=1"
    assert exact["attempts"] == 6366
    assert exact["share"] == suppressed["share"] == 1
    assert rounded["share"] > 0.99
    assert exact["baseline"] == pytest.approx(1 - 2053 / 6366)
    assert not private["succeeded"]
    assert (fair.parent / "out.png").read_bytes().startswith(b"\x89PNG")


def test_the_outcome_is_a_table_and_a_sentence_each(call: Call, fair: Path) -> None:
    words = ("attack", "reconstruction", "fair.csv", "--secret", "affairs > 0", "--people", "60", "--round", "1")
    result = call(*words, "--method", "linear-program")
    lines = result.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines[:5]] == [
        "release", "exact counts", "suppressed below 10", "rounded to 1", "private, epsilon=1"
    ]  # fmt: skip
    assert "exact counts: Reconstruction got 60 of 60 right (100.0%" in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("missing.csv", "--secret", "TRUE"), "must be a file that ends in .csv or .parquet"),
        (("survey.parquet", "--secret", "age"), "true or false for a row"),
        (("survey.parquet", "--secret", "age > 3", "--epsilon", "0"), "epsilon must be > 0"),
        (("survey.parquet", "--secret", "age > 3", "--plot", "out.txt"), "--plot takes a name"),
        (("survey.parquet", "--secret", "age > 3", "--plot", "survey.png/x.png"), "cannot be written"),
    ],
)
def test_what_cannot_be_attacked_is_refused(call: Call, words: tuple[str, ...], message: str) -> None:
    result = call("attack", "reconstruction", *words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_private_counts_cost_epsilon_together() -> None:
    """Against the library's statistics, one call a query: the same law, whose spread the noise has."""
    secrets = RNG.random(40) < 0.5
    groups = random_subsets(people=40, queries=400)
    noise = answer_privately("1")(secrets)(groups) - groups @ secrets
    statistic = statistics.Count(epsilon="1/400")
    assert (statistic.privacy_loss * 400).epsilon(0).upper == pytest.approx(1)
    assert noise.std() == pytest.approx(statistic.expected_error(1), rel=0.25)  # 400 draws: 4.5 standard errors


def test_the_database_answers_the_attack_and_keeps_the_secrets() -> None:
    """The attack through SQL, where the ledger also ends it. Success by chance above 80% of 16: odds of 1 in 90."""
    secrets = np.arange(16) % 3 == 0
    data = {"person": np.arange(16), "secret": secrets.astype(int)}
    database = open_people(data, epsilon=1)
    result = attack_by_reconstruction(ask(database, "1/64"), secrets, subsets=random_subsets(people=16, queries=64))
    assert not result.succeeded
    with pytest.raises(BudgetExceededError):
        ask(database, "1/64")(random_subsets(people=16, queries=1, seed=1))


def test_the_same_attack_breaks_a_database_whose_budget_is_boundless() -> None:
    """The twin: the harness finds what is there to be found."""
    secrets = np.arange(16) % 3 == 0
    database = open_people({"person": np.arange(16), "secret": secrets.astype(int)}, epsilon=10**6)
    asked = random_subsets(people=16, queries=64)
    assert attack_by_reconstruction(ask(database, 1000), secrets, subsets=asked).success.value == 1


def open_people(data: dict[str, np.ndarray], *, epsilon: int) -> Database:
    import pyarrow as pa

    return connect(
        pa.table(data), name="people", unit="person", rows=1, groups=1, relation=AddRemove,
        columns={"secret": Keys([0, 1])}, budget=Budget(epsilon=epsilon),
    )  # fmt: skip


def ask(database: Database, epsilon: str | int):  # type: ignore[no-untyped-def]
    def answer(subsets: Subsets) -> np.ndarray:
        groups = (", ".join(map(str, np.flatnonzero(row))) or "-1" for row in np.asarray(subsets))
        text = "SELECT COUNT(*) AS n FROM people WHERE secret = 1 AND person IN ({})"
        return np.array([float(database.sql(text.format(group), epsilon=epsilon)) for group in groups])

    return answer
