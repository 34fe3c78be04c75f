"""What is refused, with the fix, before the first batch is looked at."""

import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import Tensor, nn  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402

from deniable.errors import InvalidParameterError  # noqa: E402
from deniable.learning.torch import ClippedGradients  # noqa: E402
from deniable.learning.torch.rehearsal import made_up, plain_recurrence  # noqa: E402
from tests.learning.torch.reference import apart, entropy, looped  # noqa: E402

ROWS, TARGETS = torch.ones(4, 3), torch.zeros(4, dtype=torch.int64)


def refused(model: nn.Module, words: str, loss: object = entropy, rows: Tensor = ROWS) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        ClippedGradients(model, loss, norm=1)(rows, TARGETS)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (nn.BatchNorm1d(3), "GroupNorm"),
        (nn.SyncBatchNorm(3), "GroupNorm"),
        (nn.InstanceNorm1d(3, track_running_stats=True), "track_running_stats=False"),
        (nn.Embedding(3, 3, max_norm=1), "max_norm"),
        (nn.LazyLinear(3), "made-up rows"),
    ],
)
def test_layers_that_mix_or_keep_examples_are_refused_by_name(layer: nn.Module, words: str) -> None:
    refused(nn.Sequential(nn.Linear(3, 3), layer, nn.Linear(3, 2)), words)


def test_a_model_without_trainable_parameters_is_refused() -> None:
    refused(nn.Linear(3, 2).requires_grad_(False), "requires_grad_")
    refused(nn.ReLU(), "requires_grad_")


class Centred(nn.Module):
    """Subtracts the mean of the batch, only in training."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 2)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.inner(inputs - inputs.mean(0) if self.training else inputs)


def test_a_model_or_loss_that_mixes_examples_is_refused() -> None:
    refused(Centred(), "depends on the other examples")
    refused(nn.Linear(3, 2), "depends on the other examples", lambda o, t: entropy(o, t).mean().expand(len(t)))


def test_a_loss_that_averages_is_refused() -> None:
    refused(nn.Linear(3, 2), 'reduction="none"', nn.CrossEntropyLoss())


class Remembers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 2)
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, inputs: Tensor) -> Tensor:
        self.seen += inputs.detach().sum(0)
        return self.inner(inputs)


def test_a_buffer_that_depends_on_rows_is_refused_and_put_back() -> None:
    model = Remembers()
    refused(model, "seen")
    assert not model.seen.any()


@pytest.mark.filterwarnings("ignore:.*torch.jit")
def test_compiled_models_are_refused() -> None:
    refused(torch.compile(nn.Linear(3, 2)), "torch.compile")


def test_parameters_that_change_after_wrapping_are_refused() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
    clipped = ClippedGradients(model, entropy, norm=1)
    clipped(ROWS, TARGETS)
    model[0].requires_grad_(False)
    with pytest.raises(InvalidParameterError, match="Freeze layers"):
        clipped(ROWS, TARGETS)
    model[0].requires_grad_(True)
    model.append(nn.Linear(2, 2))
    with pytest.raises(InvalidParameterError, match="Freeze layers"):
        clipped(ROWS, TARGETS)


@pytest.mark.parametrize("field", [{"norm": 0}, {"norm": float("nan")}, {"norm": 1, "method": "ghost"}])
def test_settings_out_of_their_domain_are_refused(field: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError, match="must be"):
        ClippedGradients(nn.Linear(3, 2), entropy, **field)(ROWS, TARGETS)  # type: ignore[arg-type]


def test_coarse_products_are_refused() -> None:
    clipped = ClippedGradients(nn.Linear(3, 2), entropy, norm=1)
    torch.set_float32_matmul_precision("medium")
    try:
        with pytest.raises(InvalidParameterError, match="highest"):
            clipped(ROWS, TARGETS)
    finally:
        torch.set_float32_matmul_precision("highest")


class Coarse(TorchFunctionMode):
    """Products as TF32 has them, whatever PyTorch says of its settings."""

    def __torch_function__(self, func: object, types: object, args: tuple = (), kwargs: dict | None = None) -> object:
        if func in (Tensor.matmul, Tensor.__matmul__):
            args = tuple((one.view(torch.int32) & -(2**13)).view(torch.float32) for one in args)
        return func(*args, **(kwargs or {}))  # type: ignore[operator]


def test_coarse_products_are_found_whoever_asked_for_them() -> None:
    """NVIDIA_TF32_OVERRIDE=1 leaves no trace in PyTorch's settings, and some settings have no single answer."""
    clipped = ClippedGradients(nn.Linear(3, 2), entropy, norm=1)
    clipped(ROWS, TARGETS)
    with Coarse(), pytest.raises(InvalidParameterError, match="NVIDIA_TF32_OVERRIDE"):
        clipped(ROWS, TARGETS)


def test_recurrent_layers_go_without_cudnn() -> None:
    for model, expected in ((nn.Sequential(nn.GRU(2, 2)), False), (nn.Conv1d(1, 1, 1), True)):
        with plain_recurrence(model):
            assert torch.backends.cudnn.enabled is expected
        assert torch.backends.cudnn.enabled


