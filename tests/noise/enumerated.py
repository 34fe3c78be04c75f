"""The exact law of a program that draws coins and small uniform numbers: every way through it is taken once.

Laws that tests write down from a docstring show what should be drawn. This one is what the program draws, in rationals,
whatever it makes of its draws: `bernoulli` and `uniform` are swapped for choices, each of which is made in every way.
Words that are drawn directly, such as public hash functions, are the same on all ways.
"""

import math
from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import permutations
from typing import Any, TypeVar

import numpy as np
import pytest

from deniable.noise import bernoulli, uniform
from deniable.noise.bits import Bits, DeterministicBits, shape_of

MOST_WAYS = 100_000
MOST_OPTIONS = 1_000  # of one choice
Outcome = TypeVar("Outcome", bound=Hashable)
Law = dict[Outcome, Fraction]


class Ways:
    """The choices of one way through a program: those of a script, then the first option of each."""

    def __init__(self, coins: int) -> None:
        self.coins, self.script = coins, list[int]()
        self.begin()

    def begin(self) -> None:
        self.mass, self.at, self.options = Fraction(1), 0, list[int]()

    def choose(self, chances: list[Fraction]) -> int:
        if len(chances) > MOST_OPTIONS:
            raise ValueError(f"{len(chances)} options are too many to try")
        if self.at == len(self.script):
            self.script.append(0)
        possible = [place for place, chance in enumerate(chances) if chance]
        place = possible[self.script[self.at]]
        self.options.append(len(possible))
        self.mass, self.at = self.mass * chances[place], self.at + 1
        return place

    def end(self) -> bool:
        """Go to the next way; whether there is one."""
        while self.script and self.script[-1] == self.options[len(self.script) - 1] - 1:
            self.script.pop()
        if self.script:
            self.script[-1] += 1
        return bool(self.script)

    # --- what is swapped -----------------------------------------------------------------------------------------

    def sample(self, *, p: Fraction | int, size: Any = None, bits: Bits) -> Any:
        chance, shape = Fraction(p), shape_of(size)
        return np.array([self.choose([1 - chance, chance]) for _ in range(math.prod(shape))], dtype=bool).reshape(shape)

    def packed(self, *, p: Fraction, words: int, bits: Bits) -> Any:
        """Words of which `coins` coins are looked at; all others are 1, which would be seen."""
        rest = 2**64 - 2**self.coins
        drawn = [[self.choose([1 - p, p]) << place for place in range(self.coins)] for _ in range(words)]
        return np.array([rest + sum(coins) for coins in drawn], dtype=np.uint64)

    def below(self, limit: int, *, size: Any = None, bits: Bits) -> Any:
        shape = shape_of(size)
        drawn = [self.choose([Fraction(1, limit)] * limit) for _ in range(math.prod(shape))]
        return np.array(drawn, dtype=np.int64).reshape(shape)

    def each_below(self, limits: Any, *, bits: Bits) -> Any:
        drawn = [self.choose([Fraction(1, limit)] * limit) for limit in limits.ravel().tolist()]
        return np.array(drawn, dtype=np.int64).reshape(limits.shape)

    def permutation(self, count: int, *, bits: Bits) -> Any:
        orders = list(permutations(range(count)))
        return np.array(orders[self.choose([Fraction(1, len(orders))] * len(orders))], dtype=np.int64)


def law(run: Callable[[Bits], Outcome], *, coins: int = 8) -> Law[Outcome]:
    """The probability of every outcome of a run.

    Args:
        run: draws by `bernoulli.sample`, `bernoulli.packed` and `uniform` alone, and makes few choices.
        coins: how many of the coins of each packed word it looks at.
    """
    ways, found, count = Ways(coins), dict[Outcome, Fraction](), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bernoulli, "sample", ways.sample)
        patch.setattr(bernoulli, "packed", ways.packed)
        patch.setattr(uniform, "below", ways.below)
        patch.setattr(uniform, "sample", ways.each_below)
        patch.setattr(uniform, "permutation", ways.permutation)
        while True:
            ways.begin()
            outcome = run(DeterministicBits(1))
            found[outcome] = found.get(outcome, Fraction(0)) + ways.mass
            count += 1
            if not ways.end():
                break
            if count == MOST_WAYS:
                raise ValueError(f"more than {MOST_WAYS} ways through a program")
    assert sum(found.values()) == 1
    return found


def loss(one: Law[Outcome], other: Law[Outcome]) -> float:
    """The least epsilon of two laws: infinite where an outcome occurs under one of them alone."""
    if one.keys() != other.keys():
        return math.inf
    return max(abs(math.log(one[outcome] / other[outcome])) for outcome in one)


def delta(one: Law[Outcome], other: Law[Outcome], odds: Fraction) -> Fraction:
    """The least delta of two laws at e^epsilon = odds."""
    return sum((max(Fraction(0), mass - odds * other.get(outcome, 0)) for outcome, mass in one.items()), Fraction(0))
