"""Selling copies of a digital good at one private price: revenue with a bound in money, lies that cannot pay much."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.games.billboard import paid
from deniable.games.money import amounts, as_written, price_list, steps, unit_of
from deniable.games.utility import gain_bound
from deniable.ledger import Ledger
from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.selection import ExponentialMechanism
from deniable.mechanisms.selection.revenues import revenues
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.balls import ball
from deniable.numbers.interval import REAL, Interval, round_down, round_up
from deniable.numbers.rationals import Real, decimal_text, positive_rational
from deniable.privacy import ExponentialMechanismLoss, PrivacyLoss, Relation, Replace, Sensitivity, of_count
from deniable.privacy.call import InWords, read_fields
from deniable.release import Release
from deniable.release.columns import Key, Measure, Noisy
from deniable.rows.columns import Container

if TYPE_CHECKING:
    from flint import arb

_PRECISION = 192  # bits of exhaustive searches; an interval says what is left of them
_LEVEL = "0.05"  # failure of the bound that a release notes


@dataclass(frozen=True, kw_only=True)
class BestLie:
    """The most that any bidder could gain by one false bid, when all others bid the truth; a gain of 0 if no lie pays.

    `gain` is expected money, certified; any bid that reaches the same prices as `lie` gains as much. `bound` is what
    the privacy of the price allows.
    """

    bidder: int
    value: Fraction
    lie: Fraction
    gain: Interval
    bound: float


@dataclass(frozen=True, kw_only=True)
class DigitalGoods(metaclass=InWords):
    """Sell a good of which there are enough copies, at a price that the exponential mechanism chooses.

    Whoever bids the price or more buys at the price; a bid that equals it buys. No price is computed from the bids.

    Args:
        prices: the public list to choose from, in money: ints, Fractions, or text such as "9.99".
        epsilon: what the price may cost.
        count_epsilon: what a noisy count of the buyers at that price may cost; None: none is published.
        relation: Replace, where the number of bidders is public, or AddRemove.

    Guarantee: `privacy_loss`. One bid moves the revenues all up or all down, by at most the largest price, so weights
        exp(epsilon revenue / largest price) give epsilon-DP under either relation: twice the usual exponent.
    Source: McSherry, Talwar (2007); docs/theory/games/auction.md.

    >>> from deniable.games import DigitalGoods
    >>> sale = DigitalGoods(prices=range(1, 21), epsilon=1)
    >>> print(f"{sale.revenue_gap(failure='0.05'):.2f}")  # money, with probability 95%, however many bid
    117.78
    """

    prices: Annotated[tuple[Fraction, ...], price_list]
    epsilon: Annotated[Fraction, positive_rational]
    count_epsilon: Annotated[Fraction | None, positive_rational] = None
    relation: Annotated[Relation, lambda _, value: Relation(value)] = Replace

    def __post_init__(self) -> None:
        read_fields(self)
        _ = self.mechanism, self._counter

    # --- what is public ------------------------------------------------------------------------------------------

    @cached_property
    def mechanism(self) -> ExponentialMechanism:
        """The choice among the prices, by revenues in units of money that divide every price."""
        return ExponentialMechanism(rate=self.epsilon / self._steps[-1])

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        """The price, and the count of buyers where there is one. What a buyer pays is the buyer's own business."""
        price: PrivacyLoss = ExponentialMechanismLoss(self.epsilon)
        return price if self._counter is None else price + self._counter.privacy_loss(self._one_count)

    def revenue_gap(self, *, failure: Real) -> float:
        """Money: with probability 1 - failure the price earns at least the best listed price's revenue less this."""
        return self._money(self.mechanism.gap_bound(len(self.prices), failure=failure))

    def expected_gap(self) -> float:
        """Money: the price earns at least the best listed price's revenue less this, on average."""
        return self._money(self.mechanism.expected_gap(len(self.prices)))

    def gain_bound(self, *, liars: int = 1) -> float:
        """Money: no bidder gains more by lying, or by others' lying along, whatever the bids and values are.

        The width of a bidder's utility over the prices is at most the largest price less the least.
        """
        width = self.prices[-1] - self.prices[0]
        return gain_bound(ExponentialMechanismLoss(self.epsilon), width=width, liars=liars)

    # --- the sale ------------------------------------------------------------------------------------------------

    def release(self, bids: Container, *, ledger: Ledger | None = None, bits: Bits = SECURE) -> Release:
        """The price, and the number of buyers and the revenue with intervals if `count_epsilon` is given.

        Args:
            bids: secret; one a bidder, in money, in any container. What is no number, or below 0, buys nothing.
            ledger: who pays before a bid is read.
            bits: leave it out, except in tests.
        """
        text = str(self)
        left = paid(ledger, self.privacy_loss, text=text, question=f"{self!r}", bits=bits)
        secret = self._read(bids)
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
            notes=notes, protects=f"one bid ({self.relation})",
        )  # fmt: skip

    # --- what only somebody who knows all bids can compute: never publish it ------------------------------------

    def revenues(self, bids: Container) -> dict[Fraction, Fraction]:
        """SECRET: what each listed price would earn, exactly."""
        return dict(zip(self.prices, (self._unit * int(one) for one in self._scores(bids)), strict=True))

    def probabilities(self, bids: Container) -> dict[Fraction, Interval]:
        """SECRET: the probability of each price, certified."""
        law = self.mechanism.pmf(self._scores(bids))
        masses = (law[place] for place in range(len(self.prices)))
        known = (mass if isinstance(mass, Interval) else Interval.around(mass) for mass in masses)
        return dict(zip(self.prices, known, strict=True))

    def expected_revenue(self, bids: Container) -> Interval:
        """SECRET: the mean revenue of the price that is chosen, certified."""
        earned, law = self.revenues(bids), self.probabilities(bids)
        least = sum((earned[price] * Fraction(mass.lower) for price, mass in law.items()), Fraction(0))
        most = sum((earned[price] * Fraction(mass.upper) for price, mass in law.items()), Fraction(0))
        return Interval(round_down(least), round_up(most))

    def best_lie(self, values: Sequence[Real], *, binding: bool = True) -> BestLie:
        """SECRET: the best response of every bidder, by trying all bids: exact up to certified rounding.

        Bids between two prices do the same. The gain is linear in the value as long as the same prices are below it, so
        the least and the largest value between two prices stand for all, and 10^5 bidders take seconds.

        Args:
            values: what the good is worth to each bidder, in money; everybody else bids it.
            binding: whether a bid of at least the price must buy; else a bidder may still decline.

        Raises: InvalidParameterError for no bidder or a negative value.
        """
        worth = amounts("values", values)
        if not worth:
            raise InvalidParameterError("values must be those of at least one bidder, got an empty list")
        prices, groups = self.prices, self._groups(worth)
        from flint import arb, ctx

        best: tuple[float, int, int] | None = None
        low, high = 0.0, 0.0
        with ctx.workprec(_PRECISION):
            laws = _Laws(self._scores([str(one) for one in worth]), self._steps, self.mechanism.rate, prices)
            for cell, bidders in groups.items():
                for lie in range(len(prices) + 1):
                    buys, pays = (arb(0), arb(0)) if lie == cell else laws.change(cell, lie, binding=binding)
                    for bidder in bidders:
                        gain = Interval.of_ball(ball(worth[bidder]) * buys - pays, within=REAL)
                        low, high = max(low, gain.lower), max(high, gain.upper)
                        if best is None or gain.lower > best[0]:
                            best = (gain.lower, bidder, lie)
        assert best is not None
        _, bidder, lie = best
        return BestLie(
            bidder=bidder,
            value=worth[bidder],
            lie=prices[lie - 1] if lie else Fraction(0),
            gain=Interval(low, max(low, high)),
            bound=self.gain_bound(),
        )

    # --- inside --------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        count = (
            "" if self.count_epsilon is None else f", and their number with epsilon={decimal_text(self.count_epsilon)}"
        )
        return (
            f"sell at one of {len(self.prices)} prices from {as_written(self.prices[0])} to "
            f"{as_written(self.prices[-1])} with epsilon={decimal_text(self.epsilon)}{count}"
        )

    @cached_property
    def _unit(self) -> Fraction:
        return unit_of(self.prices)

    @cached_property
    def _steps(self) -> list[int]:
        return [int(price / self._unit) for price in self.prices]

    @cached_property
    def _one_count(self) -> Sensitivity:
        return of_count(rows=1, groups=1, relation=self.relation, cells=1)

    @cached_property
    def _counter(self) -> Laplace | None:
        return None if self.count_epsilon is None else Laplace.calibrated(self._one_count, epsilon=self.count_epsilon)

    def _money(self, units: float) -> float:
        return round_up(self._unit * Fraction(units))

    def _read(self, bids: Container) -> NDArray[np.int64]:
        return steps(bids, unit=self._unit, top=self._steps[-1])

    def _scores(self, bids: Container) -> NDArray[np.int64]:
        return revenues(self._read(bids), self._steps)

    def _groups(self, worth: tuple[Fraction, ...]) -> dict[int, list[int]]:
        """For each number of prices that a value reaches, the bidders with the least and the largest such value."""
        reached = np.searchsorted(
            self._steps, [min(math.floor(one / self._unit), 2**62) for one in worth], side="right"
        )
        groups: dict[int, list[int]] = {}
        for bidder, cell in enumerate(reached.tolist()):
            ends = groups.setdefault(cell, [bidder, bidder])
            if worth[bidder] < worth[ends[0]]:
                ends[0] = bidder
            if worth[bidder] > worth[ends[1]]:
                ends[1] = bidder
        return groups


