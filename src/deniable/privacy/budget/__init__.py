"""Budgets, filters and odometers, valid when questions depend on earlier answers.

A `Rule` is available to budgets once its file is imported here: those of `rules`.

A `Rule` is a budget's once its file is imported here: those of `rules`.
"""

from deniable.privacy.budget.budget import Budget
from deniable.privacy.budget.filter import Filter
from deniable.privacy.budget.individual import IndividualFilter
from deniable.privacy.budget.odometer import ConcentratedOdometer, Odometer, RenyiOdometer
from deniable.privacy.budget.rule import Rule

__all__ = [
    "Budget",
    "ConcentratedOdometer",
    "Filter",
    "IndividualFilter",
    "Odometer",
    "RenyiOdometer",
    "Rule",
]
