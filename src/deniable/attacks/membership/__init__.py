"""Membership inference: who was in the training data, from scores."""

from deniable.attacks.membership.attributes import infer_attribute
from deniable.attacks.membership.roc import Roc, infer_membership, threshold_at, trace_roc
from deniable.attacks.membership.signals import scale_losses, score_lira, score_rmia

__all__ = [
    "Roc",
    "infer_attribute",
    "infer_membership",
    "scale_losses",
    "score_lira",
    "score_rmia",
    "threshold_at",
    "trace_roc",
]  # fmt: skip
