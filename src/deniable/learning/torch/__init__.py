"""Private learning with PyTorch: sums of clipped per-example gradients."""

from deniable.errors import MissingExtraError

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise MissingExtraError(
        "deniable.learning.torch needs PyTorch. Install it: pip install 'deniable[torch]'"
    ) from error

from deniable.learning.torch.gradients import ClippedGradients

__all__ = ["ClippedGradients"]


def __dir__() -> list[str]:
    return sorted(__all__)
