"""The report: its numbers are those of the loss, its words say what they mean, and round to the safe side."""

import json
import re
from dataclasses import replace
from fractions import Fraction

import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import (
    ApproximateLoss,
    ConcentratedLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    Relation,
)
from deniable.privacy.reports.report import above, assumptions, percent_above

RUN = GaussianLoss("1.1").poisson_sampled(rate="256/60000") * 14063


def test_training_in_words() -> None:
    report = RUN.report("1e-5", tolerance=0.01)
    text = str(report)
    assert "1e-5)-differentially private" in text.splitlines()[0]
    for words in ("add/remove", "Poisson", "floating point", "1% sure that", "50% sure that", "10% false"):
        assert words in text
    assert report.epsilon.lower <= 2.38160 <= report.epsilon.upper
    assert "basic composition" in text
    assert "certified" in text


def test_randomized_response_by_hand() -> None:
    """ln 3: hits are at most thrice the alarms, advantage (3-1)/(3+1), belief 3p/(2p+1)."""
    report = PureLoss("1.0986122886681098").report(0)
    assert report.epsilon.upper == pytest.approx(1.0986122886681098)
    assert report.advantage.upper == pytest.approx(0.5)
    assert report.hits[1][1].upper == pytest.approx(0.03)
    assert report.beliefs[0][1].upper == pytest.approx(3 / 102)
    assert report.beliefs[1][1].upper == pytest.approx(0.75)
    assert "right with probability at most 75" in str(report)
    assert report.accounts == ()
    assert "Other accountants" not in str(report)


def test_published_power_of_a_gaussian() -> None:
    """accounting.md 13: 0.38914 at a false positive rate of 0.1."""
    report = (GaussianLoss("1.7320508075688772") * 3).report("1e-5")
    assert report.hits[2][0] == 0.1
    assert report.hits[2][1].upper == pytest.approx(0.38914, abs=1e-5)


def test_numbers_are_rounded_up() -> None:
    assert above(1.00001) == "1.001"
    assert above(0.5) == "0.5"
    assert above(1.2345e-13) == "1.235e-13"
    assert above(12345.6) == "12350"
    assert percent_above(0.12301) == "12.4%"
    assert percent_above(0.99999123) == "99.99913%"
    assert percent_above(1.0) == "100%"


def test_what_is_assumed_follows_the_parts() -> None:
    assert len(list(assumptions(PureLoss(1)))) == 2
    assert any("real number" in text for text in assumptions(LaplaceLoss(1)))
    assert not any("coin" in text for text in assumptions(LaplaceLoss(1) * 2))
    assert any("coin" in text for text in assumptions(RUN + LaplaceLoss(3)))
    sampled = GaussianLoss(1).sampled_without_replacement(size=5, population=50)
    assert any("fixed, public size" in text for text in assumptions(sampled * 3))
    assert sum("real number" in text for text in assumptions(GaussianLoss(1) + LaplaceLoss(1))) == 1
    assert any("before the first answer" in text for text in assumptions(PureLoss(1) * 2))
    assert Relation.REPLACE not in RUN.relations
    assert not any("(replace)" in text for text in assumptions(RUN))


def test_an_infinite_epsilon_is_said_and_is_null_in_data() -> None:
    report = ApproximateLoss(1, "0.01").report("1e-5")
    assert str(report).startswith("No epsilon is proved at delta = 1e-5")
    assert report.to_data()["epsilon"] == {"lower": None, "upper": None}
    json.loads(report.to_json())


def test_data_and_page_hold_the_same_statement() -> None:
    report = (PureLoss("0.1") * 20).report("1e-6")
    told = json.loads(report.to_json())
    assert (told["delta"], told["loss"]["loss"]) == ("1/1000000", "composed")
    assert [row["false_positive_rate"] for row in told["true_positive_rates"]] == [0.001, 0.01, 0.1]
    assert [row["before"] for row in told["beliefs"]] == ["1/100", "1/2"]
    page = report._repr_html_()
    assert "<script" not in page
    assert "50% sure that" in page
    assert "PureLoss(epsilon=0.1) * 20" in page
    assert "20 x &lt;PureLoss&gt;" in replace(report, counted="20 x <PureLoss>")._repr_html_()


def test_delta_is_checked() -> None:
    with pytest.raises(InvalidParameterError, match="delta must be in"):
        PureLoss(1).report(1)
    assert PureLoss(1).report(Fraction(1, 2)).epsilon.upper == 0


@pytest.mark.parametrize(
    "loss",
    [GaussianLoss(1), PureLoss(0), ApproximateLoss("0.5", "0.1"), GaussianLoss(2).poisson_sampled(rate="0.1")],
)
def test_beliefs_are_those_of_the_curve(loss: PrivacyLoss) -> None:
    for prior, found in loss.report("1e-5").beliefs:
        truth = loss.tradeoff().posterior(prior, failure="1e-5")
        assert found.lower == pytest.approx(truth.lower, rel=1e-12)
        assert found.upper == pytest.approx(truth.upper, rel=1e-12)


def test_repr_is_one_line() -> None:
    assert repr(PureLoss(1).report("1e-5")) == "<Report: epsilon <= 0.999987 at delta = 1e-5>"


@pytest.mark.parametrize("loss", [ConcentratedLoss("0.3"), GaussianLoss(1), GaussianLoss(7)], ids=repr)
def test_every_share_is_said_from_above(loss: PrivacyLoss) -> None:
    about = loss.report("1e-6")
    found = re.findall(r"finds at most ([0-9.]+)%", str(about))
    assert len(found) == len(about.hits)
    for said, (_, rate) in zip(found, about.hits, strict=True):
        assert float(said) >= 100 * rate.upper * (1 - 1e-12)
    (coin,) = re.findall(r"is right with probability at most ([0-9.]+)%", str(about))
    assert float(coin) >= 50 * (1 + about.advantage.upper) * (1 - 1e-12)
