"""Keys that are private, and thresholds that let too many of them through."""

import math
from fractions import Fraction
from typing import Any

from deniable.audit.gallery.chances import Chances, event, geometric, independent
from deniable.audit.gallery.composition import TWOFOLD
from deniable.audit.gallery.specimen import specimen

_HALF = Fraction(1, 2)


def _passes(count: int, threshold: int) -> Chances:
    """Whether a key is shown: its noisy count must reach the threshold, and a key without rows is never shown."""
    return event(geometric(count, -9, threshold)[threshold] if count else Fraction(0))


@specimen("threshold that lets equals pass", epsilon=TWOFOLD, delta=float(_HALF**6 / (1 + _HALF)), data=1, neighbour=0,
          truth=math.inf, source="OpenDP, issue 2922")  # fmt: skip
def equals_pass(count: Any) -> Chances:
    """Keys with a noisy count of at least 6 are shown, and delta is the probability of more than 6."""
    return _passes(count, 6)


@specimen("threshold without the row itself", epsilon=TWOFOLD, delta=float(_HALF**5 / (1 + _HALF)), data=1, neighbour=0,
          truth=math.inf, source="Korolova, Kenthapadi, Mishra, Ntoulas (2009), whose threshold has it")  # fmt: skip
def without_the_row(count: Any) -> Chances:
    """The threshold is 5, where noise alone is with probability delta; a key of one row is one nearer."""
    return _passes(count, 5)


@specimen("threshold for one key of ten", epsilon=10 * math.log(2) * 1.01, delta=float(_HALF**5 / (1 + _HALF)),
          data=1, neighbour=0, truth=math.inf, source="Google and Tumult, which divide delta by ten")  # fmt: skip
def ten_keys(count: Any) -> Chances:
    """A person owns ten keys, and delta is spent on one of them."""
    hidden = _passes(count, 6)[False]
    return event(1 - hidden**10)


@specimen("histogram over the keys that occur", epsilon=TWOFOLD, data=("rare",), neighbour=(), truth=math.inf,
          source="diffprivlib and others, which read bounds and bins from the data")  # fmt: skip
def keys_that_occur(rows: Any) -> Chances:
    """Counts are noisy, and which of them are there tells the keys of the table."""
    return independent([{key: Fraction(1)} for key in sorted(set(rows))])


@specimen("propose, test without noise, release", epsilon=TWOFOLD, delta="1e-6", data=(0, 0, 1), neighbour=(0, 1, 1),
          truth=math.inf, source="Dwork, Lei (2009), whose test is noisy")  # fmt: skip
def test_without_noise(rows: Any) -> Chances:
    """Whether the median of these rows is stable is answered exactly."""
    return {"stable" if sum(rows) <= 1 else "no answer": Fraction(1)}


@specimen("noise scaled by local sensitivity", epsilon=1, data=(0, 0, 0, 0, 10), neighbour=(0, 0, 0, 10, 10),
          truth=math.inf, source="Nissim, Raskhodnikova, Smith (2007), section 1")  # fmt: skip
def local_sensitivity(rows: Any) -> Chances:
    """Where no neighbour has another median there is no noise, and that shows."""
    moves = 0 if sum(rows) in (0, 10, 40, 50) else 10
    return {"no noise": Fraction(1)} if not moves else {"noise": Fraction(1)}


@specimen("lines through pairs of rows", epsilon=TWOFOLD, data=((0, 0), (1, 1)), neighbour=((0, 0), (1, 5), (1, 1)),
          truth=2 * math.log(2), source="OpenDP, extras for scikit-learn: Theil-Sen; issue 2950")  # fmt: skip
def pairs_of_rows(rows: Any) -> Chances:
    """An odd row is dropped before rows are paired: one row more puts a pair in the place of another."""
    even = rows[: len(rows) // 2 * 2]
    slopes = [(y - b) > 2 for (_, b), (_, y) in zip(even[::2], even[1::2], strict=True)]
    return independent([geometric(slopes.count(steep), -8, 9) for steep in (False, True)])


@specimen("threshold", epsilon=TWOFOLD, delta=float(_HALF**5 / (1 + _HALF)) * (1 + 1e-12), data=1, neighbour=0,
          truth=0.0, sound=True, source="Korolova, Kenthapadi, Mishra, Ntoulas (2009)")  # fmt: skip
def sound(count: Any) -> Chances:
    """Nothing: a key of one row is shown with probability delta."""
    return _passes(count, 6)
