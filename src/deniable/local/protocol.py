"""What every frequency protocol is: a client that randomises one value, a server that estimates how many hold each."""

import hashlib
import json
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.arguments import InWords, read_fields
from deniable.errors import InvalidParameterError
from deniable.ledger import Ledger
from deniable.ledger.payment import Payment
from deniable.local.values import kind_of, name_of, places_among, to_data
from deniable.mechanisms.response.tally import shares_within
from deniable.noise.bits import SECURE, Bits, DeterministicBits
from deniable.numbers.arrays import Floats, Integers
from deniable.numbers.balls import exp_below
from deniable.numbers.rationals import positive_rational, quotient_text, shown, whole_number
from deniable.privacy import PrivacyLoss, PrivacyUnit, PureLoss, Replace
from deniable.release import Bounds, Estimate, Key, Release
from deniable.rows import Container, distinct, read, silence, without_rows

_LARGEST = 2**31
_FINE = 2**64
_LARGEST_EPSILON = 40
_FEW = 50
_MOST_LISTED = 2**16  # whole numbers that are looked up as keys, and not read as numbers


class Protocol(metaclass=InWords):
    """Reports of clients as bytes of one width, and what a server estimates from a tally of them."""

    kind: ClassVar[str]
    unit: ClassVar[PrivacyUnit] = PrivacyUnit(noun="value of each donation of one client")

    @property
    @abstractmethod
    def privacy_loss(self) -> PrivacyLoss:
        """What reports reveal to everybody, the server included."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Bytes of a report on the wire."""

    def encode(self, values: Container, *, ledger: Ledger | None = None, bits: Bits = SECURE) -> NDArray[np.uint8]:
        """Randomise values: one report for each, as bytes of shape (people, width).

        Args:
            values: secret; a list or a column, or a table where a value is a row of numbers.
            ledger: of one client, for `Protocol.unit` under replace: charged `privacy_loss` for each value, again in
                each call, before one is read. None charges nothing: a `Client` counts for itself.
            bits: leave it out, except in tests.
        """
        kind = type(self).__name__
        payment = Payment(ledger, text=f"reports of {kind}", name=self.to_json(), bits=bits, protects=self.unit)
        with silence():
            if ledger is not None:
                self._encode(without_rows(values), DeterministicBits(0))  # type: ignore[arg-type]
            payment.charge_each(self.privacy_loss, values)
            return self._encode(values, bits)

    @abstractmethod
    def _encode(self, values: Container, bits: Bits) -> NDArray[np.uint8]:
        """One report for each value, as bytes of shape (people, width)."""

    @abstractmethod
    def estimate(self, reports: NDArray[np.uint8] | Integers, *, people: int | None = None) -> Release:
        """What the server publishes, from reports or from a tally of `people` reports."""

    @abstractmethod
    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        """The tally of sound reports."""

    @abstractmethod
    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which of these bytes a client can have sent."""

    def _add(self, tally: Integers, reports: NDArray[np.uint8]) -> None:
        """Add sound reports to a tally; a protocol says this or `_supports`, each by the other."""
        tally += self._supports(reports)

    def sound(self, reports: NDArray[np.uint8]) -> bool:
        """Whether a client can have sent all of these bytes, of shape (people, width)."""
        return bool(self._sound(reports).all())

    def check_shape(self, reports: object) -> None:
        """Raise: InvalidParameterError unless these are bytes of shape (people, width)."""
        if not isinstance(reports, np.ndarray) or reports.dtype != np.uint8 or reports.shape[1:] != (self.width,):
            raise InvalidParameterError(f"reports must be an array of bytes of shape (people, {self.width})")

    def supports(self, reports: NDArray[np.uint8]) -> Integers:
        """The tally of reports, such as how many support each value; sums of tallies are tallies.

        Raises: InvalidParameterError if a report is none of this protocol.
        """
        self.check_shape(reports)
        if not self.sound(reports):
            raise InvalidParameterError("some bytes are no report of this protocol")
        return self._supports(reports)

    def published(self, count: int, *parts: Key | Estimate, note: str = "", normal: bool = False) -> Release:
        """Return what the server publishes; a note warns of normal intervals from few reports."""
        few = f"{count} reports are too few for the intervals, which are normal ones: wait for {_FEW}"
        notes = tuple(each for each in (note, few * (normal and count < _FEW)) if each)
        kind, unit = type(self).__name__, "one person's value (replace)"
        return Release(parts=parts, cost=self.privacy_loss, text=f"{kind}: {count} reports", notes=notes, protects=unit)

    def to_data(self) -> dict[str, object]:
        """Plain data for JSON."""
        facts = {each.name: getattr(self, each.name) for each in fields(self) if each.init}  # type: ignore[arg-type]
        return {"protocol": self.kind} | {name: _fact(fact) for name, fact in facts.items()}

    @cached_property
    def fingerprint(self) -> bytes:
        """Eight bytes that differ for protocols that differ, on client and server."""
        return hashlib.sha256(self.to_json().encode()).digest()[:8]

    def to_json(self) -> str:
        """Return canonical JSON text, which the server sends to its clients."""
        return json.dumps(self.to_data(), sort_keys=True)


@dataclass(frozen=True, kw_only=True)
class PureProtocol(Protocol):
    """One report a person, with pure local privacy.

    Args:
        epsilon: of one report, in (0, 40].
    """

    epsilon: Annotated[Fraction, positive_rational]
    lowest, highest = 0, 1  # what a report adds to a number of a tally

    def __post_init__(self) -> None:
        read_fields(self)
        if self.epsilon > _LARGEST_EPSILON:
            raise InvalidParameterError(f"epsilon must be at most {_LARGEST_EPSILON}, got {shown(self.epsilon)}")

    @property
    @abstractmethod
    def size(self) -> int:
        """How many numbers a tally has."""

    @property
    def privacy_loss(self) -> PrivacyLoss:
        """What one report reveals to everybody, the server included; under replace: that a person reports is seen."""
        return PureLoss(self.epsilon).under(Replace)

    @cached_property
    def odds(self) -> Fraction:
        """A rational just below e^epsilon: the greatest ratio of two probabilities of one report."""
        return odds_below(self.epsilon)

    def tallied(self, reports: NDArray[np.uint8] | Integers, people: int | None) -> tuple[Integers, int]:
        """A tally, and of how many reports.

        Raises: InvalidParameterError for no reports, or reports of another protocol.
        """
        tally: Integers = self.supports(np.asarray(reports)) if people is None else np.asarray(reports, dtype=np.int64)
        count = len(reports) if people is None else whole_number("people", people, lower=0)
        most, least = count * self.highest, count * self.lowest
        if not count or tally.shape != (self.size,) or tally.min() < least or tally.max() > most:
            raise InvalidParameterError("an estimate needs at least one report, and a tally of all values")
        return tally, count

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        found = np.zeros(self.size, dtype=np.int64)
        self._add(found, reports)
        return found


@dataclass(frozen=True, kw_only=True)
class FrequencyProtocol(PureProtocol):
    """One report a person about one of several declared values, and the shares of all values on the server.

    A report supports some values: the person's own with probability `true`, each other one with probability `false`.
    Probabilities are rational, so that coins are exact, and are rounded to the private side.

    Args:
        values: all that may occur, or their number, for 0, 1, ..., values - 1. What is not among them is reported as
            the first one.
        epsilon: of one report, in (0, 40].

    Guarantee: for all values x, x' and reports y, P(y | x) <= odds P(y | x') with odds <= e^epsilon.
    """

    values: tuple[Any, ...] | int

    def __post_init__(self) -> None:
        super().__post_init__()
        given: object = self.values
        if isinstance(given, Sequence | np.ndarray | range) and not isinstance(given, str):
            object.__setattr__(self, "values", distinct(tuple(given)))
        elif isinstance(given, int) and not isinstance(given, bool):
            object.__setattr__(self, "values", whole_number("values", given, lower=2, upper=_LARGEST))
        else:
            raise InvalidParameterError(f"values must be a list of all values or their number, got {shown(given)}")
        if self.size < 2:
            raise InvalidParameterError("values must be two at least")
        self.to_data()  # refuses values that JSON does not keep

    # --- what a subclass says ------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def true(self) -> Fraction:
        """The probability that a report supports the value of its sender."""

    @property
    @abstractmethod
    def false(self) -> Fraction:
        """The probability that a report supports another value."""

    @abstractmethod
    def _draw(self, places: Integers, bits: Bits) -> NDArray[np.uint8]:
        """Reports as bytes of shape (people, width)."""

    # --- on the client -------------------------------------------------------------------------------------------

    def _encode(self, values: Container, bits: Bits) -> NDArray[np.uint8]:
        return self._draw(self._places(values), bits)

    def _places(self, values: Container) -> Integers:
        if isinstance(self.values, int) and self.values >= _MOST_LISTED:
            places, spoilt = read("values", values)
            return np.where(spoilt | (places < 0) | (places >= self.values), 0, places)
        return places_among(values, *self._named)

    @cached_property
    def _named(self) -> tuple[dict[str, int], set[str]]:
        """The place of each declared value by its name, and the kinds of declared values."""
        keys = range(self.values) if isinstance(self.values, int) else self.values
        return {name_of(key): place for place, key in enumerate(keys)}, set(map(kind_of, keys))

    # --- on the server -------------------------------------------------------------------------------------------

    def estimate(self, reports: NDArray[np.uint8] | Integers, *, people: int | None = None) -> Release:
        """The number of people with each value, without bias, and intervals; it may be negative.

        With c the reports that support a value the estimate is (c - n false) / (true - false). Intervals invert the
        exact law of c, for the data at hand.

        Args:
            reports: what clients sent, or the tally of `supports` together with `people`.
            people: how many reports are in the tally.

        Raises: InvalidParameterError for no reports, or reports of another protocol.
        """
        tally, count = self.tallied(reports, people)
        true, false = float(self.true), float(self.false)

        def ends(level: float) -> Bounds:
            low, high = shares_within(tally, count, true, false, 1 - level)
            return Bounds(low * count, high * count)

        found = np.asarray((tally - count * false) / (true - false), dtype=np.float64)
        names = range(self.values) if isinstance(self.values, int) else self.values
        value, counts = Key(name="value", values=tuple(names)), Estimate(name="count", estimates=found, ends=ends)
        return self.published(count, value, counts)

    def variance(self, shares: object = 0.0, *, people: int) -> Floats:
        """The exact variance of the estimated share of a value.

        [f p (1 - p) + (1 - f) q (1 - q)] / (n (p - q)^2) for the true share f of the n people at hand.

        Args:
            shares: true shares, numbers of [0, 1] in any shape.
            people: n.
        """
        share = np.asarray(shares, dtype=np.float64)
        p, q = float(self.true), float(self.false)
        return np.asarray((share * p * (1 - p) + (1 - share) * q * (1 - q)) / (people * (p - q) ** 2))

    # --- facts ---------------------------------------------------------------------------------------------------

    @cached_property
    def size(self) -> int:
        """How many values there are."""
        return self.values if isinstance(self.values, int) else len(self.values)


def _fact(fact: object) -> object:
    """A field of a protocol in JSON."""
    if isinstance(fact, Fraction):
        return quotient_text(fact)
    return [*map(to_data, fact)] if isinstance(fact, tuple) else fact


@lru_cache(maxsize=256)
def odds_below(epsilon: Fraction) -> Fraction:
    """The greatest multiple of 2^-32 that is at most e^epsilon."""
    return exp_below(epsilon, 32)


def fine_above(chance: Fraction) -> Fraction:
    """The least multiple of 2^-64 that is at least the chance."""
    return Fraction(math.ceil(chance * _FINE), _FINE)
