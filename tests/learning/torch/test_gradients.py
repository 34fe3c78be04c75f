"""The sum of clipped gradients: how far one example moves it, and what examples that are not finite do."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import Tensor, nn  # noqa: E402

from deniable.errors import InvalidParameterError  # noqa: E402
from deniable.learning.torch import ClippedGradients  # noqa: E402
from tests.learning.torch.reference import apart, entropy, looped  # noqa: E402

WAYS = ("layers", "vmap", "loop")


def network(width: int = 6) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(width, 8), nn.ReLU(inplace=True), nn.LayerNorm(8), nn.Linear(8, 3))


def rows(count: int, width: int = 6) -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    return torch.randn(count, width), torch.arange(count) % 3


def size(found: list[Tensor]) -> float:
    return float(torch.stack([one.square().sum() for one in found]).sum().sqrt())


@pytest.mark.parametrize("method", WAYS)
@pytest.mark.parametrize("memory", [2**28, 1])
def test_every_way_equals_the_loop_however_little_memory_it_has(method: str, memory: int) -> None:
    model, (inputs, targets) = network(), rows(11)
    clipped = ClippedGradients(model, entropy, norm=0.7, method=method, memory=memory)
    assert apart(clipped(inputs, targets), looped(model, inputs, targets, 0.7 * (1 - 2**-7))) < 2e-3
    assert clipped.method == method
    assert len(clipped.norms) == 11


@pytest.mark.parametrize("method", WAYS)
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e30])
def test_an_example_that_is_not_finite_contributes_zero_and_changes_nothing_else(method: str, bad: float) -> None:
    model, (inputs, targets) = network(), rows(7)
    clipped = ClippedGradients(model, lambda o, t: entropy(o, t) * 100, norm=1, method=method)
    without = clipped(torch.cat([inputs[:3], inputs[4:]]), torch.cat([targets[:3], targets[4:]]))
    inputs[3, 2] = bad
    inputs[3, 4] = -bad
    found = clipped(inputs, targets)
    assert apart(found, without) < 1e-6 or (
        bad == 1e30 and size([a - b for a, b in zip(found, without, strict=True)]) <= 1
    )
    assert all(torch.isfinite(one).all() for one in found)


def test_without_dropping_it_such_an_example_would_poison_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.learning.torch.pieces.Piece.drop", lambda self, lost: None)
    inputs, targets = rows(7)
    inputs[3, 2] = float("nan")
    assert not torch.isfinite(ClippedGradients(network(), entropy, norm=1)(inputs, targets)[0]).any()


def test_without_torch_the_error_says_what_to_install() -> None:
    code = """
import sys
class Absent:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] == "torch":
            raise ImportError
sys.meta_path.insert(0, Absent())
import deniable.learning
import deniable.learning.torch
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtraError" in done.stderr
    assert "pip install '.[torch]'" in done.stderr


@pytest.mark.parametrize("method", WAYS)
def test_empty_batches_and_zero_gradients_give_zeros(method: str) -> None:
    clipped = ClippedGradients(network(), lambda o, t: entropy(o, t) * (t > 0), norm=1, method=method)
    inputs, targets = rows(4)
    for count in (0, 4):
        found = clipped(inputs[:count], targets[:count] * 0)
        assert size(found) == 0
        assert [one.dtype for one in found] == [torch.float64] * 6


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e-6])
def test_one_example_moves_the_sum_by_at_most_the_norm(scale: float) -> None:
    model, (inputs, targets) = network(), rows(300)
    clipped = ClippedGradients(model, lambda o, t: entropy(o, t) * scale, norm=0.5)
    whole = clipped(inputs, targets)
    for row in range(0, 300, 60):
        kept = torch.arange(300) != row
        moved = size([a - b for a, b in zip(whole, clipped(inputs[kept], targets[kept]), strict=True)])
        assert moved <= 0.5
        if scale == 1e4:
            assert moved > 0.49  # the bound is attained but for what rounding keeps


