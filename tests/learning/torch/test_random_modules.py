"""Random modules: each is refused, whatever the rows hold, or one row moves the clipped sum by one norm and no more.

Parts are drawn and composed, side by side, one after the other, around another and with shared weights; some mix rows,
and some remember them. `make fuzz TESTS=tests/learning/torch/test_random_modules.py` looks at new ones, of all parts.
"""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import Tensor, nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from deniable.errors import InvalidParameterError  # noqa: E402
from deniable.learning.torch import ClippedGradients  # noqa: E402
from tests.learning.torch.test_zoo import WIDTH, Loss, Mixing, everything, product, size  # noqa: E402

EXAMPLES = settings.default.max_examples if settings.default else 50
ROUNDING = 1e-6  # of adding up the sums that are compared, in norms


class Does(nn.Module):
    """A layer, or something that a function makes of it and of the rows."""

    def __init__(self, function: Callable[[Any, Tensor], Tensor], layer: nn.Module | None = None) -> None:
        super().__init__()
        self.function, self.layer, self.last, self.seen = function, layer, torch.zeros(()), [0.0]
        self.register_buffer("kept", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self, x)


class Both(nn.Module):
    """Two parts side by side, or one part around which a row goes as well."""

    def __init__(self, one: nn.Module, other: nn.Module | None) -> None:
        super().__init__()
        self.one, self.other = one, other

    def forward(self, x: Tensor) -> Tensor:
        return self.one(x) + (x if self.other is None else self.other(x))


class Branches(nn.Module):
    """The part that a row goes to by its first number, in Python or by a mask."""

    def __init__(self, one: nn.Module, other: nn.Module) -> None:
        super().__init__()
        self.one, self.other = one, other

    def forward(self, x: Tensor) -> Tensor:
        return torch.where(x[:, :1] > 0, self.one(x), self.other(x))


def keeps(at: Any, x: Tensor) -> Tensor:
    """Remembers rows in a buffer, an attribute and a list, and reads what it knew."""
    found = x + at.kept + at.last + at.seen[0]
    if (x.abs() > 5000).any():
        at.kept.copy_(x.detach().mean())
        at.last, at.seen[0] = x.detach().mean(), float(x.detach().mean())
    return found


def in_place(at: Any, x: Tensor) -> Tensor:
    found = x.clone()
    found[:, 0] = found[:, 0] * 2
    return found.add_(1)


def hooked(at: Any, x: Tensor) -> Tensor:
    found = at.layer(x)
    if found.requires_grad:
        found.register_hook(lambda grad: grad / grad.abs().max().clamp(min=1e-6))
    return found


def attended(at: Any, x: Tensor) -> Tensor:
    return at.layer(*[x[:, :, None]] * 3)[0][:, :, 0]


def of(function: Callable[[Any, Tensor], Tensor], layer: Callable[[], nn.Module] | None = None) -> Any:
    return lambda: Does(function, None if layer is None else layer())


PARTS: dict[str, Callable[[], nn.Module]] = {
    "linear": lambda: nn.Linear(WIDTH, WIDTH),
    "without bias": lambda: nn.Linear(WIDTH, WIDTH, bias=False),
    "convolution": of(lambda at, x: at.layer(x[:, None])[:, 0], lambda: nn.Conv1d(1, 1, 3, padding=1)),
    "picture": of(lambda at, x: at.layer(x.reshape(-1, 1, 2, 2)).flatten(1),
                  lambda: nn.Conv2d(1, 1, 3, padding=1, bias=False)),
    "layer norm": lambda: nn.LayerNorm(WIDTH),
    "group norm": lambda: nn.GroupNorm(2, WIDTH),
    "batch norm": lambda: nn.BatchNorm1d(WIDTH),
    "relu": nn.ReLU,
    "softplus": nn.Softplus,
    "tanh": nn.Tanh,
    "dropout": lambda: nn.Dropout(0.5),
    "embedding": of(lambda at, x: at.layer((x > 0).long()).sum(1), lambda: nn.Embedding(2, WIDTH)),
    "bag": of(lambda at, x: at.layer((x > 0).long()), lambda: nn.EmbeddingBag(2, WIDTH, mode="sum")),
    "attention": of(attended, lambda: nn.MultiheadAttention(1, 1, batch_first=True)),
    "recurrent": of(lambda at, x: at.layer(x[:, :, None])[0][:, -1], lambda: nn.GRU(1, WIDTH, batch_first=True)),
    "long memory": of(lambda at, x: at.layer(x[:, :, None])[0][:, :, 0], lambda: nn.LSTM(1, 1, batch_first=True)),
    "used twice": of(lambda at, x: at.layer(at.layer(x).tanh()), lambda: nn.Linear(WIDTH, WIDTH)),
    "weight read": of(lambda at, x: x @ at.layer.weight.T, lambda: nn.Linear(WIDTH, WIDTH)),
    "in place": of(in_place),
    "keeps": of(keeps),
    "hook on gradients": of(hooked, lambda: nn.Linear(WIDTH, WIDTH)),
    "gradients that mix": of(lambda at, x: Mixing.apply(x)),
    "unused": of(lambda at, x: x, lambda: nn.Linear(WIDTH, 2)),
    "roots": of(lambda at, x: x.abs().sqrt() - x.clamp(min=0).log1p()),
    "quotient": of(lambda at, x: x / x.norm(dim=1, keepdim=True)),
    "counts": of(lambda at, x: x / max(len(x), 1)),
    "centres": of(lambda at, x: x - x.mean(0)),
    "large are centred": of(lambda at, x: torch.where((x.abs() > 5000).any(), x - x.mean(0), x)),
    "sorts": of(lambda at, x: x[torch.argsort(x[:, 0])]),
    "turns": of(lambda at, x: x.flip(0)),
    "numbers of Python": of(lambda at, x: x * float(x.detach().abs().max() > 5000)),
}  # fmt: skip
HEAVY = {"attention", "recurrent", "long memory"}  # a second or two each: for `make fuzz`
DRAWN = sorted(PARTS if EXAMPLES > 50 else PARTS.keys() - HEAVY)
LOSSES: dict[str, Loss] = {
    "product": product,
    "entropy": lambda output, target: functional.cross_entropy(output, (target > 0).long(), reduction="none"),
    "huge": lambda output, target: product(output, target) * 1e30,
    "exponential": lambda output, target: product(output, target).exp(),
    "of the batch": lambda output, target: product(output, target) - product(output, target).median(),
    "constant": lambda output, target: 0 * target,
}
ROWS = {"zero": 0.0, "one": 1.0, "large": 9999.0, "very large": -1e30, "largest": 3e38, "NaN": float("nan"),
        "infinite": float("-inf")}  # fmt: skip
