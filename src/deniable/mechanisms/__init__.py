"""One mechanism per file, in folders by what it does; all of them in `MECHANISMS`.

Those for special cases stand in folders of their own: `smooth`, `inverse` and `tested` hold noise that is fitted to the
data, `wrappers` holds mechanisms that are made of mechanisms.
"""

from deniable.mechanisms import inverse, smooth, tested, wrappers
from deniable.mechanisms.additive import *  # noqa: F403
from deniable.mechanisms.additive import ADDITIVE
from deniable.mechanisms.base import Mechanism
from deniable.mechanisms.counts import *  # noqa: F403
from deniable.mechanisms.counts import COUNTS
from deniable.mechanisms.interactive import *  # noqa: F403
from deniable.mechanisms.interactive import INTERACTIVE
from deniable.mechanisms.inverse import INVERSE
from deniable.mechanisms.ranks import *  # noqa: F403
from deniable.mechanisms.ranks import RANKS
from deniable.mechanisms.response import *  # noqa: F403
from deniable.mechanisms.response import RESPONSE
from deniable.mechanisms.selection import *  # noqa: F403
from deniable.mechanisms.selection import SELECTION
from deniable.mechanisms.smooth import SMOOTH
from deniable.mechanisms.tested import TESTED
from deniable.mechanisms.vectors import *  # noqa: F403
from deniable.mechanisms.vectors import VECTORS
from deniable.mechanisms.wrappers import WRAPPERS

FAMILIES: dict[str, tuple[type[Mechanism], ...]] = {
    "Additive noise": ADDITIVE,
    "Selection": SELECTION,
    "Counts": COUNTS,
    "Ranks": RANKS,
    "Vectors": VECTORS,
    "Randomised answers": RESPONSE,
    "Interactive": INTERACTIVE,
    "Smooth sensitivity": SMOOTH,
    "Inverse sensitivity": INVERSE,
    "Tested stability": TESTED,
    "Wrappers": WRAPPERS,
}
MECHANISMS: dict[str, type[Mechanism]] = {
    mechanism.kind: mechanism for family in FAMILIES.values() for mechanism in family
}

_SPECIAL = ("Smooth sensitivity", "Inverse sensitivity", "Tested stability", "Wrappers")

__all__ = [  # noqa: PLE0604 - strings, all of them
    "MECHANISMS",
    "Mechanism",
    "inverse",
    "smooth",
    "tested",
    "wrappers",
    *("Shares", "noisy_max", "reports_needed", "variance_of_shares"),
    *sorted(one.__name__ for family, members in FAMILIES.items() if family not in _SPECIAL for one in members),
]


def __dir__() -> list[str]:
    return sorted(__all__)
