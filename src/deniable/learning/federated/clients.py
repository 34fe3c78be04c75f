"""Clients of federated training: their updates, and the messages they send."""

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import TIMEOUT_MAX as THREAD_WAITS
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.learning.estimators.logistic import probabilities
from deniable.learning.federated.secure import SecureClient, pack, unpack
from deniable.learning.losses import products
from deniable.learning.plan import TrainingPlan
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats, Indices, Integers
from deniable.numbers.rationals import Real, positive_rational, whole_number
from deniable.rows import attempted, each_row, numbers, silence, table
from deniable.rows.attempts import Log

if TYPE_CHECKING:
    from deniable.learning.federated.rounds import Federated

TRAIN, SHARE, MASK, UNMASK = range(4)  # the stages of a round
_COUNTS = struct.Struct("<QQ")  # rounds that were answered, and the number of the client


class GradientModel(Protocol):
    """Protocol of models with a gradient for each row, such as a `Loss` or `Softmax`."""

    def gradients(self, parameters: ArrayLike, rows: object, labels: object) -> Floats:
        """Return the gradient of every row, shape (rows, parameters)."""


Work = Callable[[Floats], Floats]  # from the shared parameters to a client's update of them


@dataclass(frozen=True, kw_only=True)
class Softmax:
    """Multinomial logistic regression with an intercept; labels are 0, 1, ...

    A row with another label has a gradient of zero.

    Args:
        columns: numbers in a row, at least 1.
        classes: at least 2.

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
        """Return rows with a constant as last column, and scores (rows, classes)."""
        values, _ = table(rows, "rows", columns=self.columns)
        features = np.column_stack([values, np.ones(len(values))])
        weights = np.array(parameters, dtype=np.float64)
        if weights.shape != (self.dimensions,):
            raise InvalidParameterError(f"parameters must be {self.dimensions} numbers, got the shape {weights.shape}")
        return features, products(features, weights.reshape(self.columns + 1, self.classes).T)

    @silence()
    def gradients(self, parameters: ArrayLike, rows: object, labels: object) -> Floats:
        """Return the gradient of every row, shape (rows, dimensions).

        Args:
            parameters: shape (dimensions,): the weights of all classes for the first column, for the second, ..., and
                the intercepts.
            rows: shape (rows, columns); labels: shape (rows,).
        """
        features, scores = self._scores(parameters, rows)
        one_hot = numbers(labels, "labels")[:, np.newaxis] == np.arange(self.classes)
        residuals = (probabilities(scores) - one_hot) * one_hot.any(axis=1, keepdims=True)
        gradients: Floats = features[:, :, np.newaxis] * residuals[:, np.newaxis]
        return gradients.reshape(len(features), self.dimensions)

    def predict(self, parameters: ArrayLike, rows: object) -> Indices:
        """Return the most likely label of every row.

        Args:
            parameters: shape (dimensions,).
            rows: shape (rows, columns).
        """
        return np.asarray(np.argmax(self._scores(parameters, rows)[1], axis=1), dtype=np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class LocalDescent:
    """Descent on a client's own rows: FedSGD with one step, FedAvg with more.

    The whole update is clipped, so `steps` and `step_size` cost no privacy.

    Args:
        model: gives the gradient of each row.
        rows, labels: of shape (rows, columns) and (rows,); secret.
        step_size: by which the mean gradient of a step is multiplied.
        steps: of descent in each round.

    Source: McMahan, Moore, Ramage, Hampson, Agüera y Arcas (2017), arXiv:1602.05629.

    >>> from deniable.learning.losses import Squared
    >>> LocalDescent(model=Squared(label_bound=1), rows=[[2.0]], labels=[1], step_size="1/10", steps=2)(np.zeros(1))
    array([0.32])
    """

    model: GradientModel
    rows: object
    labels: object
    step_size: Real
    steps: int = 1

    @silence()
    def __call__(self, parameters: Floats) -> Floats:
        """Return the update of the parameters, shape (dimensions,)."""
        moved = parameters
        step_size = float(positive_rational("step_size", self.step_size))
        for _ in range(whole_number("steps", self.steps, lower=1)):
            gradients = self.model.gradients(moved, self.rows, self.labels)
            moved = moved - step_size * gradients.sum(axis=0) / max(len(gradients), 1)
        return moved - parameters


class PrivateDescent:
    """The work of a client who protects each of its rows; `private_descent` makes it.

    A row on which the model fails has a gradient of zero, and a step without rows still has its noise.

    Args:
        local, plan, expected_rows, bits: as in `private_descent`.
    """

    def __init__(self, local: LocalDescent, plan: TrainingPlan, expected_rows: int, bits: Bits) -> None:
        columns = getattr(local.model, "columns", plan.dimensions)
        self.plan = plan
        self.steps = whole_number("steps", local.steps, lower=1)
        self._step_size = float(positive_rational("step_size", local.step_size))
        self._model = local.model
        made_up = np.shape(self._model.gradients(np.zeros(plan.dimensions), np.zeros((2, columns)), np.zeros(2)))
        if made_up != (2, plan.dimensions):
            raise InvalidParameterError(f"model must give {plan.dimensions} numbers for each row, got shape {made_up}")
        self._rows, _ = table(local.rows, "rows", columns=columns)
        self._labels = numbers(local.labels, "labels")
        if len(self._rows) != len(self._labels):
            raise InvalidParameterError("labels must have one entry for each row")
        self._run = plan.run(len(self._rows), expected_rows=expected_rows, bits=bits)

    @silence()
    def __call__(self, parameters: Floats) -> Floats:
        """Return the private update of the parameters after the steps of one round."""
        moved = parameters
        for _ in range(self.steps):
            batch = next(self._run)
            gradients_at = partial(self._model.gradients, moved)
            gradients = each_row(gradients_at, self._rows[batch], self._labels[batch], width=(moved.size,))
            moved = moved - self._step_size * self._run.mean_gradient(gradients)
        return moved - parameters


def private_descent(
    local: LocalDescent, plan: TrainingPlan, *, expected_rows: int, bits: Bits = SECURE
) -> PrivateDescent:
    """Return the work of a client who protects each of its rows.

    It goes with `Participant` and trust="examples".

    The model is tried on two rows of zeros, and an error on them is raised here; later a row on which it fails has a
    gradient of zero.

    Args:
        local: the model, the client's rows, and the steps of one round.
        plan: the steps of all rounds; with as many dimensions as the model has parameters.
        expected_rows: the approximate number of the client's rows, from public knowledge.
        bits: leave it out, except in tests.

    >>> model = Softmax(columns=1, classes=2)
    >>> plan = TrainingPlan(noise_multiplier=1, steps=6, dimensions=model.dimensions)
    >>> local = LocalDescent(model=model, rows=[[0.5], [2.0]] * 50, labels=[0, 1] * 50, step_size=1, steps=3)
    >>> private_descent(local, plan, expected_rows=100)(np.zeros(4)).shape
    (4,)
    """
    return PrivateDescent(local, plan, expected_rows, bits)


class Participant:
    """A client as the server sees it: bytes in, bytes out, wherever it runs.

    A message that it refuses has an empty reply, and `refusal` says why. Where the work fails, or returns anything but
    `plan.dimensions` numbers, the update is zero, with noise where the client adds it: the server sees no error.
    `Federated.rehearse` tries the work on made-up rows, and raises its errors.

    Args:
        federated: the plan of the training, the same for all.
        number: of this client, for the server.
        work: a function from parameters to an update, both of shape (dimensions,), such as a `LocalDescent`; with
            trust="examples" a `private_descent` by the same plan.
        seconds: the first answer of every round is sent this long after the message came, however long the work takes;
            work that takes longer is a zero update. By default the server sees how long the work took.
        log: called with each error of the work, in the process of the client: for logs that stay with the rows.
        bits: leave it out, except in tests.

    >>> from deniable.learning.federated import Federated
    >>> federated = Federated(plan=TrainingPlan(noise_multiplier=1, steps=5, dimensions=3))
    >>> client = Participant(federated, 0, lambda parameters: np.array([1.0, 0.0, -1.0]) - parameters)
    >>> len(client.answer(b"not a round")), client.refusal
    (0, 'a round begins with parameters')
    """

    def __init__(
        self, federated: "Federated", number: int, work: Work, *, seconds: float | None = None, log: Log | None = None,
        bits: Bits = SECURE,
    ) -> None:  # fmt: skip
        federated.check_work(work)
        if seconds is not None and (federated.trust == "examples" or not 0 < seconds < THREAD_WAITS):
            raise InvalidParameterError(
                "seconds must be above 0, and goes with updates that are clipped as a whole: a late private_descent "
                "would have no noise"
            )
        self.federated = federated
        self.number = number
        self.refusal = ""
        self._work = work
        self._seconds = seconds
        self._log = log
        self._bits = bits
        self._rounds = 0
        self._thread: Thread | None = None  # in which the work runs where it has a time limit
        self._codec_error: Floats | float = 0.0  # left out by a codec; as private as the rows, never sent as it is
        self._secure: SecureClient | None = None

    @property
    def state(self) -> bytes:
        """State to keep between answers that other processes give; secret."""
        secure = b"" if self._secure is None else self._secure.state
        codec_error = np.asarray(self._codec_error, dtype="<f8").tobytes()
        return pack({0: _COUNTS.pack(self._rounds, self.number), 1: codec_error, 2: secure})

    def restore(self, state: bytes) -> None:
        """Continue from a state.

        In the middle of a round it is restored only under the number with which the round began.
        """
        parts = unpack(state)
        self._rounds, number = _COUNTS.unpack(parts[0])
        codec_error = np.frombuffer(parts[1], dtype="<f8")
        whole = codec_error.size == self.federated.plan.dimensions
        self._codec_error = codec_error if whole else float(codec_error[0])
        if parts[2] and number == self.number and self.federated.secure is not None:
            self._secure = SecureClient.restored(self.federated.secure, number, parts[2], bits=self._bits)

    def answer(self, message: bytes) -> bytes:
        """Return the reply to a message of the server: empty if it is refused."""
        try:
            stage = message[0]
            body = message[1:]
            if stage == TRAIN:
                return self._train(body)
            if self._secure is None:
                raise InvalidParameterError("a round begins with parameters")
            replies = (self._secure.share_keys, self._secure.mask, self._secure.unmask)
            reply = replies[stage - SHARE](body)
            if stage == UNMASK:
                self._secure = None  # its secrets have done their work
            return reply
        except (InvalidParameterError, IndexError) as error:
            self.refusal = str(error)
            self._secure = None  # a client that refuses once is out of the round
            return b""

    def _update(self, parameters: Floats) -> Floats | None:
        """Return the update, or None if the work fails or is late.

        Work that is still running is not called again.
        """
        work = partial(attempted, self.federated.update, self._work, parameters, log=self._log)
        if self._seconds is None:
            return work()
        updates: list[Floats | None] = []
        deadline = time.monotonic() + self._seconds
        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=lambda: updates.append(work()), daemon=True)
            self._thread.start()
            self._thread.join(self._seconds)
        time.sleep(max(deadline - time.monotonic(), 0.0))
        if not updates and self._log is not None:
            attempted(self._log, TimeoutError("the work took longer than its seconds"))
        return updates[0] if updates else None

    @silence()
    def _train(self, body: bytes) -> bytes:
        """Return the first reply of a round: an update, or keys for masking it."""
        norm, parameters = self._round(body)
        self._rounds += 1
        dimensions = self.federated.plan.dimensions
        update = self._update(parameters)
        update = (np.zeros(dimensions) if update is None else update) + self._codec_error
        if self.federated.trust == "examples":
            return bytes(update.astype("<f8").tobytes())
        exact = self.federated.plan.clip.integers(update[np.newaxis], norm)[0]
        if self.federated.trust == "central":
            return bytes(exact.astype("<i4").tobytes())
        noisy = exact + self.federated.share(exact.shape, self._bits)
        if self.federated.secure is not None:
            secret = noisy.astype(np.int64)
            self._secure = SecureClient(self.federated.secure, self.number, secret, bits=self._bits)
            return self._secure.advertise_keys()
        if self.federated.codec is None:
            return bytes(noisy.astype("<i8").tobytes())
        return self._encoded(exact, noisy, norm)

    def _round(self, body: bytes) -> tuple[float, Floats]:
        """Return the clipping norm and the parameters of a round."""
        dimensions = self.federated.plan.dimensions
        if len(body) != 8 * (dimensions + 1):
            raise InvalidParameterError(f"a round begins with a norm and {dimensions} parameters")
        values = np.frombuffer(body, dtype="<f8")
        norm = float(values[0])
        parameters = values[1:].copy()
        if self._rounds == self.federated.rounds or not (0 < norm < np.inf and np.isfinite(parameters).all()):
            raise InvalidParameterError("all rounds of the plan are over, or norm and parameters are not finite")
        return norm, parameters

    def _encoded(self, exact: Integers, noisy: NDArray[Any], norm: float) -> bytes:
        """Return the noisy update as the codec sends it; keep what it left out."""
        codec, plan = self.federated.codec, self.federated.plan
        assert codec is not None
        sent = codec.pack(noisy)
        left_out = codec.left(exact, codec.unpack(sent, plan.dimensions))
        self._codec_error = left_out.astype(np.float64) * (norm / plan.clip.norm_steps)
        return sent