class _Laws:
    """Sums over prices of weights, and of weights times prices, before and after one bid has moved."""

    def __init__(self, scores: NDArray[np.int64], grid: list[int], rate: Fraction, prices: Sequence[Fraction]) -> None:
        top = int(scores.max())
        weights = [ball(rate * (int(score) - top)).exp() for score in scores]
        self.plain = _sums(weights, prices)
        self.more = _sums([w * ball(rate * step).exp() for w, step in zip(weights, grid, strict=True)], prices)
        self.less = _sums([w * ball(-rate * step).exp() for w, step in zip(weights, grid, strict=True)], prices)

    def change(self, cell: int, lie: int, *, binding: bool) -> "tuple[arb, arb]":
        """Change of the chance to buy, and of the expected payment, of a bidder in a cell who lies."""
        moved, (first, last) = (self.more, (cell, lie)) if lie > cell else (self.less, (lie, cell))
        buys = lie if binding else cell
        total, *bought = (self._after(end, moved, first, last) for end in (len(self.plain[0]) - 1, buys))
        (mass, paid), truth = bought[0], self._after(cell, self.plain, 0, 0)
        whole = self.plain[0][-1]
        return mass / total[0] - truth[0] / whole, paid / total[0] - truth[1] / whole

    def _after(self, end: int, moved: "tuple[list[arb], list[arb]]", first: int, last: int) -> "tuple[arb, arb]":
        """Both sums over the prices before `end`, when those from `first` to `last` have moved."""
        low, high = min(first, end), min(last, end)
        found = [
            old[end] - (old[high] - old[low]) + new[high] - new[low] for old, new in zip(self.plain, moved, strict=True)
        ]
        return found[0], found[1]


def _sums(weights: "list[arb]", prices: Sequence[Fraction]) -> "tuple[list[arb], list[arb]]":
    """Running sums of the weights, and of the weights times the prices, from 0."""
    masses, paid = [ball(Fraction(0))], [ball(Fraction(0))]
    for weight, price in zip(weights, prices, strict=True):
        masses.append(masses[-1] + weight)
        paid.append(paid[-1] + weight * ball(price))
    return masses, paid
