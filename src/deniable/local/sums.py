"""A shuffled sum: everybody splits a number with a little noise into shares that tell nothing alone."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve
from scipy.stats import nbinom

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.local.codes import of_bytes, to_bytes
from deniable.local.protocol import Protocol
from deniable.noise import geometric
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats, Integers
from deniable.numbers.rationals import exact_rational, positive_rational, probability, whole_number
from deniable.privacy import ApproximateLoss, PrivacyLoss, Replace
from deniable.release import Bounds, Estimate, Release
from deniable.rows import numbers

_WRAPS = 64  # the noise leaves its room in the modulus with probability at most 2^-63
_MOST_BITS, _MOST_MESSAGES, _SMALL = 56, 200, 1024
_SAFE = 1 + 1e-6  # far above the error of sums of floats


@dataclass(frozen=True, kw_only=True)
class ShuffledSum(Protocol):
    """The sum of a number a person, from several shuffled messages of each: with the error of a trusted server.

    Numbers move to the nearest of `steps` + 1 points of their bounds. A client adds a share of discrete Laplace noise,
    which `least` people complete, and sends `messages` numbers that are uniform but for their sum, modulo a power of
    two. A shuffler hands on the messages of all in random order: `Shuffler` and `analyse`.

    Args:
        epsilon, delta: of all messages together, for the analyser, who sees them after the shuffler.
        lower, upper: bounds to which every number is moved; what is no number becomes the lower one.
        least: people who stay and follow the protocol: all others may drop out, lie, or work with the analyser.
        people: who report at most. More than `least` only add noise: the variance grows by their ratio.
        steps: of the public grid, at most 2^14. The sum is that of grid points.
        messages: of one person; by default the fewest that have this delta.

    Guarantee: epsilon from the noise, and delta = (1 + e^epsilon) r / 2 with r^2 = E M^(C - 1) - 1, for the modulus M
        and the number C of connected parts of `least` points under messages - 1 random permutations: proof in
        docs/theory/local/sums.md. Without a shuffler messages tell everything.
    Source: Ishai, Kushilevitz, Ostrovsky, Sahai (2006); Balle, Bell, Gascon, Nissim (2020), arXiv:2002.00817.

    >>> from deniable.local import ShuffledSum
    >>> protocol = ShuffledSum(lower=0, upper=1, epsilon=1, delta="1e-6", least=900, people=1000)
    >>> protocol.messages, round(float(protocol.variance(people=900)), 3)
    (9, 2.0)
    """

    kind: ClassVar[str] = "sum"

    epsilon: Annotated[Fraction, positive_rational]
    delta: Annotated[Fraction, probability]
    lower: Annotated[Fraction, exact_rational]
    upper: Annotated[Fraction, exact_rational]
    least: int
    people: int
    steps: int = 1000
    messages: int = 0

    def __post_init__(self) -> None:
        read_fields(self)
        people = whole_number("people", self.people, lower=2, upper=2**32)
        least = whole_number("least", self.least, lower=2, upper=people)
        self.__dict__.update(people=people, least=least, steps=whole_number("steps", self.steps, lower=1, upper=2**14))
        if self.lower >= self.upper or not self.delta or not Fraction(1, 1000) <= self.epsilon <= 40:
            raise InvalidParameterError("lower must be below upper, delta above 0, and epsilon in [0.001, 40]")
        if self.bits > _MOST_BITS:
            raise InvalidParameterError(f"numbers of {self.bits} bits are too large: take fewer steps or less noise")
        asked = whole_number("messages", self.messages, lower=0, upper=_MOST_MESSAGES)
        apart = math.log((1 + math.exp(self.epsilon)) / 2) - math.log(self.delta)  # of one person alone: M / n^c
        fewest = 1 + math.floor((2 * apart + self.bits * math.log(2)) / math.log(least))
        tried = range(max(3, fewest), _MOST_MESSAGES + 1)
        found = asked or next((count for count in tried if self._delta(count) <= self.delta), 0)
        if found < 3 or self._delta(found) > self.delta:
            raise InvalidParameterError("these messages do not reach delta; take more of them, more people or delta")
        object.__setattr__(self, "messages", found)

    def _delta(self, messages: int) -> Fraction:
        apart = mixing_distance(self.least, messages, 2**self.bits)
        return Fraction((1 + math.exp(self.epsilon)) * _SAFE * apart) if apart < 1 else Fraction(1)

    @property
    def privacy_loss(self) -> PrivacyLoss:
        """The loss of all messages once they are shuffled, where `least` people report as agreed."""
        return ApproximateLoss(self.epsilon, self._delta(self.messages)).under(Replace)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise of `least` people, in steps."""
        return self.steps / self.epsilon

    def farthest(self, people: int, miss: int) -> int:
        """The size that the noise of these people exceeds with probability at most 2^(1 - miss).

        Shares have P(X >= t) <= E z^X / z^t = 2^s / z^t with s = people / least, z = (1 + 1 / q) / 2 and the ratio q.
        """
        digit = math.log1p(math.expm1(1 / self.scale) / 2) / math.log(2)
        return math.ceil((people / self.least + miss) / digit * _SAFE)

    @cached_property
    def bits(self) -> int:
        """The modulus is 2^bits: room for every sum, and for the noise."""
        return (self.people * self.steps + 2 * self.farthest(self.people, _WRAPS)).bit_length()

    @property
    def width(self) -> int:
        return self.messages * self._message_width

    @property
    def _message_width(self) -> int:
        return -(-self.bits // 8)

    def _encode(self, values: Any, bits: Bits) -> NDArray[np.uint8]:
        share = (numbers(values) - float(self.lower)) / float(self.upper - self.lower)
        places = np.rint(np.clip(np.where(np.isnan(share), 0.0, share), 0, 1) * self.steps).astype(np.int64)
        more, less = geometric.shares(scale=self.scale, parts=self.least, size=(2, places.size), bits=bits)
        told = bits.words(places.size * self.messages).view(np.int64).reshape(-1, self.messages)
        told[:, 0] = places + more - less - told[:, 1:].sum(axis=1)  # int64 wraps round as the modulus divides 2^64
        return to_bytes(told.ravel() & (2**self.bits - 1), self._message_width).reshape(-1, self.width)

    def _told(self, reports: NDArray[np.uint8]) -> Integers:
        return of_bytes(np.ascontiguousarray(reports).reshape(-1, self._message_width)).reshape(-1, self.messages)

    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return np.asarray((self._told(reports) >> self.bits == 0).all(axis=1))

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        return np.array([self._told(reports).sum()])

    def estimate(self, reports: NDArray[np.uint8] | Integers, *, people: int | None = None) -> Release:
        """The sum over all who reported, without bias, and an interval from the exact law of the noise.

        Raises: InvalidParameterError for fewer people than `least`, more than `people`, or other reports.
        """
        tally = self.supports(np.asarray(reports)) if people is None else np.asarray(reports, dtype=np.int64)
        count = whole_number("people", len(reports) if people is None else people)
        if not self.least <= count <= self.people or tally.shape != (1,):
            raise InvalidParameterError(f"{self.least} to {self.people} people and one tally were agreed on")
        found = int(tally[0]) % 2**self.bits
        found -= 2**self.bits * (found > self.people * self.steps + self.farthest(self.people, _WRAPS))
        start, step = count * self.lower, (self.upper - self.lower) / self.steps

        def ends(level: float) -> Bounds:
            half = self._within(count, level)
            ends = (start + step * min(max(found + sign * half, 0), count * self.steps) for sign in (-1, 1))
            return Bounds(*(np.array([float(end)]) for end in ends))

        return self.published(count, Estimate(name="sum", estimates=np.array([float(start + step * found)]), ends=ends))

    def _within(self, count: int, level: float) -> int:
        """The least t with P(|noise| <= t) >= level."""
        most = self.farthest(count, math.ceil(10 - math.log2(1 - level)))
        side = nbinom.pmf(np.arange(most + 1), count / self.least, -math.expm1(-1 / self.scale))
        law = fftconvolve(side, side[::-1])[most:]
        return int(np.searchsorted(2 * np.cumsum(law) - law[0], level))

    def variance(self, *, people: int) -> Floats:
        """The exact variance of the sum of these people; with people = least = 100 it is that with a million."""
        step, noise = float((self.upper - self.lower) / self.steps), 1 / (2 * math.sinh(1 / (2 * self.scale)) ** 2)
        return np.asarray(step**2 * people / self.least * noise)


@lru_cache(maxsize=256)
def mixing_distance(people: int, messages: int, modulus: int) -> float:
    """A bound on how far the shuffled messages are, in total variation, from a law that knows their sum alone.

    Half the root of E M^(C - 1) - 1. For the mean E_n of M^C with n people, and c = messages - 2, E_n / M - 1 is at
    most the sum over j = 1, ..., n - 1 of (1 - j / n) E_j / binom(n, j)^c. Beyond 1024 people E_j <= 2 M, if that
    holds for 1025 and 1026, and those terms add up to less than 2 M (1 / n^(c + 1) + n / binom(n, 2)^c).
    """
    log, power, known = math.log(modulus), messages - 2, min(people - 1, _SMALL)
    found = np.full(known + 1, -np.inf)

    def excess(n: int) -> float:
        """The log of E_n / M - 1."""
        j = np.arange(1, min(n - 1, known) + 1)
        chances = np.cumsum(np.log((n + 1 - j) / j))  # of log binom(n, j), also where n is far above j
        near = float(np.logaddexp.reduce(np.log1p(-j / n) + found[j] - power * chances, initial=-np.inf))
        if n - 1 <= known:
            return near
        pairs, far = math.log(n) - power * math.log(n * (n - 1) / 2), math.log(2) + log
        return float(np.logaddexp.reduce([near, far + pairs, far - (power + 1) * math.log(n)]))

    for n in range(1, known + 1):
        found[n] = log + np.logaddexp(0, excess(n))
    if people - 1 > known and max(excess(known + 1), excess(known + 2)) > 0:
        return 1.0
    return min(1.0, math.exp(min(excess(people), 2.0) / 2) / 2 * _SAFE)
