"""Training plans and runs: sampler, clip, noise, and their privacy loss.

Today's libraries lose privacy where sampler, clip, noise and accountant each keep their own copy of one fact. Here they
are one immutable value, and its loss is read from the mechanism that adds the noise.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from deniable.arguments import made_of, read_fields
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.learning.clips import CLIPS, AdaptiveClip, Clip
from deniable.learning.samplers import SAMPLERS, Poisson, Sampler
from deniable.ledger.payment import Payer, Payment
from deniable.mechanisms import ClippedSum, Gaussian
from deniable.mechanisms.correlated import CORRELATIONS, NoiseCorrelation, Uses
from deniable.mechanisms.parts import Part
from deniable.mechanisms.price import Price
from deniable.mechanisms.vectors.clipping import chunks
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats, Indices
from deniable.numbers.rationals import (
    Real,
    decimal_above,
    positive_rational,
    read_json,
    root_above,
    shown,
    whole_number,
)
from deniable.privacy import AddRemove, PrivacyLoss, PrivacyUnit, Relation, Replace, calibrate
from deniable.privacy.notions.gaussian_dp import largest_mu_squared
from deniable.rows import Container, labels, silence, table


@dataclass(frozen=True, kw_only=True)
class TrainingPlan(Part):
    """Plan of a fixed number of steps, noisy sums of clipped gradients.

    The gradients are of sampled rows, and the noise is Gaussian.

    Every step draws, clips and adds noise, also where the sample is empty; sums are divided by a public number.

    Args:
        sampler, clip: which rows a step looks at; of the gradient of one row.
        noise_multiplier: the standard deviation of the noise over the clipping norm.
        steps, dimensions: how many there are, fixed before any row is read; numbers in a gradient.
        relation: AddRemove (the number of rows is private) or Replace.
        unit: who is protected: one row, or all rows that have one value of `column`, which then come into a step
            together; their gradients are averaged before they are clipped, so a unit may have any number of them.
        correlation: of the noise of all steps, for DP-FTRL; None: each step has noise of its own.

    Guarantee: `privacy_loss`, which the sampler makes from that of `ClippedSum` on its samples.
    Source: Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar, Zhang (2016), arXiv:1607.00133, on a lattice.

    >>> from deniable.learning import Poisson, TrainingPlan
    >>> plan = TrainingPlan(sampler=Poisson(rate="1/100"), noise_multiplier=2, steps=100, dimensions=10)
    >>> print(round(plan.privacy_loss.epsilon("1e-5").upper, 2))
    0.19
    """

    noise_multiplier: Annotated[Fraction, positive_rational]
    steps: Annotated[int, partial(whole_number, lower=1)]
    dimensions: Annotated[int, partial(whole_number, lower=1, upper=2**27)]
    sampler: Sampler = field(default_factory=Poisson)
    clip: Clip = field(default_factory=Clip)
    relation: Relation = AddRemove
    unit: PrivacyUnit = field(default_factory=PrivacyUnit)
    correlation: NoiseCorrelation | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        read_fields(self, relation=Relation(self.relation))
        for name, kind in (("sampler", Sampler), ("clip", Clip), ("unit", PrivacyUnit)):
            if not isinstance(getattr(self, name), kind):
                raise InvalidParameterError(f"{name} must be a {kind.__name__}, got {shown(getattr(self, name))}")
        if self.correlation is not None and isinstance(self.clip, AdaptiveClip):
            raise InvalidParameterError("noise that cancels between steps needs a norm that stays: take Clip")
        if self.unit.ids > 1:
            raise UnprovedError("a plan protects one value of a column: name a column with ids=1, or group() its loss")
        if self.relation not in self.privacy_loss.relations:
            raise UnprovedError(
                f"{type(self.sampler).__name__} is proved under replace, where the number of rows is public. Say "
                "relation=Replace, or use Poisson or BallsInBins."
            )

    @cached_property
    def mechanism(self) -> ClippedSum:
        """Mechanism of a step: the only statement of clip and noise."""
        steps = self.clip.lattice
        columns = self.clip.columns(self.dimensions)
        noise = Gaussian(sigma_squared=(self.noise_multiplier * steps) ** 2)
        return ClippedSum(noise=noise, columns=columns, radius=self.clip.norm, steps=steps)

    @property
    def privacy_loss(self) -> PrivacyLoss:
        """Privacy loss of the whole run for one unit, whatever the data."""
        if self.correlation is not None:
            return self.sampler.correlated_loss(self.correlation, self.noise_multiplier, self.uses, self.relation)
        return self.sampler.privacy_loss(self.mechanism, self.relation, self.steps)

    @property
    def known_loss(self) -> PrivacyLoss:
        """A larger loss, with a rho and a mu: that of the run if the samples were public.

        Guarantee: the run is post-processing of the run with its samples, which have one law in both worlds. Given
            them a step is a sum that one row moves by its norm, or by nothing, so the steps compose to this rho and mu,
            which no average over samples exceeds: Rényi divergences are means of exp((a - 1) D), power is concave.
        """
        if self.correlation is not None:
            return self.correlation.privacy_loss(self.noise_multiplier, self.uses, self.relation)
        return self.sampler.known_loss(self.mechanism, self.relation, self.steps)

    def booked(self, delta: Real) -> PrivacyLoss:
        """Return the loss with its epsilon at delta, for ledgers of pairs.

        Sampled runs have no mu and no rho.
        """
        return stated(self.privacy_loss, positive_rational("delta", delta))

    @cached_property
    def uses(self) -> Uses:
        """Participation of a row in the steps."""
        times, separation = self.sampler.uses(self.steps)
        columns, lattice = self.mechanism.columns, self.clip.lattice
        return Uses(steps=self.steps, dimensions=columns, times=times, separation=separation, lattice=lattice)

    @classmethod
    def calibrate(
        cls, *, epsilon: Real | None = None, delta: Real | None = None, rho: Real | None = None, **settings: Any
    ) -> "TrainingPlan":
        """Return the plan with the least noise for a price.

        It is proved to keep (epsilon, delta), or rho where all rows are looked at.

        Args:
            epsilon, delta, rho: of the whole run; rho, of zero-concentrated privacy, in place of both.
            settings: steps, dimensions, sampler, clip, relation and unit, as in the plan.

        Raises: InvalidParameterError if no noise keeps them.
        """
        start = cls(noise_multiplier=Fraction(1), **settings)
        if rho is None:
            goal = [positive_rational(name, value) for name, value in (("epsilon", epsilon), ("delta", delta))]
            return _calibrated(start, *goal)
        spent = start.privacy_loss.rho
        if spent is None or epsilon is not None or delta is not None:
            raise InvalidParameterError("give rho alone, where steps look at all rows; else epsilon with delta")
        square = spent / positive_rational("rho", rho) * (1 + Fraction(start.correlation is not None, 10**10))
        return replace(start, noise_multiplier=root_above(square, 9))

    def run(
        self, rows: int, *, expected_rows: int, units: Container | None = None, ledger: Payer | None = None,
        delta: Real = "1e-6", checkpoint: str | None = None, bits: Bits = SECURE,
    ) -> "TrainingRun":  # fmt: skip
        """Pay for the whole plan, and begin its steps, or go on from a checkpoint.

        Args:
            rows: how many rows there are; secret under add/remove.
            expected_rows: about how many rows (or units, if they own several) there are, as the public knows it.
            units: whose row it is, one entry a row, where `unit` has a column. A row without an owner takes no part.
            bits: leave it out, except in tests.
            ledger: charged before anything is drawn or read; None charges nothing. A run that was paid is
                not paid again: its checkpoint goes without a ledger.
            delta: at which a ledger that adds up pairs is charged.
            checkpoint: what `TrainingRun.checkpoint` gave, for the same rows in the same order. Go on from the last one
                and only once: a step that is taken again, with fresh draws, reveals more than was charged.

        >>> plan = TrainingPlan(sampler=Poisson(rate="1/10"), noise_multiplier=2, steps=20, dimensions=2)
        >>> run, rows, weights = plan.run(500, expected_rows=500), np.ones((500, 2)), np.zeros(2)
        >>> for batch in run:
        ...     weights -= 0.1 * run.mean_gradient(weights - rows[batch])
        """
        payment = Payment(ledger, text=self.to_json(), bits=bits, units=units is not None)
        run = TrainingRun(self, rows, expected_rows, units, bits)
        if checkpoint is not None:
            run._restore(checkpoint)
        if ledger is not None:
            if run.paid:
                raise InvalidParameterError(
                    "this run was paid when it began. Leave out ledger: nothing more is charged."
                )
            payment.charge(self.booked(delta), self.known_loss)
            run.paid = True
        return run

    def to_json(self) -> str:
        """Canonical JSON text: equal plans have equal text."""
        return json.dumps(self.to_data(), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "TrainingPlan":
        """The inverse of `to_json`; every check runs again.

        Raises: InvalidParameterError if it is not a valid plan.
        """
        data = read_json(text, "a training plan")
        try:
            values: dict[str, Any] = dict(data)  # type: ignore[call-overload]
            if values.pop("kind") != "TrainingPlan":
                raise KeyError("kind")
            for name, kinds in (("sampler", SAMPLERS), ("clip", CLIPS), ("correlation", CORRELATIONS)):
                values[name] = None if values[name] is None else made_of("kind", values[name], kinds)
            return TrainingPlan(unit=PrivacyUnit(**values.pop("unit")), **values)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidParameterError(f"these are not the fields of a training plan: {shown(data)}") from error


class TrainingRun:
    """Steps of a plan: iterate over it for the indices of their rows.

    Release once in every step.

    `TrainingPlan.run` makes it and has an example. No step is left out, also where its batch is empty, or taken twice.
    `step` counts steps that were begun, `norm` is that of the clip in this step, `safe` is False with test bits, `paid`
    is whether a ledger was charged.
    """

    def __init__(self, plan: TrainingPlan, rows: int, expected_rows: int, units: Container | None, bits: Bits) -> None:
        self.plan = plan
        self.step = 0
        self.safe = bits.safe
        self.norm = float(plan.clip.norm)
        self.paid = False
        self._rows = whole_number("rows", rows, lower=0)
        self._units, self._bits, self._next_norm = units, bits, self.norm
        self._expected = plan.sampler.share() * whole_number("expected_rows", expected_rows, lower=1)
        self._codes = self._allotted = self._batch = None  # type: Indices | None
        self._stream = plan.correlation.stream(plan.noise_multiplier, plan.uses) if plan.correlation else None
        whose = plan.unit.column is not None
        if whose != (units is not None) or (whose and len(units) != rows):  # type: ignore[arg-type]
            raise InvalidParameterError(
                "units says whose row it is, one entry a row, and goes with a plan whose unit has a column, such as "
                "unit=PrivacyUnit(column='patient', noun='patient')"
            )
        if plan.relation is Replace and units is None and getattr(plan.sampler, "population", rows) != rows:
            raise InvalidParameterError("population of the sampler must be the number of rows, which is public")

    def __iter__(self) -> Iterator[Indices]:
        return self

    @silence()
    def __next__(self) -> Indices:
        if self._batch is not None:
            raise InvalidParameterError("every step releases, also an empty one: call mean_gradient or noisy before")
        if self.step == self.plan.steps:
            raise StopIteration
        turn = self.step % self.plan.sampler.period
        if turn == 0 or self._allotted is None:
            self._allotted = self.plan.sampler.allot(self._owners(), self._bits, self._allotted)
        self.step += 1
        self.norm = self._next_norm
        taking = self._allotted if self._codes is None else np.append(self._allotted, -1)[self._codes]
        self._batch = np.flatnonzero(taking == turn)
        return self._batch

    @property
    def scale(self) -> float:
        """Value of one lattice step of a noisy sum in the mean gradient."""
        return self.norm / self.plan.clip.norm_steps / float(self._expected)

    @silence()
    def mean_gradient(self, gradients: Floats) -> Floats:
        """Release the noisy mean gradient of this step.

        It is the noisy sum of clipped gradients over the public number of rows that a step is expected to have.

        Args:
            gradients: secret; of the batch, in its order, (rows, dimensions). A unit's are averaged to one row.

        Raises: InvalidParameterError for another shape, or a second release in one step.
        """
        plan = self.plan
        batch = self._current()
        rows, _ = table(gradients, "gradients", columns=plan.dimensions)
        if rows.shape != (len(batch), plan.dimensions):
            raise InvalidParameterError(f"gradients must have {plan.dimensions} numbers for each row of the batch")
        if self._codes is not None:
            rows = _averages(rows, self._codes[batch])
        total = np.zeros(plan.mechanism.columns, dtype=np.int64)
        for part in chunks(rows):
            total += plan.clip.integers(part, self.norm).sum(axis=0)
        return self._released([total])[0][: plan.dimensions].astype(np.float64) * self.scale

    def noisy(self, sums: NDArray[np.int64] | Sequence[NDArray[np.int64]], *, within: int = 0) -> list[NDArray[Any]]:
        """Release noisy sums of gradients that were clipped and added up elsewhere.

        Gradients were clipped to `norm`.

        A sum in floats is multiplied by norm_steps / norm and rounded once, to the nearest integer. The caller keeps
        every row's part within `clip.norm_steps` steps in l2, rounding included: rounding the whole sum moves two sums
        apart by up to one step in each number, so by sqrt(dimensions) steps, and float addition by its own error.

        Args:
            sums: secret integers in lattice steps: an array, or a list of arrays with `dimensions` entries in all.
            within: for an adaptive clip, the rows with norm at most `norm`, less all others of the batch; secret.

        Returns: a list with the shapes of `sums` (floats where noise is correlated); times `scale`, the mean gradient.
        """
        parts = [sums] if isinstance(sums, np.ndarray) else list(sums)
        count = [np.array([within * clip.count_steps])] if isinstance(clip := self.plan.clip, AdaptiveClip) else []
        return self._released([*parts, *count])[: len(parts)]

    def checkpoint(self) -> str:
        """Return the state for `TrainingPlan.run` to continue after this step.

        JSON text; weights are the caller's to keep.

        It is as private as the rows: it may say which of them come next.
        """
        if self._batch is not None:
            raise InvalidParameterError("a checkpoint is taken between steps: release this one first")
        if self._stream is not None:
            raise InvalidParameterError(
                "correlated noise carries exact sums of private gradients from step to step, which no text should "
                "hold. Train in one process, or without correlation"
            )
        kept = self._allotted if self._keeps else None
        facts = {"run": "training", "plan": self.plan.to_data(), "step": self.step, "norm": self._next_norm}
        facts |= {"safe": self.safe, "paid": self.paid}
        return json.dumps(facts | {"allotted": None if kept is None else kept.tolist()})

    def _restore(self, checkpoint: str) -> None:
        data = read_json(checkpoint, "a checkpoint")
        if not isinstance(data, Mapping) or data.get("plan") != self.plan.to_data() or data.get("run") != "training":
            raise InvalidParameterError("this is not a checkpoint of this plan. Go on with the plan that was paid for.")
        try:
            self.step = whole_number("step", data["step"], lower=0, upper=self.plan.steps)
            self.norm = self._next_norm = float(data["norm"])
            self.safe = self.safe and data["safe"] is True
            self.paid = data.get("paid") is True  # older ones do not say so
            self._allotted = None if data["allotted"] is None else np.array(data["allotted"], dtype=np.int64)
            if (self._allotted is None) == self._keeps:
                raise KeyError("allotted")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InvalidParameterError("these are not the fields of a checkpoint") from error
        if self._allotted is not None and self._allotted.shape != (self._owners(),):
            raise InvalidParameterError("this checkpoint is of other rows. Give the same ones in the same order.")

    @property
    def _keeps(self) -> bool:
        """Whether the next step needs what was allotted to rows before."""
        return bool(self.step) and (self.plan.sampler.keeps or self.step % self.plan.sampler.period > 0)

    def _current(self) -> Indices:
        if self._batch is None:
            raise InvalidParameterError("a step releases once: take the next batch first")
        return self._batch

    def _released(self, parts: list[NDArray[np.int64]]) -> list[NDArray[Any]]:
        self._current()
        mechanism = self.plan.mechanism
        if sum(np.size(part) for part in parts) != mechanism.columns:
            raise InvalidParameterError(f"sums must have {self.plan.dimensions} entries in all, as dimensions says")
        noisy: list[NDArray[Any]]
        if self._stream is None:
            noisy = [self._noised(part) for part in parts]
        else:
            whole = self._stream.add(np.concatenate([np.ravel(part) for part in parts]), bits=self._bits)
            ends = np.cumsum([np.size(part) for part in parts])[:-1]
            noisy = [one.reshape(part.shape) for one, part in zip(np.split(whole, ends), parts, strict=True)]
        if isinstance(self.plan.clip, AdaptiveClip):
            self._next_norm = self.plan.clip.next_norm(self.norm, float(noisy[-1].flat[-1]) / float(self._expected))
        self._batch = None
        return noisy

    def _noised(self, exact: NDArray[np.int64]) -> NDArray[Any]:
        return self.plan.mechanism.noise.release(exact, bits=self._bits).value

    def _owners(self) -> int:
        """Return the number of units; if they own several rows, these are read."""
        if self._units is None:
            return self._rows
        if self._codes is None:
            self._codes = labels(self._units, "units")
        return int(self._codes.max(initial=-1)) + 1


def _averages(rows: Floats, codes: Indices) -> Floats:
    """Return the mean row of each code.

    A row that is not finite counts as zero.
    """
    owners, owner_of_row = np.unique(codes, return_inverse=True)
    total = np.zeros((len(owners), rows.shape[1]))
    np.add.at(total, owner_of_row, np.where(np.isfinite(rows).all(axis=1, keepdims=True), rows, 0.0))
    return total / np.bincount(owner_of_row, minlength=len(owners))[:, np.newaxis]


@lru_cache(maxsize=64)
def stated(loss: PrivacyLoss, delta: Fraction) -> PrivacyLoss:
    """Return the loss with its epsilon at delta, for ledgers of pairs.

    Itself where that is infinite.
    """
    epsilon = loss.epsilon(delta).upper
    return loss if math.isinf(epsilon) else Price.of(decimal_above(Fraction(epsilon), 6), delta, None).stated(loss)


@lru_cache(maxsize=64)
def _calibrated(start: TrainingPlan, epsilon: Fraction, delta: Fraction) -> TrainingPlan:
    def loss(noise: Fraction) -> PrivacyLoss:
        return replace(start, noise_multiplier=noise).privacy_loss

    if start.sampler.share() == 1:  # a hair more than one release of real Gaussian noise of the same mu needs
        moved = 1 if start.relation is AddRemove else 2
        guess = moved * math.sqrt(start.steps / float(largest_mu_squared(epsilon, delta)))
        plan = replace(start, noise_multiplier=Fraction(math.ceil(guess * 1e6 * (1 + 1e-7)), 10**6))
        if plan.privacy_loss.proves(epsilon, delta):
            return plan
    return replace(start, noise_multiplier=calibrate(loss, over=(0, 10**6), epsilon=epsilon, delta=delta))
