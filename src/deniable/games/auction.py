"""Selling copies of a digital good at one private price: revenue with a bound in money, lies that cannot pay much."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from deniable.arguments import InWords, read_fields
from deniable.errors import InvalidParameterError
from deniable.games.finite import Lie, ends, interval
from deniable.games.money import amounts, as_written, price_list, steps, unit_of
from deniable.games.utility import gain_bound
from deniable.ledger import Ledger
from deniable.ledger.payment import Payment
from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.selection import ExponentialMechanism
from deniable.mechanisms.selection.revenues import revenues
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.balls import ball
from deniable.numbers.interval import REAL, Interval, round_up
from deniable.numbers.rationals import Real, decimal_text, positive_rational
from deniable.privacy import ExponentialMechanismLoss, PrivacyLoss, Replace, of_count
from deniable.release import Release
from deniable.release.columns import Key, Measure, Noisy
from deniable.rows.columns import Container

if TYPE_CHECKING:
    from flint import arb

_PRECISION = 192  # bits of exhaustive searches; an interval says what is left of them
_ONE_COUNT = of_count(rows=1, groups=1, relation=Replace, cells=1)
_LEVEL = "0.05"  # failure of the bound that a release notes


@dataclass(frozen=True, kw_only=True)
class DigitalGoods(metaclass=InWords):
    """Sell a good of which there are enough copies, at a price that the exponential mechanism chooses.

    Whoever bids the price or more buys at the price; a bid that equals it buys. No price is computed from the bids.

    Args:
        prices: the public list to choose from, in money: ints, Fractions, or text such as "9.99".
        epsilon: what the price may cost.
        count_epsilon: what a noisy count of the buyers at that price may cost; None: none is published.

    Guarantee: `privacy_loss`. One bid moves the revenues all up or all down, by at most the largest price, so weights
        exp(epsilon revenue / largest price) give epsilon-DP, under either relation. The count is priced for replace.
    Source: McSherry, Talwar (2007); docs/theory/games/auction.md.

    >>> from deniable.games import DigitalGoods
    >>> sale = DigitalGoods(prices=range(1, 21), epsilon=1)
    >>> print(f"{sale.revenue_gap(failure='0.05'):.2f}")  # money, with probability 95%, however many bid
    117.78
    """

    prices: Annotated[tuple[Fraction, ...], price_list]
    epsilon: Annotated[Fraction, positive_rational]
    count_epsilon: Annotated[Fraction | None, positive_rational] = None

    def __post_init__(self) -> None:
        read_fields(self)
        _ = self.mechanism, self._counter

    @cached_property
    def mechanism(self) -> ExponentialMechanism:
        """The choice among the prices, by revenues in units of money that divide every price."""
        return ExponentialMechanism(rate=self.epsilon / self._steps[-1])

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        """The price, and the count of buyers where there is one. What a buyer pays is the buyer's own business."""
        price: PrivacyLoss = ExponentialMechanismLoss(self.epsilon)
        return price if self._counter is None else price + self._counter.privacy_loss(_ONE_COUNT)

    def revenue_gap(self, *, failure: Real) -> float:
        """Money: with probability 1 - failure the price earns at least the best listed price's revenue less this."""
        return round_up(self._unit * Fraction(self.mechanism.gap_bound(len(self.prices), failure=failure)))

    def expected_gap(self) -> float:
        """Money: the price earns at least the best listed price's revenue less this, on average."""
        return round_up(self._unit * Fraction(self.mechanism.expected_gap(len(self.prices))))

    def gain_bound(self, *, liars: int = 1) -> float:
        """Money: no bidder gains more by lying, or by others' lying along, whatever the bids and values are."""
        width = self.prices[-1] - self.prices[0]
        return gain_bound(ExponentialMechanismLoss(self.epsilon), width=width, liars=liars)

    def release(self, bids: Container, *, ledger: Ledger | None = None, bits: Bits = SECURE) -> Release:
        """The price, and the number of buyers and the revenue with intervals if `count_epsilon` is given.

        Args:
            bids: secret; one a bidder, in money, in any container. What is no number, or below 0, buys nothing.
            ledger: who pays before a bid is read.
            bits: leave it out, except in tests.
        """
        text = f"sell at one of {len(self.prices)} prices with epsilon={decimal_text(self.epsilon)}"
        left = Payment(ledger, text=text, name=repr(self), bits=bits).charge(self.privacy_loss)
        secret = steps(bids, unit=self._unit, top=self._steps[-1])
        place = self.mechanism.release(revenues(secret, self._steps), bits=bits).value
        price = self.prices[place]
        parts: list[Key | Measure] = [Key(name="price", values=(as_written(price),))]
        noisy: tuple[Noisy, ...] = ()
        if self._counter is not None:
            count = self._counter.release(np.array([(secret >= self._steps[place]).sum()]), bits=bits).value
            noisy = (Noisy(name="count", values=count.astype(np.int64), law=self._counter.law()),)
            each = float(price)
            parts += [
                Measure(name="revenue", bases=("count",), evaluate=lambda of: each * of["count"], lower=0),
                Measure(name="buyers", bases=("count",), lower=0),
            ]
        notes = (
            f"with probability 95% no listed price would have earned over {self.revenue_gap(failure=_LEVEL):,.6g} more",
            f"no bidder could gain more than {self.gain_bound():,.6g} in expectation by a false bid",
        )
        return Release(
            parts=tuple(parts), noisy=noisy, cost=self.privacy_loss, budget_left=left, text=text, safe=bits.safe,
            notes=notes, protects="one bid",
        )  # fmt: skip

    def revenues(self, bids: Container) -> dict[Fraction, Fraction]:
        """SECRET: what each listed price would earn, exactly."""
        return dict(zip(self.prices, (self._unit * int(one) for one in self._scores(bids)), strict=True))

    def probabilities(self, bids: Container) -> dict[Fraction, Interval]:
        """SECRET: the probability of each price, certified."""
        law = self.mechanism.pmf(self._scores(bids))
        return {price: interval(*ends(law[place])) for place, price in enumerate(self.prices)}

    def expected_revenue(self, bids: Container) -> Interval:
        """SECRET: the mean revenue of the price that is chosen, certified."""
        earned, law = self.revenues(bids), self.probabilities(bids)
        sums = (sum((earned[p] * ends(mass)[end] for p, mass in law.items()), Fraction(0)) for end in (0, 1))
        return interval(*sums)

    def best_lie(self, values: Sequence[Real], *, binding: bool = True) -> Lie:
        """SECRET: the best lie of any bidder while all others bid the truth, by trying all; a gain of 0 if none pays.

        Bids between two prices do the same, and the gain is linear in values between them: 10^5 bidders take a second.

        Args:
            values: what the good is worth to each bidder, in money; everybody else bids it.
            binding: whether a bid of at least the price must buy; else a bidder may still decline.

        Raises: InvalidParameterError for no bidder or a negative value.
        """
        worth = amounts("values", values)
        if not worth:
            raise InvalidParameterError("values must be those of at least one bidder, got an empty list")
        from flint import ctx

        found: list[tuple[Interval, int, int]] = []
        with ctx.workprec(_PRECISION):
            laws = _Laws(self._scores(worth), self._steps, self.mechanism.rate, self.prices)
            for cell, bidders in self._groups(worth).items():
                for lie in set(range(len(self.prices) + 1)) - {cell}:
                    buys, pays = laws.change(cell, lie, binding=binding)
                    gains = (Interval.of_ball(ball(worth[one]) * buys - pays, within=REAL) for one in bidders)
                    found += [(gain, bidder, lie) for gain, bidder in zip(gains, bidders, strict=True)]
        gain, bidder, lie = max(found, key=lambda one: (one[0].lower, -one[1], -one[2]))
        low, high = max(gain.lower, 0.0), max(one[0].upper for one in found)
        false = self.prices[lie - 1] if lie else Fraction(0)
        return Lie(player=bidder, truth=worth[bidder], report=false, gain=Interval(low, max(low, high)))

    @cached_property
    def _unit(self) -> Fraction:
        return unit_of(self.prices)

    @cached_property
    def _steps(self) -> list[int]:
        return [int(price / self._unit) for price in self.prices]

    @cached_property
    def _counter(self) -> Laplace | None:
        return None if self.count_epsilon is None else Laplace.calibrated(_ONE_COUNT, epsilon=self.count_epsilon)

    def _scores(self, bids: Container) -> NDArray[np.int64]:
        return revenues(steps(bids, unit=self._unit, top=self._steps[-1]), self._steps)

    def _groups(self, worth: tuple[Fraction, ...]) -> dict[int, list[int]]:
        """For each number of prices that a value reaches, the bidders with the least and the largest such value."""
        first = dict(zip(reversed(worth), reversed(range(len(worth))), strict=True))  # bidder of each value
        values = sorted(first)
        reached = [bisect_left(values, price) for price in self.prices]  # from which on values reach a price
        cells = (part for part in np.split(np.array(values, dtype=object), reached))
        return {cell: [first[part[0]], first[part[-1]]] for cell, part in enumerate(cells) if part.size}


