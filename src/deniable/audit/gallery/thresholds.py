"""Keys that are private, and thresholds that let too many of them through."""

import math
from fractions import Fraction
from math import inf
from typing import Any

from deniable.audit.gallery.chances import Chances, event, geometric
from deniable.audit.gallery.composition import TWOFOLD
from deniable.audit.gallery.specimen import hang
from deniable.audit.laws import combine_laws

_HALF = Fraction(1, 2)


def _passes(count: int, threshold: int) -> Chances:
    """Return whether a key is shown: its noisy count must reach the threshold.

    A key without rows is never shown.
    """
    return event(geometric(count, -9, threshold)[threshold] if count else Fraction(0))


# fmt: off
hang("threshold that lets equals pass",
     "Keys with a noisy count of at least 6 are shown, and delta is the probability of more than 6.",
     "OpenDP, issue 2922", lambda count: _passes(count, 6), 1, 0, epsilon=TWOFOLD, delta=float(_HALF**6 / (1 + _HALF)),
     truth=inf)
hang("threshold without the row itself",
     "The threshold is 5, where noise alone is with probability delta; a key of one row is one nearer.",
     "Korolova, Kenthapadi, Mishra, Ntoulas (2009), whose threshold has it", lambda count: _passes(count, 5), 1, 0,
     epsilon=TWOFOLD, delta=float(_HALF**5 / (1 + _HALF)), truth=inf)

def ten_keys(count: Any) -> Chances:
    hidden = _passes(count, 6)[False]
    return event(1 - hidden**10)

hang("threshold for one key of ten", "A person owns ten keys, and delta is spent on one of them.",
     "Google and Tumult, which divide delta by ten", ten_keys, 1, 0, epsilon=10 * math.log(2) * 1.01,
     delta=float(_HALF**5 / (1 + _HALF)), truth=inf)
hang("histogram over the keys that occur", "Counts are noisy, and which of them are there tells the keys of the table.",
     "diffprivlib and others, which read bounds and bins from the data",
     lambda rows: combine_laws([{key: Fraction(1)} for key in sorted(set(rows))]), ("rare",), (), epsilon=TWOFOLD,
     truth=inf)
hang("propose, test without noise, release", "Whether the median of these rows is stable is answered exactly.",
     "Dwork, Lei (2009), whose test is noisy", lambda rows: {"stable" if sum(rows) <= 1 else "no answer": Fraction(1)},
     (0, 0, 1), (0, 1, 1), epsilon=TWOFOLD, delta="1e-6", truth=inf)

def local_sensitivity(rows: Any) -> Chances:
    moves = 0 if sum(rows) in (0, 10, 40, 50) else 10
    return {"no noise": Fraction(1)} if not moves else {"noise": Fraction(1)}

hang("noise scaled by local sensitivity", "Where no neighbour has another median there is no noise, and that shows.",
     "Nissim, Raskhodnikova, Smith (2007), section 1", local_sensitivity, (0, 0, 0, 0, 10), (0, 0, 0, 10, 10),
     truth=inf)

def pairs_of_rows(rows: Any) -> Chances:
    even = rows[: len(rows) // 2 * 2]
    slopes = [(y - b) > 2 for (_, b), (_, y) in zip(even[::2], even[1::2], strict=True)]
    return combine_laws([geometric(slopes.count(steep), -8, 9) for steep in (False, True)])

hang("lines through pairs of rows",
     "An odd row is dropped before rows are paired: one row more puts a pair in the place of another.",
     "OpenDP, extras for scikit-learn: Theil-Sen; issue 2950", pairs_of_rows, ((0, 0), (1, 1)),
     ((0, 0), (1, 5), (1, 1)), epsilon=TWOFOLD, truth=2 * math.log(2))
hang("threshold", "Nothing: a key of one row is shown with probability delta.",
     "Korolova, Kenthapadi, Mishra, Ntoulas (2009)", lambda count: _passes(count, 6), 1, 0, epsilon=TWOFOLD,
     delta=float(_HALF**5 / (1 + _HALF)) * (1 + 1e-12), truth=0.0)
