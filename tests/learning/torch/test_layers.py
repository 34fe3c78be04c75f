"""Every layer gives the sums that a loop over examples gives, whatever its shape."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as some  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from deniable.learning.torch import ClippedGradients  # noqa: E402
from deniable.learning.torch.layers import layers_of  # noqa: E402
from tests.learning.torch.reference import Reads, apart, entropy, looped  # noqa: E402

KEPT = 2**-7  # of the norm, for rounding
few = settings(max_examples=8, deadline=None, derandomize=True)


def agrees(inner: nn.Module, inputs: Tensor, way: str = "layers") -> None:
    model = Reads(inner, inputs[:1])
    targets = torch.arange(len(inputs)) % 2
    for norm in (0.1, 100):
        clipped = ClippedGradients(model, entropy, norm=norm)
        assert apart(clipped(inputs, targets), looped(model, inputs, targets, norm * (1 - KEPT))) < 2e-3
        assert clipped.method == way


@few
@given(some.integers(1, 5), some.lists(some.integers(1, 9), max_size=2), some.booleans(), some.integers(1, 6))
def test_linear(rows: int, places: list[int], bias: bool, width: int) -> None:
    torch.manual_seed(0)
    agrees(nn.Linear(width, 5, bias=bias), torch.randn(rows, *places, width))


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@few
@given(some.integers(1, 3), some.integers(1, 2), some.integers(1, 2), some.integers(1, 2), some.data())
def test_convolutions(dimensions: int, stride: int, reach: int, groups: int, data: some.DataObject) -> None:
    torch.manual_seed(0)
    kind = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[dimensions - 1]
    kernel = tuple(data.draw(some.integers(1, 3)) for _ in range(dimensions))
    layer = kind(2 * groups, 3 * groups, kernel, stride=stride, dilation=reach, groups=groups,
                 padding=data.draw(some.sampled_from([0, 1, "same"] if stride == 1 else [0, 2])),
                 bias=data.draw(some.booleans()),
                 padding_mode=data.draw(some.sampled_from(["zeros", "circular"])))  # fmt: skip
    agrees(layer, torch.randn(3, 2 * groups, *[data.draw(some.integers(5, 7)) for _ in range(dimensions)]))


@few
@given(some.integers(1, 6), some.integers(2, 9), some.sampled_from([None, 0, 1]))
def test_embedding(length: int, table: int, padding: int | None) -> None:
    torch.manual_seed(0)
    agrees(nn.Embedding(table, 3, padding_idx=padding), torch.randint(0, table, (5, length)))


@few
@given(some.sampled_from([nn.LayerNorm, nn.RMSNorm]), some.booleans(), some.booleans())
def test_norms_of_the_last_dimensions(kind: type[nn.Module], two: bool, bias: bool) -> None:
    torch.manual_seed(0)
    layer = kind((3, 4) if two else 4, **({"bias": bias} if kind is nn.LayerNorm else {}))
    agrees(layer, torch.randn(5, 2, 3, 4))


@few
@given(some.integers(1, 3), some.lists(some.integers(2, 4), min_size=1, max_size=3))
def test_group_norm(groups: int, sizes: list[int]) -> None:
    torch.manual_seed(0)
    agrees(nn.GroupNorm(groups, 2 * groups), torch.randn(5, 2 * groups, *sizes))


def test_attention_and_lstm_are_run_again_layer_by_layer_and_others_as_a_whole() -> None:
    torch.manual_seed(0)
    rows = torch.randn(4, 5, 8)
    agrees(nn.MultiheadAttention(8, 2, batch_first=True), rows)
    agrees(nn.TransformerEncoderLayer(8, 2, 12, dropout=0, batch_first=True), rows)
    agrees(nn.LSTM(8, 3, num_layers=2, batch_first=True), rows)
    agrees(nn.GRU(8, 3, batch_first=True), rows, way="vmap")  # with a first state for each row
    agrees(nn.InstanceNorm1d(5, affine=True), rows, way="vmap")
    agrees(nn.Sequential(nn.Linear(8, 3), nn.PReLU()), rows, way="vmap")


class Adapter(nn.Module):
    """A frozen layer beside two small ones: LoRA."""

    def __init__(self) -> None:
        super().__init__()
        self.base, self.down, self.up = nn.Linear(6, 6), nn.Linear(6, 2, bias=False), nn.Linear(2, 6, bias=False)
        self.base.requires_grad_(False)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.base(inputs) + self.up(self.down(inputs))


def test_adapters_learn_beside_a_frozen_layer() -> None:
    torch.manual_seed(0)
    agrees(nn.Sequential(Adapter(), nn.Tanh(), Adapter()), torch.randn(5, 3, 6))
    partly = nn.Linear(6, 4)
    partly.weight.requires_grad_(False)  # biases alone learn
    agrees(partly, torch.randn(5, 6))


def test_classes_that_only_inherit_from_a_known_one_have_no_rule() -> None:
    class Twice(nn.Linear):
        def forward(self, inputs: Tensor) -> Tensor:
            return 2 * super().forward(inputs)

    assert layers_of(nn.Sequential(nn.Linear(2, 2), Twice(2, 2))) == []
    agrees(Twice(3, 4), torch.randn(4, 3), way="vmap")
