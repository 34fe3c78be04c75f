"""Clipped gradients of models and losses that mix the rows of a batch."""

import math
from collections.abc import Sequence
from fractions import Fraction

from deniable.audit.gallery.chances import Chances, above, normal
from deniable.audit.gallery.specimen import hang

_SIGMA = Fraction("3.7307")  # of norms, on a clipped sum: (1, 1e-5) where one row moves it by one norm
_OURS = "PyTorch models of this library before 2026-11-28"
Row = tuple[bool, int, int]
"""Whether a flag sorts the row to the end, and its gradients by the weights of the first and the second layer."""

# fmt: off

def clipped_by_place(rows: Sequence[Row], attributed: bool = False) -> Chances:
    """Return the noisy sum of gradients of first weights.

    A layer between two sorts sees the rows in another order.
    """
    first = rows if attributed else sorted(rows, key=lambda row: row[0])
    lengths = [math.hypot(a[1], b[2]) for a, b in zip(first, rows, strict=True)]
    total = sum(a[1] / max(1.0, length) for a, length in zip(first, lengths, strict=True))
    return above(normal(_SIGMA), Fraction(total), len(rows) * Fraction(3, 7))

_ALTERNATING = [(False, 10, 0), (False, 0, 10)] * 100
_FLAGGED = [(True, 0, 10), *_ALTERNATING]

hang("gradients attributed by place",
     "A layer behind a sort holds one row's gradient where another layer holds another's: one row shifts all.",
     _OURS, clipped_by_place, _ALTERNATING, _FLAGGED, delta="1e-5")
hang("gradients attributed by row", "Nothing: each clipped vector is of one row, wherever a sort has put it.",
     "Goodfellow (2015), arXiv:1510.01799", lambda rows: clipped_by_place(rows, attributed=True), _ALTERNATING,
     _FLAGGED, delta="1e-5")
hang("loss above the median of the batch",
     "Each gradient is clipped, but one row more moves the median of the losses, and half of the rows drop out.", _OURS,
     lambda losses: above(normal(_SIGMA), sum(loss >= sorted(losses)[(len(losses) - 1) // 2] for loss in losses), 60),
     [1] * 50 + [2] * 50, [1] * 50 + [2] * 51, delta="1e-5")
hang("a running maximum beside noisy gradients",
     "A buffer keeps the largest input that was seen, and is published without noise.", _OURS,
     lambda rows: {max(rows): Fraction(1)}, [1, 2, 1], [1, 2, 1, 9],
     delta="1e-5", truth=math.inf)
