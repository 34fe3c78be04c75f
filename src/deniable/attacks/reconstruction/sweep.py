"""Success of reconstruction against the noise of the answers."""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from scipy.special import ndtr

from deniable.attacks.numbers import MAX_ROUNDS, real, start_dice, whole
from deniable.attacks.reconstruction.answers import answer_with_gaussian, answer_with_laplace, answer_within
from deniable.attacks.reconstruction.attack import attack_by_reconstruction
from deniable.attacks.reconstruction.queries import hadamard_subsets
from deniable.attacks.result import AttackResult, Curve, Share
from deniable.errors import InvalidParameterError

DEFAULT_NOISES = tuple(float(step) for step in np.geomspace(1 / 16, 4, 13))
NoiseLaw = Literal["gaussian", "laplace", "uniform"]


def sweep_noise(
    *,
    people: Sequence[int] = (64, 512, 4096),
    noises: Sequence[float] = DEFAULT_NOISES,
    noise: NoiseLaw = "gaussian",
    repeats: int = 4,
    seed: int = 0,
) -> AttackResult:
    """Reconstruct random bits from answers with more and more noise.

    Success falls when the noise reaches the square root of the people. Queries are about halves of the people
    (`hadamard_subsets`), solved by least squares. For a power of two of people an estimate has a standard deviation of
    2 sigma / sqrt(people), a little less, so that Phi(sqrt(people) / (4 sigma)) of the bits come out right: the same
    curve for all, drawn beside the measured ones.

    Args:
        people: numbers of people, one curve for each.
        noises: standard deviations of the noise, in units of the square root of the people, each > 0.
        noise: its distribution: "gaussian", "laplace" or "uniform".
        repeats: number of attacks at each point.
        seed: of all draws.

    Returns: `success` is the share of right bits at the least noise, over all curves.
    Proof: docs/theory/attacks/reconstruction.md.

    >>> result = sweep_noise(people=(64, 256), noises=(0.1, 1, 10))
    >>> [round(float(share), 1) for share in result.curves[-1].y]
    [1.0, 0.6, 0.5]
    """
    start_dice(seed)
    whole("repeats", repeats, upper=MAX_ROUNDS)
    low = min((real("noises", step) for step in noises), default=0.0)
    if not people or not 0 < low <= max(noises) < np.inf or noise not in get_args(NoiseLaw):
        raise InvalidParameterError(
            "people must hold numbers of people, noises numbers > 0, and noise be one of "
            f"{', '.join(get_args(NoiseLaw))}, "
            f"got {people}, {noises} and {noise!r}"
        )
    steps = np.sort(np.asarray(noises, dtype=np.float64))
    right = np.array([[_right(count, step, noise, repeats, seed) for step in steps] for count in people])
    attempts = repeats * np.array(people)
    measured = [
        Curve(label=f"{count:,} people", x=steps, y=row / tried)
        for count, row, tried in zip(people, right, attempts, strict=True)
    ]
    return AttackResult(
        attack=f"Reconstruction against {noise} noise",
        target="secret bit",
        success=Share(right=int(right[:, 0].sum()), attempts=int(attempts.sum())),
        baseline=0.5,
        guess="guessing by a coin",
        facts={
            "noise": f"{steps[0]:g} sqrt(people); the curves go to {steps[-1]:g} sqrt(people)",
            "right at the largest noise": f"{right[:, -1].sum() / attempts.sum():.1%}",
        },
        curves=(*measured, Curve(label="predicted", x=steps, y=np.asarray(ndtr(1 / (4 * steps))))),
        axes=("standard deviation of the noise / sqrt(people)", "share of the bits that came out right"),
    )


def _right(people: int, step: float, law: NoiseLaw, repeats: int, seed: int) -> int:
    """Count the right bits in all repeats together."""
    dice = np.random.default_rng((seed, whole("people", people), int(step * 1e9)))
    sigma = step * np.sqrt(people)
    right = 0
    for own in dice.integers(1 << 32, size=repeats).tolist():
        truth = dice.integers(0, 2, people)
        answerer = {
            "gaussian": answer_with_gaussian(truth, sigma=sigma, seed=own),
            "laplace": answer_with_laplace(truth, scale=sigma / np.sqrt(2), seed=own),
            "uniform": answer_within(truth, error=sigma * np.sqrt(3), seed=own),
        }[law]
        asked = hadamard_subsets(people=people, seed=own)
        right += attack_by_reconstruction(answerer, truth, subsets=asked).success.right
    return right
