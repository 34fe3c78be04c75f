"""Complete looks at finite mechanisms: truthful and untruthful ones, and what others learn of a report."""

import math
from collections.abc import Hashable, Mapping
from fractions import Fraction
from itertools import product

import pytest

from deniable.errors import InvalidParameterError
from deniable.games import joint_loss, largest_gain, public_project, second_price
from deniable.numbers.interval import Interval

TYPES = (0, 1, 2, 3)


def winner_pays(first: bool):  # type: ignore[no-untyped-def]
    """The auction of one item at the first or second price, as a law of (winner, price)."""

    def law(bids: tuple[int, ...]) -> Mapping[tuple[int, Fraction], Fraction]:
        found = second_price(bids)
        price = Fraction(bids[found.outcome]) if first else found.payments[found.outcome]
        return {(found.outcome, price): Fraction(1)}

    return law


def worth(player: int, own: int, said: int, outcome: tuple[int, Fraction]) -> Fraction:
    return own - outcome[1] if outcome[0] == player else Fraction(0)


def test_the_second_price_is_truthful_and_the_first_is_not() -> None:
    assert largest_gain(winner_pays(first=False), worth, types=TYPES, players=3).gain.upper == 0  # type: ignore[arg-type]
    lie = largest_gain(winner_pays(first=True), worth, types=TYPES, players=3)  # type: ignore[arg-type]
    assert lie.gain == Interval(3, 3)  # a bidder of 3 beside two of 0 bids 0, and still comes first
    assert lie.truth == (3, 0, 0)
    assert lie.report == 0


def test_a_public_project_is_truthful_with_the_payments_and_not_without() -> None:
    def law(values: tuple[int, ...]) -> Mapping[tuple[int, tuple[Fraction, ...]], Fraction]:
        found = public_project(values, cost=5)
        return {(found.outcome, found.payments): Fraction(1)}

    paid = largest_gain(law, lambda i, own, said, seen: own * seen[0] - seen[1][i], types=TYPES, players=3)  # type: ignore[index, operator]
    free = largest_gain(law, lambda i, own, said, seen: own * seen[0], types=TYPES, players=3)  # type: ignore[index, operator]
    assert paid.gain.upper == 0
    assert free.gain.lower >= 1


def coins(chance: Fraction):  # type: ignore[no-untyped-def]
    """Each player is told whether most of all reports, each flipped with a probability, are 1."""

    def law(reports: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
        found: dict[tuple[int, ...], Fraction] = {}
        for flips in product((0, 1), repeat=len(reports)):
            mass = math.prod((chance if flip else 1 - chance for flip in flips), start=Fraction(1))
            most = int(2 * sum(r ^ f for r, f in zip(reports, flips, strict=True)) > len(reports))
            outputs = tuple(10 * own + most for own in reports)  # everybody also keeps the own report
            found[outputs] = found.get(outputs, Fraction(0)) + mass
        return found

    return law


def test_joint_privacy_forgives_what_a_player_learns_of_oneself() -> None:
    """Others see a majority: p = P(1) given one report 1 and another 0, by hand."""
    found = joint_loss(coins(Fraction(1, 4)), types=(0, 1), players=3)
    # The two other flipped reports: both 1 or one of them 1, and the own one 1 with 3/4 or 1/4.
    chances = []
    for rest in product((Fraction(1, 4), Fraction(3, 4)), repeat=2):
        two, one = rest[0] * rest[1], rest[0] * (1 - rest[1]) + rest[1] * (1 - rest[0])
        chances += [(two + one * Fraction(3, 4), two + one * Fraction(1, 4))]
    worst = max(max(p / q, (1 - q) / (1 - p)) for p, q in chances)
    # The others' outputs hold their own reports, which are the same in both cases.
    assert found.epsilon(0).upper == pytest.approx(math.log(worst))
    assert found.epsilon(0).upper < math.log(3)  # what a flipped report alone would reveal


@pytest.mark.parametrize("leak", [0, Fraction(1, 100)], ids=["told", "sometimes"])
def test_a_message_that_is_not_noised_is_found(leak: Fraction) -> None:
    def law(reports: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
        first, quiet = reports[0], (0, 0)
        return {(0, 1): leak, quiet: 1 - leak} if first and leak else {(0, first if not leak else 0): Fraction(1)}

    found = joint_loss(law, types=(0, 1), players=2)  # type: ignore[arg-type]
    assert found.epsilon(0).upper == math.inf
    assert found.statement.exact_delta(1) == (leak or 1)
    assert joint_loss(lambda reports: {(0, 0): Fraction(1)}, types=(0, 1), players=2).epsilon(0).upper == 0


def test_intervals_are_kept_and_equal_laws_compared_exactly() -> None:
    third = Interval(0.333, 0.334)
    even = largest_gain(lambda r: {0: third, 1: third, 2: third}, lambda i, t, b, y: t, types=(0, 1), players=2)  # type: ignore[arg-type, return-value]
    assert even.gain == Interval(0, 0)
    law = {0: {"x": Interval(0.4, 0.5), "y": Interval(0.5, 0.6)}, 1: {"x": Fraction(1)}}
    found = largest_gain(lambda r: law[r[0]], lambda i, t, b, y: int(y == "x"), types=(0, 1), players=1)  # type: ignore[arg-type, index, return-value]
    assert (found.report, found.gain.lower, found.gain.upper) == (1, 0.5, 0.6)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"types": (1,), "players": 2}, "two different"),
        ({"types": (1, 1), "players": 2}, "two different"),
        ({"types": range(10), "players": 6}, "profiles"),
        ({"types": (0, 1), "players": 0}, "players"),
    ],
    ids=str,
)
def test_games_that_cannot_be_searched_are_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        largest_gain(lambda r: {0: Fraction(1)}, lambda i, t, b, y: 0, **given)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match=words):
        joint_loss(lambda r: {r: Fraction(1)}, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "law", [{0: Fraction(1)}, {(0,): Fraction(1)}, {(0, 0): Interval(1, 1)}, {(0, 0): "x"}], ids=str
)
def test_joint_privacy_needs_an_exact_law_of_one_output_a_player(law: dict[object, object]) -> None:
    with pytest.raises(InvalidParameterError):
        joint_loss(lambda reports: law, types=(0, 1), players=2)  # type: ignore[arg-type, return-value]


def test_a_lie_prints_as_a_sentence() -> None:
    def first(reports: tuple[Hashable, ...]) -> dict[Hashable, Fraction]:
        return {reports[0]: Fraction(1)}

    lie = largest_gain(first, lambda i, own, said, seen: int(own != seen), types="ab", players=1)
    assert repr(lie) == "<Lie: player 0 reports b, truth (a); gain in 1>"
