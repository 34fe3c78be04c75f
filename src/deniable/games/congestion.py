"""Large congestion games: private counts lead to approximate equilibria.

Proofs: docs/theory/games/joint.md.
"""

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
from deniable.privacy import PrivacyLoss, Replace, of_count
from deniable.release.display import price
from deniable.rows import floats, without_rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Play:
    """Actions of all players, and the counts that led to them.

    Args:
        actions: shape (players,): the resource that each player uses. Each entry is for its own player alone.
        board: the posted counts, public.
        regret: SECRET: the most that any player could gain by another action, measured on the true loads.
        bound: the guaranteed bound on the regret, in the unit of the costs; SECRET after `settle`, where it counts
            true moves.
    """

    actions: NDArray[np.int64]
    board: Billboard
    regret: float
    bound: float

    @property
    def cost(self) -> PrivacyLoss:
        """Privacy loss of the posts, and of what all other players get."""
        return self.board.cost

    def __repr__(self) -> str:
        mark = "" if self.board.safe else ", safe=False"
        return f"<Play: {len(self.actions):,} players; cost {price(self.cost)}{mark}>"


@dataclass(frozen=True, kw_only=True, eq=False)
class CongestionGame(metaclass=InWords):
    """Game in which each player uses one resource, and its cost grows with its users.

    Players also have costs of their own, one for each resource.

    Args:
        latencies: integers, shape (resources, players + 1): the cost at each load, from 0 users on; never falls.
        influence: the most by which one user more raises any of them; a game in which one raises more is refused.
        top: the largest own cost; players bring a row of own costs in [0, top], one a resource. They are clamped and
            rounded down; other entries, and rows of another length, are 0.

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
            resource, load = np.argwhere(rises == rises.max())[0]
            raise InvalidParameterError(
                f"influence must be at least {rises.max()}, got {self.influence}: user {load + 1} raises the cost of "
                f"resource {resource} by that much. Raise influence, or smooth the latencies."
            )

    @cached_property
    def _table(self) -> NDArray[np.int64]:
        """Latencies, shape (resources, players + 1)."""
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
        """Number of players."""
        return int(self._table.shape[1]) - 1

    def settle(
        self, own: ArrayLike, *, rho: Real, slack: int, passes: int = 8, batches: int = 64,
        ledger: Ledger | None = None, bits: Bits = SECURE,
    ) -> Play:  # fmt: skip
        """Let players best-respond in turn to private counts.

        Their actions are an approximate pure equilibrium.

        Args:
            own: secret, shape (players, resources); costs in [0, top].
            rho: charged for all posts together.
            slack: a player moves only for a gain above it, by the posted counts.
            passes, batches: see `Counters`.
            ledger: charged before an own cost is read.
            bits: leave it out, except in tests.

        Guarantee: rho-joint zCDP for the actions of all others. With probability 95% regret <= `bound`, which is
            slack + 2 influence (error of a count + moves in the last pass) and SECRET here.
        Source: Rogers, Roth (2014), arXiv:1310.8244.
        """
        budget = positive_rational("rho", rho)
        cells = len(self._table)
        made = Counters(players=self.players, cells=cells, passes=passes, batches=batches, rho=budget, moves=True)
        threshold = whole_number("slack", slack, lower=0)
        self._check(own)
        name = f"{self._table.tolist()} {made!r}"
        Payment(ledger, text="settle a congestion game", name=name, bits=bits).charge(made.privacy_loss)
        responses = _BestResponses(self, self._costs(own), slack=threshold)
        posted = made.run(responses.turn, bits=bits)
        error = made.error(0.05)
        bound = threshold + 2 * self.influence * (error + sum(responses.moved[-batches:]))
        board = billboard(Released(posted, bits.safe), loss=made.privacy_loss)
        return Play(actions=responses.actions, board=board, regret=responses.regret(), bound=float(bound))

    def learn(
        self, own: ArrayLike, *, rho: Real, rounds: int, ledger: Ledger | None = None, bits: Bits = SECURE
    ) -> Play:
        """Let players learn against private counts: an approximate correlated equilibrium.

        Play has no swap regret; each player gets the own action in one round, drawn at random.

        Args:
            own: secret, shape (players, resources); costs in [0, top].
            rho: charged for the counts of all rounds together.
            rounds: more of them mean better play and more noise; see the bound.
            ledger: charged before an own cost is read.
            bits: leave it out, except in tests.

        Guarantee: rho-joint zCDP for the actions of all others. `regret` is the largest mean swap regret; `bound` is on
            its mean over the noise: range sqrt(m ln(m) / (2 rounds)) + 2 influence (sigma sqrt(2 ln(2 m)) + 1).
        Source: Kearns, Pai, Roth, Ullman (2014), arXiv:1207.4084; Blum, Mansour (2007), for swap regret.
        """
        budget = positive_rational("rho", rho)
        turns = positive_integer("rounds", rounds)
        moved = of_count(rows=1, groups=1, relation=Replace)  # another row changes one action of a round
        noise = Gaussian.calibrated(moved, rho=budget / turns)
        loss = noise.privacy_loss(moved) * turns
        self._check(own)
        text = f"learn a congestion game in {turns} rounds"
        Payment(ledger, text=text, name=f"{self._table.tolist()} {loss!r} {turns}", bits=bits).charge(loss)
        learners = _SwapRegret(self, self._costs(own), rounds=turns)
        size = len(self._table)
        posted = np.zeros((turns, size), dtype=np.int64)
        published_round = int(uniform.below(turns, bits=bits))
        published = np.zeros(self.players, dtype=np.int64)
        for at in range(turns):
            actions = learners.draw(bits=bits)
            loads = np.bincount(actions, minlength=size)
            posted[at] = noise.release(loads, bits=bits).value
            learners.update(actions, loads, posted[at])
            if at == published_round:
                published = actions
        spread = math.sqrt(2 * turns / budget * math.log(2 * size)) + 1
        bound = learners.span * math.sqrt(size * math.log(size) / (2 * turns)) + 2 * self.influence * spread
        board = billboard(Released(posted, bits.safe), loss=loss)
        return Play(actions=published, board=board, regret=learners.regret(), bound=bound)

    def _costs(self, own: ArrayLike) -> NDArray[np.int64]:
        """Return own costs as integers in [0, top], shape (players, resources)."""
        given, _ = floats.table(own, "own", columns=len(self._table))
        return np.clip(np.nan_to_num(given, nan=0.0), 0, self.top).astype(np.int64)

    def _check(self, own: ArrayLike) -> None:
        """Refuse another shape before anything is charged; no row is read."""
        columns = floats.table(without_rows(own), "own", columns=len(self._table))[0].shape[1]
        if (len(own), columns) != (self.players, len(self._table)):  # type: ignore[arg-type]
            raise InvalidParameterError(
                f"own must have one row for each of {self.players} players and one column for each resource"
            )

    def _at(self, loads: NDArray[np.int64], actions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cost of each resource to players who would use it beside the others.

        Shape (players, resources).
        """
        own = actions[:, None] == np.arange(len(self._table))
        costs: NDArray[np.int64] = self._table[np.arange(len(self._table)), np.clip(loads - own + 1, 0, self.players)]
        return costs


