"""Private running counts on a billboard.

Players take turns in batches, and noisy totals are posted after each batch.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from deniable.arguments import InWords, read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import Gaussian
from deniable.noise.bits import Bits
from deniable.numbers.rationals import positive_integer, positive_rational, whole_number, yes_or_no
from deniable.privacy import PrivacyLoss, Replace, Sensitivity, of_count

Counts = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Counters(metaclass=InWords):
    """Schedule of turns, and the noise of the counters that they move.

    In every pass each player takes one turn, together with a batch of others.

    Args:
        players: number of players.
        cells: number of counters.
        passes: turns of each player.
        batches: number of batches of one pass, a power of two. A batch sees the same counts.
        rho: charged for all counts together.
        moves: whether a turn takes one off a counter and adds one to another; else it adds one to a counter.

    Guarantee: rho-zCDP for all that one player ever does. A turn is in 1 + log2(batches) nodes of a binary tree, where
        exchanging it moves the counters by at most sqrt(2), or 2 sqrt(2) for moves, in l2.
    Source: Dwork, Naor, Pitassi, Rothblum (2010), for the tree; docs/theory/games/joint.md.

    >>> from deniable.games import Counters
    >>> counters = Counters(players=1000, cells=3, passes=4, batches=16, rho="0.5")
    >>> counters.levels, counters.error(0.05)
    (5, 119)
    """

    players: Annotated[int, positive_integer]
    cells: Annotated[int, positive_integer]
    passes: Annotated[int, positive_integer]
    batches: Annotated[int, partial(whole_number, lower=1, upper=2**20)]
    rho: Annotated[Fraction, positive_rational]
    moves: Annotated[bool, yes_or_no] = False

    def __post_init__(self) -> None:
        read_fields(self)
        if self.batches & (self.batches - 1):
            raise InvalidParameterError(f"batches must be a power of two, got {self.batches}")
        _ = self.noise

    @property
    def levels(self) -> int:
        """Number of nodes of the tree that hold one turn."""
        return self.batches.bit_length()

    @property
    def noise(self) -> Gaussian:
        """Noise of a node."""
        return Gaussian.calibrated(self._moved, rho=self.rho / self._nodes)

    @property
    def privacy_loss(self) -> PrivacyLoss:
        """Privacy loss of all posts, when one player brings another row."""
        return self.noise.privacy_loss(self._moved) * self._nodes

    @property
    def _nodes(self) -> int:
        """Number of nodes that hold a turn of one player."""
        return self.passes * self.levels

    @property
    def _moved(self) -> Sensitivity:
        """Sensitivity of a node; a move takes one count away and adds one."""
        return of_count(rows=1, groups=1, relation=Replace) * (2 if self.moves else 1)

    def error(self, failure: float) -> int:
        """Bound the error of every change of a count between two posts.

        It holds with probability 1 - failure. At most passes + 2 levels nodes separate the two, each with
        sub-Gaussian noise: a union over pairs and cells.

        Args:
            failure: probability that the bound fails, in (0, 1).
        """
        nodes = self.passes + 2 * self.levels
        times = self.passes * self.batches + 1
        spread = 2 * nodes * float(self.noise.sigma_squared) * math.log(self.cells * times**2 / failure)
        return math.ceil(math.sqrt(spread) * (1 + 2**-40))

    def run(self, turn: Callable[[slice, Counts], Counts], *, bits: Bits) -> Counts:
        """Let all players take their turns, and return every post.

        Args:
            turn: maps the players of a batch, and the last post, to the exact change of the counters.
            bits: entropy of the noise.

        Returns: shape (passes * batches + 1, cells); the first post holds zeros.
        """
        posted = np.zeros((self.passes * self.batches + 1, self.cells), dtype=np.int64)
        noise = self.noise
        ends = np.arange(self.batches + 1) * self.players // self.batches
        for first in range(0, len(posted) - 1, self.batches):
            exact, noisy = np.zeros((2, self.levels, self.cells), dtype=np.int64)
            for batch in range(1, self.batches + 1):
                level = (batch & -batch).bit_length() - 1
                change = turn(slice(ends[batch - 1], ends[batch]), posted[first + batch - 1])
                exact[level] = change + exact[:level].sum(0)
                noisy[level] = noise.release(exact[level], bits=bits).value
                exact[:level] = noisy[:level] = 0
                posted[first + batch] = posted[first] + noisy.sum(0)
        return posted
