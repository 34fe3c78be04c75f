"""Equilibria of congestion games by private counts: regret measured, bounds kept, all through the posts."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.games import CongestionGame, congestion
from deniable.games.congestion import _stationary
from deniable.ledger import Ledger
from deniable.mechanisms import Gaussian
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Budget, PrivacyUnit, Replace
from tests.mechanisms.drawn import drawn_loss

COUNT = 2000
GAME = CongestionGame(
    latencies=[np.arange(COUNT + 1) * slope + base for slope, base in ((1, 0), (2, 0), (3, 0), (1, 400))], influence=3,
    top=600,
)  # fmt: skip
OWN = np.random.default_rng(3).integers(0, 601, (COUNT, 4))


@pytest.mark.parametrize("seed", range(5))
def test_best_responses_settle_within_the_bound(seed: int) -> None:
    found = GAME.settle(OWN, rho=1, slack=150, bits=DeterministicBits(seed))
    assert found.bound / 20 < found.regret <= found.bound
    loads = np.bincount(found.actions, minlength=4)
    cost = lambda i, j: GAME.latencies[j][loads[j] + (found.actions[i] != j)] + OWN[i, j]  # noqa: E731
    exact = max(cost(i, found.actions[i]) - min(cost(i, j) for j in range(4)) for i in range(0, COUNT, 7))
    assert exact <= found.regret


def test_more_privacy_costs_more_regret() -> None:
    regrets = [GAME.settle(OWN, rho=rho, slack=50, bits=DeterministicBits(1)).regret for rho in ("0.01", "1", "100")]
    assert regrets[0] > 2 * regrets[1] > 2 * regrets[2]


def test_without_noise_and_slack_small_games_reach_exact_equilibria() -> None:
    small = CongestionGame(latencies=[range(4), range(0, 8, 2)], influence=2, top=3)
    for rows in product([(0, 3), (1, 1), (3, 0)], repeat=3):
        found = small.settle(rows, rho=10**4, slack=0, passes=8, batches=4, bits=DeterministicBits(1))
        assert found.regret == 0


def test_learning_keeps_its_bound_and_improves_with_rounds() -> None:
    few, many = (GAME.learn(OWN, rho=1, rounds=rounds, bits=DeterministicBits(2)) for rounds in (20, 200))
    for found in (few, many):
        assert found.bound / 10 < found.regret <= found.bound
        assert found.actions.shape == (COUNT,)
    assert many.regret < few.regret / 1.5
    span = 6000 + 600
    spread = 2 * 3 * (math.sqrt(2 * 200 * math.log(8)) + 1)
    assert many.bound == pytest.approx(span * math.sqrt(4 * math.log(4) / 400) + spread)


def test_the_played_rounds_are_a_correlated_equilibrium_of_a_small_game() -> None:
    """Two players, two roads: who is told a road gains little by taking the other."""
    game = CongestionGame(latencies=[[0, 1, 10], [0, 1, 10]], influence=9, top=0)
    found = game.learn([[0, 0], [0, 0]], rho=10**6, rounds=2000, bits=DeterministicBits(1))
    assert found.regret < 0.5


def test_the_regret_is_that_of_the_best_way_to_swap_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    """All 27 maps of three roads to roads for each of three players, over the rounds as they were played."""
    game = CongestionGame(latencies=[[0, 4, 7, 9], [0, 2, 8, 9], [1, 5, 6, 7]], influence=6, top=5)
    own = np.array([[0, 3, 5], [2, 0, 1], [5, 1, 0]])
    laws, loads, draws = [], [], []
    recorded = {"_stationary": (_stationary, laws), "uniforms": (congestion.uniforms, draws)}
    for name, (inner, kept) in recorded.items():

        def record(*given: Any, inner: Any = inner, kept: Any = kept, **options: Any) -> Any:
            kept.append(inner(*given, **options))
            return kept[-1]

        monkeypatch.setattr(congestion, name, record)
    release = Gaussian.release
    monkeypatch.setattr(
        Gaussian, "release", lambda self, exact, **options: (loads.append(exact), release(self, exact, **options))[1]
    )
    found = game.learn(own, rho=1, rounds=12, bits=DeterministicBits(4))
    regrets = np.zeros((3, 27))
    for law, total, drawn in zip(laws, loads, draws, strict=True):
        actions = (drawn > np.cumsum(law, axis=1)[:, :-1]).sum(axis=1)
        assert np.bincount(actions, minlength=3).tolist() == list(total)
        for player in range(3):
            others = np.bincount(np.delete(actions, player), minlength=3)
            cost = [int(game.latencies[road][others[road] + 1]) + own[player, road] for road in range(3)]
            for index, swap in enumerate(product(range(3), repeat=3)):
                regrets[player, index] += sum(law[player, a] * (cost[a] - cost[swap[a]]) for a in range(3))
    assert found.regret == pytest.approx(regrets.max() / 12, rel=1e-9)


def test_the_stationary_law_is_stationary() -> None:
    scores = np.random.default_rng(1).normal(size=(50, 5, 5)) * 20
    found = _stationary(scores)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    moves = weights / weights.sum(axis=2, keepdims=True)
    assert np.allclose(np.einsum("ia,iab->ib", found, moves), found, atol=1e-9)
    assert np.allclose(found.sum(axis=1), 1)


def test_one_row_reaches_others_only_through_the_posts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Record and replay: with the same posts, another row of one player changes no other player's action."""
    first = GAME.settle(OWN, rho=1, slack=50, passes=2, bits=DeterministicBits(1))
    posts = first.board.signal
    changed = OWN.copy()
    changed[5] = [600, 600, 600, 0]

    def replayed(self: object, turn, *, bits: object) -> np.ndarray:  # type: ignore[no-untyped-def]
        ends = np.arange(65) * COUNT // 64
        for at in range(2 * 64):
            turn(slice(ends[at % 64], ends[at % 64 + 1]), posts[at])
        return np.asarray(posts)

    monkeypatch.setattr("deniable.games.counters.Counters.run", replayed)
    again, other = (GAME.settle(own, rho=1, slack=50, passes=2).actions for own in (OWN, changed))
    assert (again == first.actions).all()
    assert (np.delete(other, 5) == np.delete(again, 5)).all()
    assert other[5] == 3 != again[5]


