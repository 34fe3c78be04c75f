"""Shuffled sums: every client splits a noisy number into shares."""

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
from deniable.local.protocol import Protocol, exact_bounds
from deniable.noise import geometric
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats, Integers
from deniable.numbers.rationals import positive_rational, probability, whole_number
from deniable.privacy import ApproximateLoss, PrivacyLoss, Replace
from deniable.release import Release
from deniable.release.columns import Bounds, Estimate
from deniable.rows import numbers

_WRAP_BITS = 64  # the noise leaves its room in the modulus with probability at most 2^-63
_MAX_MODULUS_BITS = 56  # so that sums of shares fit int64
_MAX_MESSAGES = 200
_EXACT_PEOPLE = 1024  # up to which the recursion of `mixing_distance` is summed in full
_ROUNDING = 1 + 1e-6  # far above the error of sums of floats


@dataclass(frozen=True, kw_only=True)
class ShuffledSum(Protocol):
    """The sum of one number a person, with the error of a trusted server.

    Numbers move to the nearest of `steps` + 1 points of their bounds. A client adds a share of discrete Laplace noise,
    which `min_people` complete, and sends `messages` numbers that are uniform but for their sum, modulo a power of
    two. A shuffler forwards the messages of all in random order: `Shuffler` and `analyse`.

    Args:
        epsilon, delta: of all messages together, against the analyser, who sees them after the shuffler.
        bounds: (lower, upper), to which numbers are clamped; non-numeric entries become the lower bound.
        min_people: who stay and follow the protocol: all others may drop out, lie, or collude with the analyser.
        people: the largest number who report. More than `min_people` only add noise: the variance grows by their ratio.
        steps: of the public grid, at most 2^14. The sum is that of grid points.
        messages: of one person; by default the fewest that have this delta.

    Guarantee: epsilon from the noise, and delta = (1 + e^epsilon) r / 2 with r^2 = E M^(C - 1) - 1, for the modulus M
        and the number C of connected parts of `min_people` points under messages - 1 random permutations: proof in
        docs/theory/local/sums.md. Without a shuffler messages reveal the number.
    Source: Ishai, Kushilevitz, Ostrovsky, Sahai (2006); Balle, Bell, Gascon, Nissim (2020), arXiv:2002.00817.

    >>> from deniable.local import ShuffledSum
    >>> protocol = ShuffledSum(bounds=(0, 1), epsilon=1, delta="1e-6", min_people=900, people=1000)
    >>> protocol.messages, round(float(protocol.variance(people=900)), 3)
    (9, 2.0)
    """

    kind: ClassVar[str] = "sum"
    json_names: ClassVar[dict[str, str]] = {"min_people": "least"}

    epsilon: Annotated[Fraction, positive_rational]
    delta: Annotated[Fraction, probability]
    bounds: tuple[Fraction, Fraction]
    min_people: int
    people: int
    steps: int = 1000
    messages: int = 0

    def __post_init__(self) -> None:
        read_fields(self)
        people = whole_number("people", self.people, lower=2, upper=2**32)
        min_people = whole_number("min_people", self.min_people, lower=2, upper=people)
        steps = whole_number("steps", self.steps, lower=1, upper=2**14)
        read_fields(self, people=people, min_people=min_people, steps=steps, bounds=exact_bounds(self.bounds))
        if not self.delta or not Fraction(1, 1000) <= self.epsilon <= 40:
            raise InvalidParameterError("delta must be above 0, and epsilon in [0.001, 40]")
        if self.bits > _MAX_MODULUS_BITS:
            raise InvalidParameterError(f"numbers of {self.bits} bits are too large: take fewer steps or less noise")
        read_fields(self, messages=self._sufficient_messages())

    def _sufficient_messages(self) -> int:
        """Return the given number of messages, or the least one, that reaches delta."""
        given = whole_number("messages", self.messages, lower=0, upper=_MAX_MESSAGES)
        # One person alone is at the distance M / n^c of the others, with c = messages - 2: no smaller number can do.
        distance = math.log((1 + math.exp(self.epsilon)) / 2) - math.log(self.delta)
        fewest = 1 + math.floor((2 * distance + self.bits * math.log(2)) / math.log(self.min_people))
        tried = range(max(3, fewest), _MAX_MESSAGES + 1)
        messages = given or next((count for count in tried if self._delta(count) <= self.delta), 0)
        if messages < 3 or self._delta(messages) > self.delta:
            raise InvalidParameterError("these messages do not reach delta; take more of them, more people or delta")
        return messages

    def _delta(self, messages: int) -> Fraction:
        """Bound delta for a number of messages."""
        distance = mixing_distance(self.min_people, messages, 2**self.bits)
        return Fraction((1 + math.exp(self.epsilon)) * _ROUNDING * distance) if distance < 1 else Fraction(1)

    @property
    def privacy_loss(self) -> PrivacyLoss:
        """Privacy loss of all messages, after the shuffler.

        It holds if `min_people` follow the protocol.
        """
        return ApproximateLoss(self.epsilon, self._delta(self.messages)).under(Replace)

    @property
    def scale(self) -> Fraction:
        """Scale of the noise of `min_people`, in steps."""
        return self.steps / self.epsilon

    def noise_bound(self, people: int, miss_bits: int) -> int:
        """Bound the size of the noise, except with probability at most 2^(1 - miss_bits).

        Shares have P(X >= t) <= E z^X / z^t = 2^s / z^t with s = people / min_people, z = (1 + 1 / q) / 2 and the
        ratio q.

        Args:
            people: who add shares.
            miss_bits: minus the logarithm of half the probability.
        """
        bits_per_step = math.log1p(math.expm1(1 / self.scale) / 2) / math.log(2)
        return math.ceil((people / self.min_people + miss_bits) / bits_per_step * _ROUNDING)

    @cached_property
    def bits(self) -> int:
        """Bits of the modulus, which has room for every sum and the noise."""
        return (self.people * self.steps + 2 * self.noise_bound(self.people, _WRAP_BITS)).bit_length()

    @property
    def width(self) -> int:
        """Number of bytes of a report: of all messages of a person."""
        return self.messages * self._message_width

    @property
    def _message_width(self) -> int:
        return -(-self.bits // 8)

    def _encode(self, values: Any, bits: Bits) -> NDArray[np.uint8]:
        """Split the noisy grid point of each number into messages."""
        lower, upper = self.bounds
        share = (numbers(values) - float(lower)) / float(upper - lower)
        points = np.rint(np.clip(np.where(np.isnan(share), 0.0, share), 0, 1) * self.steps).astype(np.int64)
        more, less = geometric.shares(scale=self.scale, parts=self.min_people, size=(2, points.size), bits=bits)
        messages = bits.words(points.size * self.messages).view(np.int64).reshape(-1, self.messages)
        # int64 wraps around as the modulus divides 2^64
        messages[:, 0] = points + more - less - messages[:, 1:].sum(axis=1)
        return to_bytes(messages.ravel() & (2**self.bits - 1), self._message_width).reshape(-1, self.width)

    def _messages(self, reports: NDArray[np.uint8]) -> Integers:
        """Return the numbers of reports, shape (people, messages)."""
        return of_bytes(np.ascontiguousarray(reports).reshape(-1, self._message_width)).reshape(-1, self.messages)

    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return whether the numbers of each report are below the modulus."""
        return np.asarray((self._messages(reports) >> self.bits == 0).all(axis=1))

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        """Return the sum of all numbers, modulo 2^64, as an array of one."""
        return np.array([self._messages(reports).sum()])

    def estimate(self, reports: NDArray[np.uint8] | Integers, *, people: int | None = None) -> Release:
        """Estimate the sum over all who reported.

        Without bias, and with an interval from the exact distribution of the noise.

        Args:
            reports: of all, in any order of messages, or their tally.
            people: the number of people in a tally.

        Raises: InvalidParameterError for fewer people than `min_people`, more than `people`, or other reports.
        """
        tally = self.supports(np.asarray(reports)) if people is None else np.asarray(reports, dtype=np.int64)
        count = whole_number("people", len(reports) if people is None else people)
        if not self.min_people <= count <= self.people or tally.shape != (1,):
            raise InvalidParameterError(f"{self.min_people} to {self.people} people and one tally were agreed on")
        total = int(tally[0]) % 2**self.bits
        if total > self.people * self.steps + self.noise_bound(self.people, _WRAP_BITS):
            total -= 2**self.bits  # a negative sum has wrapped around
        lower, upper = self.bounds
        start = count * lower
        step = (upper - lower) / self.steps

        def ends(level: float) -> Bounds:
            half = self._within(count, level)
            ends = (start + step * min(max(total + sign * half, 0), count * self.steps) for sign in (-1, 1))
            return Bounds(*(np.array([float(end)]) for end in ends))

        return self.published(count, Estimate(name="sum", estimates=np.array([float(start + step * total)]), ends=ends))

    def _within(self, count: int, level: float) -> int:
        """Return the least t with P(|noise| <= t) >= level."""
        end = self.noise_bound(count, math.ceil(10 - math.log2(1 - level)))
        side = nbinom.pmf(np.arange(end + 1), count / self.min_people, -math.expm1(-1 / self.scale))
        law = fftconvolve(side, side[::-1])[end:]
        return int(np.searchsorted(2 * np.cumsum(law) - law[0], level))

    def variance(self, *, people: int) -> Floats:
        """Return the exact variance of the sum of these people.

        It depends on the ratio of people and min_people, and not on their number.

        Args:
            people: who report.
        """
        lower, upper = self.bounds
        step = float((upper - lower) / self.steps)
        noise = 1 / (2 * math.sinh(1 / (2 * self.scale)) ** 2)
        return np.asarray(step**2 * people / self.min_people * noise)


@lru_cache(maxsize=256)
def mixing_distance(people: int, messages: int, modulus: int) -> float:
    """Bound the distance of shuffled messages from a law of their sum alone.

    The distance is in total variation.

    Half the root of E M^(C - 1) - 1. For the mean E_n of M^C with n people, and c = messages - 2, E_n / M - 1 is at
    most the sum over j = 1, ..., n - 1 of (1 - j / n) E_j / binom(n, j)^c. Beyond 1024 people E_j <= 2 M, if that
    holds for 1025 and 1026, and those terms add up to less than 2 M (1 / n^(c + 1) + n / binom(n, 2)^c).
    """
    log = math.log(modulus)
    power = messages - 2
    known = min(people - 1, _EXACT_PEOPLE)
    log_means = np.full(known + 1, -np.inf)  # log E_n for n = 0, 1, ...

    def excess(n: int) -> float:
        """Bound the log of E_n / M - 1."""
        j = np.arange(1, min(n - 1, known) + 1)
        log_binomials = np.cumsum(np.log((n + 1 - j) / j))  # also where n is far above j
        terms = np.log1p(-j / n) + log_means[j] - power * log_binomials
        summed = float(np.logaddexp.reduce(terms, initial=-np.inf))
        if n - 1 <= known:
            return summed
        largest_mean = math.log(2) + log
        pairs = math.log(n) - power * math.log(n * (n - 1) / 2)
        return float(np.logaddexp.reduce([summed, largest_mean + pairs, largest_mean - (power + 1) * math.log(n)]))

    for n in range(1, known + 1):
        log_means[n] = log + np.logaddexp(0, excess(n))
    if people - 1 > known and max(excess(known + 1), excess(known + 2)) > 0:
        return 1.0
    return min(1.0, math.exp(min(excess(people), 2.0) / 2) / 2 * _ROUNDING)
