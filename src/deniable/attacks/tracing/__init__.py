"""Tracing: members of a pool by its frequencies, leakers of a copy by its code."""

from deniable.attacks.tracing.fingerprinting import (
    FingerprintingCode,
    code_length,
    collude,
    draw_code,
    least_correlation,
    trace_colluders,
)
from deniable.attacks.tracing.genomes import Pool, attributes_to_trace, draw_pool, score_targets, trace, tracing_power

__all__ = [
    "FingerprintingCode", "Pool", "attributes_to_trace", "code_length", "collude", "draw_code", "draw_pool",
    "least_correlation", "score_targets", "trace", "trace_colluders", "tracing_power",
]  # fmt: skip
