"""The plan of a training run: who is sampled, how gradients are clipped, the noise, and what all of it reveals.

Today's libraries lose privacy where sampler, clip, noise and accountant each keep their own copy of one fact. Here they
are one immutable value, and its loss is read from the mechanism that adds the noise.
"""

import json
import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms import ClippedSum, Gaussian
from deniable.mechanisms.integers import Integers
from deniable.noise import bernoulli
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real, positive_rational, read_json, shown, whole_number
from deniable.privacy import AddRemove, PrivacyLoss, PrivacyUnit, Relation, calibrate, of_count
from deniable.privacy.call import InWords, read_fields
from deniable.privacy.currencies.gaussian_dp import largest_mu_squared
from deniable.rows import Floats, silence

_FINEST = 2**30  # lattice steps to the clipping norm
_LARGEST = 2**27  # numbers in a gradient


@dataclass(frozen=True, kw_only=True)
class Sampler(metaclass=InWords):
    """Which rows a step looks at. A subclass draws them and says what that does to the loss: one cannot change alone.

    The rows of a step are secret, and so is their number, which may be 0.
    """

    kind: ClassVar[str]

    @abstractmethod
    def draw(self, rows: int, bits: Bits) -> NDArray[np.int64]:
        """Places of the rows of one step, in order."""

    @abstractmethod
    def share(self) -> Fraction:
        """The expected share of the rows that a step looks at: public."""

    @abstractmethod
    def privacy_loss(self, mechanism: ClippedSum, relation: Relation) -> PrivacyLoss:
        """The loss of one step, whose mechanism sees the sample of units with one row each."""

    @abstractmethod
    def to_data(self) -> dict[str, object]:
        """Plain data for JSON."""


@dataclass(frozen=True, kw_only=True)
class Poisson(Sampler):
    """Each row joins each step with probability `rate`, independently of all others; a rate of 1 takes all rows.

    Guarantee: the coins are exact, so the step is the Poisson sample that `PrivacyLoss.poisson_sampled` is proved for.
    """

    kind: ClassVar[str] = "poisson"

    rate: Annotated[Fraction, positive_rational] = Fraction(1)

    def __post_init__(self) -> None:
        read_fields(self)
        if self.rate > 1:
            raise InvalidParameterError(f"rate must be in (0, 1], got {shown(self.rate)}")

    def draw(self, rows: int, bits: Bits) -> NDArray[np.int64]:
        return np.flatnonzero(bernoulli.sample(p=self.rate, size=rows, bits=bits))

    def share(self) -> Fraction:
        return self.rate

    def privacy_loss(self, mechanism: ClippedSum, relation: Relation) -> PrivacyLoss:
        if self.rate == 1:
            return mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=relation))
        once = mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=AddRemove))
        return once.poisson_sampled(rate=self.rate, relation=relation)

    def to_data(self) -> dict[str, object]:
        return {"sampler": self.kind, "rate": str(self.rate)}


_SAMPLERS: dict[str, type[Sampler]] = {"poisson": Poisson}


@dataclass(frozen=True, kw_only=True)
class Clip(metaclass=InWords):
    """The gradient of a row is cut to an l2 norm of at most `norm`, and rounded towards 0 to `lattice` steps a norm.

    A gradient that is zero stays zero, and one with an entry that is NaN or infinite counts as zero.
    """

    norm: Annotated[Fraction, positive_rational] = Fraction(1)
    lattice: Annotated[int, partial(whole_number, lower=1, upper=_FINEST)] = 2**20

    def __post_init__(self) -> None:
        read_fields(self)

    @property
    def step(self) -> Fraction:
        """The width of a lattice step, in the unit of the norm."""
        return self.norm / self.lattice


