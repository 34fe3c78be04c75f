"""Report noisy max with Laplace noise, and how to find it with other noise."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import Released, WorstCase
from deniable.mechanisms.selection import utility
from deniable.mechanisms.selection.base import Scores, Selection, below_the_best, checked_scores
from deniable.mechanisms.selection.exponential import ExponentialMechanism
from deniable.mechanisms.selection.permute_and_flip import PermuteAndFlip
from deniable.noise import race, races
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import shown
from deniable.privacy import AddRemove, LaplaceLoss, PrivacyLoss, Sensitivity, of_count

_LARGEST_SET = 200
_REACH = 45.0  # noise below the best by more decides with probability e^-45
_NODES = 40  # of each piece of length one


@dataclass(frozen=True, kw_only=True)
class NoisyMax(Selection):
    """Choose the candidate with the largest score + Laplace noise of scale 1 / rate.

    Kept for comparison: with exponential noise (PermuteAndFlip) the choice is better at the same cost. Only the index
    may be published; the noisy score itself costs extra.

    Guarantee: epsilon-DP with epsilon = 2 rate linf, or rate linf for monotone scores; the whole curve is at most that
        of Laplace noise with this epsilon.
    Source: Dwork, Roth (2014), section 3.3; the curve in docs/theory/mechanisms/selection.md.
    """

    kind: ClassVar[str] = "noisy_max"
    guarantee: ClassVar[str] = "epsilon-DP, epsilon = 2 rate linf (monotone: rate linf)"
    source: ClassVar[str] = "Dwork, Roth (2014)"
    _of_sums: ClassVar[bool] = True

    def _loss(self, limit: Fraction) -> PrivacyLoss:
        return LaplaceLoss(1 / limit)

    def release(self, exact: Scores, *, bits: Bits = SECURE) -> Released[int]:
        """The index of one candidate; arguments and errors as in `ExponentialMechanism.release`."""
        return Released(race.noisy_max(checked_scores(exact), rate=self.rate, bits=bits), bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        """Indices."""
        return races.noisy_max(np.broadcast_to(np.array(exact), (runs, len(exact))), rate=self.rate, bits=bits)

    def probabilities(self, scores: ArrayLike) -> NDArray[np.float64]:
        """The law of the choice, by quadrature: the integral of f(x - g_i) times the product of F(x - g_j), j != i.

        Error: below 10^-12. Pieces have no kink inside, and beyond the best score the integrand is a polynomial.
        """
        gaps = float(self.rate) * below_the_best(scores, _LARGEST_SET)
        near = np.unique(gaps[gaps > -_REACH])
        cuts = np.unique(np.concatenate([near, np.arange(-_REACH, 0.5)]))
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        middle, half = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts) / 2
        x = (middle[:, None] + half[:, None] * nodes).ravel()
        below = _integral(gaps, x, (half[:, None] * weights).ravel())
        tail_nodes, tail_weights = np.polynomial.legendre.leggauss(gaps.size // 2 + 1)
        z = (tail_nodes + 1) / 2  # z = e^-x for x >= 0, so dx = dz / z
        return below + _integral(gaps, -np.log(z), tail_weights / 2 / z)

    def gap_bound(self, candidates: int, *, failure: object, best: int = 1) -> float:
        """The score is this far below the best, or less, with probability 1 - failure at least.

        Guarantee: the t with (d - best) (1/2 + rate t / 4) e^(-rate t) = failure, rounded up.
        """
        number, tops = utility.checked_counts(candidates, best)
        return utility.laplace_gap(number, tops, self.rate, utility.checked_failure(failure))

    def expected_gap(self, candidates: int, *, best: int = 1) -> float:
        """The score is at most (1 + ln(candidates / 2)) / rate below the best on average; rounded up."""
        return utility.laplace_expectation(*utility.checked_counts(candidates, best), self.rate)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Three scores that move by 1 against each other. No pair is known that attains the curve: the difference of
        two Laplace variables is smoother than one."""
        reach = of_count(rows=1, groups=3, relation=AddRemove)
        mechanism = cls(rate=Fraction(1))
        return WorstCase(mechanism=mechanism, sensitivity=reach, exact=(1, 0, 0), neighbour=(0, 1, 1), attains=False)


def noisy_max(
    sensitivity: Sensitivity,
    *,
    noise: Literal["exponential", "gumbel", "laplace"] = "exponential",
    monotone: bool = False,
    **target: object,
) -> Selection:
    """Report noisy max with any of three noises, calibrated to a target as in `Selection.calibrated`.

    Exponential noise is permute-and-flip, Gumbel noise the exponential mechanism. At equal epsilon the first is the
    most exact.

    >>> from deniable.privacy import AddRemove, of_count
    >>> reach = of_count(rows=1, groups=1, relation=AddRemove)
    >>> noisy_max(reach, noise="laplace", monotone=True, epsilon=1).kind
    'noisy_max'
    """
    kinds: dict[str, type[Selection]] = {
        "exponential": PermuteAndFlip,
        "gumbel": ExponentialMechanism,
        "laplace": NoisyMax,
    }
    if noise not in kinds:
        raise InvalidParameterError(f"noise must be one of {sorted(kinds)}, got {shown(noise)}")
    return kinds[noise].calibrated(sensitivity, monotone=monotone, **target)


def _integral(gaps: NDArray[np.float64], x: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The part of the probabilities for which the largest noisy score lies at the nodes x."""
    away = x[:, None] - gaps  # (nodes, candidates)
    tail = np.exp(-np.abs(away)) / 2
    above = away > 0
    with np.errstate(under="ignore"):
        logarithm = np.where(above, np.log1p(-np.where(above, tail, 0.0)), away - np.log(2.0))
        hazard = np.where(above, tail / (1 - tail), 1.0)  # f / F
        return np.asarray((weights * np.exp(logarithm.sum(axis=1))) @ hazard, dtype=np.float64)
