"""The first journey: a table of one's own, exact counts that give it away, private counts that do not."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from deniable import AddRemove, Budget, Database, Keys, connect
from deniable.app.commands.attack.reconstruction import Method, attack_private
from deniable.attacks import attack_by_reconstruction
from deniable.attacks.reconstruction import Subsets, random_subsets
from deniable.errors import BudgetExceededError
from deniable.statistics.count import Count
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
    assert private["share"] == pytest.approx(private["baseline"], abs=0.02)
    assert (fair.parent / "out.png").read_bytes().startswith(b"\x89PNG")


def test_the_outcome_is_a_table_and_a_sentence_each(call: Call, fair: Path) -> None:
    words = ("attack", "reconstruction", "fair.csv", "--secret", "affairs > 0", "--people", "60", "--round", "1")
    result = call(*words, "--method", "linear-program")
    lines = result.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines[:5]] == [
        "release", "exact counts", "suppressed below 10", "rounded to 1", "private, epsilon=1"
    ]  # fmt: skip
    assert "exact counts: Reconstruction got 60 of 60 right (100.0%" in result.stdout


def test_a_large_epsilon_gives_people_away(call: Call, fair: Path) -> None:
    """The twin of the private counts: the harness would find it if the noise were too small."""
    words = ("attack", "reconstruction", "fair.csv", "--secret", "affairs > 0", "--people", "200", "--json")
    private = list(json.loads(call(*words, "--epsilon", "1000").stdout).values())[-1]
    assert private["succeeded"]
    assert private["share"] > 0.95


def test_the_exhaustive_attack_shows_its_theorem(call: Call, fair: Path) -> None:
    words = ("attack", "reconstruction", "fair.csv", "--secret", "affairs > 0", "--people", "10", "--round", "1")
    told = call(*words, "--method", "exhaustive").stdout
    assert "exact counts: Reconstruction got 10 of 10 right" in told
    assert told.count("theorem: with all 2^10 queries") == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("missing.csv", "--secret", "TRUE"), "there is no file"),
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
    found = attack_private(RNG.random(200) < 0.5, Method.LEAST_SQUARES, 0, epsilon=Fraction(1))
    statistic = Count(epsilon="1/800")
    assert (statistic.privacy_loss * 800).epsilon(0).upper == pytest.approx(1)
    assert found.facts is not None
    largest = float(str(found.facts["largest error of an answer"]))
    assert 2 < largest / statistic.expected_error(1) < 16  # the largest of 800 Laplace draws, odds of 1e-6 each side


def test_the_database_answers_the_attack_and_keeps_the_secrets() -> None:
    """Through SQL, where the ledger also ends it. By chance 11 of 12 are right with odds of 1 in 300."""
    secrets = np.arange(12) % 3 == 0
    data = {"person": np.arange(12), "secret": secrets.astype(int)}
    database = open_people(data, epsilon=1)
    result = attack_by_reconstruction(ask(database, "1/40"), secrets, subsets=random_subsets(people=12, queries=40))
    assert not result.succeeded
    with pytest.raises(BudgetExceededError):
        ask(database, "1/40")(random_subsets(people=12, queries=1, seed=1))


def test_the_same_attack_breaks_a_database_whose_budget_is_boundless() -> None:
    """The twin: the harness finds what is there to be found."""
    secrets = np.arange(12) % 3 == 0
    database = open_people({"person": np.arange(12), "secret": secrets.astype(int)}, epsilon=10**6)
    asked = random_subsets(people=12, queries=40)
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
