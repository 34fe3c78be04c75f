"""Markov quilts: noise for counts of a time series whose neighbours in time depend on each other."""

import hashlib
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.ledger import Ledger
from deniable.ledger.payment import Payment
from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.base import Released
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import ExactIntegers, Floats
from deniable.numbers.rationals import Real, exact_rational, positive_integer, positive_rational
from deniable.privacy import PrivacyUnit, PureLoss, Replace, of_count
from deniable.rows import Container, floats, without_rows
from deniable.variants.pufferfish import Data

_NOT_MIXING = "this chain does not mix: it {}. Give MarkovQuilt the chain itself, in chains=, which needs no mixing."
_TINY = 1e-280  # floats below it are only known to be between 0 and it


@dataclass(frozen=True, kw_only=True)
class MarkovChain:
    """A chain on the states 0, 1, ...: the law of the first, and for each state the law of the next; exact."""

    initial: Sequence[Real]
    transition: Sequence[Sequence[Real]]

    def __post_init__(self) -> None:
        rows = [self.exact[0], *self.exact[1]]
        if any(sum(row) != 1 or min(row) < 0 or len(row) != len(rows) - 1 for row in rows):
            raise InvalidParameterError(
                "initial and each row of transition need one probability a state, and must sum to 1 exactly. Write "
                "fractions or decimals in quotes, such as '1/3'."
            )

    @property
    def exact(self) -> tuple[list[Fraction], list[list[Fraction]]]:
        """The two laws as rationals."""
        rows = [[exact_rational("probability", p) for p in row] for row in (self.initial, *self.transition)]
        return rows[0], rows[1:]

    @property
    def stationary(self) -> list[Fraction]:
        """The law that a step does not change; exact.

        Raises: InvalidParameterError if there are several, or a state has probability 0 in it.
        """
        from flint import fmpq, fmpq_mat

        transition, law, size = self.exact[1], [Fraction(0)], len(self.exact[1])
        rows = [[transition[x][y] - (x == y) for x in range(size)] for y in range(size - 1)] + [[Fraction(1)] * size]
        system = fmpq_mat(size, size, [fmpq(p.numerator, p.denominator) for row in rows for p in row])
        with suppress(ZeroDivisionError):  # several sets of states that are never left
            found = system.solve(fmpq_mat(size, 1, [0] * (size - 1) + [1]))
            law = [Fraction(int(p.numerator), int(p.denominator)) for p in found.entries()]
        if min(law) <= 0:
            raise InvalidParameterError(_NOT_MIXING.format("cannot reach every state from every other"))
        return law

    @property
    def mixing(self) -> tuple[Fraction, Fraction]:
        """`smallest` and `gap` of this chain, for `MarkovQuilt`; the gap is rounded down.

        Raises: InvalidParameterError if the chain does not forget its first state, or the gap is 0.
        """
        law, transition = self.stationary, self.exact[1]
        rows = zip(law, transition, strict=True)
        squares = [[float(p * t * t / q) for q, t in zip(law, row, strict=True)] for p, row in rows]
        balanced = np.sqrt(squares)  # its singular values: roots of P P*
        second = [0.0, *np.linalg.eigvalsh(balanced @ balanced.T)][-2]  # they ascend to 1
        gap = Fraction(math.floor((1 - max(second, 0.0) - (len(law) + 4) ** 2 * 2.0**-48) * 2**32), 2**32)
        if gap <= 0:
            raise InvalidParameterError(_NOT_MIXING.format("can have its steps traced back"))
        return min(law), gap

    def model(self, length: int) -> dict[Data, Fraction]:
        """Every series of this length with its probability, for `Pufferfish`."""
        initial, transition = self.exact
        return {
            series: math.prod((transition[a][b] for a, b in pairwise(series)), start=initial[series[0]])
            for series in product(range(len(initial)), repeat=length)
        }


