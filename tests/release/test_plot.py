from dataclasses import replace

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import PureLoss
from deniable.release import Release
from deniable.release.columns import Key, Measure, Noisy
from deniable.statistics import histogram
from tests.release.conftest import laplace, one


def test_one_key_is_drawn_as_bars(release: Release) -> None:
    ax = release.plot()
    assert [bar.get_height() for bar in ax.patches] == [2053, 40, 0]
    assert ax.get_ylabel() == "n"
    assert ax.get_xlabel() == "region"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["north", "NULL", "<b>s&p</b>"]
    assert "95% intervals; cost epsilon=0.1" in ax.get_title()


def test_whiskers_are_the_intervals(release: Release) -> None:
    ax = release.plot("n", level=0.5)
    segments = ax.collections[0].get_segments()
    bounds = release.intervals(0.5)["n"]
    drawn = [sorted(point[1] for point in segment) for segment in segments]
    assert drawn == [pytest.approx(pair) for pair in zip(bounds.lower, bounds.upper, strict=True)]


def test_no_key_or_three_are_drawn_as_points() -> None:
    assert len(one([1.0, 2.0], laplace(1)).plot().patches) == 0
    noisy = (Noisy(name="n", values=np.array([1.0, 2.0]), law=laplace(1)),)
    keys = (Key(name="a", values=("x", "y")), Key(name="b", values=(1, None)), Key(name="c", values=(True, False)))
    ax = Release(parts=(*keys, Measure(name="n", bases=("n",))), noisy=noisy, cost=PureLoss(1)).plot()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["x / 1 / True", "y / NULL / False"]


def test_two_keys_are_drawn_as_groups_of_bars() -> None:
    """One place for each value of the first key, one colour for each of the second; what is missing stays empty."""
    noisy = (Noisy(name="n", values=np.array([5.0, 7.0, 9.0]), law=laplace(1)),)
    keys = (Key(name="ward", values=("a", "a", "b")), Key(name="year", values=(2024, None, None)))
    ax = Release(parts=(*keys, Measure(name="n", bases=("n",))), noisy=noisy, cost=PureLoss(1)).plot()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b"]
    assert ax.get_xlabel() == "ward"
    places = [(round(bar.get_x() + bar.get_width() / 2, 2), bar.get_height()) for bar in ax.patches]
    assert places == [(-0.2, 5), (0.2, 7), (1.2, 9)]
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in (legend.get_title(), *legend.get_texts())] == ["year", "2024", "NULL"]


def test_bins_are_drawn_between_their_edges() -> None:
    answer = histogram([1, 2, 20, None], bins=[0, 5, 50], other=True, epsilon=1000, bits=DeterministicBits(1))
    bars = answer.plot().patches
    assert [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in bars[:2]] == [(0, 5, 2), (5, 45, 1)]
    assert bars[2].get_x() >= 50
    assert bars[2].get_height() == 1


def test_the_title_says_what_was_asked(release: Release) -> None:
    assert release.text in release.plot().get_title()
    assert "protects one patient" in replace(release, protects="one patient of visits").plot().get_title()


def test_an_unbounded_interval_and_a_dollar_sign_can_be_drawn() -> None:
    noisy = (Noisy(name="n", values=np.array([0.0, 1.0, 500.0]), law=laplace(1)),)
    share = Measure(name="$x_$", bases=("n",), evaluate=lambda b: 1 / b["n"], denominators=(lambda b: b["n"],))
    release = Release(parts=(Key(name="$k$", values=("$a$", "$", "$$")), share), noisy=noisy, cost=PureLoss(1))
    release.plot().figure.canvas.draw()


def test_given_axes_are_used(release: Release) -> None:
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    assert release.plot("average", ax=ax) is ax


@pytest.mark.parametrize("measure", ["region", "age", ""])
def test_only_noisy_columns_are_drawn(release: Release, measure: str) -> None:
    with pytest.raises(InvalidParameterError, match="measure must be one of"):
        release.plot(measure)
