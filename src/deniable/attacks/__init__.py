"""Attacks: what a release gives away about the people in it.

Each takes what is public, or a callable that answers, and returns an `AttackResult`: how often it was right, beside
what a guesser gets who saw nothing.
"""

from deniable.attacks import (implementation,)
from deniable.attacks.anonymity.measures import (delta_disclosure, k_anonymity, l_diversity, recursive_diversity, t_closeness,)
from deniable.attacks.anonymity.report import (Anonymity, Diversity, measure_anonymity,)
from deniable.attacks.differencing.counts import (isolate_people, subtract_counts,)
from deniable.attacks.differencing.log import (Difference, Differences, find_determined_people, find_differences,)
from deniable.attacks.membership import (*, __all__,)
from deniable.attacks.result import (AttackResult, Bound, Comparison, Curve, Share,)
from deniable.attacks.tracing import (*, __all__,)

__all__ = ["*", "Anonymity", "AttackResult", "Bound", "Comparison", "Curve", "Difference", "Differences", "Diversity", "Share", "__all__", "delta_disclosure", "find_determined_people", "find_differences", "implementation", "isolate_people", "k_anonymity", "l_diversity", "measure_anonymity", "recursive_diversity", "subtract_counts", "t_closeness",]


def __dir__() -> list[str]:
    return sorted(__all__)
