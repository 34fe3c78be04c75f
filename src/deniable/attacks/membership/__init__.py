"""Membership: who was in the training data, told from scores."""

from deniable.attacks.membership.roc import Roc, tell_members, threshold_at, trace_roc

__all__ = ["Roc", "tell_members", "threshold_at", "trace_roc"]
