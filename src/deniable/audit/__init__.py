"""Audits: measure a mechanism, ours or anybody's, against what it claims.

Each takes a callable and neighbouring inputs, or a finite mechanism, and returns an `AuditResult`: a lower bound on
epsilon, and the event that shows it.
"""

from deniable.audit.result import AuditResult, Measured

__all__ = ["AuditResult", "Measured"]


def __dir__() -> list[str]:
    return sorted(__all__)
