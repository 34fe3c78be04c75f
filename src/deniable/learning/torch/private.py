"""Private training loops: `make_private` for a loop of your own, or `train`."""

import html
import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import torch
from rich.progress import track
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from deniable.errors import InvalidParameterError
from deniable.learning import AdaptiveClip, Clip, Poisson, TrainingPlan
from deniable.learning.estimators.estimator import Work
from deniable.learning.torch.checks import Loss, Pair, Rows, check_optimizer, plain, row_loss
from deniable.learning.torch.gradients import ClippedGradients
from deniable.learning.torch.ranks import Ranks
from deniable.ledger.payment import Payer, Payment
from deniable.mechanisms.price import Price
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real, whole_number
from deniable.privacy import AddRemove, Interval, PrivacyLoss
from deniable.rows import silence

_LATTICE_STEPS = 2**26  # to the norm: fine enough for 2^27 parameters beside the rounding of float32


def make_private(
    model: nn.Module, optimizer: torch.optim.Optimizer, loader: "DataLoader[Any]", *, loss: Loss,
    expected_rows: int | None = None, epsilon: Real | None = None, delta: Real | None = None, epochs: int | None = None,
    steps: int | None = None, clip: Real | None = None, plan: TrainingPlan | None = None, microbatch: int = 512,
    autocast: torch.dtype | None = None, example: tuple[Any, Any] | None = None, ledger: Payer | None = None,
    bits: Bits = SECURE,
) -> tuple[nn.Module, "PrivateOptimizer", "PrivateLoader"]:  # fmt: skip
    """Make the model, optimizer and loader of a training loop private.

    The ledger is charged before the first row is read. Then draw a batch from the private loader and call `step()` of
    the private optimizer, once each: it clips the gradient of every row of that batch, adds up, adds exact noise once,
    divides by a public number, and lets your optimizer step. Backward passes of your own change no step, and may be
    left out. The plan's samples replace the order of the loader.

    The length, noise and clip of the run are stated in one of three ways:

    | give | the run has |
    |---|---|
    | `epsilon, delta, epochs` (and `clip`) | the least noise for that price, and `epochs` passes over the loader |
    | `epsilon, delta, steps` (and `clip`) | the same with a number of steps |
    | `plan` (and `delta`) | the sampler, clip, noise and steps of the plan; a ledger of pairs is charged at delta |

    | case | what happens |
    |---|---|
    | an empty sample | the step has its noise, and moves the parameters by it |
    | a row on which model or loss fail, or whose gradient is not finite | it counts as zero |
    | a gradient longer than the clip, or shorter | it is cut to the clip; or stays as it is |
    | a layer that mixes rows, such as BatchNorm | refused, before anything is charged |
    | a second `step()` for one batch, or a second batch without a step | refused |
    | more steps than planned | refused |
    | a run that is stopped early | the whole plan was charged |
    | several processes (`torch.distributed`) | one sample, one exact sum and one noise for all; the first one charges |

    Args:
        model: returned as it is; it is run on one row at a time.
        optimizer: any of torch.optim that steps on gradients, with exactly the trainable parameters of the model.
        loader: of pairs (inputs, target); its batch_size is the expected size of a sample.
        loss: of outputs and targets, one value for each row; modules of torch that average are asked for single ones.
        expected_rows: the approximate number of rows, from public knowledge; may be left out under replace.
        epsilon, delta: the price of the whole run; in the table above.
        epochs, steps: passes over the loader, or steps in all.
        clip: the l2 norm to which the gradient of a row is cut, 1 by default.
        plan: in place of epsilon, epochs, steps and clip.
        microbatch: rows that are worked on at once; it bounds memory, and changes no number.
        autocast: a type such as torch.bfloat16 for forward passes.
        example: made-up rows as in `ClippedGradients`.
        ledger: charged before a row is read; None charges nothing.
        bits: leave it out, except in tests.

    Guarantee: `optimizer.privacy_loss`, that of the plan: parameters are computed from its noisy sums alone.
    Raises: InvalidParameterError for arguments that do not fit, before anything is charged.
    Source: Abadi et al. (2016), arXiv:1607.00133.

    >>> import torch
    >>> from deniable.learning.torch import make_private
    >>> rows = torch.utils.data.TensorDataset(torch.rand(1000, 2), torch.randint(2, (1000,)))
    >>> model, cost = torch.nn.Linear(2, 2), {"epsilon": 1, "delta": "1e-5", "epochs": 2, "expected_rows": 1000}
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    >>> loader = torch.utils.data.DataLoader(rows, batch_size=100, shuffle=True)
    >>> model, optimizer, loader = make_private(model, optimizer, loader, loss=torch.nn.CrossEntropyLoss(), **cost)
    >>> for inputs, targets in loader:
    ...     optimizer.step()
    >>> print(optimizer.done, optimizer.plan.steps)
    10 20
    """
    microbatch = whole_number("microbatch", microbatch, lower=1)
    module = plain(model)
    rows = Rows(loader)
    ranks = Ranks()
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    check_optimizer(optimizer, parameters)
    dimensions = sum(parameter.numel() for parameter in parameters)
    if expected_rows is None and getattr(plan, "relation", AddRemove) is AddRemove:
        raise InvalidParameterError("expected_rows must be the approximate number of rows, from public knowledge")
    size = whole_number("expected_rows", max(len(rows), 1) if expected_rows is None else expected_rows, lower=1)
    if plan is None:
        rate = min(Fraction(loader.batch_size or 1, size), Fraction(1))
        plan = _calibrated_plan(epsilon, delta, epochs, steps, clip, sampler=Poisson(rate=rate), dimensions=dimensions)
        assert delta is not None
        cost = Price.of(epsilon, delta, None).stated(plan.privacy_loss)
    else:
        if any(given is not None for given in (epsilon, epochs, steps, clip)):
            raise InvalidParameterError("a plan has its own epsilon, steps and clip: give either the plan or these")
        _check_plan(plan, dimensions)
        delta = "1e-6" if delta is None else delta
        cost = plan.privacy_loss if ledger is None else plan.booked(delta)
    if plan.clip.lattice < 2**10 * ranks.count * math.isqrt(dimensions):  # ClippedGradients leaves 2^-8 of the norm
        raise InvalidParameterError(
            "the lattice of the clip is too coarse for this number of parameters: increase it to 2^26 steps"
        )
    text = f"make_private({type(module).__name__}, {plan.to_json()})"
    payment = Payment(ledger, text=text, bits=bits)
    ranks.agree(plan.to_json())
    clipped = ClippedGradients(module, row_loss(loss), norm=float(plan.clip.norm), example=example)
    device = parameters[0].device
    with _cast(device, autocast):
        clipped(*(part.to(device) for part in rows.empty))  # a rehearsal on made-up rows
    begin = partial(plan.run, len(rows), expected_rows=size, bits=bits)
    private = PrivateOptimizer(
        optimizer, clipped, rows, ranks, begin=begin, plan=plan, privacy_loss=cost, delta=delta, microbatch=microbatch,
        autocast=autocast,
    )  # fmt: skip
    if ledger is not None:
        ranks.run_on_first(lambda: payment.charge(cost, plan.known_loss))
    ranks.share(module)
    return model, private, PrivateLoader(private)


