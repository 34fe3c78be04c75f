"""Attacks: what a release gives away about the people in it.

Each takes what is public, or a callable that answers, and returns an `AttackResult`: how often it was right, beside
what a guesser gets who saw nothing.
"""

from deniable.attacks import implementation
from deniable.attacks.anonymity import *  # noqa: F403
from deniable.attacks.anonymity import __all__ as _anonymity
from deniable.attacks.differencing.counts import isolate_people, subtract_counts
from deniable.attacks.differencing.log import Difference, Differences, find_determined_people, find_differences
from deniable.attacks.membership import *  # noqa: F403
from deniable.attacks.membership import __all__ as _membership
from deniable.attacks.result import AttackResult, Bound, Comparison, Curve, Share
from deniable.attacks.tracing import *  # noqa: F403
from deniable.attacks.tracing import __all__ as _tracing

__all__ = [  # noqa: PLE0604 - strings, all of them
    "AttackResult",
    "Bound",
    "Comparison",
    "Curve",
    "Difference",
    "Differences",
    "Share",
    "find_determined_people",
    "find_differences",
    "implementation",
    "isolate_people",
    "subtract_counts",
    *_anonymity,
    *_membership,
    *_tracing,
]


def __dir__() -> list[str]:
    return sorted(__all__)
