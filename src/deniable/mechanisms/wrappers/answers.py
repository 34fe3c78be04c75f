"""The answers inside releases, and what stands for none."""

from collections.abc import Callable
from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.tested.distance import NO

NOTHING = -(2**63)
"""The outcome that stands for no run at all."""

_NAMES = ("values", "value", "records")


def answer_of(release: object) -> object:
    """The released values inside a release; None where there is no answer."""
    for name in _NAMES:
        if hasattr(release, name):
            return getattr(release, name)
    return release


def with_answer(release: object, function: Callable[[object], object]) -> object:
    """The release with a function of its values in their place; no answer stays none."""
    answer = answer_of(release)
    if answer is None:
        return release
    for name in _NAMES:
        if is_dataclass(release) and not isinstance(release, type) and hasattr(release, name):
            return replace(release, **{name: function(answer)})
    return function(answer)


def room_for(outcomes: NDArray[Any]) -> np.dtype[Any]:
    """The type that holds these outcomes and what stands for none, all unchanged."""
    return np.dtype(object) if outcomes.dtype == np.uint64 else np.result_type(outcomes.dtype, np.int64)


def missing(outcomes: NDArray[Any]) -> NDArray[np.bool_]:
    """Which outcomes stand for no answer."""
    return np.asarray((outcomes == NO) | (outcomes == NOTHING), dtype=np.bool_)
