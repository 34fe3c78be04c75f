"""Reconstruction: secret bits from exact, rounded or noisy counts of groups."""

from deniable.attacks.reconstruction.answers import (
    Answerer,
    answer_adversarially,
    answer_exactly,
    answer_rounded,
    answer_unless_small,
    answer_with_gaussian,
    answer_with_laplace,
    answer_within,
)
from deniable.attacks.reconstruction.attack import attack_by_reconstruction, estimate_by_least_squares
from deniable.attacks.reconstruction.exhaustive import AllSubsets, estimate_exhaustively
from deniable.attacks.reconstruction.programs import LinearProgram, estimate_by_linear_program, linear_program
from deniable.attacks.reconstruction.queries import (
    Subsets,
    choose_subsets,
    hadamard_subsets,
    random_subsets,
    sparse_subsets,
)
from deniable.attacks.reconstruction.sweep import sweep_noise
from deniable.attacks.reconstruction.theorems import (
    anti_concentration,
    bound_all_queries,
    bound_random_queries,
    worst_anti_concentration,
)

__all__ = [
    "AllSubsets", "Answerer", "LinearProgram", "Subsets", "answer_adversarially", "answer_exactly", "answer_rounded",
    "answer_unless_small", "answer_with_gaussian", "answer_with_laplace", "answer_within", "anti_concentration",
    "attack_by_reconstruction", "bound_all_queries", "bound_random_queries", "choose_subsets",
    "estimate_by_least_squares", "estimate_by_linear_program", "estimate_exhaustively", "hadamard_subsets",
    "linear_program", "random_subsets", "sparse_subsets", "sweep_noise", "worst_anti_concentration",
]  # fmt: skip
