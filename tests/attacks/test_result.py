"""The shape of what an attack returns."""

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from deniable.attacks import (
    AttackResult,
    Comparison,
    find_differences,
    isolate_people,
    measure_anonymity,
    solve_block,
    tabulate_block,
)
from deniable.attacks.linkage import make_ratings
from deniable.attacks.membership import trace_roc
from deniable.attacks.reconstruction import linear_program
from deniable.attacks.result import Curve, Share, TheoremBound
from deniable.attacks.tracing import draw_code, draw_pool
from deniable.errors import InvalidParameterError


def result(right: int = 90, **other: Any) -> AttackResult:
    given = {"attack": "Guessing", "target": "secret bit", "baseline": 0.5, "guess": "a coin", **other}
    return AttackResult(success=Share(right=right, attempts=100), **given)


def test_a_share_has_the_interval_of_clopper_and_pearson() -> None:
    share = Share(right=7, attempts=50, confidence=0.9)
    assert share.lower == pytest.approx(stats.beta.ppf(0.05, 7, 44), rel=1e-9)
    assert share.upper == pytest.approx(stats.beta.ppf(0.95, 8, 43), rel=1e-9)


@pytest.mark.parametrize(("right", "attempts", "confidence"), [(1, 0, 0.9), (3, 2, 0.9), (-1, 2, 0.9), (1, 2, 1.0)])
def test_a_share_of_nothing_is_refused(right: int, attempts: int, confidence: float) -> None:
    with pytest.raises(InvalidParameterError):
        Share(right=right, attempts=attempts, confidence=confidence)


def test_a_result_says_whether_the_attack_beats_the_guess() -> None:
    assert result(90).succeeded
    assert "gives this away" in result(90).sentence
    assert not result(55).succeeded
    assert "learned nothing" in result(55).sentence
    with pytest.raises(InvalidParameterError, match="baseline"):
        result(baseline=1.5)


def test_every_form_of_a_result_says_the_same() -> None:
    one = result(bound=TheoremBound(share=0.8, theorem="<b>at least 80</b>"), facts={"queries": 12}, learned=np.ones(3))
    assert "theorem: <b>at least 80</b>" in str(one)
    assert "queries: 12" in str(one)
    assert "&lt;b&gt;" in one._repr_html_()
    data = json.loads(one.to_json())
    assert data["right"] == 90
    assert data["bound"] == {"share": 0.8, "theorem": "<b>at least 80</b>"}
    assert "learned" not in data


def test_plots_show_the_curves_or_the_bars() -> None:
    pytest.importorskip("matplotlib")
    line = Curve(label="exact", x=np.arange(3.0), y=np.arange(3.0))
    drawn = result(curves=(line,), axes=("noise", "share")).plot()
    assert drawn.get_xlabel() == "noise"
    assert drawn.lines[0].get_label() == "exact"
    cloud = Curve(label="runs", x=np.array([2.0, 1.0]), y=np.array([1.0, 2.0]))
    styles = [one.get_linestyle() for one in result(curves=(cloud, line)).plot().lines]
    assert styles == ["None", "--"]
    assert result().plot().patches[0].get_height() == pytest.approx(0.9)


def test_a_comparison_lists_every_release() -> None:
    both = Comparison({"exact": result(99), "private": result(51)})
    assert list(both) == ["exact", "private"]
    assert [line.split()[0] for line in str(both).splitlines()] == ["release", "exact", "private"]
    assert "<td>private</td>" in both._repr_html_()
    pytest.importorskip("matplotlib")
    assert [bar.get_height() for bar in both.plot().patches] == pytest.approx([0.99, 0.51])
    with pytest.raises(InvalidParameterError, match="at least one"):
        Comparison({})


@pytest.mark.parametrize("releases", [2, 9])
def test_legend_and_names_of_a_comparison_hide_nothing(releases: int) -> None:
    pytest.importorskip("matplotlib")
    drawn = Comparison({f"a release with a name, {place}": result(99) for place in range(releases)}).plot()
    drawn.get_figure(root=True).canvas.draw()
    legend = drawn.get_legend()
    assert legend is not None
    assert legend.get_window_extent().y0 >= drawn.get_window_extent().y1
    names = [label.get_window_extent() for label in drawn.get_xticklabels()]
    assert releases > 5 or all(one.x1 <= other.x0 for one, other in pairwise(names))


def test_a_guesser_without_a_view_is_named_alone() -> None:
    assert "where a coin gets 50.0%" in result(sees="").sentence


def test_results_print_as_one_line_without_what_was_learned() -> None:
    result = isolate_people(lambda groups: groups @ [0, 1, 1, 0], [0, 1, 1, 0])
    assert repr(result) == f"<AttackResult: {result.sentence}>"
    assert repr(Comparison({"exact": result, "again": result})) == "<Comparison: exact 100.0%, again 100.0%>"
    tables = tabulate_block([{"age": 0, "sex": "m"}], [], attributes={"sex": ["f", "m"]}, ages=(0, 9))
    assert repr(solve_block(tables)) == "<BlockSolutions: 2 lists of people agree with the tables>"
    found = find_differences([[0, 1, 2], [0, 1]], rows=9)
    assert repr(found) == f"<Differences: {found.sentence}>"
    anonymity = measure_anonymity(pa.table({"age": [30, 30, 40]}), quasi="age")
    assert repr(anonymity) == f"<Anonymity: {anonymity.sentence}>"
    assert repr(make_ratings(users=9, items=8, density=0.4)).endswith("by 9 users of 8 items>")
    assert repr(trace_roc([3, 2, 1], [2, 0])) == "<Roc: 5 points, area 0.7500>"
    assert repr(draw_pool(people=4, attributes=3, strangers=2)) == "<Pool: 4 members, 2 strangers, 3 attributes>"
    assert repr(draw_code(users=5, coalition=2, length=30)) == "<FingerprintingCode: 5 words of 30 bits>"
    program = linear_program(np.array([[1, 1], [1, 0]], dtype=np.int8), [1, 1])
    assert repr(program) == "<LinearProgram: 3 columns, 4 constraints>"
