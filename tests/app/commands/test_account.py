"""The accountant on the command line: what it prints, draws and refuses. It reads no data and needs no ledger."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from deniable.app.commands.account import Training, in_epochs
from deniable.privacy import GaussianLoss, LaplaceLoss, PrivacyLoss
from deniable.privacy.pld.accountant import _search as searches
from deniable.privacy.reports.report import certified
from tests.app.conftest import Call

TRAINING = ("--noise-multiplier", "1.1", "--rate", "256/60000", "--steps", "14063")

EPOCHS = ("--noise-multiplier", "1.1", "--epochs", "60", "--batch-size", "256", "--examples", "60000")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_training_has_the_epsilon_that_is_known_for_it(call: Call) -> None:
    """2.38160 by the tightest agreeing answers of other libraries."""
    result = call("account", *TRAINING, "--delta", "1e-5")
    assert (result.exit_code, result.stderr) == (0, "")
    rows = dict(line.split("  ", 1) for line in result.stdout.splitlines())
    assert rows["neighbours"].strip() == "add/remove"
    assert rows["epsilon"].strip().startswith("2.38")
    assert "at delta = 1e-5; the smallest true one lies in [2.38" in rows["epsilon"]


def test_a_last_batch_that_is_not_full_is_a_step() -> None:
    for examples in range(1, 13):
        for batch in range(1, examples + 1):
            for epochs in ("1", "2", "0.5", "1/3"):
                rate, steps = in_epochs(epochs, batch, examples)
                assert rate == f"{batch}/{examples}"
                assert steps - 1 < Fraction(epochs) * examples / batch <= steps


def test_steps_count_with_and_without_sampling() -> None:
    assert Training("2", None, 7).loss() == GaussianLoss(2) * 7
    assert Training("2", "1/3", 7).loss() == GaussianLoss(2).poisson_sampled(rate="1/3") * 7
    assert Training("2", "1/3").loss() == GaussianLoss(2).poisson_sampled(rate="1/3")


def test_each_number_is_said_at_its_own_and_from_above(call: Call) -> None:
    result = call("account", "--noise-multiplier", "2", "--rate", "1/7", "--steps", "9",
                  "--delta", "1e-5", "--epsilon", "0.5", "--tolerance", "0.1")  # fmt: skip
    rows = dict(line.split("  ", 1) for line in result.stdout.splitlines())
    for name, at in (("epsilon", "delta = 1e-5"), ("delta", "epsilon = 0.5")):
        said, ends = rows[name].split(f" at {at}; the smallest true one lies in [")
        lower, upper = map(float, ends.strip("] ").split(", "))
        assert lower < upper * 0.999
        assert float(said) >= upper * (1 - 1e-6)


def test_one_run_has_one_number_and_the_numbers_that_were_typed(call: Call, folder: Path) -> None:
    """In the table, in JSON, in the report, beside a plot, and however the run was described."""

    def told(*words: str) -> str:
        searches.cache_clear()  # as in a process of its own: what was asked before narrows later answers
        return call("account", *words, "--delta", "1e-5").stdout

    found = json.loads(told(*TRAINING, "--json"))["epsilon"]["upper"]
    shown = certified(found)
    assert 0 <= float(shown) - found < 1e-5
    for words in (told(*TRAINING), told(*EPOCHS), told(*TRAINING, "--plot", "out.svg")):
        assert f"{shown} at delta = 1e-5" in words
        assert "Gaussian noise 1.1, Poisson samples of rate 256/60000, 14063 steps" in words
    report = told(*EPOCHS, "--report")
    assert report.startswith(f"({shown}, 1e-5)-differentially private")
    assert "Gaussian noise 1.1, Poisson samples of rate 256/60000, 14063 steps" in report
    assert json.loads(told(*TRAINING, "--report", "--json"))["epsilon"]["upper"] == found


def test_a_delta_of_the_order_of_one_over_the_examples_is_cautioned(call: Call) -> None:
    assert "is of the order of 1/60000" in call("account", *EPOCHS, "--delta", "1e-5").stdout
    assert "is of the order of 1/60000" in call("account", *EPOCHS, "--delta", "1e-5", "--report").stdout
    assert "caution" not in call("account", *EPOCHS, "--delta", "1e-6").stdout
    assert "caution" not in call("account", *TRAINING, "--delta", "1e-5").stdout


def test_the_history_of_opacus_is_counted(call: Call, folder: Path) -> None:
    state = {"history": [[1.1, 256 / 60000, 14062], [1.1, 256 / 60000, 1]], "mechanism": "rdp"}
    (folder / "run.json").write_text(json.dumps(state), encoding="utf-8")
    assert "epsilon     2.38" in call("account", "--opacus", "run.json", "--delta", "1e-5").stdout


def test_data_hold_the_interval_and_the_loss(call: Call) -> None:
    result = call("account", *TRAINING, "--delta", "1e-5", "--epsilon", "1", "--json")
    told = json.loads(result.stdout)
    assert told["epsilon"]["lower"] <= 2.3816 <= told["epsilon"]["upper"] < 2.3845
    assert told["epsilon"]["delta"] == "1e-5"
    assert 0.01 < told["delta"]["lower"] <= told["delta"]["upper"] < 0.02
    assert PrivacyLoss.from_data(told["loss"]) == GaussianLoss("1.1").poisson_sampled(rate="256/60000") * 14063


def test_a_composition_comes_from_a_file(call: Call, folder: Path) -> None:
    loss = GaussianLoss(3) * 4 + LaplaceLoss(10)
    (folder / "loss.json").write_text(loss.to_json(), encoding="utf-8")
    told = json.loads(call("account", "loss.json", "--delta", "1e-5", "--json").stdout)
    assert PrivacyLoss.from_data(told["loss"]) == loss
    assert told["epsilon"]["upper"] == loss.epsilon("1e-5").upper


def test_a_narrower_answer_can_be_asked_for(call: Call) -> None:
    wide, narrow = (
        json.loads(call("account", *TRAINING, "--delta", "1e-5", "--tolerance", width, "--json").stdout)["epsilon"]
        for width in ("0.01", "1e-4")
    )
    assert narrow["upper"] - narrow["lower"] < 3e-4
    assert wide["lower"] <= narrow["upper"]
    assert narrow["lower"] <= wide["upper"]


@pytest.mark.parametrize(
    ("sought", "given", "low", "high"),
    [
        ("noise", ("--rate", "0.01", "--steps", "1000"), 1.55, 1.57),
        ("rate", ("--noise-multiplier", "1", "--steps", "1000"), 0.0047, 0.0050),
        ("steps", ("--noise-multiplier", "1", "--rate", "0.01"), 110, 130),
    ],
)
def test_one_setting_is_found(call: Call, sought: str, given: tuple[str, ...], low: float, high: float) -> None:
    result = call("account", *given, "--calibrate", sought, "--epsilon", "1", "--delta", "1e-6", "--json")
    told = json.loads(result.stdout)
    assert low < float(told["calibrated"][sought]) < high
    assert told["epsilon"]["upper"] <= 1
    assert PrivacyLoss.from_data(told["loss"]).epsilon("1e-6").upper <= 1


def test_the_report_is_printed(call: Call) -> None:
    result = call("account", "--noise-multiplier", "2", "--delta", "1e-5", "--report")
    assert "1% sure that" in result.stdout
    told = json.loads(call("account", "--noise-multiplier", "2", "--delta", "1e-5", "--report", "--json").stdout)
    assert {"epsilon", "advantage", "accountants"} <= set(told)


def test_a_picture_is_drawn(call: Call, folder: Path) -> None:
    result = call("account", "--noise-multiplier", "2", "--delta", "1e-5", "--plot", "out.png")
    assert result.exit_code == 0
    assert (folder / "out.png").read_bytes().startswith(b"\x89PNG")


def test_no_epsilon_is_said_in_words(call: Call) -> None:
    """An infinite number is no answer: the error says which delta to give. Beside a delta, it is said in the table."""
    for form in ((), ("--json",)):
        result = call("account", "--noise-multiplier", "2", "--delta", "0", *form)
        assert result.exit_code == 2
        assert "no epsilon is proved at delta = 0: give a larger --delta, such as 1e-6" in result.stderr
    words = ("account", "--noise-multiplier", "2", "--delta", "0", "--epsilon", "1")
    assert "none is proved at delta = 0. Take a larger delta." in call(*words).stdout
    assert json.loads(call(*words, "--json").stdout)["epsilon"]["upper"] is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give --delta to learn epsilon"),
        (("--noise-multiplier", "1"), "give --delta to learn epsilon"),
        (("--delta", "1e-5"), "say what to count"),
        (("--noise-multiplier", "-1", "--delta", "1e-5"), "noise_multiplier must be > 0"),
        (("--noise-multiplier", "nan", "--delta", "1e-5"), "noise_multiplier must be a number"),
        (("--noise-multiplier", "1", "--rate", "1.5", "--delta", "1e-5"), "rate must be in"),
        (("--noise-multiplier", "1", "--rate", "0", "--delta", "1e-5"), "rate must be in"),
        (("--noise-multiplier", "1", "--delta", "1"), "delta must be in [0, 1)"),
        (("--noise-multiplier", "1", "--delta", "1e-5", "--tolerance", "0"), "tolerance"),
        (("--noise-multiplier", "1", "--delta", "1e-5", "--plot", "out.txt"), "--plot takes a name that ends in"),
        (("--noise-multiplier", "1", "--epsilon", "1", "--report"), "--report needs --delta"),
        (("missing.json", "--delta", "1e-5"), "cannot be read"),
        (("broken.json", "--delta", "1e-5"), "must be JSON text"),
        (("other.json", "--delta", "1e-5"), "a loss needs a field 'loss'"),
        (("loss.json", "--steps", "3", "--delta", "1e-5"), "not two of them"),
        (("loss.json", "--opacus", "loss.json", "--delta", "1e-5"), "not two of them"),
        (("--opacus", "loss.json", "--delta", "1e-5"), "holds no history of Opacus"),
        (("--noise-multiplier", "1", "--epochs", "3", "--delta", "1e-5"), "give all three"),
        (("--noise-multiplier", "1", "--epochs", "3", "--rate", "1", "--delta", "1e-5"), "not both"),
        ((*EPOCHS[:2], "--epochs", "0", *EPOCHS[4:], "--delta", "1e-5"), "epochs must be > 0"),
        ((*EPOCHS[:6], "--examples", "255", "--delta", "1e-5"), "--batch-size must be at most --examples"),
        (("--calibrate", "noise", "--delta", "1e-5"), "needs --epsilon and --delta"),
        (("--calibrate", "noise", "--noise-multiplier", "1", "--delta", "1e-5", "--epsilon", "1"), "leave that option"),
        (("--calibrate", "steps", "--delta", "1e-5", "--epsilon", "1"), "say what to count"),
    ],
)
def test_what_cannot_be_counted_is_refused(call: Call, folder: Path, words: tuple[str, ...], message: str) -> None:
    (folder / "broken.json").write_text("{", encoding="utf-8")
    (folder / "other.json").write_text("{}", encoding="utf-8")
    (folder / "loss.json").write_text(LaplaceLoss(1).to_json(), encoding="utf-8")
    result = call("account", *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_zero_steps_are_refused_by_the_parser(call: Call) -> None:
    assert call("account", "--noise-multiplier", "1", "--steps", "0", "--delta", "1e-5").exit_code != 0
