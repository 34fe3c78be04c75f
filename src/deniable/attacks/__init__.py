"""Attacks: what a release gives away about the people in it.

Each takes what is public, or a callable that answers, and returns an `AttackResult`: how often it was right, beside
what a guesser gets who saw nothing.
"""

from deniable.attacks.result import AttackResult, Bound, Comparison, Curve, Share

__all__ = ["AttackResult", "Bound", "Comparison", "Curve", "Share"]


def __dir__() -> list[str]:
    return sorted(__all__)
