"""Norms are never too small and sums never farther off than asked, however rows cancel."""

from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from deniable.learning.torch.pieces import UNIT, Dense, Lookup, Piece, Product, _contract  # noqa: E402


def exact(matrix: torch.Tensor) -> np.ndarray:
    return np.vectorize(Fraction, otypes=[object])(matrix.double().numpy())


def pieces(length: int) -> tuple[Piece, np.ndarray]:
    """Rows that nearly cancel, as a product, and their gradients as fractions."""
    inputs = torch.randn(3, length, 5) * torch.logspace(-3, 3, 5)
    outputs = torch.randn(3, length, 4)
    if length > 1:
        inputs[:, 1::2], outputs[:, 1::2] = inputs[:, ::2] * (1 + 3e-7), -outputs[:, ::2]
    found = np.array([exact(b).T @ exact(a) for a, b in zip(inputs, outputs, strict=True)])
    return Product(torch.zeros(4, 5), inputs, outputs), found


@pytest.mark.parametrize("length", [1, 2, 64])
def test_norms_of_products_are_upper_bounds(length: int) -> None:
    torch.manual_seed(length)
    piece, truth = pieces(length)
    squared = piece.norms({})
    norms = [sum(float(x) ** 2 for x in one.ravel()) for one in truth]
    assert all(bound >= norm for bound, norm in zip(squared.tolist(), norms, strict=True))
    for row, bound in enumerate(squared.tolist()):  # of what is added up too, which is rounded
        added = piece.total(torch.eye(3, dtype=torch.float64)[row], 0, 1)
        assert float(added.double().square().sum()) <= bound


def test_without_the_error_term_a_norm_would_be_too_small() -> None:
    torch.manual_seed(0)
    below = 0
    for _ in range(50):
        side, back = torch.randn(1, 8, 300) * 100, torch.randn(1, 8, 300)
        side[:, 4:], back[:, 4:] = side[:, :4] + 1e-4 * torch.randn(1, 4, 300), -back[:, :4]
        truth = float(((back.double().mT @ side.double()) ** 2).sum())
        naive = float(((side @ side.mT) * (back @ back.mT)).sum())
        below += naive < truth
        assert Product(torch.zeros(300, 300), side, back).norms({}).item() >= truth
    assert below > 5


def test_dense_and_lookup_norms_are_upper_bounds() -> None:
    torch.manual_seed(1)
    values = torch.randn(4, 7, 11) * torch.logspace(-8, 8, 11)
    truth = values.double().square().sum((1, 2))
    assert (Dense(torch.zeros(7, 11), values).norms({}) >= truth).all()
    codes, back = torch.tensor([[0, 1, 0], [2, 2, 2]]), torch.randn(2, 3, 4)
    table = torch.stack([torch.zeros(3, 4).index_add(0, code, one) for code, one in zip(codes, back, strict=True)])
    piece = Lookup(torch.zeros(3, 4), codes[:, :, None], back)
    assert (piece.norms({}) >= table.double().square().sum((1, 2))).all()
    factors = torch.tensor([0.5, 2.0], dtype=torch.float64)
    assert torch.allclose(piece.total(factors, 0, 1), torch.einsum("i,ijk->jk", factors, table.double()), atol=1e-6)


def test_huge_sides_count_as_infinite() -> None:
    for size in (2.0**31, float("nan"), float("inf")):
        piece = Product(torch.zeros(1, 1), torch.full((1, 1, 1), size), torch.full((1, 1, 1), 2.0**-40))
        assert not torch.isfinite(piece.norms({})).any()


def test_sums_stay_as_near_as_asked() -> None:
    torch.manual_seed(2)
    left, right = torch.randn(4096, 1), torch.randn(4096, 6)
    truth = left.double().mT @ right.double()
    reach = float((left.double().abs() * right.double().norm(dim=1, keepdim=True)).sum())
    kinds = set()
    for depth in (5000, 1100, 300, 1):
        allowed = 1.02 * UNIT * depth * reach
        found = _contract(left, right, reach, allowed)
        kinds.add(found.dtype)
        assert float((found.double() - truth).norm()) <= allowed
    assert kinds == {torch.float32, torch.float64}


def test_sums_of_which_nothing_may_be_lost_are_made_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "deniable.learning.torch.pieces._FLOAT64_DEPTH", 16
    )  # one product for two examples, then one for one
    piece, truth = pieces(8)
    factors = torch.tensor([0.3, 1e-3, 7], dtype=torch.float64)
    wanted = sum(float(factor) * one.astype(float) for factor, one in zip(factors, truth, strict=True))
    assert np.allclose(piece.total(factors, 1e3, 0.0).numpy(), wanted, rtol=1e-12, atol=1e-9)
    assert not np.allclose(piece.total(factors, 0.0, 1.0).numpy(), wanted, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("length", [1, 8])
def test_dropped_examples_leave_nothing(length: int) -> None:
    torch.manual_seed(3)
    piece, truth = pieces(length)
    assert isinstance(piece, Product)
    piece.inputs[1], piece.outputs[1] = float("nan"), float("inf")
    piece.drop(torch.tensor([False, True, False]))
    total = piece.total(torch.tensor([1.0, 0, 1], dtype=torch.float64), 1.0, 0.0)
    assert np.allclose(total.numpy(), (truth[0] + truth[2]).astype(float), atol=0.02)
