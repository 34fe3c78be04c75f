"""The page about synthetic rows."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np

from deniable.synthesis.domain import DeclaredDomain
from deniable.synthesis.report import MAX_BARS, bars
from tests.synthesis.test_synthesis import made


def test_the_page_has_a_picture_of_every_column_and_the_farthest_pairs() -> None:
    page = made().report()
    assert page.count("<svg") == 3
    assert "ward x age" in page
    assert "<script" not in page
    assert not re.search(r"https?://(?!www\.w3)", page)


def test_names_are_escaped() -> None:
    one = made()
    plan = one.measured.measuring
    evil = replace(plan.domain.attributes[0], name="<img src=x>")
    domain = DeclaredDomain((evil, *plan.domain.attributes[1:]))
    page = replace(one, measured=replace(one.measured, measuring=replace(plan, domain=domain))).report()
    assert "<img" not in page
    assert "&lt;img src=x&gt;" in page


def test_bars_are_as_high_as_shares_and_many_levels_share_one() -> None:
    picture = ElementTree.fromstring(bars(np.array([0.5, 0.25]), np.array([0.5, 0.25]), 0.0))
    assert [float(bar.get("height", "")) for bar in picture.iter("rect")] == [120.0, 60.0]
    many = bars(np.full(1_000, 0.001), np.full(1_000, 0.001), 0.001)
    assert many.count("<rect") <= MAX_BARS
