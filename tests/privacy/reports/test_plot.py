"""Pictures of a loss: what is drawn are the bounds themselves."""

import builtins
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import MissingExtraError
from deniable.privacy import ApproximateLoss, GaussianLoss, Interval, PureLoss
from deniable.privacy.reports.plot import draw_profile

RUN = GaussianLoss(1).poisson_sampled(rate="0.1") * 20


def test_the_line_of_the_profile_is_the_upper_bound_on_a_logarithmic_axis() -> None:
    ax = draw_profile(RUN, tolerance=0.05, points=9, ax=None)
    epsilons, deltas = (np.asarray(values, dtype=float) for values in ax.lines[0].get_data())
    assert (epsilons[0], ax.get_yscale(), len(epsilons)) == (0.0, "log", 72)
    assert deltas[-1] <= 1.1e-10
    for epsilon, delta in zip(epsilons[::7], deltas[::7], strict=True):  # on and between the points
        assert RUN.delta(float(epsilon)).lower <= delta * (1 + 1e-12)
    marks, lowest = (np.asarray(values, dtype=float) for values in ax.lines[1].get_data())
    for epsilon, delta in zip(marks, lowest, strict=True):
        assert delta <= RUN.delta(float(epsilon)).upper <= delta * 1.06 + 1e-12
    ax.figure.canvas.draw()


def test_a_curve_is_a_table_of_columns() -> None:
    table = PureLoss(1).curve(points=5)
    assert list(table) == ["epsilon", "delta_lower", "delta_upper"]
    for epsilon, low, high in zip(*table.values(), strict=True):
        assert PureLoss(1).delta(Fraction(float(epsilon))) == Interval(low, high)


def test_renyi_divergences_are_drawn_between_both_bounds() -> None:
    ax = RUN.plot_renyi(orders=[Fraction(1, 2), 2, 8])
    orders, drawn = (np.asarray(values, dtype=float) for values in ax.lines[0].get_data())
    assert list(orders) == [0.5, 2, 8]
    assert list(drawn) == list(RUN.renyi([Fraction(1, 2), 2, 8]).upper)
    assert GaussianLoss(1).plot_renyi().get_xscale() == "log"


def test_the_tail_of_the_loss_is_drawn_above_delta() -> None:
    tail, delta = GaussianLoss(1).variable().plot(points=17).lines
    place = dict(zip(*tail.get_data(), strict=True))
    assert all(y <= place[x] for x, y in zip(*delta.get_data(), strict=True))


def test_a_profile_that_stays_large_or_ends_at_nothing_can_be_drawn() -> None:
    for loss in (PureLoss(1), ApproximateLoss(1, "0.2"), ApproximateLoss(1, "0.001"), GaussianLoss(50)):
        draw_profile(loss, tolerance=0.05, points=5, ax=None).figure.canvas.draw()


def test_both_bounds_of_the_trade_off_are_drawn_and_guessing_beside_them() -> None:
    ax = GaussianLoss(1).tradeoff().plot(points=9)
    alarms, misses = (np.asarray(values, dtype=float) for values in ax.lines[0].get_data())
    assert np.all(misses < 1 - alarms)
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "between the bounds",
        "no attack is below",
        "guessing",
    ]
    ax.figure.canvas.draw()


def test_given_axes_are_used() -> None:
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    assert PureLoss(1).plot(tolerance=0.05, points=3, ax=ax) is ax


def test_a_missing_matplotlib_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"\.\[plot\]"):
        draw_profile(PureLoss(1), tolerance=0.05, points=3, ax=None)
