"""Exact truthfulness from privacy: a private choice, mixed with a random one.

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
    """Choose an alternative privately, and impose the reaction that fits each report.

    With probability `share` the alternative is drawn at random. A player reports a type and reacts to the alternative:
    buys or not, goes to a facility. The reaction that is best for the *reported* type is imposed, so a lie costs
    something wherever types react differently.

    Args:
        types: possible types of a player, at least two. Other reports count as the first.
        alternatives: candidates of the choice, at least one.
        reactions: possible reactions of a player, at least one.
        utility: of (type, alternative, reaction), exact.
        objective: contribution of a player to the objective, of (type, alternative, reaction), exact.
        epsilon: of the private choice.

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
            raise InvalidParameterError(
                "the objective must depend on the types: with this one the best alternative is public"
            )
        if not self.gap:
            one, other = next(pair for pair, lost in self._regrets.items() if not lost)
            raise InvalidParameterError(
                f"type {one!r} must lose by reporting {other!r} under some alternative, and loses under none. "
                "Add an alternative that distinguishes them, such as a price strictly between two values."
            )

    @classmethod
    def pricing(cls, values: Sequence[Real], *, prices: Sequence[Real], epsilon: Real) -> "Imposing":
        """Return the mechanism of digital goods, with revenue as the objective.

        Whoever reports at least the price must buy.

        Args:
            values: possible values of the good to a bidder, in money.
            prices: alternatives; one must lie strictly between any two values.
            epsilon: of the private choice.
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
        """Return the mechanism of facility location on a line.

        All players live at sites; the objective is a small total distance.

        Args:
            sites: positions, as exact numbers.
            count: number of facilities, at least 2: a single one leaves a player no choice.
            epsilon: of the private choice.
        """
        positions = tuple(sorted(exact_rational("each of the sites", site) for site in sites))
        if positive_integer("count", count) < 2 or count > len(positions):
            raise InvalidParameterError(f"count must be from 2 to the number of sites, got {count}")
        return cls(
            types=positions,
            alternatives=tuple(combinations(positions, count)),
            reactions=tuple(range(count)),
            utility=lambda own, open_, goes: -abs(own - open_[goes]),
            objective=lambda own, open_, goes: -abs(own - open_[goes]),
            epsilon=positive_rational("epsilon", epsilon),
        )

    def for_players(self, players: int) -> "Imposing":
        """Return this mechanism with the epsilon of the least `expected_gap`.

        Args:
            players: number of players. Epsilons from 2^-20 to 12 are tried.
        """
        tried = (Fraction(2) ** power * Fraction(half, 2) for power in range(-20, 4) for half in (2, 3))
        return min((replace(self, epsilon=one) for one in tried), key=lambda one: one.expected_gap(players))

    @property
    def privacy_loss(self) -> PrivacyLoss:
        """Privacy loss of the alternative: a private choice, mixed with a public one."""
        return ExponentialMechanismLoss(self.epsilon).under(Replace)

    @cached_property
    def gap(self) -> Fraction:
        """Least mean loss of a lie under a random alternative and an imposed reaction."""
        return min(self._regrets.values())

    @cached_property
    def share(self) -> Fraction:
        """Probability of a random alternative."""
        own = self._utilities.max(axis=2)
        gain = Fraction(gain_bound(self.privacy_loss, width=(own.max(axis=1) - own.min(axis=1)).max()))
        return gain / (gain + self.gap)

    def expected_gap(self, players: int) -> float:
        """Bound the mean shortfall of the objective from its best value.

        Args:
            players: number of players.
        """
        unit, scores = self._objectives
        spread = self.share * positive_integer("players", players) * int(np.ptp(scores, axis=1).max())
        return round_up(unit * (Fraction(self.mechanism.expected_gap(len(self.alternatives))) + spread))

    @cached_property
    def mechanism(self) -> ExponentialMechanism:
        """Private choice, by sums of objectives in whole units."""
        return ExponentialMechanism(rate=self.epsilon / self._spread)

    def release(self, reports: Sequence[Any], *, ledger: Ledger | None = None, bits: Bits = SECURE) -> Billboard:
        """Choose the alternative, and post it on a billboard.

        `board.per_player(mechanism.reaction, reports)` gives everybody a reaction.

        Args:
            reports: secret; one for each player.
            ledger: charged before a report is read; it must protect one report.
            bits: leave it out, except in tests.
        """
        name = f"{self.alternatives!r} {self._objectives} {self.epsilon}"
        Payment(ledger, text="choose an alternative truthfully", name=name, bits=bits).charge(self.privacy_loss)
        random = int(uniform.below(len(self.alternatives), bits=bits))
        private = self.mechanism.release(self._totals(reports), bits=bits).value
        index = random if bernoulli.sample(p=self.share, bits=bits) else private
        return billboard(Released(self.alternatives[index], bits.safe), loss=self.privacy_loss)

    def reaction(self, report: object, alternative: object) -> Any:
        """Return the reaction imposed on a player: the best one for the report.

        Args:
            report: what the player reported.
            alternative: the chosen one.
        """
        return self.reactions[self._best[self._index(report)][self.alternatives.index(alternative)]]

    def law(self, reports: tuple[Hashable, ...]) -> Mapping[Hashable, Interval]:
        """Return the certified probability of each alternative. SECRET.

        Args:
            reports: secret; one for each player. `largest_gain` takes this method as its law.
        """
        private = self.mechanism.pmf(self._totals(reports))
        share = self.share
        each = share / len(self.alternatives)
        return {
            alternative: interval(*(each + (1 - share) * end for end in ends(private[index])))
            for index, alternative in enumerate(self.alternatives)
        }

    def worth(self, player: int, own: Hashable, report: Hashable, alternative: Hashable) -> Real:
        """Return the utility of a player on whom the reaction of a report is imposed.

        Args:
            player: index of the player, which changes nothing; `largest_gain` passes it.
            own: type of the player.
            report: what the player reported.
            alternative: the chosen one.
        """
        return self.utility(own, alternative, self.reaction(report, alternative))

    @cached_property
    def _utilities(self) -> NDArray[np.object_]:
        """Exact utilities, shape (types, alternatives, reactions)."""
        return self._table(self.utility)

    @cached_property
    def _best(self) -> NDArray[np.int64]:
        """Index of the best reaction, shape (types, alternatives)."""
        return np.asarray(self._utilities.argmax(axis=2))

    @cached_property
    def _regrets(self) -> dict[tuple[Hashable, Hashable], Fraction]:
        """Mean loss of each type by each false report, under a random alternative."""
        indices = np.arange(len(self.alternatives))
        return {
            (own, said): Fraction((worth.max(axis=1) - worth[indices, best]).sum()) / len(indices)
            for own, worth in zip(self.types, self._utilities, strict=True)
            for said, best in zip(self.types, self._best, strict=True)
            if own != said
        }

    @cached_property
    def _objectives(self) -> tuple[Fraction, NDArray[np.int64]]:
        """A unit, and the objectives of the best reactions in it.

        Shape (types, alternatives).
        """
        exact = np.take_along_axis(self._table(self.objective), self._best[:, :, None], axis=2)[:, :, 0]
        unit = unit_of(tuple(abs(one) for one in exact.ravel().tolist() if one) or (Fraction(1),))
        if abs(exact).max() / unit > 2**31:
            raise InvalidParameterError("objectives must be at most 2^31 of a common unit, such as cents. Round them.")
        return unit, (exact / unit).astype(np.int64)

    def _table(self, worth: Worth) -> NDArray[np.object_]:
        """Return exact values, shape (types, alternatives, reactions)."""
        name = "a utility or objective"
        rows = [
            [[exact_rational(name, worth(t, s, r)) for r in self.reactions] for s in self.alternatives]
            for t in self.types
        ]
        return np.array(rows, dtype=object)

    @cached_property
    def _spread(self) -> int:
        """Largest range of the changes of all scores by one report, in whole units."""
        scores = self._objectives[1]
        return int(np.ptp(scores[:, None] - scores, axis=2).max())

    def _totals(self, reports: Sequence[Any]) -> NDArray[np.int64]:
        """Return the objective of each alternative, in whole units."""
        counts = np.zeros(len(self.types), dtype=np.int64)
        for report, count in self._tally(reports):
            counts[self._index(report)] += count
        return np.asarray(counts @ self._objectives[1], dtype=np.int64)

    def _tally(self, reports: Sequence[Any] | NDArray[Any]) -> Iterable[tuple[Any, int]]:
        """Return reports with their counts; equal ones are joined where types allow."""
        listed = reports.tolist() if isinstance(reports, np.ndarray) and reports.dtype.kind in "iu" else list(reports)
        if _COMPARED.issuperset(map(type, (*self.types, *listed))):
            return Counter(listed).items()
        return ((report, 1) for report in listed)

    def _index(self, report: object) -> int:
        """Return the index of a type, 0 for another report: an error would reveal it."""
        return by_itself(0)(self.types.index)(report)  # whatever it is, and however it compares


def _listed(name: str, value: object, minimum: int) -> tuple[Any, ...]:
    listed = tuple(value) if isinstance(value, Sequence) else ()
    if len(listed) < minimum or any(one in listed[:index] for index, one in enumerate(listed)):
        raise InvalidParameterError(f"{name} must be a list of at least {minimum} different {name}")
    return listed
