"""One mechanism per file, in folders by what it does; all of them in `MECHANISMS`."""

from deniable.mechanisms.additive import *  # noqa: F403
from deniable.mechanisms.additive import ADDITIVE
from deniable.mechanisms.additive import __all__ as _additive
from deniable.mechanisms.base import Mechanism, Released, WorstCase
from deniable.mechanisms.counts import *  # noqa: F403
from deniable.mechanisms.counts import COUNTS
from deniable.mechanisms.counts import __all__ as _counts
from deniable.mechanisms.interactive import *  # noqa: F403
from deniable.mechanisms.interactive import INTERACTIVE
from deniable.mechanisms.interactive import __all__ as _interactive
from deniable.mechanisms.inverse import *  # noqa: F403
from deniable.mechanisms.inverse import INVERSE
from deniable.mechanisms.inverse import __all__ as _inverse
from deniable.mechanisms.ranks import *  # noqa: F403
from deniable.mechanisms.ranks import RANKS
from deniable.mechanisms.ranks import __all__ as _ranks
from deniable.mechanisms.response import *  # noqa: F403
from deniable.mechanisms.response import RESPONSE
from deniable.mechanisms.response import __all__ as _response
from deniable.mechanisms.selection import *  # noqa: F403
from deniable.mechanisms.selection import SELECTION
from deniable.mechanisms.selection import __all__ as _selection
from deniable.mechanisms.smooth import *  # noqa: F403
from deniable.mechanisms.smooth import SMOOTH
from deniable.mechanisms.smooth import __all__ as _smooth
from deniable.mechanisms.teaching import *  # noqa: F403
from deniable.mechanisms.teaching import TEACHING
from deniable.mechanisms.teaching import __all__ as _teaching
from deniable.mechanisms.tested import *  # noqa: F403
from deniable.mechanisms.tested import TESTED
from deniable.mechanisms.tested import __all__ as _tested
from deniable.mechanisms.vectors import *  # noqa: F403
from deniable.mechanisms.vectors import VECTORS
from deniable.mechanisms.vectors import __all__ as _vectors
from deniable.mechanisms.wrappers import *  # noqa: F403
from deniable.mechanisms.wrappers import WRAPPERS
from deniable.mechanisms.wrappers import __all__ as _wrappers

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

_NAMES = (
    *(_additive, _selection, _counts, _ranks, _vectors, _response, _interactive),
    *(_smooth, _inverse, _tested, _wrappers, _teaching),
)
__all__ = [  # noqa: PLE0604 - strings, all of them
    "FAMILIES",
    "MECHANISMS",
    "Mechanism",
    "Released",
    "WorstCase",
    *sorted(name for names in _NAMES for name in names),
]


def __dir__() -> list[str]:
    return sorted(__all__)
