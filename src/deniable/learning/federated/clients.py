"""Clients: what they compute on their own rows, and what of it leaves them in each round."""

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import TIMEOUT_MAX as THREAD_WAITS
from threading import Thread
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from deniable.errors import InvalidParameterError
from deniable.learning.estimators.logistic import probabilities
from deniable.learning.federated.secure import SecureClient, pack, unpack
from deniable.learning.losses import products
from deniable.learning.plan import TrainingPlan
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats, Indices
from deniable.numbers.rationals import Real, positive_rational, whole_number
from deniable.rows import attempted, each_row, numbers, silence, table
from deniable.rows.attempts import Log

if TYPE_CHECKING:
    from deniable.learning.federated.rounds import Federated

TRAIN, SHARE, MASK, UNMASK = range(4)  # the stages of a round
_COUNTS = struct.Struct("<QQ")  # rounds that were answered, and the number of a client


class Model(Protocol):
    """What has a gradient of shape (rows, parameters): a `Loss`, or `Softmax`."""

    def gradients(self, parameters: ArrayLike, rows: object, labels: object) -> Floats: ...


Work = Callable[[Floats], Floats]  # from the parameters of all to a client's update of them


@dataclass(frozen=True, kw_only=True)
class Softmax:
    """Multinomial logistic regression for labels 0, ..., classes - 1; a row with another label has gradient 0.

    >>> Softmax(columns=1, classes=2).gradients(np.zeros(4), [[2.0]], [0]).tolist()
    [[-1.0, 1.0, -0.5, 0.5]]
    """

    columns: int
    classes: int

    def __post_init__(self) -> None:
        whole_number("columns", self.columns, lower=1)
        whole_number("classes", self.classes, lower=2)

    @property
    def dimensions(self) -> int:
        """The number of parameters."""
        return (self.columns + 1) * self.classes

    def _scores(self, parameters: ArrayLike, rows: object) -> tuple[Floats, Floats]:
        found, _ = table(rows, "rows", columns=self.columns)
        found = np.column_stack([found, np.ones(len(found))])
        weights = np.array(parameters, dtype=np.float64)
        if weights.shape != (self.dimensions,):
            raise InvalidParameterError(f"parameters must be {self.dimensions} numbers, got the shape {weights.shape}")
        return found, products(found, weights.reshape(self.columns + 1, self.classes).T)

    @silence()
    def gradients(self, parameters: ArrayLike, rows: object, labels: object) -> Floats:
        """The gradient of every row, shape (rows, dimensions), and a constant as the last column of rows."""
        found, scores = self._scores(parameters, rows)
        known = numbers(labels, "labels")[:, np.newaxis] == np.arange(self.classes)
        slopes = (probabilities(scores) - known) * known.any(axis=1, keepdims=True)
        gradients: Floats = found[:, :, np.newaxis] * slopes[:, np.newaxis]
        return gradients.reshape(len(found), self.dimensions)

    def predict(self, parameters: ArrayLike, rows: object) -> Indices:
        """The most likely label of every row."""
        return np.asarray(np.argmax(self._scores(parameters, rows)[1], axis=1), dtype=np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class LocalDescent:
    """The update of a client after some steps of descent on its own rows: FedSGD with one step, FedAvg with more.

    What is clipped is the whole update, so `steps` and `step_size` cost no privacy. `rows` and `labels` are secret.
    Source: McMahan, Moore, Ramage, Hampson, Agüera y Arcas (2017), arXiv:1602.05629.

    >>> from deniable.learning import Squared
    >>> LocalDescent(model=Squared(label_bound=1), rows=[[2.0]], labels=[1], step_size="1/10", steps=2)(np.zeros(1))
    array([0.32])
    """

    model: Model
    rows: object
    labels: object
    step_size: Real
    steps: int = 1

    @silence()
    def __call__(self, parameters: Floats) -> Floats:
        here, size = parameters, float(positive_rational("step_size", self.step_size))
        for _ in range(whole_number("steps", self.steps, lower=1)):
            found = self.model.gradients(here, self.rows, self.labels)
            here = here - size * found.sum(axis=0) / max(len(found), 1)
        return here - parameters


class PrivateDescent:
    """The work of a client who protects each of its rows; `private_descent` makes it.

    A row on which the model fails has a gradient of zero, and a step without rows has its noise.
    """

    def __init__(self, local: LocalDescent, plan: TrainingPlan, expected_rows: int, bits: Bits) -> None:
        columns = getattr(local.model, "columns", plan.dimensions)
        self.plan, self.steps = plan, whole_number("steps", local.steps, lower=1)
        self._size, self._model = float(positive_rational("step_size", local.step_size)), local.model
        made_up = np.shape(self._model.gradients(np.zeros(plan.dimensions), np.zeros((2, columns)), np.zeros(2)))
        if made_up != (2, plan.dimensions):
            raise InvalidParameterError(f"model must give {plan.dimensions} numbers for each row, got shape {made_up}")
        self._rows, self._labels = table(local.rows, "rows", columns=columns)[0], numbers(local.labels, "labels")
        if len(self._rows) != len(self._labels):
            raise InvalidParameterError("labels must have one entry for each row")
        self._run = plan.run(len(self._rows), expected_rows=expected_rows, bits=bits)

    @silence()
    def __call__(self, parameters: Floats) -> Floats:
        here = parameters
        for _ in range(self.steps):
            batch = next(self._run)
            gradients = each_row(
                partial(self._model.gradients, here), self._rows[batch], self._labels[batch], width=(here.size,)
            )
            here = here - self._size * self._run.mean_gradient(gradients)
        return here - parameters


def private_descent(
    local: LocalDescent, plan: TrainingPlan, *, expected_rows: int, bits: Bits = SECURE
) -> PrivateDescent:
    """The update of a client who protects each of its rows: steps of `local` in a round, by a plan of those of all.

    The model is tried on two made-up rows of zeros, and an error of it is raised here; later a row on which it fails
    has a gradient of zero.
    """
    return PrivateDescent(local, plan, expected_rows, bits)


class Participant:
    """A client as the server sees it: bytes in, bytes out, wherever it runs; refused bytes get none, see `refusal`.

    Where the work fails, or gives anything but `plan.dimensions` numbers, the update is zero, with noise where the
    client adds it: the server sees no error. `Federated.rehearse` tries the work on made-up rows, and shows them.

    Args:
        work: from parameters to an update: a `LocalDescent` or any function; with trust="examples" a
            `private_descent` by the plan of all.
        seconds: the first answer of every round leaves so long after the question, however long the work takes; work
            that takes longer is a zero update. By default the server sees how long it took.
        log: called with each error of the work, in the process of the client: for logs that stay with the rows.
    """

    def __init__(
        self, federated: "Federated", number: int, work: Work, *, seconds: float | None = None, log: Log | None = None,
        bits: Bits = SECURE,
    ) -> None:  # fmt: skip
        self.federated, self.number, self.refusal = federated, number, ""
        federated.check_work(work)
        if seconds is not None and (federated.trust == "examples" or not 0 < seconds < THREAD_WAITS):
            raise InvalidParameterError(
                "seconds must be above 0, and goes with updates that are clipped as a whole: a late private_descent "
                "would have no noise"
            )
        self._work, self._seconds, self._log, self._bits, self._rounds = work, seconds, log, bits, 0
        self._thread: Thread | None = None  # in which the work runs where it has a time limit
        self._memory: Floats | float = 0.0  # of what a codec left out; as private as the rows, and never sent as it is
        self._secure: SecureClient | None = None

    @property
    def state(self) -> bytes:
        """What this client keeps between answers, where other processes give them; as private as its rows."""
        secure = b"" if self._secure is None else self._secure.state
        memory = np.asarray(self._memory, dtype="<f8").tobytes()
        return pack({0: _COUNTS.pack(self._rounds, self.number), 1: memory, 2: secure})

    def restore(self, state: bytes) -> None:
        """Go on from this state; in the middle of a round only under the number that it began with."""
        parts = unpack(state)
        self._rounds, number = _COUNTS.unpack(parts[0])
        memory = np.frombuffer(parts[1], dtype="<f8")
        self._memory = memory if memory.size == self.federated.plan.dimensions else float(memory[0])
        if parts[2] and number == self.number and self.federated.secure is not None:
            self._secure = SecureClient.restored(self.federated.secure, number, parts[2], bits=self._bits)

    def answer(self, message: bytes) -> bytes:
        """The reply to a message of the server."""
        try:
            stage, body = message[0], message[1:]
            if stage == TRAIN:
                return self._trained(body)
            if self._secure is None:
                raise InvalidParameterError("a round begins with parameters")
            reply = (self._secure.share, self._secure.masked, self._secure.unmask)[stage - SHARE](body)
            if stage == UNMASK:
                self._secure = None  # its secrets have done their work
            return reply
        except (InvalidParameterError, IndexError) as error:
            self.refusal, self._secure = str(error), None  # who refuses once is out of the round
            return b""

    def _made(self, parameters: Floats) -> Floats | None:
        """The update, or None where the work fails, or is late; it is not called while it is at work."""
        work = partial(attempted, self.federated.update, self._work, parameters, log=self._log)
        if self._seconds is None:
            return work()
        made: list[Floats | None] = []
        end = time.monotonic() + self._seconds
        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=lambda: made.append(work()), daemon=True)
            self._thread.start()
            self._thread.join(self._seconds)
        time.sleep(max(end - time.monotonic(), 0.0))
        if not made and self._log is not None:
            attempted(self._log, TimeoutError("the work took longer than its seconds"))
        return made[0] if made else None

    @silence()
    def _trained(self, body: bytes) -> bytes:
        federated, plan = self.federated, self.federated.plan
        if len(body) != 8 * (plan.dimensions + 1):
            raise InvalidParameterError(f"a round begins with a norm and {plan.dimensions} parameters")
        norm, parameters = np.frombuffer(body, dtype="<f8")[0], np.frombuffer(body, dtype="<f8")[1:].copy()
        if self._rounds == federated.rounds or not (0 < norm < np.inf and np.isfinite(parameters).all()):
            raise InvalidParameterError("all rounds of the plan are over, or norm and parameters are not finite")
        self._rounds += 1
        found = self._made(parameters)
        update = (np.zeros(plan.dimensions) if found is None else found) + self._memory
        if federated.trust == "examples":
            return bytes(update.astype("<f8").tobytes())
        exact = plan.clip.integers(update[np.newaxis], norm)[0]
        if federated.trust == "central":
            return bytes(exact.astype("<i4").tobytes())
        noisy = exact + federated.share(exact.shape, self._bits)
        if federated.secure is not None:
            self._secure = SecureClient(federated.secure, self.number, noisy.astype(np.int64), bits=self._bits)
            return self._secure.hello()
        if federated.codec is None:
            return bytes(noisy.astype("<i8").tobytes())
        sent = federated.codec.pack(noisy)
        left = federated.codec.left(exact, federated.codec.unpack(sent, plan.dimensions))
        self._memory = left * (norm / plan.clip.norm_steps)
        return sent