@dataclass(frozen=True, kw_only=True)
class MarkovQuilt:
    """Count the states of a time series with noise that hides the state at any one time, under a class of chains.

    Args:
        length: of the series, public; epsilon > 0.
        chains: the class of models (MQMExact). Or leave it out and say of every chain of the class (MQMApprox):
        states: how many there are; smallest: probability of a state in the stationary law, at least.
        gap: 1 minus the second eigenvalue of P P*, at least. `MarkovChain.mixing` gives both of a chain.
        window: how far quilts may reach; a wider one can only reduce the noise.

    Guarantee: epsilon-Pufferfish privacy for any two states at one time. Proof: docs/theory/variants/quilts.md.
    Source: Song, Wang, Chaudhuri (2017), arXiv:1603.03977.

    >>> from deniable.variants import MarkovChain, MarkovQuilt
    >>> chain = MarkovChain(initial=["1/2", "1/2"], transition=[["0.9", "0.1"], ["0.1", "0.9"]])
    >>> round(float(MarkovQuilt(length=1000, epsilon=1, chains=[chain]).scale), 2)  # 1000 for any dependence
    31.74
    """

    length: int
    epsilon: Real
    chains: Sequence[MarkovChain] = ()
    states: int = 0
    smallest: Real | None = None
    gap: Real | None = None
    window: int = 64

    def __post_init__(self) -> None:
        positive_integer("length", self.length)
        positive_integer("window", self.window)
        object.__setattr__(self, "epsilon", positive_rational("epsilon", self.epsilon))
        facts = [positive_rational("smallest and gap", p) for p in (self.smallest, self.gap) if p is not None]
        if bool(self.chains) == (len(facts) == 2) or len(facts) == 1 or max(facts, default=0) > 1:
            raise InvalidParameterError("give chains, or states with smallest and gap, which must be in (0, 1]")
        if not isinstance(self.chains, list | tuple) or not all(isinstance(one, MarkovChain) for one in self.chains):
            raise InvalidParameterError("chains must be a list of MarkovChain")
        sizes = {len(chain.initial) for chain in self.chains} or {positive_integer("states", self.states)}
        if len(sizes) != 1 or (facts and max(sizes) * facts[0] > 1):
            raise InvalidParameterError("all chains must have the same states, and states times smallest be 1 at most")
        object.__setattr__(self, "states", sizes.pop())

    @cached_property
    def scale(self) -> Fraction:
        """The scale of Laplace noise for a query that one time moves by 1, rounded up."""
        reach, times = min(self.window, self.length), np.arange(1, self.length + 1)
        powers = [_powers(chain, reach) for chain in self.chains]
        laws = [_laws(chain, self.length) for chain in self.chains]
        slack = (self.length + reach) * (self.states + 2) * 2.0**-48  # above the rounding of what is multiplied
        alike: dict[bytes, list[int]] = {}  # times with the same past: nearly all, once the chain is stationary
        is_stationary = all(len(law) == 1 for law in laws)
        if is_stationary:
            alike[b""] = times.tolist()
        for time in () if is_stationary else times.tolist():
            past = np.maximum(time - 1 - np.arange(reach + 1), 0)
            alike.setdefault(b"".join(law[past % len(law)].tobytes() for law in laws), []).append(time)
        worst = 0.0
        for some in map(np.array, alike.values()):
            past = np.maximum(some[-1] - 1 - np.arange(reach + 1), 0)
            tables = [_influences(*p, law[past % len(law)]) for p, law in zip(powers, laws, strict=True)]
            worst = max(worst, self._worst(np.max(tables or [self._mixed(reach)], axis=0) + slack, some))
        return Fraction(math.ceil(worst * (1 + 2.0**-40) * 2**32), 2**32)

    @property
    def noise(self) -> Laplace:
        """The noise of every count of `release`: `scale` for a query that one time moves by 1, and one moves two."""
        return Laplace.calibrated(of_count(rows=1, groups=1, relation=Replace), epsilon=1 / self.scale)

    @property
    def privacy_unit(self) -> PrivacyUnit:
        """The unit of a ledger of releases: the state at one time, for this mechanism with its class of chains.

        The losses of several releases of one mechanism add up. Nothing is proved about those of different mechanisms.
        """
        mechanism = hashlib.sha256(repr(self).encode()).hexdigest()[:16]
        return PrivacyUnit(noun=f"state at one time of a series of {self.length}, under MarkovQuilt {mechanism}")

    def release(
        self, series: Container, *, ledger: Ledger | None = None, bits: Bits = SECURE
    ) -> Released[ExactIntegers]:
        """Count how often each state occurs, with `noise`.

        Args:
            series: secret; states 0, 1, ... in any container. Anything else counts as 0.
            ledger: for `privacy_unit`, charged before a state is read; None charges nothing.
            bits: leave it out, except in tests.
        """
        text = f"counts of {self.states} states in a series of {self.length}"
        payment = Payment(ledger, text=text, name=repr(self), bits=bits, protects=self.privacy_unit)
        if ledger is not None:
            self._check_length(len(series))  # type: ignore[arg-type]
            floats.numbers(without_rows(series), "series")
        payment.charge(PureLoss(self.epsilon))
        seen = floats.numbers(series, "series")
        self._check_length(len(seen))
        places = np.where((seen >= 0) & (seen < self.states), seen, 0).astype(np.int64)
        return self.noise.release(np.bincount(places, minlength=self.states), bits=bits)

    def _check_length(self, length: int) -> None:
        if length != self.length:
            raise InvalidParameterError(f"the series must have the declared length, {self.length}, got {length}")

    def _worst(self, influence: Floats, times: NDArray[np.int64]) -> float:
        """The largest sigma of these times: for each the least card / (epsilon - influence) of its quilts."""
        reach, epsilon = len(influence) - 1, float(exact_rational("epsilon", self.epsilon)) * (1 - 2.0**-50)
        cost = 1 / np.maximum(epsilon - influence, 1e-300)
        before, after = np.minimum(times - 1, reach), np.minimum(self.length - times, reach)
        away, both = np.arange(1, reach + 1), np.full(influence.shape, np.inf)
        both[1:, 1:] = (away[:, None] + away - 1) * cost[1:, 1:]
        found = np.minimum.accumulate(np.minimum.accumulate(both, axis=0), axis=1)[before, after]
        for row, room, card in ((cost[0], after, times - 1), (cost[:, 0], before, self.length - times)):
            one_sided = np.where(away <= room[:, None], (card[:, None] + away) * row[1:], np.inf)
            found = np.minimum(found, one_sided.min(axis=1))
        return float(np.minimum(found, self.length / epsilon).max())

    def _mixed(self, reach: int) -> Floats:
        """Influences from the speed of mixing alone; shape (reach + 1, reach + 1) by times before and after."""
        least, gap = (float(exact_rational("fact", fact)) for fact in (self.smallest, self.gap))
        far = np.exp(-gap / 2 * np.arange(1, reach + 1)) / least * (1 + 2.0**-40)
        with np.errstate(divide="ignore"):
            part = np.array([0.0, *(2 * np.arctanh(np.minimum(far, 1.0)))])  # ln((1 + far) / (1 - far))
        return np.asarray(2 * part[:, None] + part)