def _calibrated_plan(
    epsilon: Real | None, delta: Real | None, epochs: int | None, steps: int | None, clip: Real | None, *,
    sampler: Poisson, dimensions: int,
) -> TrainingPlan:  # fmt: skip
    """Return the plan with the least noise for a price and a length."""
    if epsilon is None or delta is None or (epochs is None) == (steps is None):
        raise InvalidParameterError(
            "specify the budget and the length: epsilon=1, delta=1e-6, epochs=20 (or steps), or a plan"
        )
    if steps is None:
        steps = whole_number("epochs", epochs, lower=1) * math.ceil(1 / sampler.rate)
    norm = Clip(norm=1 if clip is None else clip, lattice=_LATTICE_STEPS)  # type: ignore[arg-type]
    return TrainingPlan.calibrate(
        epsilon=epsilon, delta=delta, steps=steps, dimensions=dimensions, sampler=sampler, clip=norm
    )


def _check_plan(plan: TrainingPlan, dimensions: int) -> None:
    """Refuse a plan that gradients of this model cannot follow."""
    fits = isinstance(plan, TrainingPlan) and plan.dimensions == dimensions and plan.unit.column is None
    if not fits or type(plan.clip) not in (Clip, AdaptiveClip):
        raise InvalidParameterError(f"plan must have dimensions={dimensions}, Clip or AdaptiveClip, units of a row")
    if plan.clip.blocks or plan.clip.stabiliser is not None:
        raise InvalidParameterError("gradients are cut to one norm here: take a Clip without blocks and stabiliser")


