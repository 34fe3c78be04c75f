"""Adam that knows how much of its second moments is noise."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from deniable.errors import InvalidParameterError


class DPAdam(torch.optim.Optimizer):
    """Adam, or AdamW, whose second moments are those of the gradient without its noise, whose variance is public.

    The variance is subtracted, down to a floor of two standard errors that noise alone has in the average of squares.

    Args:
        params, lr, betas, eps, weight_decay: as in torch.optim.AdamW.
        noise_variance: of one coordinate of the gradient; `make_private` sets it.

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
            raise InvalidParameterError("DPAdam takes numbers that are not negative, and betas below 1")
        settings = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, settings | {"noise_variance": noise_variance})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Move every parameter by its gradient, which is taken to have noise of the stated variance."""
        for group in self.param_groups:
            for parameter in (each for each in group["params"] if each.grad is not None):
                self._move(parameter, parameter.grad.float(), group)

    def _move(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state, noise, (first, second) = self.state[parameter], group["noise_variance"], group["betas"]
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