class _BestResponses:
    """Actions of players who best-respond in turn, and how many moved in each turn.

    Args:
        game: whose latencies count.
        costs: own costs, shape (players, resources).
        slack: gain above which a player moves.
    """

    def __init__(self, game: CongestionGame, costs: NDArray[np.int64], *, slack: int) -> None:
        self.game = game
        self.costs = costs
        self.slack = slack
        self.actions = np.full(game.players, -1)
        self.moved: list[int] = []

    def turn(self, members: slice, posted: Counts) -> Counts:
        """Let a batch of players move; return the change of the loads."""
        before = self.actions[members].copy()
        seen = self.game._at(posted, before) + self.costs[members]
        best = seen.argmin(axis=1)
        rows = np.arange(len(before))
        moves = (before < 0) | (seen[rows, before] - seen[rows, best] > self.slack)
        self.actions[members] = np.where(moves, best, before)
        self.moved.append(int(moves.sum()))
        left = before[moves & (before >= 0)]
        return np.bincount(best[moves], minlength=len(posted)) - np.bincount(left, minlength=len(posted))

    def regret(self) -> float:
        """Return the largest gain of any player by another action, on the true loads."""
        loads = np.bincount(self.actions, minlength=self.costs.shape[1])
        final = self.game._at(loads, self.actions) + self.costs
        regret = final[np.arange(len(self.actions)), self.actions] - final.min(axis=1)
        return float(regret.max())


class _SwapRegret:
    """Players without swap regret: for each action, one copy of exponential weights.

    Args:
        game: whose latencies count.
        costs: own costs, shape (players, resources).
        rounds: number of rounds, which sets the learning rate.
    """

    def __init__(self, game: CongestionGame, costs: NDArray[np.int64], *, rounds: int) -> None:
        self.game = game
        self.costs = costs
        self.rounds = rounds
        size = costs.shape[1]
        self.span = int(np.ptp(game._table)) + game.top or 1  # costs may be below 0
        self.learning_rate = math.sqrt(8 * size * math.log(size) / rounds)
        self.scores = np.zeros((game.players, size, size))
        self.regrets = np.zeros((game.players, size, size))

    def draw(self, *, bits: Bits) -> NDArray[np.int64]:
        """Draw an action for each player."""
        self.mixed = _stationary(self.learning_rate * self.scores)
        drawn = uniforms((self.game.players, 1), bits=bits) > np.cumsum(self.mixed, axis=1)[:, :-1]
        return np.asarray(drawn.sum(axis=1))

    def update(self, actions: NDArray[np.int64], loads: NDArray[np.int64], posted: NDArray[np.int64]) -> None:
        """Learn from the posted counts; measure the regret on the true loads."""
        resources = np.arange(self.costs.shape[1])
        seen = self.game._table[resources, np.clip(posted, 0, self.game.players)] + self.costs
        self.scores -= self.mixed[:, :, None] * (seen / self.span)[:, None, :]
        true = self.game._at(loads, actions) + self.costs
        self.regrets += self.mixed[:, :, None] * (true[:, :, None] - true[:, None, :])

    def regret(self) -> float:
        """Return the largest mean swap regret of any player."""
        return float(self.regrets.max(axis=2).sum(axis=1).max() / self.rounds)


def _stationary(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each player the p with p Q = p, shape (players, resources).

    Row a of Q holds the exponential weights of the copy for action a.
    """
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    moves = weights / weights.sum(axis=2, keepdims=True)
    size = scores.shape[1]
    system = np.swapaxes(moves, 1, 2) - np.eye(size)
    system[:, -1, :] = 1
    solved = np.linalg.solve(system, np.broadcast_to(np.eye(size)[:, -1:], (len(scores), size, 1)))[:, :, 0]
    solved = np.maximum(solved, 0)
    return np.asarray(solved / solved.sum(axis=1, keepdims=True))
