"""Anonymity: what k-anonymity and its kin say of a table, and what attacks get out of it all the same."""

from deniable.attacks.anonymity.measures import (
    delta_disclosure,
    k_anonymity,
    l_diversity,
    recursive_diversity,
    t_closeness,
)
from deniable.attacks.anonymity.report import Anonymity, Diversity, measure_anonymity

__all__ = [
    "Anonymity",
    "Diversity",
    "delta_disclosure",
    "k_anonymity",
    "l_diversity",
    "measure_anonymity",
    "recursive_diversity",
    "t_closeness",
]
