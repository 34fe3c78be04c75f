"""The billboard lemma as a type: a public signal that is private, and outputs made from it and one's own row alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from deniable.arguments import InWords, in_words
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms.base import Released
from deniable.numbers.rationals import shown, whole_number
from deniable.privacy import PrivacyLoss
from deniable.release import Release
from deniable.rows import attempted

Output = TypeVar("Output")


@dataclass(frozen=True, kw_only=True, eq=False)
class Billboard(metaclass=InWords):
    """What everybody may see: a signal that nobody can write to, and its loss. `billboard` makes one.

    Guarantee: the outputs of `per_player` satisfy joint differential privacy with this loss: what all others get, and
        the signal, reveal no more about a row. A player's own output may depend on the own row in any way.
    Source: Hsu, Huang, Roth, Roughgarden, Wu (2014), arXiv:1311.2828, for the lemma; docs/theory/games/joint.md.
    """

    signal: Any
    loss: PrivacyLoss
    safe: bool

    def per_player(self, function: Callable[[Any, Any], Output], rows: Sequence[Any]) -> tuple[Output | None, ...]:
        """The output of each player, `function(row, signal)`, which must look at nothing else: `replay` tests that.

        None for a player for whom the function fails: an error would tell all others of the row.
        """
        if not callable(function):
            raise InvalidParameterError(f"function must be one of a row and the signal, got {shown(function)}")
        return tuple(attempted(function, row, self.signal) for row in rows)

    def replay(
        self, function: Callable[[Any, Any], Output], rows: Sequence[Any], *, player: int, row: object
    ) -> tuple[Output | None, Output | None]:
        """The outputs of one player with the own row and with another one, at the same signal.

        Raises: UnprovedError if the output of anybody else changes, or depends on the order of the calls.
        """
        place = whole_number("player", player, lower=0, upper=len(rows) - 1)
        others = [*rows[:place], row, *rows[place + 1 :]]
        before, after = self.per_player(function, rows), self.per_player(function, others)
        backwards = self.per_player(function, others[::-1])[::-1]
        alike = [_same(a, b) and _same(b, c) for a, b, c in zip(before, after, backwards, strict=True)]
        alike[place] = _same(after[place], backwards[place])
        if not all(alike):
            raise UnprovedError(
                f"the function reads more than the own row and the signal: the output of player {alike.index(False)} "
                f"changes with the row of player {place}, or with the order of the calls. No joint privacy is promised."
            )
        return before[place], after[place]


@in_words
def billboard(release: Release | Released[Any], *, loss: PrivacyLoss | None = None) -> Billboard:
    """Post a release for everybody to see.

    Args:
        release: a `Release`, whose columns become the signal; or what a mechanism returned.
        loss: of what a mechanism returned.

    >>> from deniable.games import billboard
    >>> from deniable.mechanisms.base import Released
    >>> from deniable.privacy import PureLoss
    >>> board = billboard(Released(7, True), loss=PureLoss(epsilon=1))
    >>> board.per_player(lambda value, price: price if value >= price else None, [3, 9])
    (None, 7)
    """
    if isinstance(release, Release):
        signal: object = {name: release[name] for name in release.columns}
        return Billboard(signal=frozen(signal), loss=release.cost, safe=release.safe)
    if not isinstance(release, Released) or not isinstance(loss, PrivacyLoss):
        raise InvalidParameterError("a billboard needs a Release, or what a mechanism released with loss=")
    return Billboard(signal=frozen(release.value), loss=loss, safe=release.safe)


def frozen(value: object) -> object:
    """The value in a form that no function can use to pass a message on."""
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
        raise InvalidParameterError(f"a signal must be numbers, text or arrays of them, got {shown(value)}") from None
    return value


def _same(one: object, other: object) -> bool:
    a, b = np.asarray(one, dtype=object), np.asarray(other, dtype=object)
    return a.shape == b.shape and bool(np.all((a == b) | ((a != a) & (b != b))))  # noqa: PLR0124 - NaN is like NaN
