"""Attacks: what a release gives away about the people in it.

Each takes what is public, or a callable that answers, and returns an `AttackResult`: how often it was right, beside
what a guesser gets who saw nothing.
"""

from deniable.attacks import implementation
from deniable.attacks.anonymity import *  # noqa: F403
from deniable.attacks.anonymity import __all__ as _anonymity
from deniable.attacks.boosting import boost_leaderboard
from deniable.attacks.census import *  # noqa: F403
from deniable.attacks.census import __all__ as _census
from deniable.attacks.differencing import *  # noqa: F403
from deniable.attacks.differencing import __all__ as _differencing
from deniable.attacks.linkage import *  # noqa: F403
from deniable.attacks.linkage import __all__ as _linkage
from deniable.attacks.membership import *  # noqa: F403
from deniable.attacks.membership import __all__ as _membership
from deniable.attacks.reconstruction import *  # noqa: F403
from deniable.attacks.reconstruction import __all__ as _reconstruction
from deniable.attacks.result import AttackResult, Bound, Comparison, Curve, Share
from deniable.attacks.synthetic import *  # noqa: F403
from deniable.attacks.synthetic import __all__ as _synthetic
from deniable.attacks.tracing import *  # noqa: F403
from deniable.attacks.tracing import __all__ as _tracing

__all__ = [  # noqa: PLE0604 - strings, all of them
    "AttackResult",
    "Bound",
    "Comparison",
    "Curve",
    "Share",
    "boost_leaderboard",
    "implementation",
    *_anonymity,
    *_census,
    *_differencing,
    *_linkage,
    *_membership,
    *_reconstruction,
    *_tracing,
    *_synthetic,
]


def __dir__() -> list[str]:
    return sorted(__all__)
