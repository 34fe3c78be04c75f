"""The best few, one after the other."""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from math import perm
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import MOST_VALUES, Released, WorstCase
from deniable.mechanisms.selection import utility
from deniable.mechanisms.selection.base import Selection, checked_array
from deniable.mechanisms.selection.exponential import ExponentialMechanism
from deniable.mechanisms.selection.noisy_max import NoisyMax
from deniable.mechanisms.selection.permute_and_flip import PermuteAndFlip
from deniable.noise import race, races
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real, positive_integer, shown
from deniable.privacy import AddRemove, ExponentialMechanismLoss, LaplaceLoss, PrivacyLoss, of_count
from deniable.privacy.constructors import PermuteAndFlipLoss

if TYPE_CHECKING:
    from flint import arb

Noise = Literal["gumbel", "exponential", "laplace"]
_MOST_FEW = 9  # whose 9! orders are more already


@dataclass(frozen=True, kw_only=True)
class PeelingTopK(Selection):
    """Choose `count` candidates by rounds of noisy max, each without earlier winners.

    This is known as peeling. With Gumbel noise the rounds are exponential mechanisms, and one draw of noise gives all
    of them at once (oneshot): the candidates with the largest noisy scores, in order, have the same law. With
    exponential noise each round is permute-and-flip, drawn anew: better at equal epsilon in few rounds, worse at equal
    rho.

    Args:
        rate: of the noise per unit of score, the larger the more exact.
        monotone: whether a unit that is added moves all scores in one direction.
        count: how many are chosen.
        noise: "gumbel", "exponential" or "laplace".

    Guarantee: count times the loss of one round, composed adaptively; for Gumbel noise count epsilon^2/8-zCDP.
    Source: Durfee, Rogers (2019), arXiv:1905.04273; proof in docs/theory/noise/race.md.

    >>> from deniable.privacy import AddRemove, of_count
    >>> visits = of_count(rows=1, groups=1, relation=AddRemove)
    >>> mechanism = PeelingTopK.calibrated(visits, rho="1/8", monotone=True, count=3)
    >>> float(mechanism.rate)
    0.577350269
    >>> indices = mechanism.release([50, 900, 420, 10, 600]).value
    """

    kind: ClassVar[str] = "top_k"
    _of_sums: ClassVar[bool] = True

    count: Annotated[int, positive_integer]
    noise: Noise = "gumbel"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.noise, str) or self.noise not in get_args(Noise):
            raise InvalidParameterError(f"noise must be one of {sorted(get_args(Noise))}, got {shown(self.noise)}")

    def _loss(self, limit: Fraction) -> PrivacyLoss:
        rounds: dict[str, PrivacyLoss] = {
            "gumbel": ExponentialMechanismLoss(limit, monotone=self.monotone),
            "exponential": PermuteAndFlipLoss(limit, monotone=self.monotone),
            "laplace": LaplaceLoss(1 / limit),
        }
        return rounds[self.noise] * self.count

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[tuple[int, ...]]:
        """Return the indices of the chosen candidates, the best first.

        Arguments and errors are as in `ExponentialMechanism.release`.
        """
        array = checked_array(exact)
        require_enough(array.size, self.count)
        if self.noise == "gumbel":
            winners = race.top(array, count=self.count, rate=self.rate, bits=bits)
            return Released(tuple(winners.tolist()), bits.safe)
        left = np.arange(array.size)
        chosen: list[int] = []
        for _ in range(self.count):
            index = int(race.top(array[left], count=1, rate=self.rate, noise=self.noise, bits=bits)[0])
            chosen.append(int(left[index]))
            left = np.delete(left, index)
        return Released(tuple(chosen), bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """Return the indices as digits of one number, the first chosen first.

        Its base is the number of candidates.
        """
        require_enough(len(exact), self.count)
        scores = np.broadcast_to(np.array(exact), (runs, len(exact)))
        if self.noise == "gumbel":
            return transcripts(races.top(scores, count=self.count, rate=self.rate, bits=bits), len(exact))
        left = np.ones(scores.shape, dtype=np.int64)
        chosen = np.empty((runs, self.count), dtype=np.int64)
        for number in range(self.count):
            winners = races.top(scores, count=1, rate=self.rate, noise=self.noise, weights=left, bits=bits)
            chosen[:, number] = winners[:, 0]
            np.put_along_axis(left, winners, 0, axis=1)
        return transcripts(chosen, len(exact))

    def _masses(self, exact: ArrayLike) -> dict[Hashable, "arb"]:
        """Return the probability of every sequence, round after round among those left."""
        from flint import arb

        array = checked_array(exact)
        one = self._one_round()
        require_few(array.size, self.count)
        chances: dict[tuple[int, ...], arb] = {(): arb(1)}
        for _ in range(self.count):
            rounds = {}
            for gone in {frozenset(chosen) for chosen in chances}:
                left = [i for i in range(array.size) if i not in gone]
                rounds[gone] = dict(zip(left, one._masses(array[left]).values(), strict=True))
            chances = {
                (*chosen, index): chance * share
                for chosen, chance in chances.items()
                for index, share in rounds[frozenset(chosen)].items()
            }
        return {chosen: chance for chosen, chance in chances.items()}  # noqa: C416 - a wider type of keys

    def gap_bound(self, candidates: int, *, failure: Real) -> float:
        """Bound how far a member is below the score of its position.

        With probability 1 - failure at least no member is farther below it.

        Guarantee: the bound of one round at failure / count. Of the best i candidates one is left in round i, so the
            best that are left have at least the i-th best score.
        """
        require_enough(utility.checked_counts(candidates, 1)[0], self.count)
        return self._one_round().gap_bound(candidates, failure=utility.checked_failure(failure) / self.count)

    def expected_gap(self, candidates: int) -> float:
        """Bound how far every member is below the score of its position, on average.

        It is the bound of one round.
        """
        require_enough(utility.checked_counts(candidates, 1)[0], self.count)
        return self._one_round().expected_gap(candidates)

    def _one_round(self) -> ExponentialMechanism | PermuteAndFlip | NoisyMax:
        kinds: dict[str, type[ExponentialMechanism | PermuteAndFlip | NoisyMax]] = {
            "gumbel": ExponentialMechanism,
            "exponential": PermuteAndFlip,
            "laplace": NoisyMax,
        }
        return kinds[self.noise](rate=self.rate, monotone=self.monotone)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return two of three, whose scores move by 1 against each other.

        A composition's worst case is not one pair.
        """
        sensitivity = of_count(rows=1, groups=3, relation=AddRemove)
        mechanism = cls(rate=Fraction(1, 2), count=2)
        return WorstCase(
            mechanism=mechanism, sensitivity=sensitivity, exact=(1, 0, 0), neighbour=(0, 1, 1), attains=False
        )


def require_enough(candidates: int, count: int) -> None:
    """Refuse to choose more than there are."""
    if candidates < count:
        raise InvalidParameterError(f"count must be <= the number of candidates, {candidates}, got {count}")


def require_few(candidates: int, count: int) -> None:
    """Refuse to list the probabilities of too many sequences."""
    require_enough(candidates, count)
    if perm(candidates, min(count, _MOST_FEW)) > MOST_VALUES:
        raise InvalidParameterError(
            f"probabilities are listed for at most {MOST_VALUES} sequences, and there are more of {count} out of "
            f"{candidates} candidates"
        )


def transcripts(digits_of_runs: NDArray[np.int64], base: int) -> NDArray[Any]:
    """Return rows of digits as numbers, shape (runs, digits) to (runs,).

    They are Python ints where 64 bits are too few.
    """
    digits = digits_of_runs.shape[1]
    kind = np.int64 if base**digits <= 2**63 else object
    powers = np.array([base**power for power in reversed(range(digits))], dtype=kind)
    return np.asarray(digits_of_runs.astype(kind, copy=False) @ powers)
