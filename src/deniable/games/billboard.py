"""Billboard lemma as a type: a private signal, posted for all, and outputs.

Each output reads the signal and the row of its own player, and nothing else.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from deniable.arguments import InWords, in_words
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms.base import Released
from deniable.numbers.rationals import decimal_text, shown, whole_number
from deniable.privacy import PrivacyLoss
from deniable.release import Release
from deniable.release.display import price, printable
from deniable.rows import attempted

Output = TypeVar("Output")

_SHOWN_NUMBERS = 12  # of an array on one line; longer ones are named by their shape


@dataclass(frozen=True, kw_only=True, eq=False)
class Billboard(metaclass=InWords):
    """Public signal that nobody can write to, with its cost; `billboard` makes one.

    Args:
        signal: what everybody may see: numbers, text, read-only arrays, and tuples or mappings of them.
        cost: the privacy loss of the signal.
        safe: False if the noise came from a test stream.

    Guarantee: the outputs of `per_player` satisfy joint differential privacy with this loss: what all others get, and
        the signal, reveal no more about a row. A player's own output may depend on the own row in any way.
    Source: Hsu, Huang, Roth, Roughgarden, Wu (2014), arXiv:1311.2828, for the lemma; docs/theory/games/joint.md.

    >>> from deniable.games import billboard
    >>> from deniable.mechanisms.base import Released
    >>> from deniable.privacy import PureLoss
    >>> billboard(Released(7, True), loss=PureLoss(epsilon=1))
    <Billboard: signal 7; cost epsilon=1>
    """

    signal: Any
    cost: PrivacyLoss
    safe: bool

    def __repr__(self) -> str:
        mark = "" if self.safe else ", safe=False"
        return f"<Billboard: signal {in_short(self.signal)}; cost {price(self.cost)}{mark}>"

    def per_player(self, function: Callable[[Any, Any], Output], rows: Sequence[Any]) -> tuple[Output | None, ...]:
        """Return the output of each player; None where the function fails.

        An error would reveal a row to all others, so it is not raised.

        Args:
            function: takes (row, signal) and must read nothing else; `replay` tests that.
            rows: one for each player.
        """
        if not callable(function):
            raise InvalidParameterError(f"function must take a row and the signal, got {shown(function)}")
        return tuple(attempted(function, row, self.signal) for row in rows)

    def replay(
        self, function: Callable[[Any, Any], Output], rows: Sequence[Any], *, player: int, row: object
    ) -> tuple[Output | None, Output | None]:
        """Return the outputs of one player with the own row and with another one.

        The signal is the same in both.

        Args:
            function: takes (row, signal).
            rows: one for each player.
            player: index of the player whose row is exchanged.
            row: that other row.

        Raises: UnprovedError if the output of anybody else changes, or depends on the order of the calls.
        """
        index = whole_number("player", player, lower=0, upper=len(rows) - 1)
        others = [*rows[:index], row, *rows[index + 1 :]]
        before = self.per_player(function, rows)
        after = self.per_player(function, others)
        backwards = self.per_player(function, others[::-1])[::-1]
        alike = [_same(a, b) and _same(b, c) for a, b, c in zip(before, after, backwards, strict=True)]
        alike[index] = _same(after[index], backwards[index])
        if not all(alike):
            raise UnprovedError(
                f"the function reads more than the own row and the signal: the output of player {alike.index(False)} "
                f"changes with the row of player {index}, or with the order of the calls. Joint privacy is not "
                "guaranteed. Let it read its two arguments alone."
            )
        return before[index], after[index]


@in_words
def billboard(release: Release | Released[Any], *, loss: PrivacyLoss | None = None) -> Billboard:
    """Post a release for everybody to see.

    Args:
        release: a `Release`, whose columns become the signal; or what a mechanism released.
        loss: privacy loss of what a mechanism released; a `Release` knows its own.

    >>> from deniable.games import billboard
    >>> from deniable.mechanisms.base import Released
    >>> from deniable.privacy import PureLoss
    >>> board = billboard(Released(7, True), loss=PureLoss(epsilon=1))
    >>> board.per_player(lambda value, price: price if value >= price else None, [3, 9])
    (None, 7)
    """
    if isinstance(release, Release):
        signal: object = {name: release[name] for name in release.columns}
        return Billboard(signal=frozen(signal), cost=release.cost, safe=release.safe)
    if not isinstance(release, Released) or not isinstance(loss, PrivacyLoss):
        raise InvalidParameterError("a billboard needs a Release, or what a mechanism released with loss=")
    return Billboard(signal=frozen(release.value), cost=loss, safe=release.safe)


def frozen(value: object) -> object:
    """Return the value in a form that no function can use to pass a message on."""
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return frozen(value.tolist())
        copied = value.copy()
        copied.setflags(write=False)
        return copied
    if isinstance(value, Mapping):
        return MappingProxyType({frozen(key): frozen(one) for key, one in value.items()})
    if isinstance(value, list | tuple):
        return tuple(map(frozen, value))
    try:
        hash(value)
    except TypeError:
        raise InvalidParameterError(
            f"a signal must consist of numbers, text or arrays of them, got {shown(value)}"
        ) from None
    return value


def in_short(signal: object) -> str:
    """Return a signal on one line; arrays by their shape."""
    if isinstance(signal, np.ndarray):
        return f"of shape {signal.shape}" if signal.size > _SHOWN_NUMBERS else str(signal.tolist())
    if isinstance(signal, Fraction):
        return decimal_text(signal)
    if isinstance(signal, tuple):
        return f"({', '.join(map(in_short, signal))})"
    if isinstance(signal, Mapping):
        return "{" + ", ".join(f"{key}: {in_short(value)}" for key, value in signal.items()) + "}"
    return printable(signal)


def _same(one: object, other: object) -> bool:
    a, b = np.asarray(one, dtype=object), np.asarray(other, dtype=object)
    return a.shape == b.shape and bool(np.all((a == b) | ((a != a) & (b != b))))  # noqa: PLR0124 - NaN is like NaN
