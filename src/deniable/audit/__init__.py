"""Audits: measure a mechanism, ours or anybody's, against what it claims.

Each takes a callable and neighbouring inputs, or a finite mechanism, and returns an `AuditResult`: a lower bound on
epsilon, and the event that shows it.
"""

from deniable.audit.black_box import measure
from deniable.audit.canaries.many_runs import audit_counts
from deniable.audit.canaries.one_run import audit_one_run
from deniable.audit.divergences import Divergences, estimate_divergences
from deniable.audit.exact import finite_loss, hockey_stick, measure_exactly
from deniable.audit.gallery import GALLERY, Specimen
from deniable.audit.laws import clamp_noise, combine_laws, cut_noise, draw_outputs, read_law
from deniable.audit.recorded.replay import replay
from deniable.audit.recorded.samplers import Sampler, numpy_samplers
from deniable.audit.refutation import refute
from deniable.audit.result import AuditResult, Measured
from deniable.audit.search import list_pairs, search_pairs
from deniable.audit.sensitivity import LargestChange, search_sensitivity
from deniable.audit.universe import Universe, ZeroOut, hamming_distance, norm1_distance

__all__ = [
    "GALLERY",
    "AuditResult",
    "Divergences",
    "LargestChange",
    "Measured",
    "Sampler",
    "Specimen",
    "Universe",
    "ZeroOut",
    "audit_counts",
    "audit_one_run",
    "clamp_noise",
    "combine_laws",
    "cut_noise",
    "draw_outputs",
    "estimate_divergences",
    "finite_loss",
    "hamming_distance",
    "hockey_stick",
    "list_pairs",
    "measure",
    "measure_exactly",
    "norm1_distance",
    "numpy_samplers",
    "read_law",
    "refute",
    "replay",
    "search_pairs",
    "search_sensitivity",
]


def __dir__() -> list[str]:
    return sorted(__all__)