Recipe = Any
RECIPES: st.SearchStrategy[Recipe] = st.recursive(
    st.sampled_from(DRAWN),
    lambda inner: st.tuples(st.sampled_from(["after", "both", "around", "branches", "shared"]), inner, inner),
    max_leaves=4,
)


def made(recipe: Recipe) -> nn.Module:
    if isinstance(recipe, str):
        return PARTS[recipe]()
    kind, one, other = recipe[0], made(recipe[1]), made(recipe[2])
    if kind == "both":
        return Both(one, other)
    if kind == "branches":
        return Branches(one, other)
    return Both(one, None) if kind == "around" else nn.Sequential(one, other, *[one] * (kind == "shared"))


def names(recipe: Recipe) -> set[str]:
    return {recipe} if isinstance(recipe, str) else names(recipe[1]) | names(recipe[2])


def model_of(recipe: Recipe) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), made(recipe), nn.Linear(WIDTH, 2))


def refused(make: Callable[[], Any]) -> Any:
    """What is made, or in words why not."""
    torch.manual_seed(5)  # of dropout
    try:
        return make()
    except InvalidParameterError as error:
        return str(error)


@st.composite
def cases(draw: Any) -> tuple[Recipe, dict[str, Any], str, int, tuple[str, str]]:
    options = {"norm": draw(st.sampled_from([1.0, 2.0**-10, 7.0])), "memory": draw(st.sampled_from([None, 1, 700]))}
    options["method"] = draw(st.sampled_from(["auto"] * 3 + ["layers", "vmap", "loop"]))
    row = st.sampled_from(sorted(ROWS))
    return draw(RECIPES), options, draw(st.sampled_from(sorted(LOSSES))), draw(st.integers(0, 5)), draw(
        st.tuples(row, row))  # fmt: skip


def check(recipe: Recipe, options: dict[str, Any], loss: str, others: int, kinds: tuple[str, str]) -> str:
    """Exchange one row for another, and leave it out; how gradients were found, or why they were not."""
    model = model_of(recipe)
    before = everything(model)
    inputs, targets = torch.randn(others, WIDTH), torch.ones(others + 1)
    one, other = (torch.cat([inputs, torch.full((1, WIDTH), ROWS[kind])]) for kind in kinds)
    clipped = refused(lambda: ClippedGradients(model, LOSSES[loss], **options))
    if isinstance(clipped, str):
        return clipped
    first, second = (refused(lambda rows=rows: clipped(rows, targets)) for rows in (one, other))
    assert everything(model) == before
    if isinstance(first, str):
        again = ClippedGradients(model, LOSSES[loss], **options)  # which saw the other row first
        assert first == second == refused(lambda: again(other, targets))
        return first
    norm = options["norm"] * (1 + ROUNDING)
    assert size([a - b for a, b in zip(first, second, strict=True)]) <= 2 * norm
    without = refused(lambda: clipped(inputs, targets[:-1]))
    for sums in (first, second) if "dropout" not in names(recipe) else ():  # whose masks belong to places
        assert size([a - b for a, b in zip(sums, without, strict=True)]) <= norm
    assert everything(model) == before
    return str(clipped.method)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=EXAMPLES // 4)
@given(case=cases())
def test_one_row_moves_a_random_module_by_one_norm(case: tuple[Any, ...]) -> None:
    check(*case)


def test_random_modules_that_mix_or_remember_rows_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twins: nothing is put back; and losses of rows that are cut to twice the norm."""
    with monkeypatch.context() as patch:
        patch.setattr("deniable.learning.torch.state.State.restore", lambda self: None)
        with pytest.raises(AssertionError):
            check("keeps", {"norm": 1.0}, "product", 3, ("large", "zero"))
    with monkeypatch.context() as patch:
        patch.setattr("deniable.learning.torch.gradients._ROUNDING_SHARE", -1.0)
        with pytest.raises(AssertionError):
            check("linear", {"norm": 1.0}, "product", 3, ("large", "zero"))
