"""Anonymity: k-anonymity and related measures of a table, and attacks on it."""

from deniable.attacks.anonymity.background import attack_with_background
from deniable.attacks.anonymity.compare import AnonymityComparison, compare_anonymity
from deniable.attacks.anonymity.generalise import generalise, suppress, tabulate
from deniable.attacks.anonymity.homogeneity import attack_homogeneity
from deniable.attacks.anonymity.intersection import attack_by_intersection
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
    "AnonymityComparison",
    "Diversity",
    "attack_by_intersection",
    "attack_homogeneity",
    "attack_with_background",
    "compare_anonymity",
    "delta_disclosure",
    "generalise",
    "k_anonymity",
    "l_diversity",
    "measure_anonymity",
    "recursive_diversity",
    "suppress",
    "t_closeness",
    "tabulate",
]
