"""Base classes of local protocols: clients randomise values, a server estimates."""

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
from deniable.local.values import indices_among, kind_of, name_of, to_data
from deniable.mechanisms.response.tally import shares_within
from deniable.noise.bits import SECURE, Bits, DeterministicBits
from deniable.numbers.arrays import Floats, Integers
from deniable.numbers.balls import exp_below
from deniable.numbers.rationals import exact_rational, positive_rational, quotient_text, shown, whole_number
from deniable.privacy import PrivacyLoss, PrivacyUnit, PureLoss, Replace
from deniable.release import Release
from deniable.release.columns import Bounds, Estimate, Key
from deniable.rows import Container, distinct, read, silence, without_rows

_MAX_VALUES = 2**31  # codes of values are int64, and products of two of them must fit
_COIN_STEPS = 2**64  # coins have probabilities in multiples of 2^-64
_MAX_EPSILON = 40  # beyond, a report is the value itself
_NORMAL_REPORTS = 50  # fewer reports make a poor normal approximation
_MAX_LISTED = 2**16  # whole numbers that are looked up as keys, and not read as numbers


class Protocol(metaclass=InWords):
    """Base class of local protocols: reports, and estimates from their tally.

    A report has one width in bytes. A subclass is a frozen dataclass, whose fields are the public facts.

    Attributes:
        kind: the name of the protocol in JSON.
        json_names: keys in JSON of fields that have other names.
        unit: the privacy unit of a ledger that `encode` charges.

    >>> from deniable.local import DirectResponse, Protocol
    >>> protocol = DirectResponse(values=["no", "yes"], epsilon=1)
    >>> isinstance(protocol, Protocol), protocol.width, protocol.to_data()
    (True, 1, {'protocol': 'direct', 'epsilon': '1', 'values': ['no', 'yes']})
    """

    kind: ClassVar[str]
    json_names: ClassVar[dict[str, str]] = {}
    unit: ClassVar[PrivacyUnit] = PrivacyUnit(noun="value of each donation of one client")

    @property
    @abstractmethod
    def privacy_loss(self) -> PrivacyLoss:
        """Privacy loss of a client's reports against everybody, the server included."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of bytes of a report."""

    def encode(self, values: Container, *, ledger: Ledger | None = None, bits: Bits = SECURE) -> NDArray[np.uint8]:
        """Randomise values, and return one report for each.

        Args:
            values: secret; a list or a column, or a table where a value is a row of numbers.
            ledger: of one client, for `Protocol.unit` under replace: charged `privacy_loss` for each value, again in
                each call, before one is read. None charges nothing: a `Client` counts for itself.
            bits: leave it out, except in tests.

        Returns: bytes of shape (people, width).
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
        """Randomise values to reports, bytes of shape (people, width)."""

    @abstractmethod
    def estimate(self, reports: NDArray[np.uint8] | Integers, *, people: int | None = None) -> Release:
        """Return the public estimate.

        Args:
            reports: bytes of shape (people, width), or the tally of `people` reports.
            people: the number of reports in a tally.
        """

    @abstractmethod
    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        """Return the tally of valid reports."""

    @abstractmethod
    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return whether a client can have sent each report, shape (people,)."""

    def _add(self, tally: Integers, reports: NDArray[np.uint8]) -> None:
        """Add valid reports to a tally in place; a subclass overrides this or `_supports`."""
        tally += self._supports(reports)

    def sound(self, reports: NDArray[np.uint8]) -> bool:
        """Whether a client can have sent all of these bytes, of shape (people, width)."""
        return bool(self._sound(reports).all())

    def check_shape(self, reports: object) -> None:
        """Raise: InvalidParameterError unless these are bytes of shape (people, width)."""
        if not isinstance(reports, np.ndarray) or reports.dtype != np.uint8 or reports.shape[1:] != (self.width,):
            raise InvalidParameterError(f"reports must be an array of bytes of shape (people, {self.width})")

    def supports(self, reports: NDArray[np.uint8]) -> Integers:
        """Return the tally of reports, such as the number that support each value.

        Sums of tallies are tallies.

        Args:
            reports: bytes of shape (people, width).

        Raises: InvalidParameterError for an invalid report.
        """
        self.check_shape(reports)
        if not self.sound(reports):
            raise InvalidParameterError("invalid report for this protocol: its bytes cannot come from a client")
        return self._supports(reports)

    def published(self, count: int, *parts: Key | Estimate, note: str = "", normal: bool = False) -> Release:
        """Return the release of an estimate.

        Args:
            count: the number of reports.
            parts: keys and estimates.
            note: about the estimate.
            normal: whether intervals are normal ones; a note warns of them where there are few reports.
        """
        notes = [note] if note else []
        if normal and count < _NORMAL_REPORTS:
            notes.append(
                f"{count} reports are too few for the intervals, which are normal ones: wait for {_NORMAL_REPORTS}"
            )
        return Release(
            parts=parts, cost=self.privacy_loss, text=f"{type(self).__name__}: {count} reports", notes=tuple(notes),
            protects="one person's value (replace)",
        )  # fmt: skip

    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON."""
        data: dict[str, object] = {"protocol": self.kind}
        for each in fields(self):  # type: ignore[arg-type]
            if each.init:
                data |= self._written(each.name)
        return data

    def _written(self, name: str) -> dict[str, object]:
        """Return a field as it stands in JSON."""
        value = getattr(self, name)
        if name == "bounds":
            return {"lower": _fact(value[0]), "upper": _fact(value[1])}
        return {self.json_names.get(name, name): _fact(value)}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> "Protocol":
        """Return the protocol of plain data, without its kind: the inverse of `to_data`."""
        names = {written: name for name, written in cls.json_names.items()}
        values = {names.get(key, key): value for key, value in data.items()}
        if "lower" in values and "upper" in values:
            values["bounds"] = (values.pop("lower"), values.pop("upper"))
        return cls(**values)

    @cached_property
    def fingerprint(self) -> bytes:
        """Eight bytes that identify the protocol on client and server."""
        return hashlib.sha256(self.to_json().encode()).digest()[:8]

    def to_json(self) -> str:
        """Return canonical JSON text, which the server sends to its clients."""
        return json.dumps(self.to_data(), sort_keys=True)


@dataclass(frozen=True, kw_only=True)
class PureProtocol(Protocol):
    """Base class of protocols with pure local privacy and one report a person.

    Args:
        epsilon: of one report, in (0, 40].
    """

    epsilon: Annotated[Fraction, positive_rational]
    lowest, highest = 0, 1  # bounds of what a report adds to a number of a tally

    def __post_init__(self) -> None:
        read_fields(self)
        if self.epsilon > _MAX_EPSILON:
            raise InvalidParameterError(f"epsilon must be at most {_MAX_EPSILON}, got {shown(self.epsilon)}")

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of entries of a tally."""

    @property
    def privacy_loss(self) -> PrivacyLoss:
        """Privacy loss of one report under replace: that a person reports is public."""
        return PureLoss(self.epsilon).under(Replace)

    @cached_property
    def likelihood_ratio(self) -> Fraction:
        """Greatest ratio of two probabilities of one report.

        A rational just below e^epsilon.
        """
        return likelihood_ratio_below(self.epsilon)

    def tallied(self, reports: NDArray[np.uint8] | Integers, people: int | None) -> tuple[Integers, int]:
        """Return a tally, and its number of reports.

        Args:
            reports, people: as in `estimate`.

        Raises: InvalidParameterError for no reports, or reports of another protocol.
        """
        tally: Integers = self.supports(np.asarray(reports)) if people is None else np.asarray(reports, dtype=np.int64)
        count = len(reports) if people is None else whole_number("people", people, lower=0)
        within = tally.shape == (self.size,) and (
            count * self.lowest <= tally.min() and tally.max() <= count * self.highest
        )
        if not count or not within:
            raise InvalidParameterError("an estimate needs at least one report, and a tally of all values")
        return tally, count

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        """Return the tally of valid reports, from `_add`."""
        tally = np.zeros(self.size, dtype=np.int64)
        self._add(tally, reports)
        return tally