def _powers(chain: MarkovChain, reach: int) -> tuple[Floats, Floats]:
    """Logarithms of the powers 1 ... reach of the transition matrix, from above and below; (reach, from, to)."""
    first, can = np.array(chain.exact[1], dtype=np.float64), np.array(chain.exact[1]) > 0
    powers, possible = [first], [can]
    for _ in range(reach - 1):
        powers.append(powers[-1] @ first)
        possible.append(possible[-1] @ can)
    found, mask = np.array(powers), np.array(possible, dtype=bool)
    logarithms = np.log(np.maximum(found, _TINY))
    return np.where(mask, logarithms, -np.inf), np.where(mask & (found > _TINY), logarithms, -np.inf)


def _laws(chain: MarkovChain, length: int) -> Floats:
    """The law of the state at each time; shape (length, states), or (1, states) if it never changes."""
    initial, transition = chain.exact
    still = [sum(p * q for p, q in zip(initial, row, strict=True)) for row in zip(*transition, strict=True)] == initial
    laws, matrix = [np.array(initial, dtype=np.float64)], np.array(transition, dtype=np.float64)
    can, steps = [np.array(initial) > 0], np.array(transition) > 0
    for _ in range(0 if still else length - 1):
        laws.append(laws[-1] @ matrix)
        can.append(can[-1] @ steps)
    return np.where(np.array(can, dtype=bool), np.maximum(laws, _TINY / 2), 0.0)


def _influences(above: Floats, below: Floats, past: Floats) -> Floats:
    """max ln P(quilt | x) / P(quilt | x') for the quilt a times before and b times after; 0 stands for no such side."""
    here, reach = past[0] > 0, len(above)
    with np.errstate(invalid="ignore", divide="ignore"):
        high = above[:, here, None, :]  # (b, x, 1, y)
        later = np.where(high == -np.inf, -np.inf, high - below[:, None, here, :]).max(axis=3)
        seen = np.where(past[1:, :, None] > 0, above, -np.inf)[:, :, here, None]  # (a, y, x, 1)
        earlier = np.where(seen == -np.inf, -np.inf, seen - below[:, :, None, here]).max(axis=1)
        now = np.log(np.maximum(past[0][here], _TINY))
        earlier += now - np.where(past[0][here] > _TINY, now, -np.inf)[:, None]
    table = np.zeros((reach + 1, reach + 1))
    table[0, 1:] = later.max(axis=(1, 2))
    for a in range(reach):
        table[a + 1] = [earlier[a].max(), *(earlier[a] + later).max(axis=(1, 2))]
    return np.maximum(np.nan_to_num(table, nan=np.inf, posinf=np.inf), 0.0)
