"""Finite mechanisms, looked at completely: the best lie of any player, and what the others learn of a report."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TypeAlias

from deniable.arguments import in_words
from deniable.errors import InvalidParameterError
from deniable.numbers.interval import Interval, round_down, round_up
from deniable.numbers.rationals import Real, exact_rational, positive_integer, shown
from deniable.privacy import FiniteLoss, PrivacyLoss, Replace

Profile: TypeAlias = tuple[Hashable, ...]
Masses: TypeAlias = tuple[Fraction, ...]
Law: TypeAlias = Callable[[Profile], Mapping[Hashable, Fraction | Interval]]
Utility: TypeAlias = Callable[[int, Hashable, Hashable, Hashable], Real]

_MOST_PROFILES = 10**5


@dataclass(frozen=True, kw_only=True)
class Lie:
    """The best lie: the player, by place, who makes a false `report`; `truth` is the own type, or the types of all.

    `gain` bounds the change of expected utility over *all* lies: truth is a dominant strategy if `gain.upper <= 0`.
    """

    player: int
    truth: Hashable
    report: Hashable
    gain: Interval


@in_words
def largest_gain(law: Law, utility: Utility, *, types: Sequence[Hashable], players: int) -> Lie:
    """The most that any player could gain by reporting another type, whatever the types of all are.

    Args:
        law: maps reports, one a player, to the probability of each outcome: Fractions, or Intervals that hold them.
        utility: of (player, own type, own report, outcome); exact, as numbers that people write.
        types: what a player may be, and report; at least two.
        players: how many.

    Guarantee: exact where the law is, else certified; a lie that changes nothing gains exactly 0.
    Raises: InvalidParameterError for more than 10^5 profiles.

    >>> from deniable.games import largest_gain
    >>> def dictator(reports): return {reports[0]: 1}
    >>> largest_gain(dictator, lambda i, own, said, seen: int(own == seen), types="ab", players=2).gain
    Interval(lower=0.0, upper=0.0)
    """
    profiles, cached = _profiles(types, players), cache(law)
    best, low, high = None, Fraction(0), Fraction(0)
    for truth, player, report in ((t, i, r) for t in profiles for i in range(players) for r in types if r != t[i]):

        def worth(said: Hashable, outcome: Hashable, *, i: int = player, own: Hashable = truth[player]) -> Fraction:
            return exact_rational("a utility", utility(i, own, said, outcome))

        said = (*truth[:player], report, *truth[player + 1 :])
        change = _change(cached(said), cached(truth), worth, report, truth[player])
        high = change[1] if best is None else max(high, change[1])
        if best is None or change[0] > low:
            low, best = change[0], (player, truth, report)
    assert best is not None
    return Lie(player=best[0], truth=best[1], report=best[2], gain=interval(low, high))


@in_words
def joint_loss(law: Law, *, types: Sequence[Hashable], players: int) -> PrivacyLoss:
    """What all other players together learn about the report of one: joint differential privacy, exactly.

    Args:
        law: maps reports to the probability of each tuple of outputs, one a player, as exact rationals. Whatever
            everybody sees, such as how many goods are left, belongs into each output.
        types: what a player may report; at least two.
        players: how many, at least two.

    Guarantee: delta(x) is the largest sum of max(0, p - e^x q) for laws p, q of the others' outputs, over all players,
        two reports, and reports of the others.
    Source: Kearns, Pai, Roth, Ullman (2014), arXiv:1207.4084.

    >>> from deniable.games import joint_loss
    >>> def swap(reports): return {(reports[1], reports[0]): 1}  # each is told the other's report
    >>> print(joint_loss(swap, types=(0, 1), players=2).epsilon(0))
    inf
    """
    _profiles(types, players)
    cached = cache(law)
    pairs: dict[tuple[Masses, Masses], None] = {}
    for player in range(players):
        for rest in product(types, repeat=players - 1):
            seen = [_others(cached((*rest[:player], own, *rest[player:])), player, players) for own in types]
            outcomes = list(dict.fromkeys(view for found in seen for view in found))
            rows = [tuple(found.get(view, Fraction(0)) for view in outcomes) for found in seen]
            pairs.update({(p, q): None for i, p in enumerate(rows) for q in rows[:i] if p != q})
    return FiniteLoss.of_pairs(list(pairs) or [((1,), (1,))], relation=Replace)


def _profiles(types: Sequence[Hashable], players: int) -> list[Profile]:
    kinds, count = list(dict.fromkeys(types)), positive_integer("players", players)
    if len(kinds) < 2 or len(kinds) != len(types):
        raise InvalidParameterError(f"types must be at least two different ones, got {shown(types)}")
    if len(kinds) ** count > _MOST_PROFILES:
        raise InvalidParameterError(f"{len(kinds)} types of {count} players have over 10^5 profiles. Take fewer.")
    return list(product(kinds, repeat=count))


def _change(
    said: Mapping[Hashable, Fraction | Interval],
    told: Mapping[Hashable, Fraction | Interval],
    worth: Callable[[Hashable, Hashable], Fraction],
    report: Hashable,
    own: Hashable,
) -> tuple[Fraction, Fraction]:
    """Bounds on the expected utility after a lie less the one before it."""
    if said == told:
        terms = [(mass, worth(report, outcome) - worth(own, outcome)) for outcome, mass in said.items()]
    else:
        terms = [(mass, worth(report, outcome)) for outcome, mass in said.items()]
        terms += [(mass, -worth(own, outcome)) for outcome, mass in told.items()]
    changes = [sorted(value * end for end in ends(mass)) for mass, value in terms]
    return sum((e[0] for e in changes), Fraction(0)), sum((e[1] for e in changes), Fraction(0))


def interval(lower: Fraction, upper: Fraction) -> Interval:
    """The floats around two exact ends."""
    return Interval(round_down(lower), round_up(upper))


def ends(mass: object) -> tuple[Fraction, Fraction]:
    """Exact ends of a probability that is known exactly, or by an interval."""
    if isinstance(mass, Interval):
        return Fraction(mass.lower), Fraction(mass.upper)
    exact = exact_rational("a probability", mass)
    return exact, exact


def _others(law: Mapping[Hashable, Fraction | Interval], player: int, players: int) -> dict[Profile, Fraction]:
    """The law of the outputs of all but one player."""
    found: dict[Profile, Fraction] = {}
    for outputs, mass in law.items():
        if isinstance(mass, Interval) or not isinstance(outputs, tuple) or len(outputs) != players:
            raise InvalidParameterError(
                f"law must map tuples of {players} outputs to exact rationals, got {shown(outputs)}: {shown(mass)}"
            )
        view = (*outputs[:player], *outputs[player + 1 :])
        found[view] = found.get(view, Fraction(0)) + exact_rational("a probability", mass)
    return found
