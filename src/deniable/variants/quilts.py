"""Markov quilts: noise for counts of a time series whose states are correlated."""

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

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.ledger import Ledger
from deniable.ledger.payment import Payment
from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.base import Released
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import ExactIntegers, Floats
from deniable.numbers.rationals import Real, exact_rational, positive_integer, positive_rational, shown
from deniable.privacy import PrivacyUnit, PureLoss, Replace, of_count
from deniable.rows import Container, floats, without_rows
from deniable.variants.pufferfish import Data

_NOT_MIXING = "this chain does not mix: it {}. Pass the chain itself, MarkovQuilt(chains=[...]), which needs no mixing."
_TINY = 1e-280  # floats below it are only known to be between 0 and it


@dataclass(frozen=True, kw_only=True)
class MarkovChain:
    """Markov chain on the states 0, 1, ..., with exact probabilities.

    Args:
        initial: probability of each state at the first time.
        transition: one row for each state: probabilities of the next state.

    >>> from deniable.variants import MarkovChain
    >>> chain = MarkovChain(initial=["1/2", "1/2"], transition=[["0.9", "0.1"], ["0.3", "0.7"]])
    >>> [float(p) for p in chain.stationary]
    [0.75, 0.25]
    """

    initial: Sequence[Real]
    transition: Sequence[Sequence[Real]]

    def __post_init__(self) -> None:
        rows = [self.exact[0], *self.exact[1]]
        if any(sum(row) != 1 or min(row) < 0 or len(row) != len(rows) - 1 for row in rows):
            raise InvalidParameterError(
                "initial and each row of transition must hold one probability for each state, with the sum 1 exactly. "
                "Write fractions or decimals in quotes, such as '1/3'."
            )

    @property
    def exact(self) -> tuple[list[Fraction], list[list[Fraction]]]:
        """Initial and transition probabilities as rationals."""
        rows = [[exact_rational("probability", p) for p in row] for row in (self.initial, *self.transition)]
        return rows[0], rows[1:]

    @property
    def stationary(self) -> list[Fraction]:
        """Stationary distribution, exact: a step does not change it.

        Raises: InvalidParameterError if there are several, or a state has probability 0 in it.
        """
        from flint import fmpq, fmpq_mat

        transition = self.exact[1]
        size = len(transition)
        law = [Fraction(0)]
        rows = [[transition[x][y] - (x == y) for x in range(size)] for y in range(size - 1)] + [[Fraction(1)] * size]
        system = fmpq_mat(size, size, [fmpq(p.numerator, p.denominator) for row in rows for p in row])
        with suppress(ZeroDivisionError):  # several sets of states that are never left
            solution = system.solve(fmpq_mat(size, 1, [0] * (size - 1) + [1]))
            law = [Fraction(int(p.numerator), int(p.denominator)) for p in solution.entries()]
        if min(law) <= 0:
            raise InvalidParameterError(_NOT_MIXING.format("cannot reach every state from every other"))
        return law

    @property
    def mixing(self) -> tuple[Fraction, Fraction]:
        """`min_probability` and `gap` of this chain, for `MarkovQuilt`.

        The gap is rounded down.

        Raises: InvalidParameterError if the chain does not forget its first state, or the gap is 0.
        """
        law = self.stationary
        transition = self.exact[1]
        rows = zip(law, transition, strict=True)
        squares = [[float(p * t * t / q) for q, t in zip(law, row, strict=True)] for p, row in rows]
        balanced = np.sqrt(squares)  # its singular values: roots of P P*
        second = [0.0, *np.linalg.eigvalsh(balanced @ balanced.T)][-2]  # they ascend to 1
        gap = Fraction(math.floor((1 - max(second, 0.0) - (len(law) + 4) ** 2 * 2.0**-48) * 2**32), 2**32)
        if gap <= 0:
            raise InvalidParameterError(_NOT_MIXING.format("can have its steps traced back"))
        return min(law), gap

    def model(self, length: int) -> dict[Data, Fraction]:
        """Return every series of a length with its probability, for `Pufferfish`.

        Args:
            length: of the series.
        """
        initial, transition = self.exact
        return {
            series: math.prod((transition[a][b] for a, b in pairwise(series)), start=initial[series[0]])
            for series in product(range(len(initial)), repeat=length)
        }


