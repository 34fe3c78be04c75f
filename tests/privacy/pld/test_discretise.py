"""Both grid laws lie on their side of the true curve at every epsilon, on the grid and between; broken twins do not."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.numbers.arrays import Floats
from deniable.privacy.amplification.sampling.sampled_law import SampledLaw
from deniable.privacy.pld.discretise import Discretised, Grid, Mesh, discretise
from deniable.privacy.pld.law import FiniteLaw, LossLaw, ReversedLaw, Tails
from deniable.privacy.pld.laws import BoundedRangeLaw, LaplaceLaw, NormalLaw, randomized_response_law

STEP = 0.03


def curve(losses: Floats, masses: Floats, infinite: float, at: Floats) -> Floats:
    """E max(0, 1 - e^(x - L)) by the definition."""
    gains = np.maximum(-np.expm1(np.minimum(at[:, None] - losses, 0.0)), 0.0)
    return gains @ masses + infinite


def true_curve(law: LossLaw, at: Floats) -> Floats:
    tails = law.above(at)
    return tails.p - np.exp(at) * tails.q + law.infinite


def bounds(law: LossLaw, grid: Grid | Mesh, at: Floats) -> tuple[Floats, Floats, Discretised]:
    found = discretise(law, grid)
    upper = curve(grid.losses, found.upper, found.upper_infinite, at - found.slack)
    lower = curve(grid.losses, found.lower, found.lower_infinite, at + found.slack)
    return np.asarray(lower), np.asarray(upper), found


LAWS: list[tuple[LossLaw, Grid]] = [
    (NormalLaw(0.4), Grid(0.0, STEP, -70, 90)),
    (NormalLaw(0.05), Grid(0.0, STEP, -20, 20)),  # a step of more than half a standard deviation
    (LaplaceLaw(0.5), Grid(0.5, STEP, -35, 0)),
    (LaplaceLaw(0.5), Grid(0.49, STEP, -35, 1)),
    (BoundedRangeLaw(0.7), Grid(0.7, STEP, -48, 0)),
    (randomized_response_law(0.3), Grid(0.3, STEP, -20, 0)),
    (randomized_response_law(0.31, failed=0.125), Grid(0.31, STEP, -21, 0)),
    (SampledLaw(NormalLaw(1.0), 0.1), Grid(0.0, STEP, -5, 140)),  # type: ignore[arg-type]
    (ReversedLaw(SampledLaw(NormalLaw(1.0), 0.1)), Grid(0.11, STEP, -140, 0)),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("law", "grid"), LAWS)
def test_the_true_curve_lies_between(law: LossLaw, grid: Grid) -> None:
    at = np.linspace(-2.0, 2.0, 1601)
    lower, upper, found = bounds(law, grid, at)
    truth = true_curve(law, at)
    rounding = 1e-14  # of this test's own differences
    assert np.all(upper >= truth - rounding)
    assert np.all(lower <= truth + rounding)
    assert np.all(found.upper >= 0)
    assert np.all(found.lower >= 0)


@pytest.mark.parametrize(("law", "grid"), LAWS[:3])
def test_the_twins_with_exchanged_sides_are_caught(law: LossLaw, grid: Grid) -> None:
    at = np.linspace(-0.3, 0.3, 601)
    lower, upper, _ = bounds(law, grid, at)
    truth = true_curve(law, at)
    assert np.any(lower < truth - 1e-9)
    assert np.any(upper > truth + 1e-9)


def test_a_twin_that_only_rounds_losses_to_the_nearest_is_caught() -> None:
    """Rounding keeps neither P nor Q: the curve falls below the true one somewhere."""
    law, grid = NormalLaw(0.4), Grid(0.0, STEP, -70, 90)
    middles = grid.losses[:-1] + STEP / 2
    masses = -np.diff(law.above(np.concatenate(([-np.inf], middles, [np.inf]))).p)
    at = np.linspace(-1.0, 1.0, 801)
    assert np.any(curve(grid.losses, masses, 0.0, at) < true_curve(law, at) - 1e-6)


def test_both_errors_are_quartered_when_the_step_is_halved() -> None:
    at = np.linspace(-0.5, 1.0, 301)
    widths = []
    for halvings in range(3):
        grid = Grid(0.0, STEP / 2**halvings, -70 * 2**halvings, 90 * 2**halvings)
        lower, upper, _ = bounds(NormalLaw(0.4), grid, at)
        truth = true_curve(NormalLaw(0.4), at)
        widths.append((np.max(upper - truth), np.max(truth - lower)))
    for coarse, fine in itertools.pairwise(widths):
        assert fine[0] == pytest.approx(coarse[0] / 4, rel=0.15)
        assert fine[1] == pytest.approx(coarse[1] / 4, rel=0.2)


@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=7, unique_by=lambda pair: pair),
    st.sampled_from([0.011, 0.05, 0.3]),
)
def test_random_finite_pairs_lie_between(weights: list[tuple[int, int]], step: float) -> None:
    p = np.array([a for a, _ in weights]) / sum(a for a, _ in weights)
    q = np.array([b for _, b in weights]) / sum(b for _, b in weights)
    order = np.argsort(p / q)
    law = FiniteLaw(np.log(p / q)[order], p[order], q[order])
    last = max(int(np.ceil((law.highest - law.lowest) / step)) + 1, 3)
    grid = Grid(law.highest, step, -last, 0)
    at = np.linspace(law.lowest - 0.1, law.highest + 0.1, 401)
    lower, upper, _ = bounds(law, grid, at)
    truth = curve(law.losses, p[order], 0.0, at)
    assert np.all(upper >= truth - 1e-13)
    assert np.all(lower <= truth + 1e-13)


@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=7, unique_by=lambda pair: pair),
    st.lists(st.floats(-2.0, 2.0), min_size=0, max_size=30),
    st.booleans(),
)
def test_random_finite_pairs_lie_between_on_any_mesh(
    weights: list[tuple[int, int]], edges: list[float], atoms: bool
) -> None:
    """Edges anywhere, some of them at losses; what lies above the last one is infinite, or left out."""
    p = np.array([a for a, _ in weights]) / sum(a for a, _ in weights)
    q = np.array([b for _, b in weights]) / sum(b for _, b in weights)
    order = np.argsort(p / q)
    law = FiniteLaw(np.log(p / q)[order], p[order], q[order])
    losses = np.unique(np.concatenate((np.round(edges, 4), [-2.5, 2.1], law.losses[::2] if atoms else [])))
    mesh = Mesh(losses[np.append(np.diff(losses) > 1e-6, True)])
    at = np.linspace(law.lowest - 0.1, law.highest + 0.1, 301)
    lower, upper, found = bounds(law, mesh, at)
    truth = curve(law.losses, p[order], 0.0, at)
    assert np.all(upper >= truth - 1e-12)
    assert np.all(lower <= truth + 1e-12)
    assert min(found.upper.min(), found.lower.min()) >= 0


def test_an_atom_at_the_least_loss_costs_no_more_than_the_bins() -> None:
    """Of second order from below too: the curve is above its tangent beyond the atom."""
    at = np.linspace(-0.3, 0.3, 301)
    widths = []
    for bins in (40, 80):
        lower, _, _ = bounds(LaplaceLaw(0.25), Mesh(np.linspace(-0.25, 0.25, bins + 1)), at)
        widths.append(np.max(true_curve(LaplaceLaw(0.25), at) - lower))
    assert widths[1] < widths[0] / 3


class _MovedLaw(LossLaw):
    """A law whose events lie up to `slack` from where they were asked for, as far as `moves` says."""

    def __init__(self, base: FiniteLaw, slack: float, moves: Floats, *, said: bool) -> None:
        self.base, self.moved, self.moves, self.said = base, slack, moves, said
        self.infinite, self.vanishing, self.lowest, self.highest = (
            base.infinite,
            base.vanishing,
            base.lowest,
            base.highest,
        )

    def above(self, losses: Floats) -> Tails:
        return self.base.above(losses + self.moved * np.resize(self.moves, losses.size))

    def below(self, losses: Floats) -> Tails:
        return self.base.below(losses + self.moved * np.resize(self.moves, losses.size))

    def slack(self, reach: float) -> float:
        return self.moved if self.said else 0.0


@pytest.mark.parametrize("said", [True, False])
def test_events_that_lie_beside_their_thresholds_are_covered_where_the_law_says_so(said: bool) -> None:
    """Atoms within two and a half slacks of grid losses. What is beyond first order is below a thousandth of the slack.

    With said=False the law keeps its slack to itself: the twin that fails. So does `discretise` without its slack, or
    without the error that the slack adds to the probabilities.
    """
    draw, slack = np.random.default_rng(5), 1e-7
    grid, over, under = Grid(0.0, 0.05, -20, 20), 0.0, 0.0
    for _ in range(120):
        count = draw.integers(1, 6)
        places = np.sort(draw.choice(np.arange(-15, 15), count, replace=False))
        losses = places * 0.05 + draw.uniform(-2.5, 2.5, count) * slack
        p = draw.dirichlet(np.ones(count))
        whole = float(p @ np.exp(-losses))
        p = p / max(whole, 1.0)
        base = FiniteLaw(
            losses, p, p * np.exp(-losses), infinite=max(0.0, 1 - 1 / whole), vanishing=max(0.0, 1 - whole)
        )
        law = _MovedLaw(base, slack, draw.choice([-1.0, 0.0, 1.0], 7), said=said)
        at = np.unique(np.add.outer(losses, slack * np.linspace(-6, 6, 49)))
        lower, upper, _ = bounds(law, grid, at)
        truth = curve(losses, p, base.infinite, at)
        over, under = max(over, float((truth - upper).max())), max(under, float((lower - truth).max()))
    assert (over < 1e-3 * slack and under < 1e-3 * slack) is said
