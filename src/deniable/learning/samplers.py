"""Samplers: which rows take part in which step, and the loss of that.

A sampler makes its own loss, so no plan can draw rows in one way and be accounted as if they were drawn in another.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Annotated, ClassVar

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.mechanisms import ClippedSum
from deniable.mechanisms.correlated import Banded, NoiseCorrelation, Uses
from deniable.mechanisms.parts import Part
from deniable.noise import bernoulli, uniform
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Indices
from deniable.numbers.rationals import positive_rational, root_above, shown, whole_number
from deniable.privacy import AddRemove, GaussianDPLoss, PrivacyLoss, Relation, Replace, of_count

_Whole = Annotated[int, partial(whole_number, lower=1, upper=2**31)]


@dataclass(frozen=True, kw_only=True)
class Sampler(Part):
    """Base class of samplers, which choose the rows of each step.

    They are secret, as is their number, which may be 0. Units with several rows count as one.

    A subclass draws them and says what that does to the loss: one cannot change alone.
    """

    keeps: ClassVar[bool] = False  # whether what is allotted depends on what was before

    @property
    def period(self) -> int:
        """Number of steps that are drawn at once."""
        return 1

    @abstractmethod
    def allot(self, rows: int, bits: Bits, before: Indices | None = None) -> Indices:
        """Draw the step in which each row takes part.

        Among the next `period`; below 0 for a row that takes part in none.

        `before` is what was allotted for the last `period` steps.
        """

    def uses(self, steps: int) -> tuple[int, int]:
        """Return the largest number of uses of a row, and their least distance.

        The distance is in steps.
        """
        return -(-steps // self.period), 1

    def correlated_loss(
        self, noise: NoiseCorrelation, multiplier: Fraction, uses: Uses, relation: Relation
    ) -> PrivacyLoss:
        """Return the loss of a run with correlated noise.

        Randomness of samples does not count.
        """
        return noise.privacy_loss(multiplier, uses, relation)

    @abstractmethod
    def share(self) -> Fraction:
        """The expected share of the rows that a step looks at: public."""

    @abstractmethod
    def privacy_loss(self, mechanism: ClippedSum, relation: Relation, steps: int) -> PrivacyLoss:
        """Return the loss of `steps` steps.

        Under `relation`, or under the only one for which it is proved.
        """

    def known_loss(self, mechanism: ClippedSum, relation: Relation, steps: int) -> PrivacyLoss:
        """Return the loss if the samples were public.

        It is at least that of secret samples.
        """
        return _once(mechanism, relation) * self.uses(steps)[0]


@dataclass(frozen=True, kw_only=True)
class Poisson(Sampler):
    """Sample each row independently with probability `rate` in each step.

    A rate of 1 takes all rows.

    Args:
        rate: the sampling probability, in (0, 1].

    Guarantee: the coins are exact, so the step is the Poisson sample that `PrivacyLoss.poisson_sampled` is proved for.

    >>> Poisson(rate="1/50").share()
    0.02
    """

    rate: Annotated[Fraction, positive_rational] = Fraction(1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rate > 1:
            raise InvalidParameterError(f"rate must be in (0, 1], got {shown(self.rate)}")

    def allot(self, rows: int, bits: Bits, before: Indices | None = None) -> Indices:
        return bernoulli.sample(p=self.rate, size=rows, bits=bits).astype(np.int64) - 1

    def share(self) -> Fraction:
        return self.rate

    def privacy_loss(self, mechanism: ClippedSum, relation: Relation, steps: int) -> PrivacyLoss:
        if self.rate == 1:
            return _once(mechanism, relation) * steps
        return _to_sample(mechanism, AddRemove).poisson_sampled(rate=self.rate, relation=relation) * steps


@dataclass(frozen=True, kw_only=True)
class TruncatedPoisson(Poisson):
    """Poisson sample of which at most `cap` rows are kept.

    They are chosen at random where there are more; the rate is below 1.

    Args:
        rate: the sampling probability, in (0, 1).
        cap: the largest number of rows of a step.
        population: a public bound on the number of rows: the guarantee is for tables with no more, and rows beyond are
            never drawn.

    Guarantee: `PrivacyLoss.capped_poisson_sampled`, proved in docs/theory/privacy/sampling.md.

    >>> TruncatedPoisson(rate="1/100", cap=160, population=10_000).share()
    0.01
    """

    cap: _Whole
    population: _Whole

    def allot(self, rows: int, bits: Bits, before: Indices | None = None) -> Indices:
        allotted = np.full(rows, -1)
        chosen = np.flatnonzero(super().allot(min(rows, self.population), bits) == 0)
        allotted[chosen[uniform.permutation(len(chosen), bits=bits)[: self.cap]]] = 0
        return allotted

    def privacy_loss(self, mechanism: ClippedSum, relation: Relation, steps: int) -> PrivacyLoss:
        once = _to_sample(mechanism, AddRemove)
        cap = self.cap
        population = self.population
        return once.capped_poisson_sampled(rate=self.rate, cap=cap, population=population, relation=relation) * steps

    def known_loss(self, mechanism: ClippedSum, relation: Relation, steps: int) -> PrivacyLoss:
        """A row that joins a full sample takes the place of another one: two rows move."""
        moved = of_count(rows=2 if relation is AddRemove else 1, groups=1, cells=1, relation=relation)
        return mechanism.privacy_loss(moved) * steps


@dataclass(frozen=True, kw_only=True)
class FixedSize(Sampler):
    """Sample a uniformly random set of `size` rows in each step, under replace.

    Args:
        size: rows of a step.
        population: the public number of rows.

    Guarantee: `PrivacyLoss.sampled_without_replacement` of a row that is exchanged, which moves a sum by twice the
        norm: not the loss of a Poisson sample, which is far smaller (Lebeda et al. 2024, arXiv:2405.20769).

    >>> FixedSize(size=50, population=1000).share()
    Fraction(1, 20)
    """

    size: _Whole
    population: _Whole

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size > self.population:
            raise InvalidParameterError(f"size must be at most population={self.population}, got {self.size}")

    def allot(self, rows: int, bits: Bits, before: Indices | None = None) -> Indices:
        allotted = np.full(max(rows, self.population), -1)
        allotted[uniform.permutation(self.population, bits=bits)] = np.arange(self.population) // self.size
        return np.where(allotted < self.period, allotted, -1)[:rows]

    def share(self) -> Fraction:
        return Fraction(self.size, self.population)

    def privacy_loss(self, mechanism: ClippedSum, relation: Relation, steps: int) -> PrivacyLoss:
        once = _to_sample(mechanism, Replace)
        return once.sampled_without_replacement(size=self.size, population=self.population) * steps


@dataclass(frozen=True, kw_only=True)
class ShuffledEpochs(FixedSize):
    """Cut the rows, in random order, into batches in every epoch.

    There are batches of `size` and a rest, as of a shuffled loader.

    Args:
        size: rows of a batch.
        population: the public number of rows.

    Guarantee: under replace an exchanged row takes part in one step of each epoch, so an epoch costs what one step on
        all rows does; for any order, hence for a random one, because delta is jointly convex.

    >>> ShuffledEpochs(size=300, population=1000).period
    4
    """

    @property
    def period(self) -> int:
        return -(-self.population // self.size)

    def privacy_loss(self, mechanism: ClippedSum, relation: Relation, steps: int) -> PrivacyLoss:
        return _once(mechanism, Replace) * -(-steps // self.period)


@dataclass(frozen=True, kw_only=True)
class BallsInBins(Sampler):
    """Assign each row to one of every `bins` steps, uniformly.

    Independently of all others.

    An epoch has `bins` steps; one that is cut short costs a whole one.

    Args:
        bins: steps of an epoch.

    Guarantee: `PrivacyLoss.randomly_allocated`, once an epoch.
    Source: Chua et al. (2024), arXiv:2412.16802; Feldman, Shenfeld (2025), arXiv:2502.08202.

    >>> BallsInBins(bins=100).share()
    Fraction(1, 100)
    """

    bins: Annotated[int, partial(whole_number, lower=1, upper=10**6)]

    @property
    def period(self) -> int:
        return self.bins

    def allot(self, rows: int, bits: Bits, before: Indices | None = None) -> Indices:
        return uniform.below(self.bins, size=rows, bits=bits)

    def share(self) -> Fraction:
        return Fraction(1, self.bins)

    def privacy_loss(self, mechanism: ClippedSum, relation: Relation, steps: int) -> PrivacyLoss:
        epochs = -(-steps // self.bins)
        once = _to_sample(mechanism, AddRemove)
        return once.randomly_allocated(of=epochs * self.bins, uses=epochs, relation=relation)


@dataclass(frozen=True, kw_only=True)
class CyclicPoisson(Poisson):
    """Assign each row to one of `classes`, and sample classes in turn.

    Once; step t takes each row of class t mod `classes` with probability `rate`.

    So uses of a row are at least `classes` steps apart, which correlated noise rewards. A rate of 1 is the default.

    Args:
        classes: the number of classes.
        rate: the sampling probability within a class, in (0, 1].

    Guarantee: with banded noise of at most `classes` bands and a rate below 1, a Poisson sample of a column of C every
        `classes` steps; else as if everybody's class were known.
    Source: Choquette-Choo et al. (2023), arXiv:2306.08153.

    >>> CyclicPoisson(classes=50).uses(200)
    (4, 50)
    """

    classes: Annotated[int, partial(whole_number, lower=1, upper=10**6)]
    keeps: ClassVar[bool] = True

    @property
    def period(self) -> int:
        return self.classes

    def allot(self, rows: int, bits: Bits, before: Indices | None = None) -> Indices:
        known = uniform.below(self.classes, size=rows, bits=bits) if before is None else np.maximum(before, -1 - before)
        return np.where(super().allot(rows, bits) == 0, known, -1 - known)

    def share(self) -> Fraction:
        return self.rate / self.classes

    def uses(self, steps: int) -> tuple[int, int]:
        return -(-steps // self.classes), self.classes

    def privacy_loss(self, mechanism: ClippedSum, relation: Relation, steps: int) -> PrivacyLoss:
        return super().privacy_loss(mechanism, relation, -(-steps // self.classes))

    def correlated_loss(
        self, noise: NoiseCorrelation, multiplier: Fraction, uses: Uses, relation: Relation
    ) -> PrivacyLoss:
        if self.rate == 1 or not isinstance(noise, Banded) or len(noise.coefficients) > self.classes:
            return super().correlated_loss(noise, multiplier, uses, relation)
        column = noise.privacy_loss(multiplier, replace(uses, times=1), AddRemove)
        return column.poisson_sampled(rate=self.rate, relation=relation) * uses.times


_ALL: tuple[type[Sampler], ...] = (Poisson, TruncatedPoisson, FixedSize, ShuffledEpochs, BallsInBins, CyclicPoisson)
SAMPLERS = {each.__name__: each for each in _ALL}


def _once(mechanism: ClippedSum, relation: Relation) -> PrivacyLoss:
    return mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=relation))


def _to_sample(mechanism: ClippedSum, relation: Relation) -> PrivacyLoss:
    """Return the loss of a step on all rows, ready to be sampled.

    By its mu where the lattice is too fine for a table of its law.
    """
    loss = _once(mechanism, relation)
    square = loss.mu_squared
    if square is None or loss.statement.laws() is not None:
        return loss
    return GaussianDPLoss(root_above(square, 15))
