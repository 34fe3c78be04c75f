"""PATE: teachers of disjoint parts of private rows, who answer by noisy votes."""

from deniable.learning.pate.account import VoteAccount
from deniable.learning.pate.teachers import Answers, Teachers
from deniable.learning.pate.vote import Vote

__all__ = ["Answers", "Teachers", "Vote", "VoteAccount"]
