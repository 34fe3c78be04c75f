"""Finite mechanisms, enumerated: the best lie of any player, and joint privacy."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TypeAlias

from deniable.arguments import in_words
from deniable.errors import InvalidParameterError
from deniable.games.billboard import in_short
from deniable.numbers.interval import Interval, round_down, round_up
from deniable.numbers.rationals import Real, exact_rational, positive_integer, shown
from deniable.privacy import FiniteLoss, PrivacyLoss, Replace

Profile: TypeAlias = tuple[Hashable, ...]
Masses: TypeAlias = tuple[Fraction, ...]
Law: TypeAlias = Callable[[Profile], Mapping[Hashable, Fraction | Interval]]
Utility: TypeAlias = Callable[[int, Hashable, Hashable, Hashable], Real]

_MAX_PROFILES = 10**5  # enumerated in seconds


@dataclass(frozen=True, kw_only=True)
class Lie:
    """Best lie of any player of a mechanism.

    Args:
        player: index of the player who lies.
        truth: the own type, or the types of all players.
        report: the false report.
        gain: bounds on the change of expected utility over *all* lies. Truth is a dominant strategy if
            `gain.upper <= 0`.
    """

    player: int
    truth: Hashable
    report: Hashable
    gain: Interval

    def __repr__(self) -> str:
        report = in_short(self.report)
        return f"<Lie: player {self.player} reports {report}, truth {in_short(self.truth)}; gain in {self.gain:.6g}>"


@in_words
def largest_gain(law: Law, utility: Utility, *, types: Sequence[Hashable], players: int) -> Lie:
    """Bound the gain of any player by reporting another type, whatever the types.

    Args:
        law: maps reports, one a player, to the probability of each outcome: Fractions, or Intervals that hold them.
        utility: of (player, own type, own report, outcome); exact, as numbers that people write.
        types: possible types of a player, and possible reports; at least two.
        players: number of players.

    Returns: a `Lie`: the best one, with `gain` over all of them.
    Guarantee: exact where the law is, else certified; a lie that changes nothing gains exactly 0.
    Raises: InvalidParameterError for more than 10^5 profiles.

    >>> from deniable.games import largest_gain
    >>> def dictator(reports): return {reports[0]: 1}
    >>> largest_gain(dictator, lambda i, own, said, seen: int(own == seen), types="ab", players=2).gain
    Interval(lower=0.0, upper=0.0)
    """
    profiles = _profiles(types, players)
    cached = cache(law)
    best = None
    low = high = Fraction(0)
    for truth, player, report in ((t, i, r) for t in profiles for i in range(players) for r in types if r != t[i]):

        def worth(said: Hashable, outcome: Hashable, *, i: int = player, own: Hashable = truth[player]) -> Fraction:
            return exact_rational("a utility", utility(i, own, said, outcome))

        said = (*truth[:player], report, *truth[player + 1 :])
        change = _change(cached(said), cached(truth), worth, report, truth[player])
        high = change[1] if best is None else max(high, change[1])
        if best is None or change[0] > low:
            low = change[0]
            best = (player, truth, report)
    assert best is not None
    return Lie(player=best[0], truth=best[1], report=best[2], gain=interval(low, high))


@in_words
def joint_loss(law: Law, *, types: Sequence[Hashable], players: int) -> PrivacyLoss:
    """Return the exact joint privacy loss of a finite mechanism.

    It bounds what all other players together learn about the report of one.

    Args:
        law: maps reports to the probability of each tuple of outputs, one a player, as exact rationals. Whatever
            everybody sees, such as how many goods are left, belongs into each output.
        types: possible reports; at least two.
        players: number of players, at least two.

    Guarantee: delta(x) is the largest sum of max(0, p - e^x q) for laws p, q of the others' outputs, over all players,
        two reports, and reports of the others.
    Source: Kearns, Pai, Roth, Ullman (2014), arXiv:1207.4084.

    >>> from deniable.games import joint_loss
    >>> def swap(reports): return {(reports[1], reports[0]): 1}  # each gets the other's report
    >>> print(joint_loss(swap, types=(0, 1), players=2).epsilon(0))
    inf
    """
    _profiles(types, players)
    cached = cache(law)
    pairs: dict[tuple[Masses, Masses], None] = {}
    for player in range(players):
        for rest in product(types, repeat=players - 1):
            seen = [_others(cached((*rest[:player], own, *rest[player:])), player, players) for own in types]
            outcomes = list(dict.fromkeys(view for masses in seen for view in masses))
            rows = [tuple(masses.get(view, Fraction(0)) for view in outcomes) for masses in seen]
            pairs.update({(p, q): None for i, p in enumerate(rows) for q in rows[:i] if p != q})
    return FiniteLoss.of_pairs(list(pairs) or [((1,), (1,))], relation=Replace)


def _profiles(types: Sequence[Hashable], players: int) -> list[Profile]:
    """Return all tuples of types, one for each player."""
    kinds = list(dict.fromkeys(types))
    count = positive_integer("players", players)
    if len(kinds) < 2 or len(kinds) != len(types):
        raise InvalidParameterError(f"types must hold at least two different types, got {shown(types)}")
    if len(kinds) ** count > _MAX_PROFILES:
        raise InvalidParameterError(
            f"{len(kinds)} types of {count} players have over 10^5 profiles. Take fewer types or players."
        )
    return list(product(kinds, repeat=count))


def _change(
    said: Mapping[Hashable, Fraction | Interval],
    honest: Mapping[Hashable, Fraction | Interval],
    worth: Callable[[Hashable, Hashable], Fraction],
    report: Hashable,
    own: Hashable,
) -> tuple[Fraction, Fraction]:
    """Bound the change of the expected utility by a lie."""
    if said == honest:
        terms = [(mass, worth(report, outcome) - worth(own, outcome)) for outcome, mass in said.items()]
    else:
        terms = [(mass, worth(report, outcome)) for outcome, mass in said.items()]
        terms += [(mass, -worth(own, outcome)) for outcome, mass in honest.items()]
    changes = [sorted(value * end for end in ends(mass)) for mass, value in terms]
    return sum((e[0] for e in changes), Fraction(0)), sum((e[1] for e in changes), Fraction(0))


def interval(lower: Fraction, upper: Fraction) -> Interval:
    """Return the floats around two exact ends."""
    return Interval(round_down(lower), round_up(upper))


def ends(mass: object) -> tuple[Fraction, Fraction]:
    """Return the exact ends of a probability, known exactly or by an interval."""
    if isinstance(mass, Interval):
        return Fraction(mass.lower), Fraction(mass.upper)
    exact = exact_rational("a probability", mass)
    return exact, exact


def _others(law: Mapping[Hashable, Fraction | Interval], player: int, players: int) -> dict[Profile, Fraction]:
    """Return the distribution of the outputs of all but one player."""
    masses: dict[Profile, Fraction] = {}
    for outputs, mass in law.items():
        if isinstance(mass, Interval) or not isinstance(outputs, tuple) or len(outputs) != players:
            raise InvalidParameterError(
                f"law must map tuples of {players} outputs to exact rationals, got {shown(outputs)}: {shown(mass)}"
            )
        view = (*outputs[:player], *outputs[player + 1 :])
        masses[view] = masses.get(view, Fraction(0)) + exact_rational("a probability", mass)
    return masses
