"""Labels and codes out of range stop nothing, and those within give what they always give."""

from collections.abc import Callable
from contextlib import nullcontext

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is in the extra torch")
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from deniable.learning.torch import ClippedGradients, gradients  # noqa: E402
from deniable.learning.torch.codes import Codes  # noqa: E402

LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cross_entropy": nn.CrossEntropyLoss(reduction="none"),
    "ignored": nn.CrossEntropyLoss(reduction="none", ignore_index=1, weight=torch.ones(3)),
    "nll_loss": lambda o, t: functional.nll_loss(o.log_softmax(1), t, None, None, -100, None, "none"),
    "gather": lambda o, t: -o.log_softmax(1).gather(1, t[:, None])[:, 0],
    "places": lambda o, t: -o.log_softmax(1)[torch.arange(len(t)), t],
}


def sums(loss: Callable[[Tensor, Tensor], Tensor], codes: list[int], labels: list[int], method: str) -> Tensor:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 3))
    clipped = ClippedGradients(model, loss, norm=1, method=method)
    return torch.cat([one.flatten() for one in clipped(torch.tensor(codes), torch.tensor(labels))])


@pytest.mark.parametrize("method", ["layers", "vmap", "loop"])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_rows_out_of_range_count_as_zero(
    loss: Callable[[Tensor, Tensor], Tensor], method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = sums(loss, [0, 3, 5, -1, 4, 2, 1], [0, 1, 2, 2, 3, -5, 2], method)
    assert torch.allclose(bad, sums(loss, [0, 3, 1], [0, 1, 2], method), atol=1e-6)
    monkeypatch.setattr(gradients, "Codes", nullcontext)
    with pytest.raises((IndexError, RuntimeError)):  # where a CUDA device would stop the process
        sums(loss, [0, 3, 5, -1, 4, 2, 1], [0, 1, 2, 2, 3, -5, 2], method)


def test_codes_within_range_and_other_calls_give_what_they_give() -> None:
    torch.manual_seed(0)
    outputs, labels, shares = torch.randn(4, 3), torch.tensor([0, 2, -100, 1]), torch.rand(4, 3)
    table, sets = nn.Embedding(6, 2, padding_idx=1), torch.tensor([[1, 5], [0, 2]])
    calls: list[Callable[[], Tensor]] = [
        lambda: functional.cross_entropy(outputs, labels),
        lambda: functional.cross_entropy(outputs, shares, label_smoothing=0.1),
        lambda: functional.cross_entropy(outputs[0], labels[1]),
        lambda: table(sets),
        lambda: torch.gather(outputs, 1, labels.clamp(0)[:, None]),
        lambda: sets.gather(1, sets.clamp(0, 1)),
        lambda: outputs[torch.arange(4), torch.tensor([0, 2, -3, -1])],
        lambda: outputs[:, 1:] + outputs[labels > 0].sum(),
    ]
    for call in calls:
        plain = call()
        with Codes():
            assert torch.equal(call(), plain)
