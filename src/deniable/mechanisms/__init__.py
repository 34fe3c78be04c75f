"""One mechanism per file, in folders by what it does; all of them in `MECHANISMS`."""

from deniable.mechanisms.additive import *  # noqa: F403
from deniable.mechanisms.additive import ADDITIVE
from deniable.mechanisms.base import Mechanism, Released
from deniable.mechanisms.counts import *  # noqa: F403
from deniable.mechanisms.counts import COUNTS
from deniable.mechanisms.interactive import *  # noqa: F403
from deniable.mechanisms.interactive import INTERACTIVE
from deniable.mechanisms.inverse import *  # noqa: F403
from deniable.mechanisms.inverse import INVERSE
from deniable.mechanisms.ranks import *  # noqa: F403
from deniable.mechanisms.ranks import RANKS
from deniable.mechanisms.response import *  # noqa: F403
from deniable.mechanisms.response import RESPONSE
from deniable.mechanisms.selection import *  # noqa: F403
from deniable.mechanisms.selection import SELECTION
from deniable.mechanisms.smooth import *  # noqa: F403
from deniable.mechanisms.smooth import SMOOTH
from deniable.mechanisms.teaching import *  # noqa: F403
from deniable.mechanisms.teaching import TEACHING
from deniable.mechanisms.tested import *  # noqa: F403
from deniable.mechanisms.tested import TESTED
from deniable.mechanisms.vectors import *  # noqa: F403
from deniable.mechanisms.vectors import VECTORS
from deniable.mechanisms.wrappers import *  # noqa: F403
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
    "For teaching only": TEACHING,
}
MECHANISMS: dict[str, type[Mechanism]] = {
    mechanism.kind: mechanism for family in FAMILIES.values() for mechanism in family
}

__all__ = [  # noqa: PLE0604 - strings, all of them
    "MECHANISMS",
    "Mechanism",
    "Released",
    *("NoiseLaw", "Points", "Shares", "define", "noisy_max", "reports_needed", "smooth_bound", "variance_of_shares"),
    *sorted(mechanism.__name__ for mechanism in MECHANISMS.values()),
]


def __dir__() -> list[str]:
    return sorted(__all__)
