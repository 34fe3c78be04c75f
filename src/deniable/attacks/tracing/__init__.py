"""Tracing: who is in a pool, told from frequencies, and who leaked a copy, told from its code."""

from deniable.attacks.tracing.genomes import (
    Pool,
    attributes_to_trace,
    draw_pool,
    score_targets,
    trace,
    tracing_power,
)

__all__ = ["Pool", "attributes_to_trace", "draw_pool", "score_targets", "trace", "tracing_power"]
