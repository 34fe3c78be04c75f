"""Sensitivities: how far one unit moves an aggregate, in exact rationals."""

from deniable.privacy.sensitivity.aggregates import (
    Sensitivity,
    of_clamped_unit_sum,
    of_clipped_sum,
    of_count,
    of_distinct_units,
    of_group_deviations,
    of_rank_difference,
    of_spread_sum,
    of_weights,
)

__all__ = [
    "Sensitivity",
    "of_clamped_unit_sum",
    "of_clipped_sum",
    "of_count",
    "of_distinct_units",
    "of_group_deviations",
    "of_rank_difference",
    "of_spread_sum",
    "of_weights",
]
