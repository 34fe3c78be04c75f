"""Exact truthfulness: no lie of any type in any profile gains; without the random choice, lies gain."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.games import Imposing, largest_gain
from deniable.games.utility import gain_bound
from deniable.ledger import Ledger
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Budget, PrivacyUnit, Replace

GOODS = Imposing.pricing([1, 2, 3], prices=["0.5", "1.5", "2.5"], epsilon=1)
SHOPS = Imposing.facilities(range(4), count=2, epsilon=2)
BOTH = pytest.mark.parametrize("made", [GOODS, SHOPS], ids=["goods", "shops"])


@BOTH
@pytest.mark.parametrize("epsilon", ["0.1", "1", "8"])
def test_no_lie_gains_anything(made: Imposing, epsilon: str) -> None:
    found = replace(made, epsilon=Fraction(epsilon))
    assert 0 < found.share < 1
    assert largest_gain(found.law, found.worth, types=found.types, players=3).gain.upper < 0


@pytest.mark.parametrize(
    ("made", "players"),
    [(GOODS, 2), (Imposing.facilities([0, 1, 3, 7], count=2, epsilon=20), 4)],
    ids=["goods", "shops"],
)
def test_without_the_random_choice_and_free_to_react_lies_gain_within_the_bound(made: Imposing, players: int) -> None:
    def law(reports: tuple[object, ...]) -> dict[object, object]:
        chances = made.mechanism.pmf(made._totals(reports))
        return {alternative: chances[place] for place, alternative in enumerate(made.alternatives)}

    def free(player: int, own: object, said: object, seen: object) -> object:
        return made.utility(own, seen, made.reaction(own, seen))

    best = largest_gain(law, free, types=made.types, players=players).gain  # type: ignore[arg-type]
    assert 0.01 < best.lower <= best.upper <= gain_bound(made.privacy_loss, width=7 if players == 4 else Fraction(5, 2))
    truthful = largest_gain(made.law, made.worth, types=made.types, players=2)
    assert truthful.gain.upper < 0


@BOTH
def test_the_law_of_neighbours_is_epsilon_private_and_twice_the_rate_is_not(made: Imposing) -> None:
    for factor, kept in ((1, True), (2, False)):
        loud = replace(made, epsilon=made.epsilon * factor)
        worst = max(
            abs(float(np.log(p.upper) - np.log(q.upper)))
            for a, b, *rest in product(made.types, repeat=4)
            for p, q in zip(loud.law((a, *rest)).values(), loud.law((b, *rest)).values(), strict=True)
        )
        pure = max(
            abs(float(np.ptp(loud.mechanism.rate * (loud._objectives[1][i] - loud._objectives[1][j]).astype(object))))
            for i, j in product(range(len(made.types)), repeat=2)
        )
        assert (pure <= float(made.epsilon)) == kept
        assert worst <= float(loud.epsilon)


@BOTH
def test_the_objective_keeps_its_bound(made: Imposing) -> None:
    """Exact means over all profiles of three players, and one of 300."""
    profiles = [*product(made.types, repeat=3), made.types * 100, made.types[:2] * 150]
    shares = []
    for reports in profiles:
        earned = made._totals(reports) * made._objectives[0]
        mean = sum(Fraction(mass.upper) * one for mass, one in zip(made.law(reports).values(), earned, strict=True))
        shares.append(float(max(earned) - mean) / made.expected_gap(len(reports)))
    assert 0.1 < max(shares) <= 1  # the bound is within a factor of ten


def test_the_loss_a_player_falls_as_the_root_of_the_players() -> None:
    each = [SHOPS.for_players(n).expected_gap(n) / n for n in (10**4, 10**6)]
    assert each[0] / each[1] == pytest.approx(10, rel=0.15)


def test_reactions_are_told_by_a_billboard() -> None:
    ledger = Ledger.open(None, budget=Budget(epsilon=2), relation=Replace, unit=PrivacyUnit(), dataset="homes")
    homes = [0, 3, 3, "x", [], Fraction(1)]
    board = SHOPS.release(homes, ledger=ledger, bits=DeterministicBits(3))
    assert ledger.spent().epsilon == 2
    assert board.signal in SHOPS.alternatives
    told = board.per_player(SHOPS.reaction, homes)
    assert told[3] == told[4] == told[0]  # what is no site counts as the first, without a word
    assert all(
        abs(home - board.signal[goes]) == min(abs(home - s) for s in board.signal)
        for home, goes in zip([0, 3], told[:2], strict=True)
    )
    assert board.replay(SHOPS.reaction, homes, player=1, row=0)[1] == told[0]


def test_alternatives_that_are_lists_are_posted_and_reacted_to() -> None:
    prices, worth = ([2], [4]), lambda own, price, buys: (own - price[0]) * buys
    made = Imposing(
        types=(1, 3, 5), alternatives=prices, reactions=(1, 0), utility=worth,
        objective=lambda own, price, buys: price[0] * buys, epsilon=1,
    )  # fmt: skip
    board = made.release([1, 3, 5], bits=DeterministicBits(1))
    assert board.per_player(made.reaction, [1, 5]) == (0, 1)
    assert largest_gain(made.law, made.worth, types=made.types, players=2).gain.upper <= 0


class _Odd:  # noqa: PLW1641
    def __eq__(self, other: object) -> bool:
        raise SystemExit


def test_no_report_stops_a_choice_however_it_compares() -> None:
    assert SHOPS._totals([0, 3, _Odd()]).tolist() == SHOPS._totals([0, 3, 0]).tolist()


def test_a_release_draws_from_the_mixture() -> None:
    """1,000 choices among 3 prices; a chi-square beyond 20 has probability below 1e-4. The pure law is noticed."""
    made, reports, bits = replace(GOODS, epsilon=Fraction(4)), (3,) * 4, DeterministicBits(2)
    drawn = [made.release(reports, bits=bits).signal for _ in range(1000)]
    pure = made.mechanism.pmf(made._totals(reports))
    mixed = {price: mass.upper for price, mass in made.law(reports).items()}
    alone = {price: float(getattr(pure[i], "upper", pure[i])) for i, price in enumerate(made.alternatives)}
    for law, fits in ((mixed, True), (alone, False)):
        found = sum((drawn.count(p) - 1000 * c) ** 2 / (1000 * c) for p, c in law.items())
        assert (found < 20) == fits


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Imposing.pricing([1, 2], prices=[1, 2], epsilon=1), "strictly between"),
        (lambda: Imposing.pricing([1], prices=[1], epsilon=1), "types"),
        (lambda: Imposing.pricing([1, -2], prices=[1], epsilon=1), "values"),
        (lambda: Imposing.pricing([1, 2], prices=["1.5"], epsilon=0), "epsilon"),
        (lambda: Imposing.facilities([0, 1, 2], count=1, epsilon=1), "count"),
        (lambda: Imposing.facilities([0, 1], count=3, epsilon=1), "count"),
        (lambda: replace(GOODS, objective=lambda t, s, r: 1), "must depend on the types"),
    ],
    ids=range(7),
)  # fmt: skip
def test_settings_in_which_nothing_can_be_promised_are_refused(make, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidParameterError, match=words):
        make()
