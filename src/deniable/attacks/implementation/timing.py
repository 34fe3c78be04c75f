"""Clocks as oracles: larger noise takes longer to draw."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from deniable.attacks.numbers import MAX_ROUNDS, Floats, read_numbers, real, whole
from deniable.attacks.result import AttackResult, Curve, Share
from deniable.errors import InvalidParameterError

_CALM_RUNS = 0.95  # quantile of the work above which something else ran


def measure_work(
    release: Callable[[], float], *, clock: Callable[[], float], runs: int, exact: float = 0
) -> tuple[Floats, Floats]:
    """Measure the time of several releases.

    Args:
        release: returns one noisy answer.
        clock: time.perf_counter, or a counter of any work: random words used, passes of a loop.
        runs: number of releases.
        exact: the true value, of a question whose answer is public, such as a count of nobody.

    Returns: noise, shape (runs,), and work, shape (runs,), in the unit of the clock.

    >>> ticks = iter(range(100))
    >>> measure_work(lambda: 3.0, clock=lambda: next(ticks), runs=2, exact=1)
    (array([2., 2.]), array([1., 1.]))
    """
    whole("runs", runs, upper=MAX_ROUNDS)
    truth = real("exact", exact)
    noise = np.empty(runs)
    work = np.empty(runs)
    for run in range(runs):
        start = clock()
        answer = release()
        work[run] = clock() - start
        noise[run] = float(answer) - truth
    return noise, work


def guess_noise_by_time(noise: ArrayLike, work: ArrayLike) -> AttackResult:
    """Guess from the time of a release whether its noise was large.

    That narrows the true value. The first half of the runs fixes a straight line of work on |noise|, and the cut at its
    work for median noise. The second half is guessed. Work above the first half's 95% quantile is set to it: then
    something else ran.

    Args:
        noise: of at least 20 runs on a question with a public answer, shape (runs,).
        work: seconds, or another measure of work, shape (runs,).

    Source: Haeberlen, Pierce, Narayan (2011), "Differential privacy under fire"; Jin, McMurtry, Rubinstein,
        Ohrimenko (2022), arXiv:2112.05307, who recognise noise of discrete samplers by its time.

    >>> noise = np.random.default_rng(0).geometric(0.1, size=400)
    >>> print(guess_noise_by_time(noise, 1 + 2 * noise).succeeded)
    True
    """
    size = np.abs(read_numbers("noise", noise, dimensions=1))
    spent = read_numbers("work", work, dimensions=1)
    if len(size) != len(spent) or len(size) < 20:
        raise InvalidParameterError(f"noise and work must hold at least 20 runs each, got {len(size)} and {len(spent)}")
    half = len(size) // 2
    spent = np.minimum(spent, np.quantile(spent[:half], _CALM_RUNS))
    typical = float(np.median(size[:half]))
    moves = bool(np.ptp(size[:half]) and np.ptp(spent[:half]))
    slope, start = np.polyfit(size[:half], spent[:half], 1) if moves else (0.0, float(spent[0]))
    large = size[half:] > typical
    usual = bool(large.mean() > 0.5)
    guessed = np.sign(slope) * (spent[half:] - start - slope * typical) > 0 if moves else np.full(len(large), usual)
    fit = float(np.corrcoef(size, spent)[0, 1]) if moves else 0.0
    ends = np.array([0.0, size.max()])
    return AttackResult(
        attack="Timing",
        target="whether the noise is larger than usual",
        success=Share(right=int((guessed == large).sum()), attempts=len(large)),
        baseline=float(max(large.mean(), 1 - large.mean())),
        guess="a guesser",
        sees="without a clock",
        learned=guessed,
        facts={"work per unit of |noise|": f"{slope:.3g}", "correlation of work with |noise|": f"{fit:.3f}"},
        curves=(Curve(label="runs", x=size, y=spent), Curve(label="fit", x=ends, y=start + slope * ends)),
        axes=("|noise|", "work"),
    )
