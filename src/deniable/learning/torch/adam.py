"""Adam with second moments corrected for the variance of the noise."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from deniable.errors import InvalidParameterError


class DPAdam(torch.optim.Optimizer):
    """Adam or AdamW with the variance of the noise taken from second moments.

    The difference has a floor: two standard errors that noise alone has in the average of squares.

    Args:
        params, lr, betas, eps, weight_decay: as in torch.optim.AdamW.
        noise_variance: of the noise in one coordinate of the gradient, public; `make_private` sets it in every step.

    Source: Tang, Shpilevskiy, Lecuyer (2023), arXiv:2312.14334, with a floor relative to the noise.

    >>> import torch
    >>> from deniable.learning.torch import DPAdam
    >>> weight = torch.nn.Parameter(torch.ones(1))
    >>> optimizer = DPAdam([weight], lr=0.1, noise_variance=0.75)
    >>> weight.grad = torch.ones(1)
    >>> optimizer.step()  # 1 - 0.1 / sqrt(1 - 0.75)
    >>> print(round(weight.item(), 4))
    0.8
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, *,
        weight_decay: float = 0.0, noise_variance: float = 0.0,
    ) -> None:  # fmt: skip
        if min(lr, eps, weight_decay, noise_variance, *betas) < 0 or max(betas) >= 1:
            raise InvalidParameterError("lr, eps, betas, weight_decay and noise_variance must be >= 0, and betas < 1")
        settings = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, settings | {"noise_variance": noise_variance})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Move every parameter by its gradient, which has noise of the stated variance."""
        for group in self.param_groups:
            for parameter in (each for each in group["params"] if each.grad is not None):
                self._move(parameter, parameter.grad.float(), group)

    def _move(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        """Update one parameter and its moments."""
        state = self.state[parameter]
        noise = group["noise_variance"]
        first, second = group["betas"]
        if not state:
            state.update(step=0, mean=torch.zeros_like(gradient), square=torch.zeros_like(gradient))
        state["step"] += 1
        mean = state["mean"].lerp_(gradient, 1 - first) / (1 - first ** state["step"])
        square = state["square"].lerp_(gradient**2, 1 - second) / (1 - second ** state["step"])
        if noise:
            spread = (8 * (1 - second) / (1 + second)) ** 0.5  # squares of noise have variance 2 noise^2
            square = (square - noise).clamp(min=noise * min(spread, 1))
        parameter.mul_(1 - group["lr"] * group["weight_decay"])
        parameter.sub_((group["lr"] * mean / (square.sqrt() + group["eps"])).to(parameter))
