"""Goods to people by private prices: everybody learns the own good, and almost nothing about anybody's values.

Proofs: docs/theory/games/joint.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from deniable.arguments import InWords, read_fields
from deniable.errors import InvalidParameterError
from deniable.games.billboard import Billboard, billboard
from deniable.games.counters import Counters, Counts
from deniable.games.money import steps
from deniable.ledger import Ledger
from deniable.ledger.payment import Payment
from deniable.mechanisms.base import Released
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import positive_integer, positive_rational, probability
from deniable.privacy import ApproximateLoss, PrivacyLoss, Replace
from deniable.privacy.notions.concentrated import largest_rho
from deniable.rows.columns import Container


@dataclass(frozen=True, kw_only=True, eq=False)
class Matched:
    """Who gets what: `goods` are for the player of that place alone, -1 is none; `prices` and `board` are public.

    `board.per_player(matching.assigned, list(enumerate(rows)))` gives the goods again. `cut` is SECRET: how many got
    nothing since the noise was beyond the reserve, which delta covers.
    """

    goods: NDArray[np.int64]
    prices: tuple[Fraction, ...]
    board: Billboard
    cut: int


@dataclass(frozen=True, kw_only=True)
class PrivateMatching(metaclass=InWords):
    """Match each player to at most one good at ascending prices that noisy counts of bids set (PMatch).

    In turn, whoever holds nothing bids on the good that is worth most above its price. Every supply - reserve bids
    raise a price by a step, and a bidder holds a good until so many others have bid on it, by the posted counts.

    Args:
        players, goods: how many there are.
        supply: copies of each good.
        top: largest value that counts, in money; step: of the prices. Values are rounded down to steps.
        epsilon, delta: what the matching may cost.
        passes: turns of each player; batches: of players in one pass, a power of two.

    Guarantee: (epsilon, delta)-joint privacy. No good goes to more than `supply` players, whatever the noise: those
        beyond get nothing, which happens with probability delta / (2 + 2 e^epsilon) at most and is in delta.
    Source: Hsu, Huang, Roth, Roughgarden, Wu (2014), arXiv:1311.2828; docs/theory/games/joint.md.
    Raises: InvalidParameterError if the noise needs the whole supply as a reserve.

    >>> from deniable.games import PrivateMatching
    >>> made = PrivateMatching(players=10**4, goods=3, supply=3000, top=10, step=1, epsilon=2, delta="1e-6")
    >>> made.reserve
    420
    """

    players: Annotated[int, positive_integer]
    goods: Annotated[int, positive_integer]
    supply: Annotated[int, positive_integer]
    top: Annotated[Fraction, positive_rational]
    step: Annotated[Fraction, positive_rational]
    epsilon: Annotated[Fraction, positive_rational]
    delta: Annotated[Fraction, probability]
    passes: Annotated[int, positive_integer] = 4
    batches: Annotated[int, positive_integer] = 16

    def __post_init__(self) -> None:
        read_fields(self)
        if self.delta < Fraction(1, 10**100) or self.epsilon > 100 or not self.step <= self.top <= 2**31 * self.step:
            raise InvalidParameterError("delta must be >= 1e-100, epsilon <= 100, and top between one and 2^31 steps")
        if self.supply <= self.reserve:
            raise InvalidParameterError(
                f"the noise needs a reserve of {self.reserve} copies of a good, and there are {self.supply}: nothing "
                "can be promised. Take a larger epsilon, fewer passes or batches, or have more copies."
            )

    @cached_property
    def counters(self) -> Counters:
        """The bids on each good; half of delta pays for them, the other half for noise beyond the reserve."""
        rho = largest_rho(self.epsilon, self.delta / 2)
        return Counters(players=self.players, cells=self.goods, passes=self.passes, batches=self.batches, rho=rho)

    @cached_property
    def reserve(self) -> int:
        """Copies of each good that are held back for the error of the counts."""
        growth = 3 ** -(-self.epsilon.numerator // self.epsilon.denominator)  # at least e^epsilon
        return self.counters.error(float(self.delta / (2 + 2 * growth)))

    @property
    def privacy_loss(self) -> PrivacyLoss:
        """The posts, and what all others get, for one player with other values."""
        return ApproximateLoss(self.epsilon, self.delta).under(Replace)

    def release(self, values: Sequence[Container], *, ledger: Ledger | None = None, bits: Bits = SECURE) -> Matched:
        """Match the players.

        Args:
            values: secret; for each good a column with one value a player, in money. What is no amount is 0.
            ledger: who pays before a value is read.
            bits: leave it out, except in tests.
        """
        self._check(values, self.players)
        Payment(ledger, text=f"match {self.goods} goods", name=repr(self), bits=bits).charge(self.privacy_loss)
        table = self._table(values)
        state, highest = _State(table), np.zeros(self.goods, dtype=np.int64)

        def turn(members: slice, posted: Counts) -> Counts:
            np.maximum(highest, posted, out=highest)
            return np.bincount(state.turn(members, posted, highest, self.supply - self.reserve), minlength=self.goods)

        posted = self.counters.run(turn, bits=bits)
        held = state.kept(slice(None), posted[-1], self.supply - self.reserve)
        goods = held.copy()
        for good in range(self.goods):
            goods[np.flatnonzero(held == good)[self.supply :]] = -1
        prices = np.maximum(posted.max(axis=0), 0) // (self.supply - self.reserve)
        return Matched(
            goods=goods,
            prices=tuple(self.step * int(price) for price in prices),
            board=billboard(Released(posted, bits.safe), loss=self.privacy_loss),
            cut=int((goods != held).sum()),
        )

    def assigned(self, row: tuple[int, Sequence[Any]], posted: Counts) -> int:
        """The good that a player of a place and with some values ends up with, from the posts alone; -1 for none."""
        place, values = row
        state, quota = _State(self._table([[one] for one in values], 1)), self.supply - self.reserve
        batch, highest = ((place + 1) * self.batches - 1) // self.players, np.maximum.accumulate(posted, axis=0)
        for at in range(batch, self.passes * self.batches, self.batches):
            state.turn(slice(0, 1), posted[at], highest[at], quota)
        return int(state.kept(slice(None), posted[-1], quota)[0])

    def welfare(self, values: Sequence[Container], matched: Matched) -> tuple[Fraction, Fraction]:
        """SECRET: the sum of the values of what all got, and a bound on that of any matching: that of dual prices."""
        table, got = self._table(values), matched.goods
        found = int(table[got >= 0, got[got >= 0]].sum())
        prices = np.array([int(price / self.step) for price in matched.prices])
        most = int(np.maximum(table - prices, 0).max(axis=1).sum()) + self.supply * int(prices.sum())
        return self.step * found, self.step * most

    def _table(self, values: Sequence[Container], players: int | None = None) -> NDArray[np.int64]:
        """Values in whole steps, shape (players, goods)."""
        self._check(values, players or self.players)
        return np.stack([steps(column, unit=self.step, top=int(self.top / self.step)) for column in values], axis=1)

    def _check(self, values: Sequence[Container], players: int) -> None:
        if [len(column) for column in values] != [players] * self.goods:  # type: ignore[arg-type]
            raise InvalidParameterError(f"values must be {self.goods} columns of {players} values each")


class _State:
    """What each player holds, and the count at the bid; a player's part is made of the own row and the posts."""

    def __init__(self, values: NDArray[np.int64]) -> None:
        self.values, self.held = values, np.full(len(values), -1)
        self.mark = np.zeros(len(values), dtype=np.int64)

    def turn(self, members: slice, posted: Counts, highest: Counts, quota: int) -> NDArray[np.int64]:
        """The goods that these players bid on."""
        gains = self.values[members] - highest // quota
        best = gains.argmax(axis=1)
        held = self.kept(members, posted, quota)
        bids = (held < 0) & (gains.max(axis=1) > 0)
        self.mark[members] = np.where(bids, posted[best], self.mark[members])
        self.held[members] = np.where(bids, best, held)
        return np.asarray(best[bids], dtype=np.int64)

    def kept(self, members: slice, posted: Counts, quota: int) -> NDArray[np.int64]:
        held = self.held[members]
        return np.where((held >= 0) & (posted[held] - self.mark[members] <= quota), held, -1)
