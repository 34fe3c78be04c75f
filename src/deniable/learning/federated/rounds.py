"""Rounds of federated training: who adds the noise, and what it costs."""

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
from deniable.learning.clips import AdaptiveClip
from deniable.learning.federated.clients import MASK, SHARE, TRAIN, UNMASK, PrivateDescent, Work
from deniable.learning.federated.codecs import Codec
from deniable.learning.federated.secure import SecureServer, SecureSum
from deniable.learning.federated.transport import Messages
from deniable.learning.plan import TrainingPlan, TrainingRun, stated
from deniable.learning.samplers import Poisson
from deniable.ledger.payment import Payer, Payment
from deniable.mechanisms.parts import Part
from deniable.noise import gaussian, skellam
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, positive_rational, root_above, shown, whole_number
from deniable.privacy import ApproximateLoss, GaussianDPLoss, PrivacyLoss, Replace
from deniable.privacy.losses.skellam import skellam_statement
from deniable.privacy.sensitivity.vectors import of_ball_sum
from deniable.rows import silence

TRUSTS = ("central", "distributed", "local", "examples")
_MAX_WRAP_PROBABILITY = 1e-9  # of a whole run: rarer than an error of the hardware


@dataclass(frozen=True, kw_only=True)
class Federated(Part):
    """Plan of federated training.

    The privacy unit is a client with all its rows, or with trust="examples" each row of a client.

    | trust | who adds the noise | what the server sees |
    |---|---|---|
    | `"central"` | the server | the update of every client |
    | `"distributed"` | clients, a share each | the sum of their updates, by a secure sum |
    | `"local"` | clients, all of it each | noisy updates; nobody is trusted |
    | `"examples"` | clients, in every step of `private_descent` | updates that protect each row of a client |

    Args:
        plan: a step is a round; with trust="examples", a step of one client's descent. Its noise is that of the sum of
            updates, or of each update if it is local.
        trust: one of the four above.
        secure: the secure sum, for "distributed".
        noise: the distribution of shares, "gaussian" (discrete) or "skellam". Sums of Skellam shares are Skellam, so
            `lattice_delta` is 0; the loss is known by its Rényi divergences, and the lattice must be coarse, as in
            Clip(lattice=1024).
        codec: for noisy updates if they are "local", else for the noisy sum.
        step_size: by which the server multiplies the mean update.
        local_steps: steps of `private_descent` in one round.

    Guarantee: `privacy_loss`. Proofs: docs/theory/learning/federated.md.
    Source: McMahan, Ramage, Talwar, Zhang (2018), arXiv:1710.06963; Kairouz, Liu, Steinke (2021), arXiv:2102.06387.

    >>> plan = TrainingPlan(sampler=Poisson(rate="1/10"), noise_multiplier=1, steps=50, dimensions=4)
    >>> print(round(Federated(plan=plan).privacy_loss.epsilon("1e-5").upper, 2))
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
        self._check_trust()
        self._check_parts()
        self._check_lattice()

    def _check_trust(self) -> None:
        plan = self.plan
        if self.trust not in TRUSTS:
            raise InvalidParameterError(f'trust must be "central", "distributed", "local" or "examples": {self.trust}')
        if (self.trust == "distributed") != (self.secure is not None):
            raise InvalidParameterError('trust="distributed" goes with secure=SecureSum(survivors=...), and only that')
        clients_seen = self._clients_add_noise and (plan.relation is not Replace or plan.correlation is not None)
        if plan.unit.column is not None or clients_seen:
            raise InvalidParameterError(
                "leave out unit; where clients add noise, who takes part is seen: say relation=Replace, no correlation"
            )

    def _check_parts(self) -> None:
        if self.codec is not None and (isinstance(self.plan.clip, AdaptiveClip) or self.trust == "examples"):
            raise InvalidParameterError("a codec goes with Clip, and with noise that is added in rounds")
        if self.plan.steps % self.local_steps or (self.trust != "examples" and self.local_steps > 1):
            raise InvalidParameterError('local_steps goes with trust="examples", and must divide the steps of the plan')
        if self.noise != "gaussian" and (self.noise != "skellam" or self.secure is None):
            raise InvalidParameterError('noise must be "gaussian", or with trust="distributed" "skellam"')

    def _check_lattice(self) -> None:
        if self.noise == "skellam" and not skellam.SMALLEST_VARIANCE <= self.share_squared <= skellam.LARGEST_VARIANCE:
            raise InvalidParameterError("the lattice is too fine for Skellam noise: take about 2^10 steps")
        if self._clients_add_noise and self.noise == "gaussian" and self.share_squared < 1:
            raise InvalidParameterError("the lattice is too coarse for shares of the noise: increase it to 2^20 steps")

    @property
    def _clients_add_noise(self) -> bool:
        return self.trust in ("local", "distributed")

    @property
    def rounds(self) -> int:
        """Number of rounds; a client answers no more."""
        return self.plan.steps // self.local_steps

    @property
    def shares(self) -> int:
        """Least number of clients whose shares make up the noise of a sum."""
        return self.secure.survivors - self.secure.colluding if self.secure is not None else 1

    @property
    def share_squared(self) -> Fraction:
        """Squared scale of the noise of one client, in lattice steps."""
        return Fraction((self.plan.noise_multiplier * self.plan.clip.lattice) ** 2) / self.shares

    def share(self, size: tuple[int, ...], bits: Bits) -> NDArray[Any]:
        """Draw the noise of one client, in lattice steps.

        Args:
            size: its shape.
            bits: where randomness comes from.
        """
        if self.noise == "skellam":
            return skellam.sample(variance=self.share_squared, size=size, bits=bits)
        return gaussian.sample(sigma_squared=self.share_squared, size=size, bits=bits)

    @property
    def privacy_loss(self) -> PrivacyLoss:
        """Privacy loss of all rounds.

        Where clients add noise it holds against the server too, which sees who takes part in each round.
        """
        if self.trust in ("central", "examples"):
            return self.plan.privacy_loss
        if self.noise == "skellam":
            columns = self.plan.mechanism.columns
            sensitivity = of_ball_sum(radius=self.plan.clip.lattice, dimensions=columns, rows=1, relation=Replace)
            variance = self.share_squared * self.shares
            return PrivacyLoss(skellam_statement(variance, sensitivity, releases=self.plan.steps)).under(Replace)
        seen = replace(self.plan, sampler=Poisson(rate=Fraction(1))).privacy_loss
        if self.secure is None:
            return seen
        if seen.mu_squared is not None:  # rounded up to a rational mu: this loss has a curve where it is composed
            seen = GaussianDPLoss(root_above(seen.mu_squared, 10)).under(Replace)
        return seen + ApproximateLoss(epsilon=0, delta=Fraction(self.lattice_delta))

    @property
    def lattice_delta(self) -> float:
        """Delta that sums of discrete Gaussian shares add to that of one draw.

        Proof: docs/theory/learning/federated.md.
        """
        if self.noise == "skellam":
            return 0.0
        rate = 2 * math.pi**2 * float(self.share_squared) * (1 - 1e-9)
        per_number = 5 * sum(math.exp(-rate * k / (k + 1)) for k in range(1, self.shares))
        return min(max(per_number * self.plan.steps * self.plan.mechanism.columns, 2.0**-200), 1.0)

    def wrap_probability(self, clients: int) -> float:
        """Bound the probability that a number of any round wraps around.

        That is an error of the sum, not a loss of privacy.

        Args:
            clients: the number of clients in a round.
        """
        width = self.secure.width if self.secure else 8
        room = max(2.0 ** (8 * width - 1) - 1 - clients * self.plan.clip.lattice, 0.0)
        jump = room / 3 if self.noise == "skellam" else 0.0  # Bernstein's inequality, with jumps of one step
        variance = max(clients, 1) * float(self.share_squared)
        tail = math.exp(-(room**2) / (2 * (variance + jump)))
        return min(2 * tail * self.plan.steps * self.plan.mechanism.columns, 1.0)

    def check_work(self, work: Work) -> None:
        """Refuse work that cannot have the stated loss, by its kind alone.

        Args:
            work: as for `Participant`.

        Raises: InvalidParameterError if it is not callable, or with trust="examples" not a `private_descent` by the
            same plan.
        """
        if not callable(work):
            raise InvalidParameterError(f"work must be a function from parameters to an update, got {shown(work)}")
        private = isinstance(work, PrivateDescent) and work.plan == self.plan and work.steps == self.local_steps
        if self.trust == "examples" and not private:
            raise InvalidParameterError(
                'with trust="examples" work must be private_descent(local, plan, ...) by the same plan, with '
                f"steps={self.local_steps} in local"
            )

    def update(self, work: Work, parameters: Floats) -> Floats:
        """Return the update of parameters by some work.

        Args:
            work: as for `Participant`.
            parameters: shape (dimensions,).

        Raises: InvalidParameterError if it has another shape.
        """
        update = np.array(work(parameters.copy()), dtype=np.float64)
        if update.shape != (self.plan.dimensions,):
            raise InvalidParameterError(f"work must give {self.plan.dimensions} numbers, got the shape {update.shape}")
        return update

    def rehearse(self, work: Work) -> None:
        """Run work on *made-up* rows, and raise its errors.

        A `Participant` turns such errors into zero updates.

        Args:
            work: as for `Participant`, on made-up rows.

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
        """Charge the ledger for all rounds, then train.

        Args:
            ask: carries messages to clients 0, 1, ..., clients - 1 and brings replies: `Simulation` or `Pipes`.
            clients: the number of clients; secret under add/remove.
            expected_clients: their approximate number, from public knowledge; sums are never divided by the number of
                clients who answered.
            start: the parameters of the first round, shape (dimensions,); zeros by default.
            ledger: charged before a client is asked; None charges nothing.
            delta: at which a ledger of (epsilon, delta) pairs is charged.
            bits: leave it out, except in tests.

        Returns: a `Trained`: the parameters, their cost, and the rounds that were lost.
        """
        parameters = self._started(start)
        if self.wrap_probability(whole_number("clients", clients, lower=0)) > _MAX_WRAP_PROBABILITY:
            raise InvalidParameterError("sums could wrap around: take a coarser lattice, or more bytes of width")
        run = self._run(clients, expected_clients, bits)
        self._charge(ledger, delta, bits)
        lost = []
        for batch in run:
            message = bytes([TRAIN]) + np.append(run.norm, parameters).astype("<f8").tobytes()
            replies = ask(dict.fromkeys(batch.tolist(), message))
            if isinstance(run, _NoiseElsewhere) and self.trust == "examples":
                run.skip()
                mean = self._mean_of_private(replies, expected_clients)
            else:
                try:
                    total = self._sum(replies, ask, bits)
                except InvalidParameterError as error:
                    assert isinstance(run, _NoiseElsewhere)
                    lost.append((run.skip(), str(error)))
                    continue
                mean = self._mean_of_sum(run, total)
            parameters = parameters + float(self.step_size) * mean
        return Trained(parameters=parameters, cost=self.privacy_loss, lost=tuple(lost))

    def _started(self, start: ArrayLike | None) -> Floats:
        """Return the parameters of the first round."""
        dimensions = self.plan.dimensions
        parameters = np.zeros(dimensions) if start is None else np.array(start, dtype=np.float64)
        if parameters.shape != (dimensions,) or not np.isfinite(parameters).all():
            raise InvalidParameterError(f"start must be {dimensions} finite numbers")
        return parameters

    def _run(self, clients: int, expected_clients: int, bits: Bits) -> TrainingRun:
        """Return the run that draws the clients of each round."""
        plan = self.plan
        if self.trust == "examples":  # every client is in every round, and has its own run of the plan
            plan = TrainingPlan(noise_multiplier=Fraction(1), steps=self.rounds, dimensions=plan.dimensions)
        kind = TrainingRun if self.trust == "central" else _NoiseElsewhere
        return kind(plan, clients, expected_clients, None, bits)

    def _charge(self, ledger: Payer | None, delta: Real, bits: Bits) -> None:
        text = json.dumps(self.to_data(), sort_keys=True)
        payment = Payment(ledger, text=text, bits=bits, units=self.trust != "examples")
        if ledger is None:
            return
        losses = [stated(self.privacy_loss, positive_rational("delta", delta))]
        if self.trust in ("central", "examples"):
            losses.append(self.plan.known_loss)
        payment.charge(*losses)

    def _mean_of_private(self, replies: Messages, expected_clients: int) -> Floats:
        """Return the mean of private updates; one that is not finite counts as zero."""
        total = np.zeros(self.plan.dimensions)
        for reply in replies.values():
            if len(reply) == 8 * self.plan.dimensions:
                update = np.frombuffer(reply)
                if np.isfinite(update).all():
                    total = total + update
        return total / expected_clients

    def _mean_of_sum(self, run: TrainingRun, total: NDArray[Any]) -> Floats:
        """Return the mean update from the sum of a round, with the server's noise."""
        scale = run.scale  # of this round: releasing the sum moves an adaptive norm
        noisy = run._released([total])[0][: self.plan.dimensions]
        if self.codec is not None and self.trust != "local":
            noisy = self.codec.unpack(self.codec.pack(noisy), self.plan.dimensions)
        return noisy.astype(np.float64) * scale

    def _sum(self, replies: Messages, ask: Callable[[Messages], Messages], bits: Bits) -> NDArray[Any]:
        """Return the sum of a round; a reply that no honest client sends counts as zero."""
        columns = self.plan.mechanism.columns
        if self.secure is not None:
            server = SecureServer(self.secure, columns, bits=bits)
            for stage, step in ((SHARE, server.keys), (MASK, server.shares), (UNMASK, server.vectors)):
                replies = ask({number: bytes([stage]) + body for number, body in step(replies).items()})
            return server.result(replies)
        total = np.zeros(columns, dtype=np.int64)
        for reply in replies.values():
            total += self._bounded(reply, columns)
        return total

    def _bounded(self, reply: bytes, columns: int) -> NDArray[Any]:
        """Return one client's update, within its bounds; zero if it is malformed."""
        lattice = self.plan.clip.lattice
        largest = lattice + math.ceil(40 * math.sqrt(self.share_squared))  # noise beyond 40 sigma: below 2^-1000
        zeros = np.zeros(columns, dtype=np.int64)
        if self.trust == "local":
            if self.codec is not None:
                with suppress(InvalidParameterError):
                    return np.clip(self.codec.unpack(reply, columns), -largest, largest)
                return zeros
            return np.clip(np.frombuffer(reply, dtype="<i8"), -largest, largest) if len(reply) == 8 * columns else zeros
        if len(reply) != 4 * columns:
            return zeros
        update = np.frombuffer(reply, dtype="<i4").astype(np.int64)
        within = (update.astype(np.float64) ** 2).sum() <= lattice**2 * (1 + 1e-9)
        return np.clip(update, -largest, largest) * bool(within)


class Trained(NamedTuple):
    """Result of `Federated.fit`.

    Args:
        parameters: after the last round, shape (dimensions,).
        cost: the privacy loss of all rounds.
        lost: pairs (round, reason) of the rounds that were aborted.
    """

    parameters: Floats
    cost: PrivacyLoss
    lost: tuple[tuple[int, str], ...] = ()


class _NoiseElsewhere(TrainingRun):
    """The steps of a plan whose noise is in the sums already."""

    def _noised(self, exact: NDArray[np.int64]) -> NDArray[Any]:
        return exact

    def skip(self) -> int:
        """End a step that releases nothing, and return its number."""
        self._batch = None
        return self.step