class _Laws:
    """Running sums over prices of weights, and of weights times prices, before and after one bid has moved."""

    def __init__(self, scores: NDArray[np.int64], grid: list[int], rate: Fraction, prices: Sequence[Fraction]) -> None:
        best, priced = int(scores.max()), [ball(price) for price in prices]
        self.sums = []
        for sign in (0, 1, -1):
            moved = zip(scores.tolist(), grid, strict=True)
            weights = np.array([ball(rate * (score - best + sign * step)).exp() for score, step in moved], dtype=object)
            rows = np.cumsum([weights, weights * np.array(priced, dtype=object)], axis=1)
            self.sums.append(np.concatenate([np.zeros((2, 1), dtype=object), rows], axis=1))

    def change(self, cell: int, lie: int, *, binding: bool) -> "tuple[arb, arb]":
        """Change of the chance to buy, and of the expected payment, of a bidder in a cell who lies."""
        plain, moved = self.sums[0], self.sums[1 if lie > cell else -1]

        def after(end: int) -> NDArray[np.object_]:
            low, high = (min(place, end) for place in sorted((cell, lie)))
            return np.asarray(plain[:, end] - plain[:, high] + plain[:, low] + moved[:, high] - moved[:, low])

        total = after(plain.shape[1] - 1)[0]
        buys, pays = after(lie if binding else min(lie, cell)) / total - plain[:, cell] / plain[0, -1]
        return buys, pays
