"""What the second route to a law looks like."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Mechanism

# Of a mechanism on an input: the outcomes in increasing order, and their probabilities.
Law: TypeAlias = Callable[[Any, tuple[int, ...]], tuple[NDArray[Any], NDArray[np.float64]]]
# A mechanism of the same kind with about 0.7 times the noise.
Weaker: TypeAlias = Callable[[Any], Mechanism]