@dataclass(frozen=True, kw_only=True)
class MarkovQuilt:
    """Count the states of a time series privately, under a class of Markov chains.

    Noise hides the state at any one time.

    Args:
        length: of the series, public.
        epsilon: of the counts, > 0.
        chains: the class of chains (MQMExact). Leave it out to bound all chains of the class (MQMApprox).
        states: number of states of these chains.
        min_probability: lower bound on the probability of a state in the stationary distribution.
        gap: lower bound on 1 minus the second eigenvalue of P P*. `MarkovChain.mixing` gives both for a chain.
        window: number of times that quilts may span to either side; a wider one can only reduce the noise.

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
    min_probability: Real | None = None
    gap: Real | None = None
    window: int = 64

    def __post_init__(self) -> None:
        positive_integer("length", self.length)
        positive_integer("window", self.window)
        read_fields(self, epsilon=positive_rational("epsilon", self.epsilon))
        given = (self.min_probability, self.gap)
        facts = [positive_rational("min_probability and gap", p) for p in given if p is not None]
        if bool(self.chains) == (len(facts) == 2) or len(facts) == 1 or max(facts, default=0) > 1:
            raise InvalidParameterError("give chains, or states with min_probability and gap, which must be in (0, 1]")
        if not isinstance(self.chains, list | tuple) or not all(isinstance(one, MarkovChain) for one in self.chains):
            raise InvalidParameterError(f"chains must be a list of MarkovChain, got {shown(self.chains)}")
        sizes = {len(chain.initial) for chain in self.chains} or {positive_integer("states", self.states)}
        if len(sizes) != 1 or (facts and max(sizes) * facts[0] > 1):
            raise InvalidParameterError(
                "all chains must have the same states, and states times min_probability must be at most 1"
            )
        read_fields(self, states=sizes.pop())

    @cached_property
    def scale(self) -> Fraction:
        """Scale of Laplace noise for a query that one time moves by 1, rounded up."""
        span = min(self.window, self.length)
        powers = [_powers(chain, span) for chain in self.chains]
        laws = [_laws(chain, self.length) for chain in self.chains]
        slack = (self.length + span) * (self.states + 2) * 2.0**-48  # above the rounding of what is multiplied
        worst = 0.0
        for times in self._times_with_one_past(laws, span):
            past = np.maximum(times[-1] - 1 - np.arange(span + 1), 0)
            tables = [_influences(*p, law[past % len(law)]) for p, law in zip(powers, laws, strict=True)]
            worst = max(worst, self._worst(np.max(tables or [self._mixed(span)], axis=0) + slack, times))
        return Fraction(math.ceil(worst * (1 + 2.0**-40) * 2**32), 2**32)

    def _times_with_one_past(self, laws: list[Floats], span: int) -> list[NDArray[np.int64]]:
        """Return groups of times with the same past.

        Nearly all times are in one group, once the chain is stationary.
        """
        times = np.arange(1, self.length + 1)
        if all(len(law) == 1 for law in laws):
            return [times]
        groups: dict[bytes, list[int]] = {}
        for time in times.tolist():
            past = np.maximum(time - 1 - np.arange(span + 1), 0)
            groups.setdefault(b"".join(law[past % len(law)].tobytes() for law in laws), []).append(time)
        return list(map(np.array, groups.values()))

    @property
    def noise(self) -> Laplace:
        """Noise of every count of `release`: one time moves two counts by 1."""
        return Laplace.calibrated(of_count(rows=1, groups=1, relation=Replace), epsilon=1 / self.scale)

    @property
    def privacy_unit(self) -> PrivacyUnit:
        """Unit of a ledger of releases: the state at one time, under the class of chains.

        The losses of several releases of one mechanism add up. Nothing is proved about those of different mechanisms.
        """
        mechanism = hashlib.sha256(self._name_in_ledgers.encode()).hexdigest()[:16]
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
        payment = Payment(ledger, text=text, name=self._name_in_ledgers, bits=bits, protects=self.privacy_unit)
        if ledger is not None:
            self._check_length(len(series))  # type: ignore[arg-type]
            floats.numbers(without_rows(series), "series")
        payment.charge(PureLoss(self.epsilon))
        seen = floats.numbers(series, "series")
        self._check_length(len(seen))
        states = np.where((seen >= 0) & (seen < self.states), seen, 0).astype(np.int64)
        return self.noise.release(np.bincount(states, minlength=self.states), bits=bits)

    @property
    def _name_in_ledgers(self) -> str:
        """Name of this mechanism in ledgers, which must not change."""
        epsilon = Fraction(exact_rational("epsilon", self.epsilon))
        return (
            f"MarkovQuilt(length={self.length!r}, epsilon={epsilon!r}, chains={self.chains!r}, states={self.states!r}, "
            f"smallest={self.min_probability!r}, gap={self.gap!r}, window={self.window!r})"
        )

    def _check_length(self, length: int) -> None:
        """Refuse a series of another length than the declared one."""
        if length != self.length:
            raise InvalidParameterError(f"the series must have the declared length, {self.length}, got {length}")

    def _worst(self, influence: Floats, times: NDArray[np.int64]) -> float:
        """Return the largest scale of these times.

        The scale of a time is the least card / (epsilon - influence) of its quilts.
        """
        span = len(influence) - 1
        epsilon = float(exact_rational("epsilon", self.epsilon)) * (1 - 2.0**-50)
        cost = 1 / np.maximum(epsilon - influence, 1e-300)
        before = np.minimum(times - 1, span)
        after = np.minimum(self.length - times, span)
        away = np.arange(1, span + 1)
        both = np.full(influence.shape, np.inf)
        both[1:, 1:] = (away[:, None] + away - 1) * cost[1:, 1:]
        scales = np.minimum.accumulate(np.minimum.accumulate(both, axis=0), axis=1)[before, after]
        for row, room, card in ((cost[0], after, times - 1), (cost[:, 0], before, self.length - times)):
            one_sided = np.where(away <= room[:, None], (card[:, None] + away) * row[1:], np.inf)
            scales = np.minimum(scales, one_sided.min(axis=1))
        return float(np.minimum(scales, self.length / epsilon).max())

    def _mixed(self, span: int) -> Floats:
        """Return influences by the rate of mixing alone.

        Shape (span + 1, span + 1), by times before and after.
        """
        floor, gap = (float(exact_rational("fact", fact)) for fact in (self.min_probability, self.gap))
        far = np.exp(-gap / 2 * np.arange(1, span + 1)) / floor * (1 + 2.0**-40)
        with np.errstate(divide="ignore"):
            part = np.array([0.0, *(2 * np.arctanh(np.minimum(far, 1.0)))])  # ln((1 + far) / (1 - far))
        return np.asarray(2 * part[:, None] + part)


def _powers(chain: MarkovChain, span: int) -> tuple[Floats, Floats]:
    """Return upper and lower bounds on logarithms of powers of the transition matrix.

    Powers are 1 ... span; shape (span, from, to).
    """
    first = np.array(chain.exact[1], dtype=np.float64)
    can = np.array(chain.exact[1]) > 0
    powers = [first]
    possible = [can]
    for _ in range(span - 1):
        powers.append(powers[-1] @ first)
        possible.append(possible[-1] @ can)
    values = np.array(powers)
    mask = np.array(possible, dtype=bool)
    logarithms = np.log(np.maximum(values, _TINY))
    return np.where(mask, logarithms, -np.inf), np.where(mask & (values > _TINY), logarithms, -np.inf)


def _laws(chain: MarkovChain, length: int) -> Floats:
    """Return the distribution of the state at each time, shape (length, states).

    Shape (1, states) if it never changes.
    """
    initial, transition = chain.exact
    still = [sum(p * q for p, q in zip(initial, row, strict=True)) for row in zip(*transition, strict=True)] == initial
    laws = [np.array(initial, dtype=np.float64)]
    matrix = np.array(transition, dtype=np.float64)
    can = [np.array(initial) > 0]
    steps = np.array(transition) > 0
    for _ in range(0 if still else length - 1):
        laws.append(laws[-1] @ matrix)
        can.append(can[-1] @ steps)
    return np.where(np.array(can, dtype=bool), np.maximum(laws, _TINY / 2), 0.0)


def _influences(above: Floats, below: Floats, past: Floats) -> Floats:
    """Return the influence of a time on its quilts, by times before and after.

    For the quilt of a times before and b times after it is max ln P(quilt | x) / P(quilt | x'); 0 stands for no such
    side.
    """
    here = past[0] > 0
    span = len(above)
    with np.errstate(invalid="ignore", divide="ignore"):
        high = above[:, here, None, :]  # (b, x, 1, y)
        later = np.where(high == -np.inf, -np.inf, high - below[:, None, here, :]).max(axis=3)
        seen = np.where(past[1:, :, None] > 0, above, -np.inf)[:, :, here, None]  # (a, y, x, 1)
        earlier = np.where(seen == -np.inf, -np.inf, seen - below[:, :, None, here]).max(axis=1)
        now = np.log(np.maximum(past[0][here], _TINY))
        earlier += now - np.where(past[0][here] > _TINY, now, -np.inf)[:, None]
    table = np.zeros((span + 1, span + 1))
    table[0, 1:] = later.max(axis=(1, 2))
    for a in range(span):
        table[a + 1] = [earlier[a].max(), *(earlier[a] + later).max(axis=(1, 2))]
    return np.maximum(np.nan_to_num(table, nan=np.inf, posinf=np.inf), 0.0)
