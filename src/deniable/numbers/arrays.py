"""Types of arrays: the type states the dtype, and a comment the shape."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
MachineIntegers: TypeAlias = NDArray[np.integer]
"""Integers of any dtype of numpy."""

ExactIntegers: TypeAlias = NDArray[np.int64] | NDArray[np.object_]
"""Integers of any size: Python's own where int64 could overflow."""

Indices: TypeAlias = NDArray[np.int64]
"""Positions in another array, or in a list."""

Mask: TypeAlias = NDArray[np.bool_]
Words: TypeAlias = NDArray[np.uint64]
"""Random bits, 64 at a time."""
