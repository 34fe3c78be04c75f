"""Sums of clipped per-example gradients, in about the time of a plain step."""

import warnings
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
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
from deniable.learning.torch.layers import Layer, LayerCall, by_vmap, filled, layers_of, tensors, trainable
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

_ROUNDING_SHARE = 2.0**-7  # of the norm: a quarter of it for each of two sums, for all else, and for the caller
_METHODS = ("layers", "vmap", "loop")
_MEMORY = {"cpu": 2**29}  # bytes for gradients of single examples; more on a device, where a launch costs more
_DEVICE_MEMORY = 2**31


class ClippedGradients:
    """Sums of clipped gradients over the examples of a batch.

    The gradient of each example is computed from that example alone.

    | case | what happens |
    |---|---|
    | an empty batch | sums of zero |
    | an example with a NaN or an infinity on the way, or a norm above 2^25 | it counts as zero |
    | a gradient longer than `norm`, or shorter | it is cut to `norm`; or stays as it is |
    | a parameter that an example does not reach | its gradient is zero there |
    | a frozen parameter | it has no sum, and its gradient does not count in the norm |
    | a layer that is used twice, or shares a parameter | gradients are those of all uses together |
    | random layers, such as dropout | every example has draws of its own |
    | gradients that were on the parameters before, random streams, hidden state of the model | put back |

    Args:
        model: a module whose tensor arguments all have the examples in their first dimension. It sees one at a time.
        loss: of the model's output and the targets: one number for each example, so `reduction="none"`.
        norm: l2 norm, over all trainable parameters together, that the gradient of an example is cut to.
        method: "auto" runs the model under torch.func.vmap and takes known layers apart ("layers"), else
            differentiates the whole of it there ("vmap"), or goes example by example ("loop"). After the first call
            the attribute `method` is the one in use.
        memory: bytes that gradients of single examples may take at a time; by default 2^29, and 2^31 on a device.
        example: inputs and targets of three made-up examples, for models that fail on those made from types and shapes.

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
        if method not in ("auto", *_METHODS):
            raise InvalidParameterError(f"method must be 'auto' or one of {', '.join(_METHODS)}, got {method!r}")
        self.model = model
        self.loss = loss
        self.norm = float(norm)
        self.memory = memory
        self.example = example
        self.parameters = list(trainable(model).values())
        self.norms = torch.zeros(0, dtype=torch.float64)  # of the gradients in the last batch, rounded up: secret
        self.method = ""  # one of layers, vmap and loop; chosen in the first call
        self._methods = _METHODS if method == "auto" else (method,)
        self._cast: dict[str, Any] = {"enabled": False}
        self._state = State()  # of the model before a batch, which is put back after every pass
        self._layers: list[Layer] = []
        self._names: dict[str, str] = {}  # the name in `trainable` for every name under which a parameter appears
        self._rehearsed: list[object] = []  # modules, hooks and forward methods of the last rehearsal
        self._owned = False  # whether new tensors belong to a row
        self._example_bytes = 1  # that the gradients of one example take

    def __call__(self, inputs: Any, targets: Any, *, batch_size: int | None = None) -> list[Tensor]:
        """Return the secret sum of clipped gradients for each trainable parameter.

        Sums are in float64.

        Args:
            inputs, targets: examples first; a tensor, a tuple of positional or a dict of named arguments.
            batch_size: of the whole batch, if this is a part of it.
        """
        if list(map(id, trainable(self.model).values())) != list(map(id, self.parameters)):
            raise InvalidParameterError(
                "the trainable parameters have changed. Freeze layers and add adapters before ClippedGradients"
            )
        if not 2**-10 <= self.norm <= 2**20:
            raise InvalidParameterError(f"norm must be in [2**-10, 2**20], got {self.norm}. Multiply the loss")
        device = self.parameters[0].device
        kind = device.type
        cast = {"enabled": torch.is_autocast_enabled(kind), "dtype": torch.get_autocast_dtype(kind)}
        cast["cache_enabled"] = False  # it would keep weights from before a step, or of the rehearsal
        with ExitStack() as stack:
            stack.enter_context(torch.autocast(kind, enabled=False))
            stack.enter_context(plain_recurrence(self.model))
            stack.enter_context(sdpa_kernel(SDPBackend.MATH))
            stack.enter_context(warnings.catch_warnings())
            warnings.filterwarnings("ignore", "There is a performance drop")  # where torch.func goes row by row
            refuse_coarse(device)
            parts = structure(self.model, self.loss)
            if not self.method or len(parts) != len(self._rehearsed) or any(map(is_not, parts, self._rehearsed)):
                self._rehearse(inputs, targets, cast)
                self._rehearsed = parts
            self._cast = cast
            self._state = State(self.model, self.loss)
            return self._sums(inputs, targets, batch_size)

    def _sums(self, inputs: Any, targets: Any, batch_size: int | None) -> list[Tensor]:
        """Return the sums of clipped gradients, in parts that fit into memory."""
        totals = {id(parameter): torch.zeros_like(parameter, dtype=torch.float64) for parameter in self.parameters}
        memory = self.memory or _MEMORY.get(self.parameters[0].device.type, _DEVICE_MEMORY)
        examples = _count((inputs, targets))
        step = max(1, memory // self._example_bytes)
        norms = [self.parameters[0].new_zeros(0, dtype=torch.float64)]
        pieces = self._pieces(self.method, inputs, targets) if examples else lambda rows: []
        for start in range(0, examples, step):
            rows = slice(start, min(start + step, examples))
            share = (rows.stop - start) / max(batch_size or 0, examples)
            with torch.no_grad():
                norms.append(self._add(pieces(rows), share, totals))
        self.norms = torch.cat(norms)
        return list(totals.values())

    def _add(self, pieces: list[Piece], share: float, totals: dict[int, Tensor]) -> Tensor:
        """Add clipped gradients of some examples to the totals; return their norms.

        Norms are rounded up.
        """
        grams: Grams = {}
        squares = torch.stack([piece.norms(grams) for piece in pieces])
        norms = squares.sum(0).sqrt()
        invalid = ~torch.isfinite(norms)
        longest = (1 - _ROUNDING_SHARE) * self.norm
        factors = (longest / norms.clamp(min=2.0**-40)).clamp(max=1).masked_fill(invalid, 0)
        weighted_norms = (squares.sqrt().masked_fill(invalid, 0) @ factors).tolist()
        tolerance = _ROUNDING_SHARE / 4 * self.norm * share / len(pieces) ** 0.5
        if invalid.any():
            for piece in pieces:
                piece.drop(invalid)
        for piece, weighted_norm in zip(pieces, weighted_norms, strict=True):
            totals[id(piece.parameter)].add_(piece.total(factors, weighted_norm, tolerance))
        return norms.masked_fill(invalid, torch.inf)

    def _pieces(self, method: str, inputs: Any, targets: Any) -> Callable[[slice], list[Piece]]:
        """Return the function that gives per-example gradients of some rows."""
        if method == "vmap":
            return partial(self._whole, inputs, targets)
        if method == "loop":
            return partial(self._loop, inputs, targets)
        calls = self._record_layers(inputs, targets)

        def pieces(rows: slice) -> list[Piece]:
            with self._state:
                return [piece for call in calls for piece in call.pieces(rows)]

        return pieces

    def _record_layers(self, inputs: Any, targets: Any) -> list[LayerCall]:
        """Record inputs and output gradients of all layers.

        The pass forms no gradients of weights.

        Raises: RuntimeError if a layer is used twice, or none is.
        """
        calls: list[LayerCall] = []

        def record(layer: Layer, module: nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
            calls.append(LayerCall(layer, (args, kwargs)))
            return calls[-1].record(output)

        hooks = [layer.module.register_forward_hook(partial(record, layer), with_kwargs=True) for layer in self._layers]
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
        """Return per-example gradients of some rows, from vmap over the whole model."""
        loss = self._loss_of(inputs, targets)
        with self._state:
            return by_vmap(loss, trainable(self.model), [leaf[rows] for leaf in tensors((inputs, targets))])

    def _loss_of(self, inputs: Any, targets: Any) -> Callable[..., Tensor]:
        """Return the loss of one example as a function of parameters and its tensors.

        None stands for the parameters of the model.
        """

        def loss(values: dict[str, Tensor] | None, *row: Tensor) -> Tensor:
            one, target = filled((inputs, targets), [leaf[None] for leaf in row])
            with Owned(row[0]) if self._owned else nullcontext(), PlainRules():
                return self._losses(one, target, values)[0]

        return loss

    def _loop(self, inputs: Any, targets: Any, rows: slice) -> list[Piece]:
        """Return per-example gradients of some rows, from one backward pass for each."""
        gradients = []
        for row in range(rows.start, rows.stop):
            one = slice(row, row + 1)
            with self._state, torch.enable_grad():
                loss = self._losses(only(inputs, one), only(targets, one)).sum()
                gradients.append(torch.autograd.grad(loss, self.parameters, allow_unused=True, materialize_grads=True))
        by_parameter = zip(*gradients, strict=True)
        pairs = zip(self.parameters, by_parameter, strict=True)
        return [Dense(parameter, torch.stack(column)) for parameter, column in pairs]

    def _losses(self, inputs: Any, targets: Any, values: dict[str, Tensor] | None = None) -> Tensor:
        """Return the loss of each example.

        Parameters are those of the model, or these values.
        """
        args, kwargs = ((), inputs) if isinstance(inputs, dict) else (inputs, {})
        args = args if isinstance(args, tuple) else (args,)
        cast = self._cast if values is None else {"enabled": False}  # under torch.func some layers cannot be cast
        with torch.autocast(self.parameters[0].device.type, **cast), Codes():
            if values is None:
                losses = self.loss(self.model(*args, **kwargs), targets)
            else:  # by every name, since torch.func loses the parameters of modules that a model holds twice
                renamed = {alias: values[name] for alias, name in self._names.items()}
                output = torch.func.functional_call(self.model, renamed, args, kwargs, tie_weights=False)
                losses = self.loss(output, targets)
        if not isinstance(losses, Tensor) or losses.shape != (_count(inputs),):
            # After the rehearsal a row has made the shape, and an error of ours would reveal that.
            raise (RuntimeError if self.method else InvalidParameterError)(
                "the loss must give one number for each example, of shape (examples,). A mean over the batch scales "
                'every gradient by the secret size of the batch: build the loss with reduction="none"'
            )
        return losses

    def _rehearse(self, inputs: Any, targets: Any, cast: dict[str, Any]) -> None:
        """Choose the first method that gives the gradients of made-up rows as a loop does.

        Raises: InvalidParameterError if there is none.
        """
        self.method = ""
        refuse(self.model)
        self._layers = layers_of(self.model)
        self._names = _aliases(self.model)
        rows = partial(self._made_up, inputs, targets)
        two_rows = rows(2)
        try:
            with untouched(self.model, self.loss):
                with State(self.model, self.loss), refuse_changes(self.model):
                    refuse_mixing(self._losses, rows, self.model)
                inputs, targets = two_rows
                self._choose_method(inputs, targets, cast)
        except (RuntimeError, ValueError, TypeError, LookupError) as error:
            if isinstance(error, InvalidParameterError):
                raise
            text = f"model or loss fail on made-up rows: {error}. Give three that fit as example=(inputs, targets)"
            raise InvalidParameterError(text) from error

    def _made_up(self, inputs: Any, targets: Any, count: int) -> Any:
        """Return a number of made-up rows, or of those of `example`."""
        if self.example is not None:
            return only(self.example, [row % _count(self.example) for row in range(count)])
        return made_up(inputs, rows=count), made_up(targets, low=0.1, rows=count)

    def _choose_method(self, inputs: Any, targets: Any, cast: dict[str, Any]) -> None:
        """Try methods on two made-up rows until one agrees with the loop.

        Fast ones come first.

        Raises: InvalidParameterError if none does, or the last error of a method.
        """
        both = slice(0, 2)
        self._prepare(training=False, cast={"enabled": False})
        expected = self._loop(inputs, targets, both)
        last_error: Exception | None = None
        for method, owned in self._candidates(expected):
            self._owned = owned
            self._prepare(training=False, cast={"enabled": False})
            try:
                pieces = self._pieces(method, inputs, targets)(both)
                if agree(pieces, expected):
                    self.method = method
                    self._example_bytes = sum(piece.bytes() for piece in pieces) // 2
                    self._prepare(training=True, cast=cast)
                    self._sums(inputs, targets, None)  # an error here would later make every row count as zero
                    return
            except (RuntimeError, ValueError, TypeError, LookupError) as error:
                last_error = error if self.method else last_error
                self.method = ""
        if last_error is not None:
            raise last_error
        raise InvalidParameterError("no method gives the gradients of single examples. Give made-up rows as example=")

    def _candidates(self, expected: list[Piece]) -> list[tuple[str, bool]]:
        """Return methods in the order of trial, and whether tensors belong to a row.

        New tensors are meant.

        Layers are not taken apart where the made-up rows have no gradient that could show that it is right.
        """
        has_gradient = any(piece.norms({}).any() for piece in expected)
        skip_layers = not has_gradient and self._methods[0] == "layers"
        methods = self._methods[1:] if skip_layers else self._methods
        under_vmap = [method for method in methods if method != "loop"]
        tries = list(product(under_vmap, [False]))  # as it is first, since owned tensors take memory
        tries += product(under_vmap, [True])
        tries += product(methods[len(under_vmap) :], [False])
        return tries

    def _prepare(self, *, training: bool, cast: dict[str, Any]) -> None:
        """Set the mode and the types of the next passes; keep the state to put back."""
        self._cast = cast
        self.model.train(training)
        self._state = State(self.model, self.loss)


def _aliases(model: nn.Module) -> dict[str, str]:
    """Return the first name of a parameter, by each name that it has in the model.

    Only trainable parameters are listed.
    """
    first = {id(parameter): name for name, parameter in trainable(model).items()}
    aliases = {}
    for prefix, module in model.named_modules():
        for name, parameter in module.named_parameters(recurse=False):
            if id(parameter) in first:
                aliases[f"{prefix}.{name}".lstrip(".")] = first[id(parameter)]
    return aliases


def _count(inputs: Any) -> int:
    """Return the number of examples in arguments."""
    sizes = {leaf.shape[:1] for leaf in tensors(inputs)}
    if len(sizes) != 1 or not (first := sizes.pop()):
        raise InvalidParameterError(
            "tensors given to model and loss must have the examples in their first dimension. Make others buffers"
        )
    return first[0]
