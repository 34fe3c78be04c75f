"""Whatever a forward pass writes is put back, wherever it stands."""

from array import array
from collections import OrderedDict, UserDict, deque
from collections.abc import Callable
from functools import partial
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn  # noqa: E402

from deniable.errors import InvalidParameterError  # noqa: E402
from deniable.learning.torch import state  # noqa: E402
from deniable.learning.torch.state import State  # noqa: E402


class Slots:
    __slots__ = ("empty", "value")

    def __init__(self) -> None:
        self.value = torch.ones(1)


class Holder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight, self.frozen = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2), requires_grad=False)
        self.register_buffer("buffer", torch.ones(3))
        self.register_buffer("spread", torch.ones(1).expand(3))
        self.number, self.array, self.inner = 1.0, np.ones(2), nn.Linear(1, 1)
        self.deep = {"list": [1.0, deque([torch.ones(1)], maxlen=3)], "set": {1}, "order": OrderedDict(a=1)}
        self.fixed = np.broadcast_to(np.ones(1), 3)  # which nobody may write
        self.box = SimpleNamespace(value=torch.ones(1))
        self.slots, self.bytes, self.numbers = Slots(), bytearray(2), array("d", [1.0])
        self.user, self.sparse = UserDict(a=1), torch.ones(2).to_sparse()


def closure() -> Callable[..., object]:
    count, seen = 0, torch.ones(1)

    def loss(add: int) -> tuple[int, float]:
        nonlocal count
        count += add
        seen.add_(add)
        return count, float(seen)

    return loss


WRITES: dict[str, Callable[[Holder], object]] = {
    "parameter": lambda at: at.weight.data.add_(1),
    "frozen parameter": lambda at: at.frozen.add_(1),
    "memory by numpy": lambda at: at.buffer.numpy().__setitem__(0, 5),
    "other memory": lambda at: setattr(at.weight, "data", torch.zeros(7)),
    "buffer": lambda at: at.buffer.mul_(2),
    "another buffer": lambda at: setattr(at, "buffer", torch.zeros(3)),
    "a view": lambda at: at.buffer[1:].fill_(9),
    "expanded memory": lambda at: at.spread[0].fill_(9),
    "attribute": lambda at: setattr(at, "number", 2.0),
    "new attribute": lambda at: setattr(at, "last", torch.ones(2)),
    "attribute of a parameter": lambda at: setattr(at.weight, "last", 3),
    "array": lambda at: at.array.__setitem__(0, 3),
    "list": lambda at: at.deep["list"].append(3),
    "deque": lambda at: at.deep["list"][1].append(3),
    "tensor in a deque": lambda at: at.deep["list"][1][0].add_(1),
    "set": lambda at: at.deep["set"].add(3),
    "ordered": lambda at: at.deep["order"].update(a=2),
    "object": lambda at: setattr(at.box, "value", None),
    "tensor of an object": lambda at: at.box.value.add_(1),
    "hook": lambda at: at.inner.register_forward_hook(print),
    "submodule": lambda at: setattr(at, "inner", nn.Identity()),
    "slot": lambda at: setattr(at.slots, "value", 3),
    "empty slot": lambda at: setattr(at.slots, "empty", 3),
    "tensor in a slot": lambda at: at.slots.value.add_(1),
    "bytes": lambda at: at.bytes.append(3),
    "array of Python": lambda at: at.numbers.__setitem__(0, 3.0),
    "a user's dict": lambda at: at.user.update(a=2),
    "sparse": lambda at: at.sparse._values().mul_(2),
    "gradient": lambda at: setattr(at.weight, "grad", torch.ones(2)),
    "learning": lambda at: at.frozen.requires_grad_(True),
}


def everything(at: Holder) -> list[str]:
    hooks = [len(vars(module)["_forward_hooks"]) for module in at.modules()]
    marks = [(one.requires_grad, one.grad, vars(one)) for one in (at.weight, at.frozen)]
    plain = at.bytes, at.numbers, at.user, at.sparse, [getattr(at.slots, name, None) for name in Slots.__slots__]
    held = (at.state_dict(), at.number, at.array, at.deep, at.box, hooks, marks, sorted(vars(at)), plain)
    return [str(one) for one in held]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_what_is_written_is_put_back(write: Callable[[Holder], object]) -> None:
    at = Holder()
    before, kept = everything(at), State(at)
    for _ in range(2):
        with torch.no_grad():
            write(at)
        assert everything(at) != before  # without it, the change would stay
        kept.restore()
        assert everything(at) == before


def test_closures_of_losses_are_put_back() -> None:
    loss, other = closure(), closure()
    with State(partial(loss), [other]):
        assert loss(2) == other(2) == (2, 3.0)
    assert loss(0) == other(0) == (0, 1.0)


@pytest.mark.parametrize("iterator", [(each for each in "ab"), count(), iter([1])], ids=["generator", "count", "list"])
def test_iterators_which_cannot_be_put_back_are_refused(iterator: object) -> None:
    model = Holder()
    model.deep["next"] = iterator
    with pytest.raises(InvalidParameterError, match="iterator"):
        State(model)


def test_models_that_hold_a_data_set_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Holder()
    model.rows = torch.ones(100)
    monkeypatch.setattr(state, "MAX_BYTES", 399)
    with pytest.raises(InvalidParameterError, match="data sets"):
        State(model)
    model.register_buffer("rows_too", model.rows)
    State(model)
    monkeypatch.setattr(state, "MAX_OBJECTS", 20)
    with pytest.raises(InvalidParameterError, match="data sets"):
        State(model)
