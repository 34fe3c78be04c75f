"""Sale of copies of a digital good at one private price.

The revenue has a bound in money, and lies gain little.
"""

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
_FAILURE = "0.05"  # of the bound that a release notes


@dataclass(frozen=True, kw_only=True)
class DigitalGoods(metaclass=InWords):
    """Sell a good without limit, at a price chosen by the exponential mechanism.

    Whoever bids the price or more buys at the price; a bid that equals it buys. No price is computed from the bids.

    Args:
        prices: the public list to choose from, in money: ints, Fractions, or text such as "9.99".
        epsilon: charged for the price.
        count_epsilon: charged for a noisy count of the buyers at that price; None publishes none.

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
        """Choice among the prices, by revenues in a unit that divides every price."""
        return ExponentialMechanism(rate=self.epsilon / self._steps[-1])

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        """Privacy loss of the price, and of the count of buyers if one is published.

        Who buys is known to the buyer alone.
        """
        price: PrivacyLoss = ExponentialMechanismLoss(self.epsilon)
        return price if self._counter is None else price + self._counter.privacy_loss(_ONE_COUNT)

    def revenue_gap(self, *, failure: Real) -> float:
        """Bound the revenue lost against the best listed price, in money.

        Args:
            failure: probability that more is lost.
        """
        return round_up(self._unit * Fraction(self.mechanism.gap_bound(len(self.prices), failure=failure)))

    def expected_gap(self) -> float:
        """Bound the mean revenue lost against the best listed price, in money."""
        return round_up(self._unit * Fraction(self.mechanism.expected_gap(len(self.prices))))

    def gain_bound(self, *, liars: int = 1) -> float:
        """Bound the gain of a bidder by lying, in money, whatever the bids and values.

        Args:
            liars: number of bidders who lie together.
        """
        width = self.prices[-1] - self.prices[0]
        return gain_bound(ExponentialMechanismLoss(self.epsilon), width=width, liars=liars)

    def release(self, bids: Container, *, ledger: Ledger | None = None, bits: Bits = SECURE) -> Release:
        """Choose the price, and count buyers and revenue if `count_epsilon` is given.

        Args:
            bids: secret; one for each bidder, in money, in any container. Entries that are not numbers, or below 0,
                buy nothing.
            ledger: charged before a bid is read.
            bits: leave it out, except in tests.

        Returns: a `Release` with the column price, and revenue and buyers with intervals.
        """
        text = f"sell at one of {len(self.prices)} prices with epsilon={decimal_text(self.epsilon)}"
        left = Payment(ledger, text=text, name=repr(self), bits=bits).charge(self.privacy_loss)
        secret = steps(bids, unit=self._unit, top=self._steps[-1])
        index = self.mechanism.release(revenues(secret, self._steps), bits=bits).value
        parts: list[Key | Measure] = [Key(name="price", values=(as_written(self.prices[index]),))]
        noisy: tuple[Noisy, ...] = ()
        if self._counter is not None:
            count = self._counter.release(np.array([(secret >= self._steps[index]).sum()]), bits=bits).value
            noisy = (Noisy(name="count", values=count.astype(np.int64), law=self._counter.law()),)
            parts += _sales(float(self.prices[index]))
        notes = (
            f"with probability 95% no listed price would have earned over {self.revenue_gap(failure=_FAILURE):,.6g} "
            "more",
            f"no bidder could gain more than {self.gain_bound():,.6g} in expectation by a false bid",
        )
        return Release(
            parts=tuple(parts), noisy=noisy, cost=self.privacy_loss, budget_left=left, text=text, safe=bits.safe,
            notes=notes, protects="one bid",
        )  # fmt: skip

    def revenues(self, bids: Container) -> dict[Fraction, Fraction]:
        """Return the exact revenue of each listed price. SECRET.

        Args:
            bids: as for `release`.
        """
        return dict(zip(self.prices, (self._unit * int(one) for one in self._scores(bids)), strict=True))

    def probabilities(self, bids: Container) -> dict[Fraction, Interval]:
        """Return the certified probability of each price. SECRET.

        Args:
            bids: as for `release`.
        """
        law = self.mechanism.pmf(self._scores(bids))
        return {price: interval(*ends(law[index])) for index, price in enumerate(self.prices)}

    def expected_revenue(self, bids: Container) -> Interval:
        """Return the certified mean revenue of the chosen price. SECRET.

        Args:
            bids: as for `release`.
        """
        earned = self.revenues(bids)
        law = self.probabilities(bids)
        sums = (sum((earned[p] * ends(mass)[end] for p, mass in law.items()), Fraction(0)) for end in (0, 1))
        return interval(*sums)

    def best_lie(self, values: Sequence[Real], *, binding: bool = True) -> Lie:
        """Return the best lie of any bidder while all others bid the truth. SECRET.

        All lies are tried; the gain is 0 if none gains. Bids between two prices do the same, and the gain is linear in
        values between them: 10^5 bidders take a second.

        Args:
            values: of the good to each bidder, in money, which everybody else bids.
            binding: whether a bid of at least the price must buy; else a bidder may still decline.

        Returns: a `Lie`.
        Raises: InvalidParameterError for no bidder or a negative value.
        """
        worth = amounts("values", values)
        if not worth:
            raise InvalidParameterError("values must hold the value of at least one bidder, got an empty list")
        from flint import ctx

        lies: list[tuple[Interval, int, int]] = []
        with ctx.workprec(_PRECISION):
            laws = _Laws(self._scores(worth), self._steps, self.mechanism.rate, self.prices)
            for cell, bidders in self._groups(worth).items():
                for lie in set(range(len(self.prices) + 1)) - {cell}:
                    buys, pays = laws.change(cell, lie, binding=binding)
                    gains = (Interval.of_ball(ball(worth[one]) * buys - pays, within=REAL) for one in bidders)
                    lies += [(gain, bidder, lie) for gain, bidder in zip(gains, bidders, strict=True)]
        gain, bidder, lie = max(lies, key=lambda one: (one[0].lower, -one[1], -one[2]))
        low = max(gain.lower, 0.0)
        high = max(one[0].upper for one in lies)
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
        """Return the bidders of the least and the largest value between two prices.

        Keys are numbers of prices that a value reaches.
        """
        first = dict(zip(reversed(worth), reversed(range(len(worth))), strict=True))  # bidder of each value
        values = sorted(first)
        reached = [bisect_left(values, price) for price in self.prices]  # from which on values reach a price
        cells = (part for part in np.split(np.array(values, dtype=object), reached))
        return {cell: [first[part[0]], first[part[-1]]] for cell, part in enumerate(cells) if part.size}


def _sales(price: float) -> list[Measure]:
    """Return the measures of revenue and buyers at a price."""
    return [
        Measure(name="revenue", bases=("count",), evaluate=lambda of: price * of["count"], lower=0),
        Measure(name="buyers", bases=("count",), lower=0),
    ]


class _Laws:
    """Sums over prices of weights, and of weights times prices, around one move.

    `sums` holds them before and after one bid has moved up or down.

    Args:
        scores: revenue of each price, in steps of money.
        grid: the prices in steps.
        rate: of the exponential weights.
        prices: in money.
    """

    def __init__(self, scores: NDArray[np.int64], grid: list[int], rate: Fraction, prices: Sequence[Fraction]) -> None:
        best = int(scores.max())
        priced = [ball(price) for price in prices]
        self.sums = []
        for sign in (0, 1, -1):
            moved = zip(scores.tolist(), grid, strict=True)
            weights = np.array([ball(rate * (score - best + sign * step)).exp() for score, step in moved], dtype=object)
            rows = np.cumsum([weights, weights * np.array(priced, dtype=object)], axis=1)
            self.sums.append(np.concatenate([np.zeros((2, 1), dtype=object), rows], axis=1))

    def change(self, cell: int, lie: int, *, binding: bool) -> "tuple[arb, arb]":
        """Return the change of the chance to buy, and of the expected payment, by a lie."""
        plain = self.sums[0]
        moved = self.sums[1 if lie > cell else -1]

        def after(end: int) -> NDArray[np.object_]:
            low, high = (min(index, end) for index in sorted((cell, lie)))
            return np.asarray(plain[:, end] - plain[:, high] + plain[:, low] + moved[:, high] - moved[:, low])

        total = after(plain.shape[1] - 1)[0]
        buys, pays = after(lie if binding else min(lie, cell)) / total - plain[:, cell] / plain[0, -1]
        return buys, pays
