"""Private running counts on a billboard: players take turns in batches, and noisy totals are posted after each."""

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
    """A timetable and the noise of its counters: in every pass each player takes one turn, together with a batch.

    Args:
        players, cells: how many take turns, and how many counters there are.
        passes: turns of each player; batches: of one pass, a power of two. A batch sees the same counts.
        moves: whether a turn takes one off a counter and adds one to another; else it adds one to a counter.
        rho: what all counts together may cost.

    Guarantee: rho-zCDP for all that one player ever does. A turn is in 1 + log2(batches) nodes of a binary tree, where
        exchanging it moves the counters by at most sqrt(2), or 2 sqrt(2) for moves, in l2.
    Source: Dwork, Naor, Pitassi, Rothblum (2010), for the tree; docs/theory/games/joint.md.
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
        """Nodes that hold one turn."""
        return self.batches.bit_length()

    @property
    def noise(self) -> Gaussian:
        """The noise of a node."""
        return Gaussian.calibrated(self._moved, rho=self.rho / self._nodes)

    @property
    def privacy_loss(self) -> PrivacyLoss:
        """Everything that is posted, for one player with another row."""
        return self.noise.privacy_loss(self._moved) * self._nodes

    @property
    def _nodes(self) -> int:
        """Nodes that hold a turn of one player."""
        return self.passes * self.levels

    @property
    def _moved(self) -> Sensitivity:
        """How far another turn moves the counters of a node; a move is a count that goes and one that comes."""
        return of_count(rows=1, groups=1, relation=Replace) * (2 if self.moves else 1)

    def error(self, failure: float) -> int:
        """Bound on the error of every change of a count between two posts, with probability 1 - failure.

        At most passes + 2 levels nodes tell the two apart, each with sub-Gaussian noise: a union over pairs and cells.
        """
        nodes, times = self.passes + 2 * self.levels, self.passes * self.batches + 1
        spread = 2 * nodes * float(self.noise.sigma_squared) * math.log(self.cells * times**2 / failure)
        return math.ceil(math.sqrt(spread) * (1 + 2**-40))

    def run(self, turn: Callable[[slice, Counts], Counts], *, bits: Bits) -> Counts:
        """Let all players take their turns; returns every post, shape (passes * batches + 1, cells), zeros first.

        Args:
            turn: maps the players of a batch, and the last post, to the exact change of the counters.
        """
        posted = np.zeros((self.passes * self.batches + 1, self.cells), dtype=np.int64)
        noise, ends = self.noise, np.arange(self.batches + 1) * self.players // self.batches
        for first in range(0, len(posted) - 1, self.batches):
            exact, noisy = np.zeros((2, self.levels, self.cells), dtype=np.int64)
            for batch in range(1, self.batches + 1):
                level = (batch & -batch).bit_length() - 1
                exact[level] = turn(slice(ends[batch - 1], ends[batch]), posted[first + batch - 1]) + exact[:level].sum(
                    0
                )
                noisy[level] = noise.release(exact[level], bits=bits).value
                exact[:level] = noisy[:level] = 0
                posted[first + batch] = posted[first] + noisy.sum(0)
        return posted
