"""Linkage: tables without names, joined with other data, now or later."""

from deniable.attacks.linkage.later import learn_from_later_data
from deniable.attacks.linkage.queries import link_queries
from deniable.attacks.linkage.ratings import Ratings, link_ratings, make_ratings, observe_ratings
from deniable.attacks.linkage.tables import link_tables
from deniable.attacks.linkage.uniqueness import expected_unique_share, measure_uniqueness

__all__ = [
    "Ratings",
    "expected_unique_share",
    "learn_from_later_data",
    "link_queries",
    "link_ratings",
    "link_tables",
    "make_ratings",
    "measure_uniqueness",
    "observe_ratings",
]
