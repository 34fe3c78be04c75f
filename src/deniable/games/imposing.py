"""Exact truthfulness from privacy: a private choice, and now and then a random one that makes liars regret.

Proofs: docs/theory/games/imposing.md.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from deniable.arguments import InWords, read_fields
from deniable.errors import InvalidParameterError
from deniable.games.billboard import Billboard, billboard, frozen
from deniable.games.finite import ends, interval
from deniable.games.money import amounts, price_list, unit_of
from deniable.games.utility import gain_bound
from deniable.ledger import Ledger
from deniable.ledger.payment import Payment
from deniable.mechanisms.base import Released
from deniable.mechanisms.selection import ExponentialMechanism
from deniable.noise import bernoulli, uniform
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.interval import Interval, round_up
from deniable.numbers.rationals import Real, exact_rational, positive_integer, positive_rational
from deniable.privacy import ExponentialMechanismLoss, PrivacyLoss, Replace
from deniable.rows.entries import by_itself

Worth = Callable[[Any, Any, Any], Real]
_COMPARED = {int, float, bool, str, Fraction, type(None)}  # equal values of these types have one hash


@dataclass(frozen=True, kw_only=True, eq=False)
class Imposing(metaclass=InWords):
    """Choose an alternative privately, or with probability `share` any at random, and impose the announced reaction.

    A player reports a type and reacts to the alternative: buys or not, goes to a facility. The reaction that is best
    for the *reported* type is imposed, so a lie costs something wherever types react differently.

    Args:
        types: what a player may be, at least two. Reports that are none count as the first.
        alternatives: what is chosen from; reactions: what a player may do.
        utility: of (type, alternative, reaction), exact.
        objective: what a player adds to what is to be large, likewise.
        epsilon: what the choice may cost.

    Guarantee: truth is a dominant strategy, exactly: with `gap` the least mean loss of a lie under a random alternative
        and g the most that a lie gains by moving the private choice, share = g / (g + gap), rounded up. The alternative
        is epsilon-DP, so the reactions are jointly so.
    Source: Nissim, Smorodinsky, Tennenholtz (2012), arXiv:1004.2888; docs/theory/games/imposing.md.
    Raises: InvalidParameterError where two types react alike to all alternatives: then nothing punishes the lie.

    >>> from deniable.games import Imposing
    >>> shops = Imposing.facilities(range(5), count=2, epsilon="0.1")
    >>> print(f"{float(shops.share):.3f}")  # of a random choice
    0.429
    """

    types: Annotated[tuple[Hashable, ...], lambda name, value: _listed(name, value, 2)]
    alternatives: Annotated[tuple[Any, ...], lambda name, value: frozen(_listed(name, value, 1))]  # as on a billboard
    reactions: Annotated[tuple[Any, ...], lambda name, value: _listed(name, value, 1)]
    utility: Worth
    objective: Worth
    epsilon: Annotated[Fraction, positive_rational]

    def __post_init__(self) -> None:
        read_fields(self)
        if not self._spread:
            raise InvalidParameterError("the objective does not depend on the types: no choice among them is needed")
        if not self.gap:
            one, other = next(pair for pair, lost in self._regrets.items() if not lost)
            raise InvalidParameterError(
                f"a player of type {one!r} who reports {other!r} never regrets it: no alternative tells them apart. "
                "Add one, such as a price strictly between two values."
            )

    @classmethod
    def pricing(cls, values: Sequence[Real], *, prices: Sequence[Real], epsilon: Real) -> "Imposing":
        """Digital goods: whoever reports at least the price must buy, and revenue is the objective.

        Args:
            values: what the good may be worth to a bidder.
            prices: alternatives; one must lie strictly between any two values.
        """
        return cls(
            types=amounts("values", values),
            alternatives=price_list("prices", prices),
            reactions=(1, 0),  # buys, does not; at a price that equals the value, buys
            utility=lambda own, price, buys: (own - price) * buys,
            objective=lambda own, price, buys: price * buys,
            epsilon=positive_rational("epsilon", epsilon),
        )

    @classmethod
    def facilities(cls, sites: Sequence[Real], *, count: int, epsilon: Real) -> "Imposing":
        """Facility location on a line: `count` facilities at sites; all live at sites; total distance is to be small.

        Args:
            sites: places, as exact numbers.
            count: at least 2: a single facility leaves a player nothing to do.
        """
        places = tuple(sorted(exact_rational("each of the sites", site) for site in sites))
        if positive_integer("count", count) < 2 or count > len(places):
            raise InvalidParameterError(f"count must be from 2 to the number of sites, got {count}")
        return cls(
            types=places,
            alternatives=tuple(combinations(places, count)),
            reactions=tuple(range(count)),
            utility=lambda own, open_, goes: -abs(own - open_[goes]),
            objective=lambda own, open_, goes: -abs(own - open_[goes]),
            epsilon=positive_rational("epsilon", epsilon),
        )

    def for_players(self, players: int) -> "Imposing":
        """The same with the epsilon from 2^-20 to 12 of the least `expected_gap` for this many players."""
        tried = (Fraction(2) ** power * Fraction(half, 2) for power in range(-20, 4) for half in (2, 3))
        return min((replace(self, epsilon=one) for one in tried), key=lambda one: one.expected_gap(players))

    @property
    def privacy_loss(self) -> PrivacyLoss:
        """What the alternative costs: a private choice, mixed with one that nothing enters."""
        return ExponentialMechanismLoss(self.epsilon).under(Replace)

    @cached_property
    def gap(self) -> Fraction:
        """The least that a lie costs on average when an alternative is drawn at random and the reaction imposed."""
        return min(self._regrets.values())

    @cached_property
    def share(self) -> Fraction:
        """The probability of a random alternative."""
        own = self._utilities.max(axis=2)
        gain = Fraction(gain_bound(self.privacy_loss, width=(own.max(axis=1) - own.min(axis=1)).max()))
        return gain / (gain + self.gap)

    def expected_gap(self, players: int) -> float:
        """The objective is at least its best value less this, on average."""
        unit, scores = self._objectives
        spread = self.share * positive_integer("players", players) * int(np.ptp(scores, axis=1).max())
        return round_up(unit * (Fraction(self.mechanism.expected_gap(len(self.alternatives))) + spread))

    @cached_property
    def mechanism(self) -> ExponentialMechanism:
        """The private choice, by sums of objectives in whole units."""
        return ExponentialMechanism(rate=self.epsilon / self._spread)

    def release(self, reports: Sequence[Any], *, ledger: Ledger | None = None, bits: Bits = SECURE) -> Billboard:
        """The alternative, on a billboard: `board.per_player(mechanism.reaction, reports)` tells everybody what to do.

        Args:
            reports: secret; one a player.
            ledger: who pays before a report is read; it must protect one report.
            bits: leave it out, except in tests.
        """
        name = f"{self.alternatives!r} {self._objectives} {self.epsilon}"
        Payment(ledger, text="choose an alternative truthfully", name=name, bits=bits).charge(self.privacy_loss)
        place = int(uniform.below(len(self.alternatives), bits=bits))
        chosen = self.mechanism.release(self._totals(reports), bits=bits).value
        found = self.alternatives[place if bernoulli.sample(p=self.share, bits=bits) else chosen]
        return billboard(Released(found, bits.safe), loss=self.privacy_loss)

    def reaction(self, report: object, alternative: object) -> Any:
        """What is imposed on a player with this report: the best reaction for it, the first of several."""
        return self.reactions[self._best[self._place(report)][self.alternatives.index(alternative)]]

    def law(self, reports: tuple[Hashable, ...]) -> Mapping[Hashable, Interval]:
        """SECRET: the probability of each alternative, certified; for `largest_gain`."""
        private, share = self.mechanism.pmf(self._totals(reports)), self.share
        each = share / len(self.alternatives)
        return {
            alternative: interval(*(each + (1 - share) * end for end in ends(private[place])))
            for place, alternative in enumerate(self.alternatives)
        }

    def worth(self, player: int, own: Hashable, report: Hashable, alternative: Hashable) -> Real:
        """The utility of a player of one type on whom the reaction of a report is imposed; for `largest_gain`."""
        return self.utility(own, alternative, self.reaction(report, alternative))

    @cached_property
    def _utilities(self) -> NDArray[np.object_]:
        """Exact; shape (types, alternatives, reactions)."""
        return self._table(self.utility)

    @cached_property
    def _best(self) -> NDArray[np.int64]:
        """The place of the best reaction; shape (types, alternatives)."""
        return np.asarray(self._utilities.argmax(axis=2))

    @cached_property
    def _regrets(self) -> dict[tuple[Hashable, Hashable], Fraction]:
        """For each type and false report, the mean loss under a random alternative."""
        places, told = np.arange(len(self.alternatives)), list(zip(self.types, self._best, strict=True))
        return {
            (own, said): Fraction((worth.max(axis=1) - worth[places, best]).sum()) / len(places)
            for own, worth in zip(self.types, self._utilities, strict=True)
            for said, best in told
            if own != said
        }

    @cached_property
    def _objectives(self) -> tuple[Fraction, NDArray[np.int64]]:
        """A unit, and the objectives of the best reactions in it; shape (types, alternatives)."""
        found = np.take_along_axis(self._table(self.objective), self._best[:, :, None], axis=2)[:, :, 0]
        unit = unit_of(tuple(abs(one) for one in found.ravel().tolist() if one) or (Fraction(1),))
        if abs(found).max() / unit > 2**31:
            raise InvalidParameterError("objectives must be at most 2^31 of a common unit, such as cents. Round them.")
        return unit, (found / unit).astype(np.int64)

    def _table(self, worth: Worth) -> NDArray[np.object_]:
        name = "a utility or objective"
        rows = [
            [[exact_rational(name, worth(t, s, r)) for r in self.reactions] for s in self.alternatives]
            for t in self.types
        ]
        return np.array(rows, dtype=object)

    @cached_property
    def _spread(self) -> int:
        """The largest interval in which the changes of all scores lie when one report changes, in whole units."""
        scores = self._objectives[1]
        return int(np.ptp(scores[:, None] - scores, axis=2).max())

    def _totals(self, reports: Sequence[Any]) -> NDArray[np.int64]:
        counts = np.zeros(len(self.types), dtype=np.int64)
        for report, count in self._tally(reports):
            counts[self._place(report)] += count
        return np.asarray(counts @ self._objectives[1], dtype=np.int64)

    def _tally(self, reports: Sequence[Any] | NDArray[Any]) -> Iterable[tuple[Any, int]]:
        """Reports and how often they occur; all are told apart unless equal ones must be of the same type."""
        listed = reports.tolist() if isinstance(reports, np.ndarray) and reports.dtype.kind in "iu" else list(reports)
        if _COMPARED.issuperset(map(type, (*self.types, *listed))):
            return Counter(listed).items()
        return ((report, 1) for report in listed)

    def _place(self, report: object) -> int:
        """The place of a type; that of the first for what is none, since an error would tell of it."""
        return by_itself(0)(self.types.index)(report)  # whatever it is, and however it compares


def _listed(name: str, value: object, least: int) -> tuple[Any, ...]:
    found = tuple(value) if isinstance(value, Sequence) else ()
    if len(found) < least or any(one in found[:place] for place, one in enumerate(found)):
        raise InvalidParameterError(f"{name} must be a list of at least {least} different ones")
    return found
