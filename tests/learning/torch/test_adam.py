"""DPAdam is Adam without noise, and subtracts the variance of the noise where there is some."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is in the extra torch")

from deniable.errors import InvalidParameterError  # noqa: E402
from deniable.learning.torch import DPAdam  # noqa: E402


def paths(gradients: list[torch.Tensor], *makes) -> list[torch.Tensor]:
    found = []
    for make in makes:
        weight = torch.nn.Parameter(torch.ones(gradients[0].shape))
        optimizer = make([weight])
        for gradient in gradients:
            weight.grad = gradient.clone()
            optimizer.step()
        found.append(weight.detach())
    return found


def noise(steps: int, size: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(size, generator=generator) for _ in range(steps)]


def test_without_noise_it_is_adam() -> None:
    given = {"lr": 0.1, "weight_decay": 0.02, "betas": (0.8, 0.9)}
    ours, theirs = paths(noise(20, 30), lambda p: DPAdam(p, **given), lambda p: torch.optim.AdamW(p, **given))
    assert torch.allclose(ours, theirs, atol=1e-6)


def test_small_gradients_under_noise_get_the_steps_that_adam_gives_without_it() -> None:
    """A signal of 0.3 under noise of deviation 1: Adam divides by 1.04, the correction by 0.3; a twin without it fails.

    The mean move of 4,000 coordinates in 400 steps, within 15%: its standard error is below 2%, and the rest is the
    curvature of the root.
    """
    given = {"lr": 1e-3, "betas": (0.9, 0.999)}
    noisy = [0.3 + each for each in noise(1500, 4000)]
    corrected, plain = paths(noisy, lambda p: DPAdam(p, noise_variance=1.0, **given), lambda p: DPAdam(p, **given))
    clean = paths([torch.full((1,), 0.3)] * 1500, lambda p: DPAdam(p, **given))[0]
    whole = 1 - float(clean)
    assert 1 - float(corrected.mean()) == pytest.approx(whole, rel=0.35)
    assert (1 - float(plain.mean())) / whole == pytest.approx(0.3, rel=0.15)


def test_noise_alone_never_makes_a_step_larger_than_the_floor_allows() -> None:
    zero = torch.zeros(5)
    [found] = paths([zero + 1e-3] * 3, lambda p: DPAdam(p, lr=1.0, noise_variance=1.0))
    assert (1 - found).abs().max() < 3 * 1e-3 / (0.0632**0.5) * 1.01


def test_parameters_in_bfloat16_keep_their_averages_in_float32() -> None:
    weight = torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16))
    optimizer = DPAdam([weight], lr=0.1)
    weight.grad = torch.ones_like(weight)
    optimizer.step()
    assert weight.dtype == torch.bfloat16
    assert optimizer.state[weight]["mean"].dtype == torch.float32
    again = DPAdam([weight], lr=0.1)
    again.load_state_dict(optimizer.state_dict())
    assert again.state[weight]["step"] == 1


def test_settings_that_do_not_fit_are_refused() -> None:
    weight = [torch.nn.Parameter(torch.ones(1))]
    for wrong in ({"lr": -1.0}, {"betas": (1.0, 0.9)}, {"noise_variance": -1.0}):
        with pytest.raises(InvalidParameterError):
            DPAdam(weight, **wrong)
