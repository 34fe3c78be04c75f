"""Membership inference: who was in the training data, from scores."""

from deniable.attacks.membership.attributes import infer_attribute
from deniable.attacks.membership.roc import Roc, tell_members, threshold_at, trace_roc
from deniable.attacks.membership.signals import scale_losses, score_lira, score_rmia

__all__ = [
    "Roc", "infer_attribute", "scale_losses", "score_lira", "score_rmia", "tell_members", "threshold_at", "trace_roc",
]  # fmt: skip