def train(
    model: nn.Module, loss: Loss, data: "Dataset[Any] | DataLoader[Any] | tuple[Tensor, Tensor]", *,
    optimizer: torch.optim.Optimizer, batch_size: int = 256, resume: dict[str, Any] | None = None, show: bool = False,
    board: Any = None, **options: Any,
) -> "Iterator[PrivateOptimizer]":  # fmt: skip
    """Train step by step, and yield the private optimizer after each step.

    The whole plan is charged when this is called, also for a loop that stops early.

    Args:
        model, loss, optimizer: as in `make_private`.
        data: a dataset, a loader, or a pair of tensors (inputs, targets); private.
        batch_size: the expected size of a sample, unless a plan or a loader says it.
        resume: the `state_dict()` of a run of the same plan, which was charged then.
        show: whether to show a progress bar.
        board: a SummaryWriter of TensorBoard, for epsilon and the norm of the noisy gradient.
        options: epsilon, delta, epochs, expected_rows, ledger and all else that `make_private` takes.

    Raises: InvalidParameterError as `make_private` does, when it is called and not at the first step.

    >>> import torch
    >>> from deniable.learning.torch import DPAdam, train
    >>> model, rows = torch.nn.Linear(2, 2), (torch.rand(1000, 2), torch.randint(2, (1000,)))
    >>> cost = {"epsilon": 1, "delta": "1e-5", "steps": 5, "expected_rows": 1000, "batch_size": 1000}
    >>> for run in train(model, torch.nn.CrossEntropyLoss(), rows, optimizer=DPAdam(model.parameters()), **cost):
    ...     pass
    >>> print(run.done, run.epsilon().upper <= 1)
    5 True
    """
    rows = TensorDataset(*data) if isinstance(data, tuple) else data
    loader = rows if isinstance(rows, DataLoader) else DataLoader(rows, batch_size=batch_size)
    _, private, _ = make_private(model, optimizer, loader, loss=loss, **options)
    if resume is not None:
        private.load_state_dict(resume)
    return _train(private, show, board)


def _cast(device: torch.device, kind: torch.dtype | None) -> AbstractContextManager[Any]:
    return nullcontext() if kind is None else torch.autocast(device.type, kind)