@dataclass(frozen=True, kw_only=True)
class FrequencyProtocol(PureProtocol):
    """Base class of frequency oracles: the number of people with each declared value.

    A report supports some values: the person's own with probability `p`, each other one with probability `q`.
    Probabilities are rational, so that coins are exact, and are rounded to the private side.

    Args:
        values: all that may occur, or their number, for 0, 1, ..., values - 1. What is not among them is reported as
            the first one.
        epsilon: of one report, in (0, 40].

    Guarantee: for all values x, x' and reports y, P(y | x) <= r P(y | x') with r = `likelihood_ratio` <= e^epsilon.
    """

    values: tuple[Any, ...] | int

    def __post_init__(self) -> None:
        super().__post_init__()
        given: object = self.values
        if isinstance(given, Sequence | np.ndarray | range) and not isinstance(given, str):
            read_fields(self, values=distinct(tuple(given)))
        elif isinstance(given, int) and not isinstance(given, bool):
            read_fields(self, values=whole_number("values", given, lower=2, upper=_MAX_VALUES))
        else:
            raise InvalidParameterError(f"values must be a list of all values or their number, got {shown(given)}")
        if self.size < 2:
            raise InvalidParameterError(f"values must be at least 2, got {self.size}")
        self.to_data()  # refuses values that JSON does not keep

    # --- stated by a subclass ------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """Probability that a report supports the value of its sender."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """Probability that a report supports a given other value."""

    @abstractmethod
    def _draw(self, indices: Integers, bits: Bits) -> NDArray[np.uint8]:
        """Randomise indices of values to reports, bytes of shape (people, width)."""

    # --- on the client -------------------------------------------------------------------------------------------

    def _encode(self, values: Container, bits: Bits) -> NDArray[np.uint8]:
        """Randomise the indices of values."""
        return self._draw(self._indices(values), bits)

    def _indices(self, values: Container) -> Integers:
        """Return the index of each value, 0 for an undeclared one."""
        if isinstance(self.values, int) and self.values >= _MAX_LISTED:
            indices, invalid = read("values", values)
            return np.where(invalid | (indices < 0) | (indices >= self.values), 0, indices)
        return indices_among(values, *self._named)

    @cached_property
    def _named(self) -> tuple[dict[str, int], set[str]]:
        """Index of each declared value by its name, and the kinds of declared values."""
        keys = range(self.values) if isinstance(self.values, int) else self.values
        return {name_of(key): index for index, key in enumerate(keys)}, set(map(kind_of, keys))

    # --- on the server -------------------------------------------------------------------------------------------

    def estimate(self, reports: NDArray[np.uint8] | Integers, *, people: int | None = None) -> Release:
        """Estimate the number of people with each value.

        Without bias, so it may be negative. With c the reports that support a value the estimate is
        (c - n q) / (p - q). Intervals invert the exact distribution of c, for the data at hand.

        Args:
            reports: what clients sent, or the tally of `supports` together with `people`.
            people: the number of reports in a tally.

        Raises: InvalidParameterError for no reports, or reports of another protocol.
        """
        tally, count = self.tallied(reports, people)
        p, q = float(self.p), float(self.q)

        def ends(level: float) -> Bounds:
            low, high = shares_within(tally, count, p, q, 1 - level)
            return Bounds(low * count, high * count)

        counts = np.asarray((tally - count * q) / (p - q), dtype=np.float64)
        values = range(self.values) if isinstance(self.values, int) else self.values
        key = Key(name="value", values=tuple(values))
        return self.published(count, key, Estimate(name="count", estimates=counts, ends=ends))

    def variance(self, shares: object = 0.0, *, people: int) -> Floats:
        """Return the exact variance of the estimated share of a value.

        [f p (1 - p) + (1 - f) q (1 - q)] / (n (p - q)^2) for the true share f of the n people at hand.

        Args:
            shares: true shares, numbers of [0, 1] in any shape.
            people: n.
        """
        share = np.asarray(shares, dtype=np.float64)
        p, q = float(self.p), float(self.q)
        return np.asarray((share * p * (1 - p) + (1 - share) * q * (1 - q)) / (people * (p - q) ** 2))

    # --- facts ---------------------------------------------------------------------------------------------------

    @cached_property
    def size(self) -> int:
        """Number of values."""
        return self.values if isinstance(self.values, int) else len(self.values)


