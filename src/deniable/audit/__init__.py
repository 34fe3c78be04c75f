"""Audits: measure a mechanism, ours or anybody's, against its claim.

Each takes a callable and neighbouring inputs, or a finite mechanism, and returns an `AuditResult`: a lower bound on
epsilon, and the event that shows it. Universes of small tables, finite distributions and recorded samplers stand in
`audit.universe`, `audit.laws` and `audit.recorded`.
"""

from deniable.audit import laws, recorded, universe
from deniable.audit.black_box import measure
from deniable.audit.canaries.many_runs import audit_counts
from deniable.audit.canaries.one_run import audit_one_run
from deniable.audit.divergences import estimate_divergences
from deniable.audit.exact import finite_loss, hockey_stick, measure_exactly
from deniable.audit.gallery import GALLERY, Specimen
from deniable.audit.recorded import numpy_samplers, replay
from deniable.audit.refutation import refute
from deniable.audit.result import AuditResult
from deniable.audit.search import list_pairs, search_pairs
from deniable.audit.sensitivity import search_sensitivity

__all__ = [
    "GALLERY",
    "AuditResult",
    "Specimen",
    "audit_counts",
    "audit_one_run",
    "estimate_divergences",
    "finite_loss",
    "hockey_stick",
    "laws",
    "list_pairs",
    "measure",
    "measure_exactly",
    "numpy_samplers",
    "recorded",
    "refute",
    "replay",
    "search_pairs",
    "search_sensitivity",
    "universe",
]


def __dir__() -> list[str]:
    return sorted(__all__)
