"""Clips: no row leaves the ball, whatever it holds, and a norm that follows a quantile finds it."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.learning import AdaptiveClip, BallsInBins, Clip, TrainingPlan
from deniable.mechanisms.vectors.clipping import squared_norms
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Relation, of_count

BLOCKS = ((2, 1), (1, 3))
CLIPS = [
    Clip(lattice=2**10),
    Clip(lattice=2**10, stabiliser="1/100"),
    Clip(lattice=2**10, blocks=BLOCKS),
    Clip(lattice=2**10, blocks=BLOCKS, stabiliser=1),
    AdaptiveClip(lattice=2**10),
    AdaptiveClip(lattice=2**10, blocks=BLOCKS, count_share="1/2"),
]
ODD = np.array(list(product([np.nan, np.inf, -np.inf, 1e308, -1e200, 1e-200, 5e-324, 0.0, -1.0], repeat=3)))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("norm", [1.0, 5e-324, 1e-300, 1e300])
@pytest.mark.parametrize("clip", CLIPS, ids=str)
def test_no_row_leaves_the_ball(clip: Clip, norm: float) -> None:
    found = clip.integers(ODD, norm)
    assert max(sum(int(entry) ** 2 for entry in row) for row in found) <= clip.lattice**2
    bad = ~np.isfinite(ODD).all(axis=1)
    assert not found[bad, :3].any()
    assert not clip.integers(np.zeros((1, 3)), norm)[:, :3].any()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.int8])
@pytest.mark.parametrize("clip", [*CLIPS, *(replace(clip, lattice=2**28) for clip in CLIPS)], ids=str)
def test_rows_of_every_type_are_cut_as_in_doubles(clip: Clip, dtype: type) -> None:
    """Scaled in float32, 259 of 1,000 rows left the ball by rounding at lattice 2^28, and counted as zero."""
    rows = (np.random.default_rng(5).normal(size=(200, 3)) * 100).clip(-128, 127).astype(dtype)
    found = clip.integers(rows, 1.0)
    assert found.tolist() == clip.integers(rows.astype(np.float64), 1.0).tolist()
    assert found[:, :3].any(axis=1).all()


@pytest.mark.parametrize("clip", CLIPS, ids=str)
def test_an_empty_batch_is_a_step_like_any_other(clip: Clip) -> None:
    run = TrainingPlan(clip=clip, noise_multiplier=1, steps=2, dimensions=3).run(0, expected_rows=1)
    assert [run.mean_gradient(np.zeros((len(batch), 3))).all() for batch in run] == [True, True]


@pytest.mark.parametrize("clip", CLIPS, ids=str)
def test_a_row_is_the_same_integers_wherever_it_stands(clip: Clip) -> None:
    rows = np.random.default_rng(1).normal(size=(501, 3))
    whole = clip.integers(rows, 1.0)
    assert all((clip.integers(rows[start:], 1.0) == whole[start:]).all() for start in (1, 7, 500))


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("clip", CLIPS, ids=str)
def test_no_row_moves_the_sum_further_than_the_loss_says(clip: Clip, relation: Relation) -> None:
    """l2^2 = 2 sigma^2 rho by the loss; rows on the sphere and their opposites come close to it."""
    plan = TrainingPlan(clip=clip, noise_multiplier=1, steps=1, dimensions=3, relation=relation)
    loss = plan.mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=relation))
    assert loss.rho is not None
    limit = 2 * loss.rho * plan.mechanism.noise.sigma_squared  # type: ignore[attr-defined]
    rows = np.random.default_rng(2).normal(size=(40, 3)) * 10.0 ** np.arange(-20, 20)[:, None]
    edge = rows / np.linalg.norm(rows, axis=1, keepdims=True) * (1 - 2**-20)
    rows = np.vstack([rows, edge, -edge * (1 + 2**-18), np.zeros(3)])  # within the norm, and beyond it
    found = clip.integers(rows, 1.0)
    others = found if relation is Relation.REPLACE else np.zeros_like(found[:1])
    moved = max(int(((row - others) ** 2).sum(axis=1).max()) for row in found)
    assert 0.9 * limit < moved <= limit


def test_blocks_have_norms_of_their_own_and_stabilisers_one_length() -> None:
    rows = np.random.default_rng(3).normal(size=(200, 3)) * 100
    found = Clip(lattice=1000, blocks=BLOCKS).integers(rows, 1.0)
    assert np.hypot(found[:, 0], found[:, 1]).max() <= 317 and np.abs(found[:, 2]).max() <= 948  # noqa: PT018
    assert min(np.hypot(found[:, 0], found[:, 1]).min(), np.abs(found[:, 2]).min()) >= 310
    small = Clip(lattice=1000, stabiliser=1).integers(np.array([[3.0, 0, 0], [0, 0.25, 0]]), 2.0)
    assert small.tolist() == [[749, 0, 0], [0, 199, 0]]  # 3/(3 + 1) and 1/4 / (1/4 + 1), towards 0


@pytest.mark.parametrize("start", ["1/1000", 1000])
def test_an_adaptive_norm_finds_its_quantile_from_both_sides(start: object) -> None:
    clip = AdaptiveClip(norm=start, quantile="3/4", rate="1/2")
    plan = TrainingPlan(clip=clip, sampler=BallsInBins(bins=2), noise_multiplier=2, steps=80, dimensions=2)
    rows = np.random.default_rng(4).lognormal(1, 0.5, size=(2000, 1)) * [0.6, 0.8]
    run = plan.run(2000, expected_rows=2000, bits=DeterministicBits(5))
    for batch in run:
        run.mean_gradient(rows[batch])
    true = np.quantile(np.sqrt(squared_norms(rows)), 0.75)
    assert abs(run.norm / true - 1) < 0.1
    assert 0.7 < (np.sqrt(squared_norms(rows)) <= run.norm).mean() < 0.8


def test_empty_batches_move_an_adaptive_norm_by_noise_alone() -> None:
    plan = TrainingPlan(clip=AdaptiveClip(), noise_multiplier=1, steps=50, dimensions=1)
    run, norms = plan.run(0, expected_rows=1000, bits=DeterministicBits(6)), []
    for batch in run:
        run.mean_gradient(np.zeros((len(batch), 1)))
        norms.append(run.norm)
    assert len(set(norms)) == 50
    assert abs(np.log(norms)).max() < 0.1


def test_a_count_on_top_of_a_whole_gradient_would_leave_the_ball() -> None:
    """The twin: what is counted beside a gradient that keeps all of the lattice is not in the loss."""
    clip = AdaptiveClip(lattice=1000)
    honest = clip.integers(np.array([[5.0, 0.0]]), 1.0)[0]
    greedy = np.append(Clip(lattice=1000).integers(np.array([[5.0, 0.0]]), 1.0)[0], honest[-1])
    assert (honest**2).sum() <= 1000**2 < (greedy**2).sum()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Clip(norm=0),
        lambda: Clip(lattice=0),
        lambda: Clip(stabiliser=0),
        lambda: Clip(blocks=[(1, 0)]),
        lambda: Clip(blocks=3),
        lambda: Clip(blocks=[1, 2]),
        lambda: Clip(lattice=2, blocks=[(1, 1), (1, 10)]),
        lambda: AdaptiveClip(quantile=1),
        lambda: AdaptiveClip(rate=11),
        lambda: AdaptiveClip(lattice=1),
        lambda: TrainingPlan(clip=Clip(blocks=[(1, 1), (1, 1)]), noise_multiplier=1, steps=1, dimensions=3),
    ],
)
def test_settings_that_do_not_fit_are_refused(make: object) -> None:
    with pytest.raises(InvalidParameterError):
        make()  # type: ignore[operator]