def test_sums_that_fail_are_refused_before_the_first_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Later, what fails on a batch counts as zero: a run would be paid, and learn nothing."""
    monkeypatch.setattr(ClippedGradients, "_add", lambda *given: torch.cat([torch.zeros(2), torch.zeros(1, 1)]))
    refused(nn.Linear(3, 2), "fail on made-up rows")


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.out = nn.Embedding(6, 4), nn.Linear(4, 6, bias=False)
        self.out.weight = self.table.weight

    def forward(self, inputs: Tensor) -> Tensor:
        return self.out(self.table(inputs).mean(1))


class ReadsWeight(nn.Module):
    """Uses a layer's weight without calling the layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(3, 3), nn.Linear(3, 2)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.last(self.first(inputs) + inputs @ self.first.weight)


def reused() -> nn.Module:
    layer = nn.Linear(3, 3)
    return nn.Sequential(layer, nn.Tanh(), layer, nn.Linear(3, 2))


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        (Tied(), torch.randint(0, 6, (5, 3))),
        (ReadsWeight(), torch.randn(5, 3)),
        (reused(), torch.randn(5, 3)),
    ],
)
def test_what_layers_cannot_tell_is_found_by_vmap_and_equals_the_loop(model: nn.Module, rows: Tensor) -> None:
    clipped = ClippedGradients(model, entropy, norm=0.3)
    targets = torch.tensor([0, 1, 1, 0, 1])
    assert apart(clipped(rows, targets), looped(model, rows, targets, 0.3 * (1 - 2**-7))) < 2e-3
    assert clipped.method == "vmap"
    with pytest.raises(InvalidParameterError, match="no method"):
        ClippedGradients(model, entropy, norm=0.3, method="layers")(rows, targets)


def test_the_rehearsal_leaves_no_trace() -> None:
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(), nn.Linear(4, 2))
    model[1].eval()
    before, state = [one.clone() for one in model.parameters()], torch.random.get_rng_state()
    clipped = ClippedGradients(model, entropy, norm=1)
    clipped(ROWS[:0], TARGETS[:0])
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert model.training
    assert not model[1].training
    assert all(one.grad is None and one.requires_grad for one in model.parameters())


def test_made_up_rows_know_types_and_shapes_alone() -> None:
    rows = (torch.randn(5, 2), torch.randint(0, 9, (5,)), torch.ones(5, 3, dtype=torch.bool), "flag")
    other = (torch.full((2, 2), torch.nan), torch.full((2,), 7), torch.zeros(2, 3, dtype=torch.bool), "flag")
    for one, two in zip(made_up(rows), made_up(other), strict=True):
        assert torch.equal(one, two) if isinstance(one, Tensor) else one == two


@pytest.mark.parametrize("change", ["hook", "batch norm", "forward", "hook for all"])
def test_models_that_mix_later_are_refused_later(change: str) -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))
    clipped = ClippedGradients(model, entropy, norm=1)
    clipped(ROWS, TARGETS)
    handle = None
    if change == "hook":
        handle = model[1].register_forward_hook(lambda module, args, output: output - output.mean(0))
    elif change == "hook for all":
        handle = nn.modules.module.register_module_forward_hook(lambda module, args, output: output + output.mean())
    elif change == "batch norm":
        model[1] = nn.BatchNorm1d(3, affine=False)
    else:
        model[1].forward = lambda inputs: inputs / inputs.abs().max()  # type: ignore[method-assign]
    try:
        for _ in range(2):
            with pytest.raises(InvalidParameterError, match=r"depends on the other|GroupNorm"):
                clipped(ROWS, TARGETS)
    finally:
        if handle is not None:
            handle.remove()
    if change == "hook":
        clipped(ROWS, TARGETS)


def test_scripted_modules_are_refused() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        script = torch.jit.script(nn.Linear(3, 3))
    refused(nn.Sequential(script, nn.Linear(3, 2)), "hides its state")


class Writes(nn.Module):
    """Writes what belongs to rows into a tensor that it made."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.last = nn.Linear(4, 3), nn.Linear(9, 2)

    def forward(self, inputs: Tensor) -> Tensor:
        found = inputs.new_zeros(len(inputs), 3, 3)
        for place in range(3):
            found[:, place] = torch.tanh(self.cell(torch.cat([inputs[:, place, None], found[:, place - 1]], 1)))
        return self.last(found.flatten(1))


def test_models_may_write_into_tensors_that_they_made() -> None:
    torch.manual_seed(2)
    model, inputs, targets = Writes(), torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 1])
    clipped = ClippedGradients(model, entropy, norm=0.3)
    assert apart(clipped(inputs, targets), looped(model, inputs, targets, 0.3 * (1 - 2**-7))) < 2e-3
    assert clipped.method == "vmap"


class DropsLayers(nn.Module):
    """Leaves a layer out at random, only in training: vmap cannot follow."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(3, 3), nn.Linear(3, 2)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.last(inputs if self.training and torch.rand(()) < 0.5 else self.first(inputs))


def test_a_way_that_fails_in_training_alone_is_not_taken() -> None:
    """Later, what fails on every row would count as zero."""
    clipped = ClippedGradients(DropsLayers(), entropy, norm=1)
    found = clipped(ROWS, TARGETS)
    assert clipped.method == "loop"
    assert all(one.any() for one in found[2:])