def _train(run: "PrivateOptimizer", show: bool, board: Any) -> "Iterator[PrivateOptimizer]":
    steps = range(run.done + 1, run.plan.steps + 1)
    for step in track(steps, "training") if show else steps:  # rich 13.0 ends a line even where it shows nothing
        run.draw()
        run.step()
        if board is not None:
            parameters = [parameter for group in run.param_groups for parameter in group["params"]]
            norms = torch.stack([parameter.grad.double().norm() for parameter in parameters])
            board.add_scalar("noisy gradient norm", float(norms.norm()), step)
            if step % max(1, run.plan.steps // 10) == 0:
                board.add_scalar("epsilon", run.epsilon().upper, step)
        yield run


class PrivateLoader:
    """Loader of every step's sample of rows; `make_private` makes it.

    Samples may be empty.

    A pass has as many samples as an epoch has on average.

    Args:
        optimizer: the private optimizer whose run draws the samples.

    >>> import torch
    >>> from deniable.learning.torch import make_private
    >>> rows = torch.utils.data.TensorDataset(torch.rand(100, 2), torch.randint(2, (100,)))
    >>> model = torch.nn.Linear(2, 2)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    >>> run = {"epsilon": 1, "delta": "1e-5", "epochs": 2, "expected_rows": 100, "loss": torch.nn.CrossEntropyLoss()}
    >>> *_, loader = make_private(model, optimizer, torch.utils.data.DataLoader(rows, batch_size=20), **run)
    >>> len(loader)
    5
    """

    def __init__(self, optimizer: "PrivateOptimizer") -> None:
        self._optimizer = optimizer
        self._steps = math.ceil(1 / optimizer.plan.sampler.share())

    def __len__(self) -> int:
        return self._steps

    def __iter__(self) -> Iterator[Pair]:
        for _ in range(min(self._steps, self._optimizer.left())):
            yield self._optimizer.draw()


class PrivateOptimizer(torch.optim.Optimizer):
    """Optimizer whose `step` uses a noisy mean gradient alone.

    It is that of the last batch; nothing else of the rows is used.

    `make_private` makes it. It has the run's `plan`, its `privacy_loss` as it was charged, and `done`, the number of
    steps so far.

    Args:
        inside: the optimizer that steps on noisy gradients.
        clipped: the sums of clipped gradients of the model.
        rows: the private rows, by index.
        ranks: the processes that train together.
        begin: starts the run of the plan.
        plan, privacy_loss, delta: the plan, its loss as charged, and the delta at which epsilon is stated.
        microbatch, autocast: as in `make_private`.

    >>> import torch
    >>> from deniable.learning.torch import make_private
    >>> rows = torch.utils.data.TensorDataset(torch.rand(100, 2), torch.randint(2, (100,)))
    >>> model = torch.nn.Linear(2, 2)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    >>> run = {"epsilon": 1, "delta": "1e-5", "epochs": 2, "expected_rows": 100, "loss": torch.nn.CrossEntropyLoss()}
    >>> _, optimizer, loader = make_private(model, optimizer, torch.utils.data.DataLoader(rows, batch_size=20), **run)
    >>> inputs, targets = optimizer.draw()
    >>> optimizer.step()
    >>> optimizer.done, optimizer.left(), bool(optimizer.privacy_loss.epsilon("1e-5").upper <= 1)
    (1, 9, True)
    """

    _step_supports_amp_scaling = True  # a GradScaler never skips a step: that would depend on rows

    def __init__(
        self, inside: Any, clipped: ClippedGradients, rows: Rows, ranks: Ranks, *, begin: "partial[Any]",
        plan: TrainingPlan, privacy_loss: PrivacyLoss, delta: Real, microbatch: int, autocast: torch.dtype | None,
    ) -> None:  # fmt: skip
        self.plan = plan
        self.privacy_loss = privacy_loss
        self.delta = delta
        self.done = 0
        self._inside = inside
        self._clipped = clipped
        self._rows = rows
        self._ranks = ranks
        self._begin = begin
        self._run = begin()
        self._microbatch = microbatch
        self._autocast = autocast
        self._pending: Pair | None = None
        self.param_groups, self.state, self.defaults = inside.param_groups, inside.state, inside.defaults

    def epsilon(self) -> Interval:
        """Return the certified epsilon of the steps so far; it takes a moment."""
        if not self.done:
            return Interval(0, 0)
        return replace(self.plan, steps=self.done).privacy_loss.epsilon(self.delta)

    def left(self) -> int:
        """Return the number of steps that are left.

        Raises: InvalidParameterError if there are none.
        """
        if self.done == self.plan.steps:
            raise InvalidParameterError(f"all {self.done} steps of the plan are done; no more were charged")
        return self.plan.steps - self.done

    def draw(self) -> Pair:
        """Draw the next batch, once the last one had its step.

        Returns: inputs and targets; of several processes, this one's part of them.
        """
        self.left()
        if self._pending is not None:
            raise InvalidParameterError("call step() once a batch, and accumulate nothing: microbatch= bounds memory")
        indices, self._clipped.norm, self._scale = self._ranks.run_on_first(self._next_step)
        self._sampled = len(indices)
        self._pending = self._rows.batch(self._ranks.mine(indices))
        return self._pending

    def _next_step(self) -> tuple[Any, float, float]:
        """Return the indices of the rows of the next step, its norm, and its scale."""
        run = self._run
        indices = next(run)
        run.norm = min(max(run.norm, 2.0**-10), 2.0**20)  # the range of ClippedGradients
        return indices, run.norm, run.scale

    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Clip, add up, add the noise, and let the optimizer inside step on the mean.

        Raises: InvalidParameterError if no new batch was drawn, or the plan's steps are done.
        """
        self.left()
        if self._pending is None or closure is not None:
            raise InvalidParameterError("there is no new batch. Draw one before each step(), which takes no closure.")
        sums = self._ranks.add_up(self._sums(*self._pending)).cpu().numpy()
        self._pending = None
        self.done += 1
        parameters = self._clipped.parameters
        with silence():
            noisy = self._ranks.run_on_first(lambda: self._run.noisy(sums[:-1], within=int(sums[-1]))[0])
            mean = torch.from_numpy(np.asarray(noisy, dtype=np.float64)).to(parameters[0].device) * self._scale
        self._state_noise()
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None  # a gradient of a frozen parameter would not be noisy
        parts = torch.split(mean, [parameter.numel() for parameter in parameters])
        for parameter, part in zip(parameters, parts, strict=True):
            parameter.grad = part.view_as(parameter).to(parameter)
        self._inside.step()

    def _state_noise(self) -> None:
        """Give the variance of the noise to optimizers that use it, such as `DPAdam`."""
        deviation = self._scale * self.plan.clip.lattice * float(self.plan.noise_multiplier)
        for group in self.param_groups:
            if "noise_variance" in group:
                group["noise_variance"] = deviation**2

    def _sums(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Return int64 sums of clipped gradients, and rows within less those beyond.

        Gradients are in lattice steps; within and beyond refer to the norm.
        """
        total = torch.zeros(self.plan.dimensions + 1, dtype=torch.float64, device=self._clipped.parameters[0].device)
        for start in range(0, len(inputs), self._microbatch):
            rows = slice(start, start + self._microbatch)
            total += self._sum_of_rows(inputs[rows].to(total.device), targets[rows].to(total.device))
        total[:-1] *= self.plan.clip.norm_steps / self._clipped.norm
        return total.round().long()

    def _sum_of_rows(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Return the sums of a few rows in float64.

        A row on which model or loss fail counts as zero.
        """
        try:
            with _cast(inputs.device, self._autocast), silence():
                gradients = self._clipped(inputs, targets, batch_size=self._sampled)
            within = torch.where(self._clipped.norms <= self._clipped.norm, 1.0, -1.0).sum()
            return torch.cat([*(part.reshape(-1) for part in gradients), within.reshape(1).to(gradients[0])])
        except InvalidParameterError:  # a fault of the model, whatever the rows are
            raise
        except BaseException as error:
            if type(error) is KeyboardInterrupt:  # from the keyboard, and not a class that a model defines
                raise
            total = torch.zeros(self.plan.dimensions + 1, dtype=torch.float64, device=inputs.device)
            half = len(inputs) // 2
            if half:
                total += self._sum_of_rows(inputs[:half], targets[:half])
                total += self._sum_of_rows(inputs[half:], targets[half:])
            return total

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of the optimizer inside."""
        self._inside.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Refuse parameters that the plan does not know."""
        raise InvalidParameterError("parameters cannot be added to a private run. Add them before make_private.")

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the optimizer inside and of the run; as private as the rows.

        It may reveal the next sample.
        """
        return {"optimizer": self._inside.state_dict(), "run": self._ranks.run_on_first(self._run.checkpoint)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue a run of the same plan from its `state_dict`, once.

        It was charged when it began: make this one without a ledger.
        """
        if self.done or self._pending is not None:
            raise InvalidParameterError("this run has begun. Load a checkpoint before its first batch.")
        self._run = self._begin(checkpoint=state_dict["run"])
        self.done = self._run.step
        self._inside.load_state_dict(state_dict["optimizer"])
        self.param_groups, self.state = self._inside.param_groups, self._inside.state

    def describe(self) -> str:
        """Return the promise of the run in words, and its limits."""
        plan = self.plan
        how = (
            f"{plan.steps} steps with noise multiplier {float(plan.noise_multiplier):.4g}, whatever the rows were, "
            f"drawn by {plan.sampler}; {self.done} are done. Gradients were computed in floats, where a row might move "
            "the last digits of another's; from the clip on, rounding is accounted for."
        )
        work = Work(
            loss=self.privacy_loss, how=how, train=dict, relation=plan.relation, delta=self.delta, unit=plan.unit.noun
        )
        return work.note(safe=self._run.safe)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.describe())}</pre>"
