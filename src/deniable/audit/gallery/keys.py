"""Questions in which one row affects others, by the order of keys or by memory."""

import math
from fractions import Fraction
from math import inf
from typing import Any

from deniable.audit.gallery.chances import Chances, geometric
from deniable.audit.gallery.composition import TWOFOLD
from deniable.audit.gallery.specimen import hang

# fmt: off

def first_zeros(rows: Any) -> Chances:
    """Return the clamped 1/zero of each unit, by the zero that came first.

    Two threads take every other row.
    """
    key: dict[int, float] = {}
    for unit, zero in (*rows[::2], *rows[1::2]):
        key.setdefault(unit, zero)
    return geometric(int(sum(math.copysign(1, zero) for zero in key.values())), -8, 9)

def in_memory(rows: Any) -> Chances:
    """Return whether the question fails above a limit of memory.

    The text of one value is doubled 20 times.
    """
    needed = sum(len("x" if row == "HIV" else "") << 20 for row in rows)
    return {"failed": Fraction(1)} if needed > 2**19 else geometric(len(rows), -8, 9)

ZEROS = tuple((unit, zero) for unit in range(5) for zero in (0.0, -0.0))
hang("equal keys that differ",
     "0.0 and -0.0 are one group, shown as whichever came first: one more row shifts which, for all units.",
     "deniable before 2026-11-28", first_zeros, ZEROS, ((9, 0.0), *ZEROS), epsilon=TWOFOLD, truth=inf)
hang("memory that one row needs", "A text made of one row fills the memory, and the failure is shown.",
     "deniable before 2026-11-28", in_memory, ("flu", "HIV"), ("flu", "flu"), epsilon=TWOFOLD, truth=inf)
