"""Matching of goods to people by private prices.

Everybody learns the own good, and almost nothing about the values of others.

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
from deniable.numbers.rationals import decimal_text, positive_integer, positive_rational, probability
from deniable.privacy import ApproximateLoss, PrivacyLoss, Replace
from deniable.privacy.notions.concentrated import largest_rho
from deniable.release.display import price
from deniable.rows.columns import Container


@dataclass(frozen=True, kw_only=True, eq=False)
class Matched:
    """Matching of players to goods, with public prices.

    `board.per_player(matching.assigned, list(enumerate(rows)))` gives the goods again.

    Args:
        goods: shape (players,): the good of each player, -1 for none. Each entry is for its own player alone.
        prices: public, one for each good, in money.
        board: the posted counts of bids, public.
        cut: SECRET: number of players who got nothing because the noise exceeded the reserve, which delta covers.
    """

    goods: NDArray[np.int64]
    prices: tuple[Fraction, ...]
    board: Billboard
    cut: int

    @property
    def cost(self) -> PrivacyLoss:
        """Privacy loss of the posts, and of what all other players get."""
        return self.board.cost

    def __repr__(self) -> str:
        prices = ", ".join(map(decimal_text, self.prices))
        mark = "" if self.board.safe else ", safe=False"
        return f"<Matched: {len(self.goods):,} players; prices {prices}; cost {price(self.cost)}{mark}>"


@dataclass(frozen=True, kw_only=True)
class PrivateMatching(metaclass=InWords):
    """Match each player to at most one good, at prices set by noisy counts (PMatch).

    In turn, each player without a good bids on the good that is worth most above its price. Every supply - reserve bids
    raise a price by a step, and a bidder holds a good until that many others have bid on it, by the posted counts.

    Args:
        players: number of players.
        goods: number of goods.
        supply: copies of each good.
        top: largest value that counts, in money.
        step: of the prices, in money. Values are rounded down to steps.
        epsilon, delta: charged for the matching.
        passes: turns of each player.
        batches: number of batches of players in one pass, a power of two.

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
                f"supply must exceed the reserve of {self.reserve} copies that the noise needs, got {self.supply}. "
                "Take a larger epsilon, fewer passes or batches, or have more copies."
            )

    @cached_property
    def counters(self) -> Counters:
        """Counters of the bids on each good.

        Half of delta is for the counts, the other half for noise beyond the reserve.
        """
        rho = largest_rho(self.epsilon, self.delta / 2)
        return Counters(players=self.players, cells=self.goods, passes=self.passes, batches=self.batches, rho=rho)

    @cached_property
    def reserve(self) -> int:
        """Copies of each good that are held back for the error of the counts."""
        growth = 3 ** -(-self.epsilon.numerator // self.epsilon.denominator)  # at least e^epsilon
        return self.counters.error(float(self.delta / (2 + 2 * growth)))

    @property
    def privacy_loss(self) -> PrivacyLoss:
        """Privacy loss of the posts, and of what all other players get."""
        return ApproximateLoss(self.epsilon, self.delta).under(Replace)

    def release(self, values: Sequence[Container], *, ledger: Ledger | None = None, bits: Bits = SECURE) -> Matched:
        """Match the players.

        Args:
            values: secret; for each good a column with one value for each player, in money. Other entries count as 0.
            ledger: charged before a value is read.
            bits: leave it out, except in tests.
        """
        self._check(values, self.players)
        Payment(ledger, text=f"match {self.goods} goods", name=repr(self), bits=bits).charge(self.privacy_loss)
        table = self._table(values)
        state = _State(table)
        highest = np.zeros(self.goods, dtype=np.int64)
        quota = self.supply - self.reserve

        def turn(members: slice, posted: Counts) -> Counts:
            np.maximum(highest, posted, out=highest)
            bids = state.turn(members, posted, highest, quota)
            return np.bincount(bids, minlength=self.goods)

        posted = self.counters.run(turn, bits=bits)
        held = state.kept(slice(None), posted[-1], quota)
        goods = held.copy()
        for good in range(self.goods):
            goods[np.flatnonzero(held == good)[self.supply :]] = -1
        prices = np.maximum(posted.max(axis=0), 0) // quota
        return Matched(
            goods=goods,
            prices=tuple(self.step * int(steps_up) for steps_up in prices),
            board=billboard(Released(posted, bits.safe), loss=self.privacy_loss),
            cut=int((goods != held).sum()),
        )

    def assigned(self, row: tuple[int, Sequence[Any]], posted: Counts) -> int:
        """Return the good of a player, from the posts alone; -1 for none.

        Args:
            row: index and values of the player.
            posted: the signal of the board, shape (posts, goods).
        """
        index, values = row
        state = _State(self._table([[one] for one in values], 1))
        quota = self.supply - self.reserve
        batch = ((index + 1) * self.batches - 1) // self.players
        highest = np.maximum.accumulate(posted, axis=0)
        for at in range(batch, self.passes * self.batches, self.batches):
            state.turn(slice(0, 1), posted[at], highest[at], quota)
        return int(state.kept(slice(None), posted[-1], quota)[0])

    def welfare(self, values: Sequence[Container], matched: Matched) -> tuple[Fraction, Fraction]:
        """Return the welfare, and an upper bound on that of any matching. SECRET.

        The welfare is the sum of the values of what all players got; the bound is that of dual prices.

        Args:
            values: as for `release`.
            matched: what `release` returned.
        """
        table = self._table(values)
        got = matched.goods
        welfare = int(table[got >= 0, got[got >= 0]].sum())
        prices = np.array([int(paid / self.step) for paid in matched.prices])
        bound = int(np.maximum(table - prices, 0).max(axis=1).sum()) + self.supply * int(prices.sum())
        return self.step * welfare, self.step * bound

    def _table(self, values: Sequence[Container], players: int | None = None) -> NDArray[np.int64]:
        """Return values in whole steps, shape (players, goods)."""
        self._check(values, players or self.players)
        return np.stack([steps(column, unit=self.step, top=int(self.top / self.step)) for column in values], axis=1)

    def _check(self, values: Sequence[Container], players: int) -> None:
        if [len(column) for column in values] != [players] * self.goods:  # type: ignore[arg-type]
            raise InvalidParameterError(f"values must be {self.goods} columns of {players} values each")


class _State:
    """Goods that players hold, and the posted count at each one's bid.

    The part of a player is made of the own row and the posts.

    Args:
        values: in whole steps, shape (players, goods).
    """

    def __init__(self, values: NDArray[np.int64]) -> None:
        self.values = values
        self.held = np.full(len(values), -1)
        self.mark = np.zeros(len(values), dtype=np.int64)

    def turn(self, members: slice, posted: Counts, highest: Counts, quota: int) -> NDArray[np.int64]:
        """Let a batch of players bid; return the goods that they bid on."""
        gains = self.values[members] - highest // quota
        best = gains.argmax(axis=1)
        held = self.kept(members, posted, quota)
        bids = (held < 0) & (gains.max(axis=1) > 0)
        self.mark[members] = np.where(bids, posted[best], self.mark[members])
        self.held[members] = np.where(bids, best, held)
        return np.asarray(best[bids], dtype=np.int64)

    def kept(self, members: slice, posted: Counts, quota: int) -> NDArray[np.int64]:
        """Return the goods that players still hold, -1 for none."""
        held = self.held[members]
        return np.where((held >= 0) & (posted[held] - self.mark[members] <= quota), held, -1)
