"""Large congestion games: private counts lead to approximate equilibria. Proofs: docs/theory/games/joint.md."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.arguments import InWords
from deniable.errors import InvalidParameterError
from deniable.games.billboard import Billboard, billboard
from deniable.games.counters import Counters, Counts
from deniable.ledger import Ledger
from deniable.ledger.payment import Payment
from deniable.mechanisms.additive import Gaussian
from deniable.mechanisms.base import Released
from deniable.mechanisms.integers import array_of
from deniable.noise import uniform
from deniable.noise.bits import SECURE, Bits
from deniable.noise.simulation import uniforms
from deniable.numbers.rationals import Real, positive_integer, positive_rational, whole_number
from deniable.privacy import Replace, of_count
from deniable.rows import floats, without_rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Play:
    """What everybody does: `actions` are for the player of that place alone, `board` has the posted counts.

    `regret` is SECRET: the most that any player could gain by doing something else, measured on the true loads.
    `bound` is what was promised of it.
    """

    actions: NDArray[np.int64]
    board: Billboard
    regret: float
    bound: float


@dataclass(frozen=True, kw_only=True, eq=False)
class CongestionGame(metaclass=InWords):
    """Each player uses one of several resources; its cost grows with the number of its users, and there is an own cost.

    Args:
        latencies: integers, shape (resources, players + 1): the cost at each load, from 0 users on; never falls.
        influence: the most by which one user more raises any of them; a game in which one raises more is refused.
        top: the largest own cost; players bring a row of own costs in [0, top], one a resource. They are clamped and
            rounded down; what is no number, or no such row, is 0.

    >>> from deniable.games import CongestionGame
    >>> roads = CongestionGame(latencies=[range(101), range(0, 202, 2)], influence=2, top=50)
    >>> roads.players
    100
    """

    latencies: Sequence[Sequence[int]]
    influence: int
    top: int

    def __post_init__(self) -> None:
        whole_number("top", self.top, lower=0, upper=2**31)
        rises = np.diff(self._table, axis=1)
        if rises.min() < 0:
            raise InvalidParameterError("latencies must not fall when there are more users")
        if rises.max() > whole_number("influence", self.influence, lower=0):
            place, load = np.argwhere(rises == rises.max())[0]
            raise InvalidParameterError(
                f"influence is stated as {self.influence}, but user {load + 1} raises the cost of resource {place} by "
                f"{rises.max()}: nothing is promised. State it, or smooth the latencies."
            )

    @cached_property
    def _table(self) -> NDArray[np.int64]:
        table = array_of("latencies", [list(row) for row in self.latencies])
        if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 2 or table.dtype.kind not in "iu":
            raise InvalidParameterError(
                "latencies must be a table of integers: the costs of each of 2 or more resources at loads 0, 1, ..."
            )
        if table.max() > 2**53 or table.min() < -(2**53):
            raise InvalidParameterError("latencies must be from -2^53 to 2^53, such as whole seconds")
        return table.astype(np.int64)

    @property
    def players(self) -> int:
        """How many play."""
        return int(self._table.shape[1]) - 1

    def settle(
        self, own: ArrayLike, *, rho: Real, slack: int, passes: int = 8, batches: int = 64,
        ledger: Ledger | None = None, bits: Bits = SECURE,
    ) -> Play:  # fmt: skip
        """Best responses in turn to private counts: an approximate equilibrium in pure actions.

        Args:
            own: secret, shape (players, resources); costs in [0, top].
            rho: what all posts may cost.
            slack: a player moves only for a gain above it, by the posted counts.
            passes, batches: see `Counters`.

        Guarantee: rho-joint zCDP for the actions of all others. With probability 95% regret <= `bound`, which is
            slack + 2 influence (error of a count + moves in the last pass) and SECRET here.
        Source: Rogers, Roth (2014), arXiv:1310.8244.
        """
        budget, cells = positive_rational("rho", rho), len(self._table)
        made = Counters(players=self.players, cells=cells, passes=passes, batches=batches, rho=budget, moves=True)
        least = whole_number("slack", slack, lower=0)
        self._check(own)
        name = f"{self._table.tolist()} {made!r}"
        Payment(ledger, text="settle a congestion game", name=name, bits=bits).charge(made.privacy_loss)
        costs = self._costs(own)
        actions, moved = np.full(self.players, -1), np.zeros(passes * batches, dtype=np.int64)
        turns = iter(range(passes * batches))

        def turn(members: slice, posted: Counts) -> Counts:
            before = actions[members].copy()
            seen = self._at(posted, before) + costs[members]
            best, rows = seen.argmin(axis=1), np.arange(len(before))
            moves = (before < 0) | (seen[rows, before] - seen[rows, best] > least)
            actions[members] = np.where(moves, best, before)
            moved[next(turns)] = moves.sum()
            left = before[moves & (before >= 0)]
            return np.bincount(best[moves], minlength=len(posted)) - np.bincount(left, minlength=len(posted))

        posted = made.run(turn, bits=bits)
        final = self._at(np.bincount(actions, minlength=cells), actions) + costs
        regret = final[np.arange(self.players), actions] - final.min(axis=1)
        bound = least + 2 * self.influence * (made.error(0.05) + int(moved[-batches:].sum()))
        board = billboard(Released(posted, bits.safe), loss=made.privacy_loss)
        return Play(actions=actions, board=board, regret=float(regret.max()), bound=float(bound))

    def learn(
        self, own: ArrayLike, *, rho: Real, rounds: int, ledger: Ledger | None = None, bits: Bits = SECURE
    ) -> Play:
        """No-swap-regret play against private counts: its rounds are an approximate correlated equilibrium.

        Everybody is told the own action in one round, drawn at random.

        Args:
            own: secret, shape (players, resources); costs in [0, top].
            rho: what the counts of all rounds may cost.
            rounds: more of them mean better play and more noise; see the bound.

        Guarantee: rho-joint zCDP for the actions of all others. `regret` is the largest mean swap regret; `bound` is on
            its mean over the noise: range sqrt(m ln(m) / (2 rounds)) + 2 influence (sigma sqrt(2 ln(2 m)) + 1).
        Source: Kearns, Pai, Roth, Ullman (2014), arXiv:1207.4084; Blum, Mansour (2007), for swap regret.
        """
        budget, turns = positive_rational("rho", rho), positive_integer("rounds", rounds)
        moved = of_count(rows=1, groups=1, relation=Replace)  # another row changes one action of a round
        noise = Gaussian.calibrated(moved, rho=budget / turns)
        loss = noise.privacy_loss(moved) * turns
        self._check(own)
        text, name = f"learn a congestion game in {turns} rounds", f"{self._table.tolist()} {loss!r} {turns}"
        Payment(ledger, text=text, name=name, bits=bits).charge(loss)
        costs, size = self._costs(own), len(self._table)
        span = int(np.ptp(self._table)) + self.top or 1  # costs may be below 0
        rate = math.sqrt(8 * size * math.log(size) / turns)
        scores, regrets = np.zeros((2, self.players, size, size))
        posted, told = np.zeros((turns, size), dtype=np.int64), int(uniform.below(turns, bits=bits))
        kept = np.zeros(self.players, dtype=np.int64)
        for at in range(turns):
            mixed = _stationary(rate * scores)
            drawn = uniforms((self.players, 1), bits=bits) > np.cumsum(mixed, axis=1)[:, :-1]
            actions = drawn.sum(axis=1)
            kept = actions if at == told else kept
            loads = np.bincount(actions, minlength=size)
            posted[at] = noise.release(loads, bits=bits).value
            seen = self._table[np.arange(size), np.clip(posted[at], 0, self.players)] + costs
            scores -= mixed[:, :, None] * (seen / span)[:, None, :]
            true = self._at(loads, actions) + costs
            regrets += mixed[:, :, None] * (true[:, :, None] - true[:, None, :])
        spread = math.sqrt(2 * turns / budget * math.log(2 * size)) + 1
        return Play(
            actions=kept,
            board=billboard(Released(posted, bits.safe), loss=loss),
            regret=float(regrets.max(axis=2).sum(axis=1).max() / turns),
            bound=span * math.sqrt(size * math.log(size) / (2 * turns)) + 2 * self.influence * spread,
        )

    def _costs(self, own: ArrayLike) -> NDArray[np.int64]:
        found, _ = floats.table(own, "own", columns=len(self._table))
        return np.clip(np.nan_to_num(found, nan=0.0), 0, self.top).astype(np.int64)

    def _check(self, own: ArrayLike) -> None:
        """Refuse what has another shape, before anybody pays; no row is read."""
        columns = floats.table(without_rows(own), "own", columns=len(self._table))[0].shape[1]
        if (len(own), columns) != (self.players, len(self._table)):  # type: ignore[arg-type]
            raise InvalidParameterError(f"own must have a row for each of {self.players} players, a column a resource")

    def _at(self, loads: NDArray[np.int64], actions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cost of each resource to players who would use it, beside the others: shape (players, resources)."""
        own = actions[:, None] == np.arange(len(self._table))
        found: NDArray[np.int64] = self._table[np.arange(len(self._table)), np.clip(loads - own + 1, 0, self.players)]
        return found


def _stationary(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each player, the p with p Q = p, where row a of Q is the exponential weights of the copy for action a."""
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    moves = weights / weights.sum(axis=2, keepdims=True)
    size = scores.shape[1]
    system = np.swapaxes(moves, 1, 2) - np.eye(size)
    system[:, -1, :] = 1
    found = np.linalg.solve(system, np.broadcast_to(np.eye(size)[:, -1:], (len(scores), size, 1)))[:, :, 0]
    found = np.maximum(found, 0)
    return np.asarray(found / found.sum(axis=1, keepdims=True))
