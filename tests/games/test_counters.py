"""Counters of turns: totals are right without noise, each turn is in few nodes, and errors keep their bound."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.games import Counters
from deniable.mechanisms.additive import Gaussian
from deniable.mechanisms.base import Released
from deniable.noise.bits import Bits, DeterministicBits
from deniable.privacy import Replace
from tests.mechanisms.drawn import drawn_loss

MADE = Counters(players=10, cells=2, passes=3, batches=4, rho=1)


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """No noise; every node that would be released is kept."""
    nodes: list[np.ndarray] = []

    def release(self: Gaussian, exact: np.ndarray, *, bits: object) -> Released[np.ndarray]:
        nodes.append(exact.copy())
        return Released(exact, False)

    monkeypatch.setattr(Gaussian, "release", release)
    return nodes


def change_of(players: slice, posted: np.ndarray) -> np.ndarray:
    return np.array([players.stop - players.start, players.start])


def test_without_noise_the_posts_are_running_sums(silent: list[np.ndarray]) -> None:
    posted = MADE.run(change_of, bits=DeterministicBits(1))
    steps = [change_of(slice(10 * b // 4, 10 * (b + 1) // 4), posted) for b in range(4)] * 3
    assert posted.tolist() == [[0, 0], *np.cumsum(steps, axis=0).tolist()]


@pytest.mark.parametrize("batch", range(8))
def test_a_turn_is_in_as_many_nodes_as_the_noise_is_made_for(silent: list[np.ndarray], batch: int) -> None:
    made = Counters(players=8, cells=1, passes=2, batches=8, rho=1)
    made.run(lambda players, posted: np.array([int(players.start == batch)]), bits=DeterministicBits(1))
    assert 1 <= sum(int(node[0]) for node in silent) / 2 <= made.levels == 4  # each of two passes; no node holds both
    assert max(int(node[0]) for node in silent) == 1


def test_the_price_is_that_of_all_nodes_together() -> None:
    for moves, squared in ((False, 2), (True, 8)):
        made = Counters(players=8, cells=3, passes=5, batches=16, rho="0.5", moves=moves)
        nodes = 5 * made.levels
        assert nodes * squared / (2 * made.noise.sigma_squared) == Fraction(1, 2)
        assert (made.privacy_loss.rho, made.privacy_loss.relations) == (Fraction(1, 2), {Replace})


@pytest.mark.parametrize("moves", [False, True])
def test_the_noise_that_was_drawn_has_the_stated_loss(moves: bool) -> None:
    """The first of eight players takes every turn from one counter to the other, or the reverse."""
    made = Counters(players=8, cells=2, passes=2, batches=4, rho=1, moves=moves)

    def run(change: list[int], bits: Bits) -> None:
        made.run(lambda players, posted: np.array(change if players.start == 0 else [0, 0]), bits=bits)

    drawn = drawn_loss(run, [1, -1 * moves], [-1 * moves, 1], relation=Replace)
    assert drawn.rho == made.privacy_loss.rho == 1


def test_errors_of_all_differences_keep_the_bound_and_come_within_a_factor_of_three() -> None:
    """600 runs at failure 1/20; more than 55 failures have probability below 1e-4 if the bound is true."""
    bits, worst = DeterministicBits(4), []
    made = Counters(players=16, cells=1, passes=2, batches=8, rho="0.01")
    for _ in range(600):
        noise = made.run(lambda players, posted: np.zeros(1, dtype=np.int64), bits=bits)[:, 0]
        worst.append(int(np.abs(noise[:, None] - noise).max()))
    bound = made.error(0.05)
    assert sum(one > bound for one in worst) <= 55
    assert sum(one > bound / 3 for one in worst) > 55
    assert bound == math.ceil(math.sqrt(2 * 10 * float(made.noise.sigma_squared) * math.log(17**2 / 0.05)))


@pytest.mark.parametrize("given", [{"batches": 3}, {"batches": 0}, {"passes": 0}, {"rho": 0}, {"moves": 1}], ids=str)
def test_timetables_that_do_not_fit_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        Counters(**{"players": 4, "cells": 1, "passes": 1, "batches": 2, "rho": 1} | given)  # type: ignore[arg-type]
