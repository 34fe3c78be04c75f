"""What stands around a model is taken off; losses of torch give one value a row; rows are read one by one."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is in the extra torch")
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

from deniable.errors import InvalidParameterError  # noqa: E402
from deniable.learning.torch.checks import Rows, plain, row_loss  # noqa: E402


def test_compiled_models_are_taken_apart() -> None:
    model = nn.Linear(2, 1)
    assert plain(torch.compile(model, backend="eager")) is plain(model) is model


def test_losses_that_average_or_add_up_give_single_values() -> None:
    outputs, targets = torch.rand(4, 3), torch.rand(4, 3)
    whole = ((outputs - targets) ** 2).double()
    assert torch.allclose(row_loss(nn.MSELoss())(outputs, targets).double(), whole.mean(1))
    assert torch.allclose(row_loss(nn.MSELoss(reduction="sum"))(outputs, targets).double(), whole.sum(1))
    single, averaging = nn.CrossEntropyLoss(reduction="none"), nn.CrossEntropyLoss()
    assert row_loss(single) is single
    row_loss(averaging)
    assert averaging.reduction == "mean"


def test_rows_are_read_one_by_one_as_the_collate_function_says() -> None:
    dataset = TensorDataset(torch.arange(6.0).reshape(3, 2), torch.arange(3))
    whole = Rows(DataLoader(dataset, batch_size=2))

    def doubled(rows):
        return torch.stack([each for each, _ in rows]) * 2, torch.stack([each for _, each in rows])

    single = Rows(DataLoader(dataset, batch_size=2, collate_fn=doubled))
    for places in ([2, 0], []):
        assert torch.equal(whole.batch(places)[0] * 2, single.batch(places)[0])
        assert torch.equal(whole.batch(places)[1], single.batch(places)[1])
    assert single.batch([])[0].shape == (0, 2)


@pytest.mark.parametrize("error", [ValueError, SystemExit, type("Stop", (KeyboardInterrupt,), {})])
def test_a_first_row_that_cannot_be_read_is_refused_without_its_values(error: type[BaseException]) -> None:
    class Broken(TensorDataset):
        def __getitem__(self, place):
            raise error("income 73512")

    loader = DataLoader(Broken(torch.zeros(3, 2)), batch_size=2, collate_fn=list)
    with pytest.raises(InvalidParameterError, match="first row") as refused:
        Rows(loader)
    assert refused.value.__context__ is None
    assert "73512" not in str(refused.value)
