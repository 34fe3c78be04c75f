"""Sums of clipped gradients, one gradient for each example, in about the time of a plain step."""

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from itertools import product
from operator import is_not
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from deniable.errors import InvalidParameterError
from deniable.learning.torch.batches import Owned, PlainRules, Recurrent
from deniable.learning.torch.codes import Codes
from deniable.learning.torch.layers import Call, Layer, by_vmap, filled, layers_of, tensors, trainable
from deniable.learning.torch.pieces import Dense, Grams, Piece
from deniable.learning.torch.rehearsal import (
    agree,
    made_up,
    only,
    plain_recurrence,
    refuse,
    refuse_changes,
    refuse_coarse,
    refuse_mixing,
    structure,
    untouched,
)
from deniable.learning.torch.state import State

_KEPT = 2.0**-7  # of the norm, for rounding: a quarter of it for each of two sums, for all else, and for the caller
_WAYS = ("layers", "vmap", "loop")


class ClippedGradients:
    """Sums over the examples of a batch of their clipped gradients, each computed from its example alone.

    Args:
        model: a module whose tensor arguments all have the examples in their first dimension. It sees one at a time.
        loss: of the model's output and the targets: one number for each example, so `reduction="none"`.
        norm: l2 norm, over all trainable parameters together, that the gradient of an example is cut to.
        method: "auto" runs the model under torch.func.vmap and takes known layers apart ("layers"), else
            differentiates the whole of it there ("vmap"), or goes example by example ("loop").
        memory: bytes that gradients of single examples may take at a time; by default 2^29, and 2^31 on a device.
        example: inputs and targets of three made-up examples, where those fail that are made from types and shapes.

    Guarantee: sums with and without an example differ by at most (1 - 2^-9) `norm` in l2 norm, rounding included, and
        what a pass changes in model and loss is put back. docs/theory/learning/torch.md says what that assumes. An
        example that is not finite on the way, or where something has a norm above 2^25, counts as zero.
    Raises: InvalidParameterError if model or loss mix made-up examples, or change a parameter or a buffer on them, if
        the loss averages, or if other parameters became trainable.
    Source: Goodfellow (2015), arXiv:1510.01799; Bu, Wang, Zha, Karypis (2023), arXiv:2210.00038; rounding is derived in
        docs/theory/learning/torch.md.

    >>> import torch
    >>> from deniable.learning.torch import ClippedGradients
    >>> model = torch.nn.Linear(2, 1, bias=False)
    >>> clipped = ClippedGradients(model, lambda output, target: output[:, 0] * target, norm=1)
    >>> [total] = clipped(torch.tensor([[30.0, 40.0], [0.0, 0.25]]), torch.ones(2))
    >>> print(total.numpy().round(1))
    [[0.6 1. ]]
    """

    def __init__(
        self, model: nn.Module, loss: Callable[[Any, Any], Tensor], *, norm: float, method: str = "auto",
        memory: int | None = None, example: tuple[Any, Any] | None = None,
    ) -> None:  # fmt: skip
        refuse(model)
        if method not in ("auto", *_WAYS):
            raise InvalidParameterError(f"method must be 'auto' or one of {', '.join(_WAYS)}, got {method!r}")
        self.model, self.loss, self.norm, self.memory, self.example = model, loss, float(norm), memory, example
        self.parameters = list(trainable(model).values())
        self.norms = torch.zeros(0, dtype=torch.float64)  # of the gradients in the last batch, rounded up: secret
        self.way = ""  # how gradients are found: one of layers, vmap and loop; known after the first call
        self._ways = _WAYS if method == "auto" else (method,)
        self._cast: dict[str, Any] = {"enabled": False}
        self._state = State()  # of before a batch, which is put back after every pass
        self._layers: list[Layer] = []
        self._names: dict[str, str] = {}  # where each parameter stands
        self._seen: list[object] = []  # what the model was made of in the rehearsal
        self._owned = False  # whether new tensors belong to a row
        self._bytes = 1  # that the gradients of one example take

    def __call__(self, inputs: Any, targets: Any, *, of: int | None = None) -> list[Tensor]:
        """The sum of clipped gradients for each trainable parameter, in float64: secret.

        Args:
            inputs, targets: examples first; a tensor, a tuple of positional or a dict of named arguments.
            of: the size of the batch, where this is a part of it.
        """
        if list(map(id, trainable(self.model).values())) != list(map(id, self.parameters)):
            raise InvalidParameterError("other parameters learn than before. Freeze layers and add adapters before")
        if not 2**-10 <= self.norm <= 2**20:
            raise InvalidParameterError(f"norm must be in [2**-10, 2**20], got {self.norm}. Multiply the loss")
        kind = (device := self.parameters[0].device).type
        cast = {"enabled": torch.is_autocast_enabled(kind), "dtype": torch.get_autocast_dtype(kind)}
        cast["cache_enabled"] = False  # it would keep weights of before a step, or of the rehearsal
        plain = torch.autocast(kind, enabled=False), plain_recurrence(self.model), sdpa_kernel(SDPBackend.MATH)
        with plain[0], plain[1], plain[2], warnings.catch_warnings():
            warnings.filterwarnings("ignore", "There is a performance drop")  # where torch.func goes row by row
            refuse_coarse(device)
            seen = structure(self.model, self.loss)
            if not self.way or len(seen) != len(self._seen) or any(map(is_not, seen, self._seen)):
                self._rehearse(inputs, targets, cast)
                self._seen = seen
            self._cast, self._state = cast, State(self.model, self.loss)
            return self._sums(inputs, targets, of)

    def _sums(self, inputs: Any, targets: Any, of: int | None) -> list[Tensor]:
        totals = {id(parameter): torch.zeros_like(parameter, dtype=torch.float64) for parameter in self.parameters}
        room = self.memory or (2**29 if self.parameters[0].device.type == "cpu" else 2**31)
        examples, step = _count((inputs, targets)), max(1, room // self._bytes)
        norms = [self.parameters[0].new_zeros(0, dtype=torch.float64)]
        pieces = self._pieces(self.way, inputs, targets) if examples else lambda rows: []
        for start in range(0, examples, step):
            rows = slice(start, min(start + step, examples))
            with torch.no_grad():
                norms.append(self._add(pieces(rows), (rows.stop - start) / max(of or 0, examples), totals))
        self.norms = torch.cat(norms)
        return list(totals.values())

    def _add(self, found: list[Piece], share: float, totals: dict[int, Tensor]) -> Tensor:
        """Norms of some examples, rounded up; their clipped gradients are added to the totals."""
        grams: Grams = {}
        squares = torch.stack([piece.norms(grams) for piece in found])
        norms = squares.sum(0).sqrt()
        lost = ~torch.isfinite(norms)
        factors = ((1 - _KEPT) * self.norm / norms.clamp(min=2.0**-40)).clamp(max=1).masked_fill(lost, 0)
        reaches = (squares.sqrt().masked_fill(lost, 0) @ factors).tolist()
        allowed = _KEPT / 4 * self.norm * share / len(found) ** 0.5
        for piece in found if lost.any() else []:
            piece.drop(lost)
        for piece, reach in zip(found, reaches, strict=True):
            totals[id(piece.parameter)].add_(piece.total(factors, reach, allowed))
        return norms.masked_fill(lost, torch.inf)

    def _pieces(self, way: str, inputs: Any, targets: Any) -> Callable[[slice], list[Piece]]:
        if way == "layers":
            calls = self._listen(inputs, targets)

            def pieces(rows: slice) -> list[Piece]:
                with self._state:
                    return [piece for call in calls for piece in call.pieces(rows)]

            return pieces
        return partial(self._whole if way == "vmap" else self._loop, inputs, targets)

    def _listen(self, inputs: Any, targets: Any) -> list[Call]:
        """One forward and backward pass that forms no gradients of weights: what layers read, and what came back.

        Raises: RuntimeError if they do not tell all.
        """
        calls: list[Call] = []

        def hear(layer: Layer, module: nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
            calls.append(Call(layer, (args, kwargs)))
            return calls[-1].hear(output)

        hooks = [one.module.register_forward_hook(partial(hear, one), with_kwargs=True) for one in self._layers]
        try:
            for parameter in self.parameters:
                parameter.requires_grad_(False)
            with self._state, torch.enable_grad(), Recurrent():
                losses = torch.func.vmap(partial(self._loss_of(inputs, targets), None), randomness="different")
                torch.autograd.backward(losses(*tensors((inputs, targets))).sum())
        finally:
            for parameter in self.parameters:
                parameter.requires_grad_(True)
            for hook in hooks:
                hook.remove()
        if not calls or len({id(call.layer) for call in calls}) < len(calls):
            raise RuntimeError('a layer is used more than once. Use method="vmap"')
        return calls

    def _whole(self, inputs: Any, targets: Any, rows: slice) -> list[Piece]:
        loss = self._loss_of(inputs, targets)
        with self._state:
            return by_vmap(loss, trainable(self.model), [leaf[rows] for leaf in tensors((inputs, targets))])

    def _loss_of(self, inputs: Any, targets: Any) -> Callable[..., Tensor]:
        """The loss of one example, as a function of parameters, if they are not those of the model, and its tensors."""

        def loss(values: dict[str, Tensor] | None, *row: Tensor) -> Tensor:
            one, target = filled((inputs, targets), [leaf[None] for leaf in row])
            with Owned(row[0]) if self._owned else nullcontext(), PlainRules():
                return self._losses(one, target, values)[0]

        return loss

    def _loop(self, inputs: Any, targets: Any, rows: slice) -> list[Piece]:
        found = []
        for one in (slice(row, row + 1) for row in range(rows.start, rows.stop)):
            with self._state, torch.enable_grad():
                loss = self._losses(only(inputs, one), only(targets, one)).sum()
                found.append(torch.autograd.grad(loss, self.parameters, allow_unused=True, materialize_grads=True))
        columns = zip(*found, strict=True)
        return [Dense(each, torch.stack(column)) for each, column in zip(self.parameters, columns, strict=True)]

    def _losses(self, inputs: Any, targets: Any, values: dict[str, Tensor] | None = None) -> Tensor:
        args, kwargs = ((), inputs) if isinstance(inputs, dict) else (inputs, {})
        args = args if isinstance(args, tuple) else (args,)
        cast = self._cast if values is None else {"enabled": False}  # under torch.func some layers cannot be cast
        with torch.autocast(self.parameters[0].device.type, **cast), Codes():
            if values is None:
                losses = self.loss(self.model(*args, **kwargs), targets)
            else:  # by place, since torch.func loses the parameters of modules that stand in a model twice
                placed = {place: values[name] for place, name in self._names.items()}
                output = torch.func.functional_call(self.model, placed, args, kwargs, tie_weights=False)
                losses = self.loss(output, targets)
        if not isinstance(losses, Tensor) or losses.shape != (_count(inputs),):
            # after the rehearsal it is a row that makes the shape, and to name it would tell of that row
            raise (RuntimeError if self.way else InvalidParameterError)(
                "the loss must give one number for each example, of shape (examples,). A mean over the batch scales "
                'every gradient by the secret size of the batch: build the loss with reduction="none"'
            )
        return losses

    def _rehearse(self, inputs: Any, targets: Any, cast: dict[str, Any]) -> None:
        """Find the first way that gives the gradients of made-up rows as a loop does, and add up two of them.

        Raises: InvalidParameterError if there is none.
        """

        def some(count: int) -> Any:
            if self.example is not None:
                return only(self.example, [place % _count(self.example) for place in range(count)])
            return made_up(inputs, rows=count), made_up(targets, low=0.1, rows=count)

        self.way = ""
        refuse(self.model)
        self._layers = layers_of(self.model)
        first = {id(parameter): name for name, parameter in trainable(self.model).items()}
        places = [(f"{at}.{name}".lstrip("."), id(one)) for at, inner in self.model.named_modules()
                  for name, one in inner.named_parameters(recurse=False)]  # fmt: skip
        self._names = {place: first[one] for place, one in places if one in first}
        rows, (one, target) = slice(0, 2), some(2)
        try:
            with untouched(self.model, self.loss):
                with State(self.model, self.loss), refuse_changes(self.model):
                    refuse_mixing(self._losses, some, self.model)
                self._prepare(training=False, cast={"enabled": False})
                expected, failed = self._loop(one, target, rows), None
                seen = any(piece.norms({}).any() for piece in expected)
                ways = self._ways[0 if seen or self._ways[0] != "layers" else 1 :]
                mapped = [way for way in ways if way != "loop"]  # first as it is, since owned tensors take memory
                tries = [*product(mapped, [False]), *product(mapped, [True]), *product(ways[len(mapped) :], [False])]
                for way, self._owned in tries:
                    self._prepare(training=False, cast={"enabled": False})
                    try:
                        found = self._pieces(way, one, target)(rows)
                        if agree(found, expected):
                            self.way, self._bytes = way, sum(piece.bytes() for piece in found) // 2
                            self._prepare(training=True, cast=cast)
                            self._sums(one, target, None)  # what fails here would make every row count as zero later
                            return
                    except (RuntimeError, ValueError, TypeError, LookupError) as error:
                        self.way, failed = "", error if self.way else failed
                if failed is not None:
                    raise failed
        except (RuntimeError, ValueError, TypeError, LookupError) as error:
            if isinstance(error, InvalidParameterError):
                raise
            words = f"model or loss fail on made-up rows: {error}. Give three that fit as example=(inputs, targets)"
            raise InvalidParameterError(words) from error
        raise InvalidParameterError("no way finds the gradients of single examples. Give made-up rows as example=")

    def _prepare(self, *, training: bool, cast: dict[str, Any]) -> None:
        self._cast = cast
        self.model.train(training)
        self._state = State(self.model, self.loss)


def _count(inputs: Any) -> int:
    sizes = {leaf.shape[:1] for leaf in tensors(inputs)}
    if len(sizes) != 1 or not (first := sizes.pop()):
        words = "what model and loss are given must have the examples in its first dimension. Make the rest buffers"
        raise InvalidParameterError(words)
    return first[0]