@dataclass(frozen=True, kw_only=True)
class TrainingPlan(metaclass=InWords):
    """A fixed number of steps, each of which adds up clipped gradients of sampled rows, with Gaussian noise.

    Every step draws, clips and adds noise, also where the sample is empty; sums are divided by a public number.

    Args:
        sampler: which rows a step looks at.
        clip: of the gradient of one row.
        noise_multiplier: the standard deviation of the noise over the clipping norm.
        steps: how many; fixed before any row is read.
        dimensions: numbers in a gradient.
        relation: AddRemove (the number of rows is private) or Replace.
        unit: who is protected. A unit owns one row here.

    Guarantee: `privacy_loss()`, which is that of `ClippedSum` on the sample, `steps` times.
    Source: Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar, Zhang (2016), arXiv:1607.00133, on a lattice.

    >>> from deniable.learning import Poisson, TrainingPlan
    >>> plan = TrainingPlan(sampler=Poisson(rate="1/100"), noise_multiplier=2, steps=100, dimensions=10)
    >>> print(round(plan.privacy_loss().epsilon("1e-5").upper, 2))
    0.19
    """

    noise_multiplier: Annotated[Fraction, positive_rational]
    steps: Annotated[int, partial(whole_number, lower=1)]
    dimensions: Annotated[int, partial(whole_number, lower=1, upper=_LARGEST)]
    sampler: Sampler = field(default_factory=Poisson)
    clip: Clip = field(default_factory=Clip)
    relation: Relation = AddRemove
    unit: PrivacyUnit = field(default_factory=PrivacyUnit)

    def __post_init__(self) -> None:
        read_fields(self)
        object.__setattr__(self, "relation", Relation(self.relation))
        for name, kind in (("sampler", Sampler), ("clip", Clip), ("unit", PrivacyUnit)):
            if not isinstance(getattr(self, name), kind):
                raise InvalidParameterError(f"{name} must be a {kind.__name__}, got {shown(getattr(self, name))}")
        if self.unit.column is not None:
            raise UnprovedError(
                f"a plan protects units of one row, and {self.unit} may have many. Give one row to every "
                f"{self.unit.noun}, for example its average, and leave out the column of the unit."
            )
        _ = self.mechanism

    @cached_property
    def mechanism(self) -> ClippedSum:
        """What a step releases: the only statement of clip and noise."""
        steps = self.clip.lattice
        return ClippedSum(
            noise=Gaussian(sigma_squared=(self.noise_multiplier * steps) ** 2),
            columns=self.dimensions,
            radius=self.clip.norm,
            steps=steps,
        )

    def privacy_loss(self) -> PrivacyLoss:
        """What the whole run reveals about one unit; the same for all data."""
        return self.sampler.privacy_loss(self.mechanism, self.relation) * self.steps

    @classmethod
    def calibrate(
        cls,
        *,
        epsilon: Real,
        delta: Real,
        steps: int,
        dimensions: int,
        sampler: Sampler | None = None,
        clip: Clip | None = None,
        relation: Relation = AddRemove,
        unit: PrivacyUnit | None = None,
    ) -> "TrainingPlan":
        """The plan with the least noise that is proved to keep (epsilon, delta).

        Args:
            epsilon, delta: of the whole run.
            steps, dimensions, sampler, clip, relation, unit: as in the plan.

        Raises: InvalidParameterError if no noise keeps them.
        """
        start = cls(
            noise_multiplier=Fraction(1),
            steps=steps,
            dimensions=dimensions,
            sampler=Poisson() if sampler is None else sampler,
            clip=Clip() if clip is None else clip,
            relation=relation,
            unit=PrivacyUnit() if unit is None else unit,
        )
        return _calibrated(start, positive_rational("epsilon", epsilon), positive_rational("delta", delta))

    def batches(self, rows: int, *, bits: Bits = SECURE) -> Iterator[NDArray[np.int64]]:
        """Places of the rows of each step: always `steps` of them, some of which may be empty.

        Args:
            rows: how many there are; secret under add/remove.
            bits: leave it out, except in tests.
        """
        return (self.sampler.draw(rows, bits) for _ in range(self.steps))

    @silence()
    def mean_gradient(self, gradients: Floats, *, expected_rows: int, bits: Bits = SECURE) -> Floats:
        """The noisy sum of clipped gradients over the public number of rows that a step is expected to have.

        Args:
            gradients: of the rows of one batch, of shape (rows, dimensions); secret.
            expected_rows: public; in the whole table, not in the batch.
            bits: leave it out, except in tests.
        """
        noisy = self.mechanism.release(gradients, bits=bits).value
        step = float(self.clip.step / self.sampler.share() / expected_rows)
        return np.asarray(noisy.astype(np.float64) * step)

    def noisy(self, sums: NDArray[np.int64] | Sequence[NDArray[np.int64]], *, bits: Bits = SECURE) -> list[Integers]:
        """The sums of one step with its noise, for gradients that were clipped and added up elsewhere.

        A sum in floats is multiplied by lattice / norm and rounded once, to the nearest integer. The caller keeps every
        row's part within `clip.lattice` steps in l2, rounding included: rounding the whole sum moves the difference of
        two sums by up to one step in each number, so by sqrt(dimensions) steps, and float addition by its own error.

        Args:
            sums: secret integers in lattice steps, as one array or a list of arrays with `dimensions` entries in all.
            bits: leave it out, except in tests.

        Returns: noisy integers as a list with the shapes of `sums`; times `clip.step` they are in the unit of the norm.
        Raises: InvalidParameterError if the number of entries is not `dimensions`.
        """
        parts = list(sums) if isinstance(sums, list | tuple) else [sums]
        if sum(np.size(part) for part in parts) != self.dimensions:
            raise InvalidParameterError(f"sums must have {self.dimensions} entries in all, one for each number")
        return [self.mechanism.noise.release(part, bits=bits).value for part in parts]

    def to_data(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {
            "plan": "training",
            "sampler": self.sampler.to_data(),
            "clip": {"norm": str(self.clip.norm), "lattice": self.clip.lattice},
            "noise_multiplier": str(self.noise_multiplier),
            "steps": self.steps,
            "dimensions": self.dimensions,
            "relation": self.relation.value,
            "unit": self.unit.noun,
        }

    def to_json(self) -> str:
        """Canonical JSON text: equal plans have equal text."""
        return json.dumps(self.to_data(), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "TrainingPlan":
        """The inverse of `to_json`; every check runs again.

        Raises: InvalidParameterError if it is no plan.
        """
        data = read_json(text, "a training plan")
        if not isinstance(data, Mapping) or data.get("plan") != "training":
            raise InvalidParameterError(f"a training plan needs a field 'plan' that says 'training', got {shown(data)}")
        try:
            values = {name: value for name, value in data.items() if name != "plan"}
            sampler = dict(values.pop("sampler"))
            kind = _SAMPLERS[sampler.pop("sampler")]
            clip, noun = Clip(**values.pop("clip")), values.pop("unit")
            return TrainingPlan(sampler=kind(**sampler), clip=clip, unit=PrivacyUnit(noun=noun), **values)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidParameterError(f"these are not the fields of a training plan: {shown(data)}") from error


@lru_cache(maxsize=64)
def _calibrated(start: TrainingPlan, epsilon: Fraction, delta: Fraction) -> TrainingPlan:
    def loss(noise: Fraction) -> PrivacyLoss:
        return replace(start, noise_multiplier=noise).privacy_loss()

    if (
        start.sampler.share() == 1
    ):  # a hair more noise than one release of real Gaussian noise of the same mu would need
        moved = 1 if start.relation is AddRemove else 2
        guess = moved * math.sqrt(start.steps / float(largest_mu_squared(epsilon, delta)))
        found = replace(start, noise_multiplier=Fraction(math.ceil(guess * 1e6 * (1 + 1e-7)), 10**6))
        if found.privacy_loss().proves(epsilon, delta):
            return found
    return replace(start, noise_multiplier=calibrate(loss, over=(0, 10**6), epsilon=epsilon, delta=delta))
