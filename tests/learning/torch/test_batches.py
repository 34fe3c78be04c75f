"""Layers that run on all examples at once under vmap give each of them what it gets alone."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import Tensor, nn  # noqa: E402

from deniable.learning.torch.batches import Recurrent, in_batches  # noqa: E402

KINDS = [
    lambda first: nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=first),
    lambda first: nn.LSTM(3, 4, proj_size=2, batch_first=first),
    lambda first: nn.GRU(3, 4, batch_first=first),
    lambda first: nn.RNN(3, 4, nonlinearity="relu", batch_first=first),
    lambda first: nn.RNN(3, 4, batch_first=first),
]


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("first", [True, False])
def test_recurrent_layers_keep_examples_apart(make: object, first: bool) -> None:
    torch.manual_seed(0)
    layer, rows = make(first), torch.randn(5, 2, 6, 3)  # type: ignore[operator]  # two sequences an example

    def one(row: Tensor) -> Tensor:
        return layer(row if first else row.transpose(0, 1))[0].sum((0, 1))

    with Recurrent():
        found = torch.func.vmap(one)(rows)
    assert torch.allclose(found, torch.stack([one(row) for row in rows]), atol=1e-5)
    with pytest.raises(RuntimeError, match="atching rule"):
        torch.func.vmap(one)(rows)


def test_examples_come_first_whatever_vmap_makes_of_them() -> None:
    seen: list[Tensor] = []

    def one(row: Tensor, column: Tensor) -> Tensor:
        twice, _ = in_batches(lambda batches: seen.extend(batches) or [2 * each for each in batches], [row, column])
        return twice

    rows, column = torch.randn(4, 3), torch.randn(2)
    found = torch.func.vmap(one, in_dims=(1, None))(rows, column)
    assert torch.equal(found, 2 * rows.T)
    assert torch.equal(seen[0], rows.T)
    assert torch.equal(seen[1], column.expand(3, 2))
    with pytest.raises(RuntimeError, match="another transform"):
        torch.func.vmap(torch.func.vmap(one, in_dims=(0, None)), in_dims=(0, None))(rows[:, :, None], column)
    with pytest.raises(RuntimeError, match="another transform"):
        one(rows, column)