def _fact(fact: object) -> object:
    """Return a fact of a protocol as it stands in JSON."""
    if isinstance(fact, Fraction):
        return quotient_text(fact)
    return [*map(to_data, fact)] if isinstance(fact, tuple) else fact


def exact_bounds(bounds: object) -> tuple[Fraction, Fraction]:
    """Return a pair (lower, upper) of exact numbers.

    Raises: InvalidParameterError unless lower is below upper.
    """
    if not isinstance(bounds, Sequence | np.ndarray) or isinstance(bounds, str) or len(bounds) != 2:
        raise InvalidParameterError(f"bounds must be a pair (lower, upper), got {shown(bounds)}")
    lower, upper = exact_rational("bounds", bounds[0]), exact_rational("bounds", bounds[1])
    if lower >= upper:
        raise InvalidParameterError(f"lower must be below upper in bounds, got ({shown(lower)}, {shown(upper)})")
    return lower, upper


@lru_cache(maxsize=256)
def likelihood_ratio_below(epsilon: Fraction) -> Fraction:
    """Return the greatest multiple of 2^-32 that is at most e^epsilon."""
    return exp_below(epsilon, 32)


def coin_above(probability: Fraction) -> Fraction:
    """Return the least multiple of 2^-64 that is at least a probability."""
    return Fraction(math.ceil(probability * _COIN_STEPS), _COIN_STEPS)
