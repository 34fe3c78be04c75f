"""`make_private` for a training loop of one's own, and `train`, which is the loop: both run one plan."""

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
from deniable.privacy import AddRemove, Interval
from deniable.rows import silence

_LATTICE = 2**26


def make_private(
    model: nn.Module, optimizer: torch.optim.Optimizer, loader: "DataLoader[Any]", *, loss: Loss,
    expected_rows: int | None = None, epsilon: Real | None = None, delta: Real | None = None, epochs: int | None = None,
    steps: int | None = None, clip: Real | None = None, plan: TrainingPlan | None = None, microbatch: int = 512,
    autocast: torch.dtype | None = None, example: tuple[Any, Any] | None = None, ledger: Payer | None = None,
    bits: Bits = SECURE,
) -> tuple[nn.Module, "PrivateOptimizer", "PrivateLoader"]:  # fmt: skip
    """Make the model, optimizer and loader of a training loop private; pay before the first row is read.

    Draw a batch from the private loader and call `step()` of the private optimizer, once each: it clips the gradient of
    every row of that batch, adds up, adds exact noise once, divides by a public number, and lets your optimizer step.
    Passes of your own change no step, and may be left out. The plan's samples replace the order of the loader.

    Args:
        model: returned as it is. It is run on one row at a time; BatchNorm, and what else mixes rows, is refused.
        optimizer: any of torch that steps on gradients, with exactly the trainable parameters of the model.
        loader: of pairs (inputs, target); its batch_size is what a step is expected to have.
        loss: of outputs and targets, one value for each row; a module of torch that averages is asked for single ones.
        expected_rows: about how many rows there are, as the public knows it; under replace it may be left out.
        epsilon, delta: what the run may cost; the least noise for it is found.
        epochs, steps, clip: passes over the loader, or steps in all; l2 norm of the gradient of a row, by default 1.
        plan, microbatch: a plan of your own in place of epsilon, epochs, steps and clip; rows worked on at once.
        autocast, example: a type such as torch.bfloat16 for forward passes; made-up rows as in `ClippedGradients`.
        ledger, bits: who pays, or None; bits are for tests.

    Guarantee: `optimizer.privacy_loss`, that of the plan: parameters are computed from its noisy sums alone.
    Raises: InvalidParameterError for whatever does not fit, before anything is paid.
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
    inside, rows, ranks = plain(model), Rows(loader), Ranks()
    parameters = [each for each in inside.parameters() if each.requires_grad]
    check_optimizer(optimizer, parameters)
    dimensions = sum(each.numel() for each in parameters)
    if expected_rows is None and getattr(plan, "relation", AddRemove) is AddRemove:
        raise InvalidParameterError("expected_rows must be about how many rows there are, from public knowledge")
    size = whole_number("expected_rows", max(len(rows), 1) if expected_rows is None else expected_rows, lower=1)
    if plan is None:
        if epsilon is None or delta is None or (epochs is None) == (steps is None):
            raise InvalidParameterError("say cost and length: epsilon=1, delta=1e-6, epochs=20 (or steps), or a plan")
        sampler = Poisson(rate=min(Fraction(loader.batch_size or 1, size), Fraction(1)))
        if steps is None:
            steps = whole_number("epochs", epochs, lower=1) * math.ceil(1 / sampler.rate)
        norm = Clip(norm=1 if clip is None else clip, lattice=_LATTICE)  # type: ignore[arg-type]
        given = {"epsilon": epsilon, "delta": delta, "steps": steps, "dimensions": dimensions}
        plan = TrainingPlan.calibrate(**given, sampler=sampler, clip=norm)
        cost = Price.of(epsilon, delta, None).stated(plan.privacy_loss())
    else:
        if any(each is not None for each in (epsilon, epochs, steps, clip)):
            raise InvalidParameterError("a plan has its own epsilon, steps and clip: give the plan, or these")
        fits = isinstance(plan, TrainingPlan) and plan.dimensions == dimensions and plan.unit.column is None
        if not fits or type(plan.clip) not in (Clip, AdaptiveClip):
            raise InvalidParameterError(f"plan must have dimensions={dimensions}, Clip or AdaptiveClip, units of a row")
        if plan.clip.blocks or plan.clip.stabiliser is not None:
            raise InvalidParameterError("gradients are cut to one norm here: take a Clip without blocks and stabiliser")
        delta = "1e-6" if delta is None else delta
        cost = plan.privacy_loss() if ledger is None else plan.booked(delta)
    if plan.clip.lattice < 2**10 * ranks.count * math.isqrt(dimensions):  # ClippedGradients leaves 2^-8 of the norm
        raise InvalidParameterError("the lattice of the clip is too coarse for so many parameters: take 2^26 steps")
    text = f"make_private({type(inside).__name__}, {plan.to_json()})"
    payment = Payment(ledger, text=text, bits=bits)
    ranks.agree(plan.to_json())
    clipped = ClippedGradients(inside, row_loss(loss), norm=float(plan.clip.norm), example=example)
    with _cast(parameters[0].device, autocast):
        clipped(*(each.to(parameters[0].device) for each in rows.empty))  # a rehearsal on made-up rows
    begin = partial(plan.run, len(rows), expected_rows=size, bits=bits)
    private = PrivateOptimizer(optimizer, clipped, rows, ranks, begin, plan, cost, delta, microbatch, autocast)
    if ledger is not None:
        ranks.ask_first(lambda: payment.charge(cost, plan.known_loss()))
    ranks.share(inside)
    return model, private, PrivateLoader(private)


def train(
    model: nn.Module, loss: Loss, data: "Dataset[Any] | DataLoader[Any] | tuple[Tensor, Tensor]", *,
    optimizer: torch.optim.Optimizer, batch_size: int = 256, resume: dict[str, Any] | None = None, show: bool = False,
    board: Any = None, **options: Any,
) -> "Iterator[PrivateOptimizer]":  # fmt: skip
    """Train step by step, and yield the private optimizer after each: whoever stops early has paid for the whole plan.

    Args:
        model, loss, optimizer: as in `make_private`.
        data: a dataset, a loader, or a pair of tensors (inputs, targets); private.
        batch_size: the expected size of a sample, unless a plan or a loader says it.
        resume: what `state_dict()` gave in a run of the same plan, which paid.
        show, board: a progress bar; a SummaryWriter of TensorBoard, for epsilon and the norm of the noisy gradient.
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
            moved = [each.grad.double().norm() for group in run.param_groups for each in group["params"]]
            board.add_scalar("noisy gradient norm", float(torch.stack(moved).norm()), step)
            if step % max(1, run.plan.steps // 10) == 0:
                board.add_scalar("epsilon", run.epsilon().upper, step)
        yield run


class PrivateLoader:
    """Gives every step's sample of rows: some are empty, and a pass has as many of them as an epoch has on average."""

    def __init__(self, optimizer: "PrivateOptimizer") -> None:
        self._optimizer, self._steps = optimizer, math.ceil(1 / optimizer.plan.sampler.share())

    def __len__(self) -> int:
        return self._steps

    def __iter__(self) -> Iterator[Pair]:
        for _ in range(min(self._steps, self._optimizer.left())):
            yield self._optimizer.draw()


class PrivateOptimizer(torch.optim.Optimizer):
    """An optimizer whose `step` uses the noisy mean gradient of the last batch that was drawn, and nothing else.

    It has the run's `plan`, its `privacy_loss` as it was booked, and `done`, the number of steps so far.
    """

    plan: TrainingPlan
    _step_supports_amp_scaling = True  # a GradScaler never skips a step: that would depend on rows

    def __init__(
        self, inside: Any, clipped: ClippedGradients, rows: Rows, ranks: Ranks, begin: "partial[Any]", *facts: Any
    ) -> None:
        self._inside, self._clipped, self._rows, self._ranks = inside, clipped, rows, ranks
        self._begin, self._run, self.done = begin, begin(), 0
        self.plan, self.privacy_loss, self.delta, self._microbatch, self._autocast = facts
        self._pending: Pair | None = None
        self.param_groups, self.state, self.defaults = inside.param_groups, inside.state, inside.defaults

    def epsilon(self) -> Interval:
        """Certified epsilon of the steps so far; it takes a moment."""
        return replace(self.plan, steps=self.done).privacy_loss().epsilon(self.delta) if self.done else Interval(0, 0)

    def left(self) -> int:
        """How many steps are left: at least one, or it raises InvalidParameterError."""
        if self.done == self.plan.steps:
            raise InvalidParameterError(f"all {self.done} steps of the plan are done, and no more were paid")
        return self.plan.steps - self.done

    def draw(self) -> Pair:
        """The next batch, once the last one had its step; of several processes, this one's part of it."""
        self.left()
        if self._pending is not None:
            raise InvalidParameterError("call step() once a batch, and accumulate nothing: microbatch= bounds memory")
        run = self._run

        def begin() -> tuple[Any, float, float]:
            places, run.norm = next(run), min(max(run.norm, 2.0**-10), 2.0**20)  # what ClippedGradients takes
            return places, run.norm, run.scale

        places, self._clipped.norm, self._scale = self._ranks.ask_first(begin)
        self._sampled, self._pending = len(places), self._rows.batch(self._ranks.mine(places))
        return self._pending

    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Clip, add up, add the noise, and let the optimizer inside step on it.

        Raises: InvalidParameterError if no new batch was drawn, or the plan's steps are done.
        """
        self.left()
        if self._pending is None or closure is not None:
            raise InvalidParameterError("there is no new batch. Draw one before each step(), which takes no closure.")
        sums = self._ranks.add_up(self._sums(*self._pending)).cpu().numpy()
        self._pending, self.done, parameters = None, self.done + 1, self._clipped.parameters
        with silence():
            noisy = self._ranks.ask_first(lambda: self._run.noisy(sums[:-1], within=int(sums[-1]))[0])
            mean = torch.from_numpy(np.asarray(noisy, dtype=np.float64)).to(parameters[0].device) * self._scale
        deviation = self._scale * self.plan.clip.lattice * float(self.plan.noise_multiplier)
        for group in self.param_groups:
            if "noise_variance" in group:
                group["noise_variance"] = deviation**2
        for each in (each for group in self.param_groups for each in group["params"]):
            each.grad = None  # of one that does not learn it would be no noisy one
        for parameter, part in zip(parameters, mean.split([each.numel() for each in parameters]), strict=True):
            parameter.grad = part.view_as(parameter).to(parameter)
        self._inside.step()

    def _sums(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Sums in int64: clipped gradients in lattice steps, and rows within the norm less those beyond it."""
        total = torch.zeros(self.plan.dimensions + 1, dtype=torch.float64, device=self._clipped.parameters[0].device)
        for start in range(0, len(inputs), self._microbatch):
            part = slice(start, start + self._microbatch)
            total += self._part(inputs[part].to(total.device), targets[part].to(total.device))
        total[:-1] *= self.plan.clip.norm_steps / self._clipped.norm
        return total.round().long()

    def _part(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """The same of a few rows, in the unit of gradients; one on which model or loss fail counts as zero."""
        try:
            with _cast(inputs.device, self._autocast), silence():
                found = self._clipped(inputs, targets, of=self._sampled)
            within = torch.where(self._clipped.norms <= self._clipped.norm, 1.0, -1.0).sum()
            return torch.cat([*(each.reshape(-1) for each in found), within.reshape(1).to(found[0])])
        except InvalidParameterError:  # of the model, whatever the rows are
            raise
        except BaseException as error:
            if type(error) is KeyboardInterrupt:  # of somebody who does not want to wait, and no class of a user's own
                raise
            total = torch.zeros(self.plan.dimensions + 1, dtype=torch.float64, device=inputs.device)
            half = len(inputs) // 2
            for part in (slice(half), slice(half, None)) if half else ():
                total += self._part(inputs[part], targets[part])
            return total

    def zero_grad(self, set_to_none: bool = True) -> None:
        self._inside.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        raise InvalidParameterError("parameters cannot be added to a private run. Add them before make_private.")

    def state_dict(self) -> dict[str, Any]:
        """The optimizer inside, and where the run stands; as private as the rows, since it may tell the next sample."""
        return {"optimizer": self._inside.state_dict(), "run": self._ranks.ask_first(self._run.checkpoint)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where a run of the same plan was saved. It was paid: make this one without a ledger, and go on once."""
        if self.done or self._pending is not None:
            raise InvalidParameterError("this run has begun. Load a checkpoint before its first batch.")
        self._run = self._begin(checkpoint=state_dict["run"])
        self.done = self._run.step
        self._inside.load_state_dict(state_dict["optimizer"])
        self.param_groups, self.state = self._inside.param_groups, self._inside.state

    def describe(self) -> str:
        """What is promised, and what is not."""
        plan = self.plan
        how = (
            f"{plan.steps} steps with noise multiplier {float(plan.noise_multiplier):.4g}, whatever the rows were, "
            f"drawn by {plan.sampler}; {self.done} are done. Gradients were computed in floats, where a row might move "
            "the last digits of another's; from the clip on, rounding is accounted for."
        )
        unit, relation, delta = plan.unit.noun, plan.relation, self.delta
        work = Work(loss=self.privacy_loss, how=how, train=dict, relation=relation, delta=delta, unit=unit)
        return work.note(safe=self._run.safe)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.describe())}</pre>"