def test_actions_and_the_round_that_is_told_are_drawn_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five standard errors, 5 * sqrt(2000 * 3 / 16) = 97, of 2,000 actions; 60 seeds tell all of three rounds."""
    first = GAME.learn(OWN, rho=1, rounds=1, bits=DeterministicBits(3)).actions
    assert abs(np.bincount(first, minlength=4) - 500).max() < 97
    rounds = iter(range(180))
    monkeypatch.setattr("deniable.games.congestion._stationary", lambda _: np.eye(3)[[next(rounds) % 3]])
    one = CongestionGame(latencies=[[0, 0]] * 3, influence=0, top=0)
    told = {int(one.learn([[0, 0, 0]], rho=1, rounds=3, bits=DeterministicBits(seed)).actions[0]) for seed in range(60)}
    assert told == {0, 1, 2}


def test_the_noise_that_was_drawn_proves_the_stated_loss() -> None:
    """Another row moves two counts of nearly every round: above a quarter of rho, so half the scale is found out."""
    game = CongestionGame(latencies=[[0] * 11, [0] * 11], influence=0, top=1000)
    run = lambda own, bits: game.learn(own, rho=1, rounds=60, bits=bits)  # noqa: E731
    drawn = drawn_loss(run, [[0, 1000]] * 10, [[1000, 0], *[[0, 1000]] * 9], relation=Replace)
    stated = run([[0, 1000]] * 10, DeterministicBits(1)).cost
    assert 1 / 4 < drawn.rho <= stated.rho == 1


def test_games_are_paid_before_a_row_is_read() -> None:
    ledger, half = (
        Ledger.open(None, budget=Budget(rho=1), relation=Replace, unit=PrivacyUnit(), dataset="drivers") for _ in "ab"
    )
    GAME.settle(OWN, rho="0.5", slack=100, ledger=ledger, bits=DeterministicBits(1))
    found = GAME.learn(OWN, rho="0.5", rounds=3, ledger=ledger, bits=DeterministicBits(1))
    assert ledger.spent().rho == 1
    assert (found.cost.rho, found.board.signal.shape) == (Fraction(1, 2), (3, 4))
    for wrong in (OWN[1:], OWN[:, 1:]):
        with pytest.raises(InvalidParameterError, match="one row for each"):
            GAME.learn(wrong, rho="1/4", rounds=3, ledger=half)
        with pytest.raises(InvalidParameterError, match="one row for each"):
            GAME.settle(wrong, rho="1/4", slack=9, ledger=half)
    assert half.spent().rho == 0
    with pytest.raises(InvalidParameterError, match="Ledger"):
        GAME.learn(OWN, rho=1, rounds=3, ledger=1)  # type: ignore[arg-type]


def test_own_costs_beyond_the_bounds_are_moved_to_them() -> None:
    far = OWN.copy()
    far[0] = [-5, 10**9, 0, 0]
    near = np.clip(far, 0, 600)
    one, other = (GAME.settle(own, rho=1, slack=0, passes=1, bits=DeterministicBits(1)).actions for own in (far, near))
    assert (one == other).all()
    with pytest.raises(InvalidParameterError, match="own must have one row"):
        GAME.settle(OWN[:-1], rho=1, slack=0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"influence": 1}, "at least 2, got 1: user 1 raises the cost of resource 1"),
        ({"latencies": [[0, 2, 1], [0, 1, 2]]}, "must not fall"),
        ({"latencies": [[0, 1, 2]]}, "table"),
        ({"latencies": [[0, 1], [0, 1, 2]]}, "latencies"),
        ({"latencies": [[0.5, 1], [0, 1]]}, "integers"),
        ({"latencies": [[0, 2**63 - 1], [0, 1]], "influence": 2**63 - 1}, "2\\^53"),
        ({"top": -1}, "top"),
        ({"influence": "x"}, "influence"),
    ],
    ids=str,
)
def test_games_without_the_stated_influence_are_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        CongestionGame(**{"latencies": [[0, 1, 2], [0, 2, 4]], "influence": 2, "top": 0} | given)  # type: ignore[arg-type]


@pytest.mark.parametrize(("low", "top"), [(-100, 0), (-100, 60), (-1000, 1000)])
def test_learning_keeps_its_bound_where_costs_are_negative(low: int, top: int) -> None:
    """With the largest cost for the range of costs, the first bound is below 0, and no player learns anything."""
    game = CongestionGame(latencies=[[low] * 11, [low // 2] * 11], influence=0, top=top)
    found = game.learn([[0, 0]] * 10, rho=1, rounds=200, bits=DeterministicBits(1))
    shifted = CongestionGame(latencies=[[0] * 11, [low // 2 - low] * 11], influence=0, top=top)
    assert 0 <= found.regret <= found.bound == shifted.learn([[0, 0]] * 10, rho=1, rounds=200).bound


@pytest.mark.parametrize("row", [[math.nan, 9], [None, 9], ["x", 9], [10**400, 9], [1.5, 9], [9], [1, 2, 3], None, 5])
def test_no_row_stops_a_game_or_changes_how_another_one_is_read(row: object) -> None:
    game = CongestionGame(latencies=[range(11), range(0, 22, 2)], influence=2, top=50)
    assert game._costs([[1, 2]] * 9 + [row])[:9].tolist() == [[1, 2]] * 9
    assert game.settle([[1, 2]] * 9 + [row], rho=1, slack=1, bits=DeterministicBits(1)).actions.shape == (10,)


def test_play_prints_no_action_regret_or_bound() -> None:
    play = GAME.settle(OWN, rho=1, slack=1, bits=DeterministicBits(1))
    assert repr(play) == f"<Play: {GAME.players:,} players; cost rho=1, safe=False>"