def test_without_the_part_kept_for_rounding_an_example_would_move_the_sum_farther(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("deniable.learning.torch.gradients._ROUNDING_SHARE", 0.0)
    monkeypatch.setattr("deniable.learning.torch.pieces._contract", lambda left, right, reach, allowed: left.mT @ right)
    monkeypatch.setattr("deniable.learning.torch.pieces.UNIT", 0.0)
    inputs, targets = rows(300)
    clipped = ClippedGradients(network(), lambda o, t: entropy(o, t) * 1e4, norm=0.5)
    whole, farthest = clipped(inputs, targets), 0.0
    for row in range(40):
        kept = torch.arange(300) != row
        moved = [a - b for a, b in zip(whole, clipped(inputs[kept], targets[kept]), strict=True)]
        farthest = max(farthest, size(moved))
    assert farthest > 0.5


def test_parts_of_a_batch_give_the_sum_of_the_batch() -> None:
    inputs, targets = rows(9)
    clipped = ClippedGradients(network(), entropy, norm=0.4)
    parts = [clipped(inputs[part], targets[part], batch_size=9) for part in (slice(0, 4), slice(4, 9))]
    added = [one + other for one, other in zip(*parts, strict=True)]
    assert apart(added, clipped(inputs, targets)) < 1e-5


def test_weights_get_no_gradients_of_their_own() -> None:
    model = network()
    ClippedGradients(model, entropy, norm=1)(*rows(4))
    assert all(one.grad is None for one in model.parameters())


def test_dropout_may_stay_in_training() -> None:
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(6, 64), nn.Dropout(0.5), nn.Linear(64, 3))
    clipped = ClippedGradients(model, entropy, norm=100)
    inputs, targets = rows(5)
    first, second = clipped(inputs, targets), clipped(inputs, targets)
    assert clipped.method == "layers"
    assert apart(first, second) > 0.1
    attention = nn.TransformerEncoderLayer(6, 2, 8, dropout=0.1, batch_first=True)
    clipped = ClippedGradients(nn.Sequential(nn.Unflatten(1, (1, 6)), attention, nn.Flatten()), entropy, norm=1)
    clipped(*rows(5))
    assert clipped.method == "vmap"  # attention with dropout cannot be run again with the same mask


def test_bfloat16_gives_nearly_the_same_sums() -> None:
    inputs, targets = rows(32)
    clipped = ClippedGradients(network(), entropy, norm=0.5)
    exact = clipped(inputs, targets)
    for method in WAYS:  # weights that autocast kept from the rehearsal would spoil the loop
        cast = ClippedGradients(network(), entropy, norm=0.5, method=method)
        with torch.autocast("cpu", torch.bfloat16):
            found = cast(inputs, targets)
        assert apart(found, exact) < 0.1
        assert size(found) <= 0.5 * 32
    model = network().bfloat16()
    found = ClippedGradients(model, entropy, norm=0.5)(inputs.bfloat16(), targets)
    assert apart(found, exact) < 0.1
    assert found[0].dtype == torch.float64


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("method", WAYS)
def test_cuda_gives_the_sums_of_the_processor(method: str) -> None:
    inputs, targets = rows(33)
    inputs[5, 2], targets[6] = float("nan"), 9
    for model in (network(), nn.Sequential(nn.Unflatten(1, (3, 2)), nn.GRU(2, 3, batch_first=True), Last())):
        found = ClippedGradients(model, entropy, norm=0.5, method="loop")(inputs, targets)
        clipped = ClippedGradients(model.cuda().eval(), entropy, norm=0.5, method=method)
        there = clipped(inputs.cuda(), targets.cuda())
        assert apart([one.cpu() for one in there], found) < 1e-4
        assert clipped.norms.device.type == "cuda"


class Last(nn.Module):
    def forward(self, read: tuple[Tensor, Tensor]) -> Tensor:
        return read[0][:, -1]


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(2, 3), nn.Linear(4, 3)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        return self.left(left) + self.right(right)


@pytest.mark.parametrize("method", WAYS)
def test_models_may_take_several_arguments(method: str) -> None:
    torch.manual_seed(0)
    model, (inputs, targets) = Two(), rows(5)
    clipped = ClippedGradients(model, entropy, norm=1, method=method)
    by_place = clipped((inputs[:, :2], inputs[:, 2:]), targets)
    assert apart(clipped({"right": inputs[:, 2:], "left": inputs[:, :2]}, targets), by_place) == 0
    with pytest.raises(InvalidParameterError, match="first dimension"):
        clipped((inputs[:, :2], inputs[:3, 2:]), targets)


def test_rows_of_ones_own_replace_those_that_are_made_up() -> None:
    model, (inputs, targets) = network(), rows(5)

    def picky(output: Tensor, target: Tensor) -> Tensor:
        if (target > 9).any():
            return entropy(output, target - 10)
        raise IndexError

    with pytest.raises(InvalidParameterError, match="example="):
        ClippedGradients(model, picky, norm=1)(inputs, targets + 10)
    clipped = ClippedGradients(model, picky, norm=1, example=(inputs[:3], targets[:3] + 10))
    assert apart(clipped(inputs, targets + 10), looped(model, inputs, targets, 1 - 2**-7)) < 2e-3
