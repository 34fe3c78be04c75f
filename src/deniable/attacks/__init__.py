"""Attacks: what a release gives away about the people in it.

Each takes what is public, or a callable that answers, and returns an `AttackResult`: how often it was right, beside
what a guesser gets who saw nothing. Simulated answers, made-up data, theorems and classes of results stand in the
packages of their subjects, such as `attacks.reconstruction`.
"""

from deniable.attacks import (
    anonymity,
    census,
    differencing,
    implementation,
    linkage,
    membership,
    reconstruction,
    synthetic,
    tracing,
)
from deniable.attacks.anonymity import (
    attack_by_intersection,
    attack_homogeneity,
    attack_with_background,
    compare_anonymity,
    delta_disclosure,
    generalise,
    k_anonymity,
    l_diversity,
    measure_anonymity,
    recursive_diversity,
    suppress,
    t_closeness,
    tabulate,
)
from deniable.attacks.boosting import boost_leaderboard
from deniable.attacks.census import read_block, reconstruct_block, solve_block, tabulate_block
from deniable.attacks.differencing import find_determined_people, find_differences, isolate_people, subtract_counts
from deniable.attacks.linkage import (
    learn_from_later_data,
    link_queries,
    link_ratings,
    link_tables,
    measure_uniqueness,
)
from deniable.attacks.membership import infer_attribute, infer_membership, score_lira, score_rmia
from deniable.attacks.reconstruction import (
    attack_by_reconstruction,
    estimate_by_least_squares,
    estimate_by_linear_program,
    estimate_exhaustively,
    sweep_noise,
)
from deniable.attacks.result import AttackResult, Comparison
from deniable.attacks.synthetic import infer_from_synthetic, link_halves, measure_synthetic_risk, single_out
from deniable.attacks.tracing import trace, trace_colluders

__all__ = [
    "AttackResult",
    "Comparison",
    "anonymity",
    "attack_by_intersection",
    "attack_by_reconstruction",
    "attack_homogeneity",
    "attack_with_background",
    "boost_leaderboard",
    "census",
    "compare_anonymity",
    "delta_disclosure",
    "differencing",
    "estimate_by_least_squares",
    "estimate_by_linear_program",
    "estimate_exhaustively",
    "find_determined_people",
    "find_differences",
    "generalise",
    "implementation",
    "infer_attribute",
    "infer_from_synthetic",
    "infer_membership",
    "isolate_people",
    "k_anonymity",
    "l_diversity",
    "learn_from_later_data",
    "link_halves",
    "link_queries",
    "link_ratings",
    "link_tables",
    "linkage",
    "measure_anonymity",
    "measure_synthetic_risk",
    "measure_uniqueness",
    "membership",
    "read_block",
    "reconstruct_block",
    "reconstruction",
    "recursive_diversity",
    "score_lira",
    "score_rmia",
    "single_out",
    "solve_block",
    "subtract_counts",
    "suppress",
    "sweep_noise",
    "synthetic",
    "t_closeness",
    "tabulate",
    "tabulate_block",
    "trace",
    "trace_colluders",
    "tracing",
]


def __dir__() -> list[str]:
    return sorted(__all__)
