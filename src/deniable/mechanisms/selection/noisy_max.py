"""Report noisy max with Laplace noise, and how to find it with other noise."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import Released, WorstCase
from deniable.mechanisms.selection import utility
from deniable.mechanisms.selection.base import Scores, Selection, behind_few, checked_scores, products_without_one
from deniable.mechanisms.selection.exponential import ExponentialMechanism
from deniable.mechanisms.selection.permute_and_flip import PermuteAndFlip
from deniable.noise import race, races
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.balls import ball
from deniable.numbers.rationals import Real, shown
from deniable.privacy import AddRemove, LaplaceLoss, PrivacyLoss, Sensitivity, of_count

if TYPE_CHECKING:
    from flint import arb, arb_poly

_MOST_CANDIDATES = 50


@dataclass(frozen=True, kw_only=True)
class NoisyMax(Selection):
    """Choose the candidate with the largest score + Laplace noise of scale 1 / rate.

    Kept for comparison: with exponential noise (PermuteAndFlip) the choice is better at the same cost. Only the index
    may be published; the noisy score itself costs extra.

    Args:
        rate: of the noise per unit of score, the larger the more exact.
        monotone: whether a unit that is added moves all scores in one direction.

    Guarantee: epsilon-DP with epsilon = 2 rate linf, or rate linf for monotone scores; the whole curve is at most that
        of Laplace noise with this epsilon.
    Source: Dwork, Roth (2014), section 3.3; the curve in docs/theory/mechanisms/selection.md.

    >>> votes = of_count(rows=1, groups=1, relation=AddRemove)
    >>> mechanism = NoisyMax.calibrated(votes, epsilon=1, monotone=True)
    >>> round(mechanism.gap_bound(3, failure="0.05"), 1)
    4.1
    >>> winner = mechanism.release([120, 90, 118]).value
    """

    kind: ClassVar[str] = "noisy_max"
    _of_sums: ClassVar[bool] = True

    def _loss(self, limit: Fraction) -> PrivacyLoss:
        return LaplaceLoss(1 / limit)

    def release(self, exact: Scores, *, bits: Bits = SECURE) -> Released[int]:
        """Return the index of one candidate.

        Arguments and errors are as in `ExponentialMechanism.release`.
        """
        return Released(race.noisy_max(checked_scores(exact), rate=self.rate, bits=bits), bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        """Return the index chosen in each run."""
        return races.noisy_max(np.broadcast_to(np.array(exact), (runs, len(exact))), rate=self.rate, bits=bits)

    def _masses(self, exact: ArrayLike) -> dict[Hashable, "arb"]:
        """Return the probability of each candidate.

        It is the integral of f(x - gap_i) times the product of F(x - gap_j) over j != i, from kink to kink.
        """
        from flint import arb

        gaps = behind_few(exact, max_candidates=_MOST_CANDIDATES)
        order = sorted(range(len(gaps)), key=gaps.__getitem__)
        a = {i: ball(-self.rate * gaps[i]).exp() for i in order}
        kinks = sorted(set(gaps))
        masses = dict.fromkeys(order, arb(0))
        for index, kink in enumerate(kinks):  # x from the last kink above `kink` down to it: e^-x from start to end
            below = [i for i in order if gaps[i] < kink]
            above = [i for i in order if gaps[i] >= kink]
            start = arb(0) if index == 0 else ball(self.rate * kinks[index - 1]).exp()
            parts, rest = _inside([a[i] for i in above], [a[i] for i in below], start, ball(self.rate * kink).exp())
            for i, part in zip(above, parts, strict=True):
                masses[i] += part
            for i in below:
                masses[i] += rest
        size = len(gaps)
        lowest = a[order[-1]]  # below all kinks every candidate has the same share
        last = prod((lowest / (2 * each) for each in a.values()), start=arb(1)) / size
        return {i: masses[i] + last for i in range(size)}

    def gap_bound(self, candidates: int, *, failure: Real, best: int = 1) -> float:
        """Bound how far the score is below the best, with probability 1 - failure.

        Guarantee: the t with (d - best) (1/2 + rate t / 4) e^(-rate t) = failure, rounded up.
        """
        number, tops = utility.checked_counts(candidates, best)
        return utility.laplace_gap(number, tops, self.rate, utility.checked_failure(failure))

    def expected_gap(self, candidates: int, *, best: int = 1) -> float:
        """Bound how far the score is below the best on average, rounded up.

        It is (1 + ln(candidates / 2)) / rate.
        """
        return utility.laplace_expectation(*utility.checked_counts(candidates, best), self.rate)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return three scores that move by 1 against each other.

        No pair is known that attains the curve: the difference of two Laplace variables is smoother than one.
        """
        sensitivity = of_count(rows=1, groups=3, relation=AddRemove)
        mechanism = cls(rate=Fraction(1))
        return WorstCase(
            mechanism=mechanism, sensitivity=sensitivity, exact=(1, 0, 0), neighbour=(0, 1, 1), attains=False
        )


def noisy_max(
    sensitivity: Sensitivity,
    *,
    noise: Literal["exponential", "gumbel", "laplace"] = "exponential",
    monotone: bool = False,
    **target: Real,
) -> Selection:
    """Return report noisy max with any of three noises, calibrated to a target.

    Exponential noise is permute-and-flip, Gumbel noise the exponential mechanism. At equal epsilon the first is the
    most exact.

    Args:
        sensitivity: of the scores, of which `linf` counts.
        noise: "exponential", "gumbel" or "laplace".
        monotone: whether a unit that is added moves all scores in one direction.
        target: epsilon, epsilon and delta, or rho.

    >>> from deniable.privacy import AddRemove, of_count
    >>> votes = of_count(rows=1, groups=1, relation=AddRemove)
    >>> noisy_max(votes, noise="laplace", monotone=True, epsilon=1).kind
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


def _inside(above: Sequence["arb"], below: Sequence["arb"], start: "arb", end: "arb") -> tuple[list["arb"], "arb"]:
    """Return the parts of probabilities with start <= e^-x <= end, between two kinks.

    x is the best noisy score.

    With u = e^-x and a = e^gap, a candidate that x is above has P[noise <= x - gap] = 1 - a u / 2, one that it is below
    1 / (2 a u), so every integrand is a polynomial of u over a power of u.

    Args:
        above: a of the candidates whose gap x is above; below: of the others.

    Returns: the part of each candidate of `above`, and that which each of `below` has.
    """
    from flint import arb, arb_poly

    shift = len(below)
    scale = prod((1 / (2 * a) for a in below), start=arb(1))
    powers = [
        (end / start).log() if k == shift else (end ** (k - shift) - start ** (k - shift)) / (k - shift)
        for k in range(len(above) + 1)
        if k or shift  # the constant is not asked for when no candidate is below
    ]

    def integral(polynomial: "arb_poly", lowest: int) -> "arb":
        terms = zip(polynomial.coeffs(), powers[lowest if shift else 0 :], strict=False)
        return scale * sum((coefficient * power for coefficient, power in terms), arb(0))

    factors = [arb_poly([1, -a / 2]) for a in above]
    ours = [a / 2 * integral(others, 1) for a, others in zip(above, products_without_one(factors), strict=True)]
    everyone = prod(factors, start=arb_poly([1]))
    return ours, integral(everyone, 0) if shift else arb(0)
