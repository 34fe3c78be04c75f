"""Rounds of federated training: who adds the noise, what that reveals to whom, and the server's steps."""

import json
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.learning.clips import AdaptiveClip, Part
from deniable.learning.federated.clients import MASK, SHARE, TRAIN, UNMASK, PrivateDescent, Work
from deniable.learning.federated.codecs import Codec
from deniable.learning.federated.secure import SecureServer, SecureSum
from deniable.learning.federated.transport import Messages
from deniable.learning.plan import TrainingPlan, TrainingRun, stated
from deniable.learning.samplers import Poisson
from deniable.ledger.payment import Payer, Payment
from deniable.noise import gaussian, skellam
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, positive_rational, root_above, shown, whole_number
from deniable.privacy import ApproximateLoss, GaussianDPLoss, PrivacyLoss, Replace
from deniable.privacy.losses.skellam import skellam_statement
from deniable.privacy.sensitivity.vectors import of_ball_sum
from deniable.rows import silence


@dataclass(frozen=True, kw_only=True)
class Federated(Part):
    """Training over clients, each of whom is one unit with all its rows, or whose rows are the units.

    Args:
        plan: a step is a round; with trust="examples", of the descent of one client. Its noise is that of the sum of
            updates, or of each update if it is local.
        trust: "central": the server sees each update, and adds the noise. "distributed": clients add shares of the
            noise, and the server sees their sum alone. "local": each client adds all of it, and nobody is trusted.
            "examples": clients protect each of their rows, by `private_descent`.
        secure: the secure sum, for "distributed".
        noise: the law of shares, "gaussian" (discrete) or "skellam", whose sums have it too: `lattice_delta` is 0, the
            loss is known by its Rényi divergences, and the lattice must be coarse, as in Clip(lattice=1024).
        codec: of noisy updates if they are "local", else of the noisy sum.
        step_size: of the server.
        local_steps: of `private_descent` in one round.

    Guarantee: `privacy_loss()`. Proofs: docs/theory/learning/federated.md.
    Source: McMahan, Ramage, Talwar, Zhang (2018), arXiv:1710.06963; Kairouz, Liu, Steinke (2021), arXiv:2102.06387.

    >>> plan = TrainingPlan(sampler=Poisson(rate="1/10"), noise_multiplier=1, steps=50, dimensions=4)
    >>> print(round(Federated(plan=plan).privacy_loss().epsilon("1e-5").upper, 2))
    5.15
    """

    plan: TrainingPlan
    trust: str = "central"
    secure: SecureSum | None = None
    noise: str = "gaussian"
    codec: Codec | None = None
    step_size: Annotated[Fraction, positive_rational] = Fraction(1)
    local_steps: Annotated[int, partial(whole_number, lower=1)] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        plan, outside = self.plan, self.trust in ("local", "distributed")
        if self.trust not in ("central", "distributed", "local", "examples"):
            raise InvalidParameterError(f'trust must be "central", "distributed", "local" or "examples": {self.trust}')
        if (self.trust == "distributed") != (self.secure is not None):
            raise InvalidParameterError('trust="distributed" goes with secure=SecureSum(survivors=...), and only that')
        if plan.unit.column is not None or (outside and (plan.relation is not Replace or plan.correlation is not None)):
            raise InvalidParameterError(
                "leave out unit; where clients add noise, who takes part is seen: say relation=Replace, no correlation"
            )
        if self.codec is not None and (isinstance(plan.clip, AdaptiveClip) or self.trust == "examples"):
            raise InvalidParameterError("a codec goes with Clip, and with noise that is added in rounds")
        if plan.steps % self.local_steps or (self.trust != "examples" and self.local_steps > 1):
            raise InvalidParameterError('local_steps goes with trust="examples", and must divide the steps of the plan')
        if self.noise != "gaussian" and (self.noise != "skellam" or self.secure is None):
            raise InvalidParameterError('noise must be "gaussian", or with trust="distributed" "skellam"')
        if self.noise == "skellam" and not skellam.SMALLEST_VARIANCE <= self.share_squared <= skellam.LARGEST_VARIANCE:
            raise InvalidParameterError("lattice is too fine for Skellam noise: take about 2^10 steps")
        if outside and self.noise == "gaussian" and self.share_squared < 1:
            raise InvalidParameterError("lattice is too coarse for shares of the noise: take 2^20 steps")

    @property
    def rounds(self) -> int:
        """How many rounds there are; a client answers no more."""
        return self.plan.steps // self.local_steps

    @property
    def shares(self) -> int:
        """How many clients make the noise of a sum at least."""
        return self.secure.survivors - self.secure.colluding if self.secure is not None else 1

    @property
    def share_squared(self) -> Fraction:
        """The squared scale of the noise of one client, in lattice steps."""
        return Fraction((self.plan.noise_multiplier * self.plan.clip.lattice) ** 2) / self.shares

    def share(self, size: tuple[int, ...], bits: Bits) -> NDArray[Any]:
        """The noise of one client."""
        if self.noise == "skellam":
            return skellam.sample(variance=self.share_squared, size=size, bits=bits)
        return gaussian.sample(sigma_squared=self.share_squared, size=size, bits=bits)

    def privacy_loss(self) -> PrivacyLoss:
        """What all rounds reveal; where clients add noise, to the server too, which sees who takes part in each."""
        if self.trust in ("central", "examples"):
            return self.plan.privacy_loss()
        if self.noise == "skellam":
            columns, lattice = self.plan.mechanism.columns, self.plan.clip.lattice
            reach = of_ball_sum(radius=lattice, dimensions=columns, rows=1, relation=Replace)
            once = self.share_squared * self.shares
            return PrivacyLoss(skellam_statement(once, reach, releases=self.plan.steps)).under(Replace)
        seen = replace(self.plan, sampler=Poisson(rate=Fraction(1))).privacy_loss()
        if self.secure is None:
            return seen
        if seen.mu_squared is not None:  # a hair above: the curve of this loss is known where it is composed
            seen = GaussianDPLoss(root_above(seen.mu_squared, 10)).under(Replace)
        return seen + ApproximateLoss(epsilon=0, delta=Fraction(self.lattice_delta))

    @property
    def lattice_delta(self) -> float:
        """What sums of discrete Gaussian shares add to delta over one such draw; the proof is in docs/theory."""
        if self.noise == "skellam":
            return 0.0
        rate = 2 * math.pi**2 * float(self.share_squared) * (1 - 1e-9)
        one = 5 * sum(math.exp(-rate * k / (k + 1)) for k in range(1, self.shares))
        return min(max(one * self.plan.steps * self.plan.mechanism.columns, 2.0**-200), 1.0)

    def wrap_probability(self, clients: int) -> float:
        """Bounds the chance that a number of any round wraps around: an error of the sum, and no loss of privacy."""
        room = 2.0 ** (8 * (self.secure.width if self.secure else 8) - 1) - 1 - clients * self.plan.clip.lattice
        jump = max(room, 0.0) / 3 if self.noise == "skellam" else 0.0  # Bernstein's inequality, with jumps of one step
        tail = math.exp(-(max(room, 0.0) ** 2) / (2 * (max(clients, 1) * float(self.share_squared) + jump)))
        return min(2 * tail * self.plan.steps * self.plan.mechanism.columns, 1.0)

    def check_work(self, work: Work) -> None:
        """Raise: InvalidParameterError for work that does not do what the loss says, which its kind alone tells."""
        if not callable(work):
            raise InvalidParameterError(f"work must be a function from parameters to an update, got {shown(work)}")
        fits = isinstance(work, PrivateDescent) and work.plan == self.plan and work.steps == self.local_steps
        if self.trust == "examples" and not fits:
            raise InvalidParameterError(
                'with trust="examples" work must be private_descent(local, plan, ...) by the plan of all, with '
                f"steps={self.local_steps} in local"
            )

    def update(self, work: Work, parameters: Floats) -> Floats:
        """The update that some work makes of parameters, if it is one."""
        found = np.array(work(parameters.copy()), dtype=np.float64)
        if found.shape != (self.plan.dimensions,):
            raise InvalidParameterError(f"work must give {self.plan.dimensions} numbers, got the shape {found.shape}")
        return found

    def rehearse(self, work: Work) -> None:
        """Try work on *made-up* rows, and raise what is wrong with it, of which a `Participant` makes a zero update.

        >>> from deniable.learning.federated import LocalDescent, Softmax
        >>> model = Softmax(columns=1, classes=2)
        >>> federated = Federated(plan=TrainingPlan(noise_multiplier=1, steps=5, dimensions=model.dimensions))
        >>> federated.rehearse(LocalDescent(model=model, rows=[[0.5], [2.0]], labels=[0, 1], step_size=1))
        """
        self.check_work(work)
        self.update(work, np.zeros(self.plan.dimensions))

    @silence()
    def fit(
        self,
        ask: Callable[[Messages], Messages],
        *,
        clients: int,
        expected_clients: int,
        start: ArrayLike | None = None,
        ledger: Payer | None = None,
        delta: Real = "1e-6",
        bits: Bits = SECURE,
    ) -> "Trained":
        """Pay for all rounds, and train.

        Args:
            ask: carries messages to clients 0, 1, ..., clients - 1 and brings replies: `Simulation` or `Pipes`.
            clients: how many there are; secret under add/remove.
            expected_clients: about how many, as the public knows it; sums are never divided by how many answered.
            start: the parameters of the first round; zeros if left out.
            ledger: who pays before a client is asked. Leave bits out, except in tests.
            delta: at which a ledger that adds up pairs is charged.
        """
        plan = self.plan
        parameters = np.zeros(plan.dimensions) if start is None else np.array(start, dtype=np.float64)
        if parameters.shape != (plan.dimensions,) or not np.isfinite(parameters).all():
            raise InvalidParameterError(f"start must be {plan.dimensions} finite numbers")
        if self.wrap_probability(whole_number("clients", clients, lower=0)) > 1e-9:
            raise InvalidParameterError("sums could wrap around: take a coarser lattice, or more bytes of width")
        kind = TrainingRun if self.trust == "central" else _NoiseElsewhere
        every = TrainingPlan(noise_multiplier=Fraction(1), steps=self.rounds, dimensions=plan.dimensions)
        run = kind(every if self.trust == "examples" else plan, clients, expected_clients, None, bits)
        text = json.dumps(self.to_data(), sort_keys=True)
        payment = Payment(ledger, text=text, bits=bits, units=self.trust != "examples")
        if ledger is not None:
            losses = [stated(self.privacy_loss(), positive_rational("delta", delta))]
            losses += [plan.known_loss()] if self.trust in ("central", "examples") else []
            payment.charge(*losses)
        lost = []
        for batch in run:
            message = bytes([TRAIN]) + np.append(run.norm, parameters).astype("<f8").tobytes()
            replies = ask(dict.fromkeys(batch.tolist(), message))
            if self.trust == "examples":
                run.skip()  # type: ignore[attr-defined]
                found = (np.frombuffer(each) for each in replies.values() if len(each) == 8 * plan.dimensions)
                mean = sum((one for one in found if np.isfinite(one).all()), 0 * parameters) / expected_clients
            else:
                try:
                    total, scale = self._sum(replies, ask, bits), run.scale
                except InvalidParameterError as error:
                    lost.append((run.skip(), str(error)))  # type: ignore[attr-defined]
                    continue
                noisy = run._released([total])[0][: plan.dimensions]
                if self.codec is not None and self.trust != "local":
                    noisy = self.codec.unpack(self.codec.pack(noisy), plan.dimensions)
                mean = noisy.astype(np.float64) * scale
            parameters = parameters + float(self.step_size) * mean
        return Trained(parameters=parameters, privacy_loss=self.privacy_loss(), lost=tuple(lost))

    def _sum(self, replies: Messages, ask: Callable[[Messages], Messages], bits: Bits) -> NDArray[Any]:
        """The sum of a round; what no honest client sends counts as nothing."""
        columns, lattice = self.plan.mechanism.columns, self.plan.clip.lattice
        if self.secure is not None:
            server = SecureServer(self.secure, columns, bits=bits)
            for stage, step in ((SHARE, server.keys), (MASK, server.shares), (UNMASK, server.vectors)):
                replies = ask({number: bytes([stage]) + body for number, body in step(replies).items()})
            return server.result(replies)
        total = np.zeros(columns, dtype=np.int64)
        most, local = lattice + math.ceil(40 * math.sqrt(self.share_squared)), self.trust == "local"
        for reply in replies.values():
            if local and self.codec is not None:
                with suppress(InvalidParameterError):
                    total += np.clip(self.codec.unpack(reply, columns), -most, most)
            elif len(reply) == (8 if local else 4) * columns:
                found = np.frombuffer(reply, dtype="<i8" if local else "<i4").astype(np.int64)
                fits = local or (found.astype(np.float64) ** 2).sum() <= lattice**2 * (1 + 1e-9)
                total += np.clip(found, -most, most) * bool(fits)
        return total


class Trained(NamedTuple):
    """What came of the rounds; `lost` has pairs (round, why) of those that were given up."""

    parameters: Floats
    privacy_loss: PrivacyLoss
    lost: tuple[tuple[int, str], ...] = ()


class _NoiseElsewhere(TrainingRun):
    """The steps of a plan whose noise is in the sums already."""

    def _noised(self, exact: NDArray[np.int64]) -> NDArray[Any]:
        return exact

    def skip(self) -> int:  # a step that releases nothing
        self._batch = None
        return self.step
