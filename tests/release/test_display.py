import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from deniable.privacy import ApproximateLoss, ConcentratedLoss, PureLoss
from deniable.privacy.loss import PrivacyLoss
from deniable.release import Release
from deniable.release.columns import Key, Measure, Noisy
from deniable.release.display import cell, price
from tests.release.conftest import laplace, one


class Reader(HTMLParser):
    """Collects the tags and the text that a browser would see."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_text_shows_values_errors_cost_and_what_is_left(release: Release) -> None:
    lines = str(release).splitlines()
    assert lines[0].split() == ["region", "n", "average"]
    assert "2,053 ± 30" in lines[2]
    assert "NULL" in lines[3]
    assert "0 [0, 27]" in lines[4]
    assert lines[5] == "95% intervals; cost epsilon=0.1; left epsilon=0.9"
    assert lines[6].startswith("after the noise: n: clamped to [0, inf]; average: clamped")
    assert lines[7] == "Rows were chosen by their noisy values."


def test_numbers_end_below_each_other(release: Release) -> None:
    head, rule, *rows = str(release.select(["region", "n"])).splitlines()[:5]
    assert {len(line) for line in (head, rule, *rows)} == {len(rule)}
    assert all(line.startswith(start) for line, start in zip(rows, ("north ", "NULL ", "<b>s&p</b> "), strict=True))


@pytest.mark.parametrize(
    ("value", "lower", "upper", "text"),
    [
        (2053.0, 1993.0, 2113.0, "2,053 ± 60"),
        (516_623_451.0, 516_623_451 - 15_580_000.0, 516_623_451 + 15_580_000.0, "516,600,000 ± 15,600,000"),
        (-4_321.0, -4_321 - 990.0, -4_321 + 990.0, "-4,320 ± 990"),
        (-3.0, -603.0, 597.0, "0 ± 600"),
        (123_456.7, float("nan"), float("nan"), "123,457"),
        (1.5e17, float("nan"), float("nan"), "1.5e+17"),
        (29.225, 26.18, 32.26, "29.2 ± 3.0"),
        (0.012345, 0.011, 0.0137, "0.01235 ± 0.00136"),
        (10.0, 0.0, 70.0, "10 [0, 70]"),
        (10.0, 9.0, 11.2, "10.00 [9.00, 11.20]"),
        (10.0, 9.0, 11.04, "10.00 ± 1.04"),
        (5.0, float("-inf"), float("inf"), "5 [-inf, inf]"),
        (5.0, 1.0, float("inf"), "5.0 [1.0, inf]"),
        (float("nan"), float("-inf"), float("inf"), "undefined"),
        (3.0, 3.0, 3.0, "3 ± 0"),
    ],
)
def test_digits_follow_the_error(value: float, lower: float, upper: float, text: str) -> None:
    assert cell(value, lower, upper) == text


def test_counts_have_no_decimals() -> None:
    assert "7 ± 3" in str(one(np.array([7]), laplace(1)))


@pytest.mark.parametrize(
    ("loss", "text"),
    [
        (PureLoss("0.1"), "epsilon=0.1"),
        (ApproximateLoss("0.1", "1e-6"), "epsilon=0.1, delta=1e-06"),
        (ConcentratedLoss("0.5"), "rho=0.5"),
    ],
)
def test_a_price_is_told_in_a_currency_that_knows_it(loss: PrivacyLoss, text: str) -> None:
    assert price(loss) == text


def test_repr_is_one_line(release: Release) -> None:
    assert repr(release) == "<Release: 3 rows of region, n, average; cost epsilon=0.1>"
    assert repr(one(np.array([2053]), laplace(10))) == "<Release: n = 2,053 ± 30; cost epsilon=0.1>"
    wide = [Key(name=f"k{index}", values=(1,)) for index in range(9)]
    assert repr(Release(parts=tuple(wide), cost=PureLoss(1))).startswith("<Release: 1 row of k0, k1, k2, k3, k4 and 4 ")


def test_html_escapes_every_text(release: Release) -> None:
    evil = "<script>alert('&\"')</script>"
    parts = (Key(name=evil, values=(evil,)), Measure(name=f"n{evil}", bases=("n",)))
    noisy = (Noisy(name="n", values=np.array([1.0]), law=laplace(1)),)
    text = Release(parts=parts, noisy=noisy, cost=PureLoss(1), text=evil, notes=(evil,))._repr_html_()
    reader = Reader(text)
    assert "script" not in reader.tags
    assert evil in reader.words
    assert reader.open == []


def test_html_shows_error_bars_cost_and_what_is_left(release: Release) -> None:
    reader = Reader(release._repr_html_())
    words = " ".join(reader.words)
    assert reader.tags.count("svg") == 6
    assert reader.open == []
    for part in ("2,053 ± 30", "cost epsilon=0.1", "left epsilon=0.9", "SELECT region", "a < 3"):
        assert part in words


def test_long_tables_are_cut_and_say_so() -> None:
    release = one(np.arange(1000), laplace(1))
    assert "... and 940 more rows" in str(release)
    assert "... and 940 more rows" in release._repr_html_()
    assert len(str(release).splitlines()) < 70


def test_every_form_of_test_noise_says_so() -> None:
    for rows in (1, 61, 1000):
        release = replace(one(np.arange(rows), laplace(1)), safe=False)
        for form in (str(release), repr(release), release._repr_html_(), release.to_html(), release.to_csv()):
            assert re.search("unsafe|safe=False", form or "", re.IGNORECASE), rows


def test_heads_stand_over_what_they_name(release: Release) -> None:
    """Numbers and their heads end at the right, in text and in HTML; texts begin at the left."""
    parts = (Key(name="year", values=(2024, 2025, None)), *release.parts)
    shown = replace(release, parts=parts)
    lines = str(shown).splitlines()[:5]
    assert [line[:4] for line in lines] == ["year", "----", "2024", "2025", "NULL"]
    heads = re.findall(r"<th[^>]*>", shown._repr_html_())
    numbers = '<th class="number">'
    assert heads == [numbers, "<th>", numbers, "<th>", numbers, "<th>"]  # a measure has a column for its error bars


def test_the_unit_is_told_where_it_is_known(release: Release) -> None:
    known = replace(release, protects="one patient of visits (add/remove)")
    assert "protects one patient of visits (add/remove)" in " ".join(Reader(known._repr_html_()).words)
    assert "protects" not in release._repr_html_()
