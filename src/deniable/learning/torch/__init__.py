"""Private learning with PyTorch: training loops and sums of clipped gradients."""

from deniable.errors import MissingExtraError

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise MissingExtraError.of("torch", "this needs PyTorch") from error

from deniable.learning.torch.adam import DPAdam
from deniable.learning.torch.gradients import ClippedGradients
from deniable.learning.torch.private import PrivateLoader, PrivateOptimizer, make_private, train

__all__ = ["ClippedGradients", "DPAdam", "PrivateLoader", "PrivateOptimizer", "make_private", "train"]


def __dir__() -> list[str]:
    return sorted(__all__)
