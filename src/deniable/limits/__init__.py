"""Limits of every private mechanism, and the number of rows that tasks need."""

from deniable.limits.learning import iterated_logarithm, learner_rows
from deniable.limits.marginals import marginals_error
from deniable.limits.packing import histogram_error, packed_error, packed_success, threshold_error
from deniable.limits.questions import noise_of_questions
from deniable.limits.table import table
from deniable.limits.two_points import local_floor, mean_error, population_error, population_rows, two_point_error

__all__ = [
    "histogram_error",
    "iterated_logarithm",
    "learner_rows",
    "local_floor",
    "marginals_error",
    "mean_error",
    "noise_of_questions",
    "packed_error",
    "packed_success",
    "population_error",
    "population_rows",
    "table",
    "threshold_error",
    "two_point_error",
]


def __dir__() -> list[str]:
    return sorted(__all__)
