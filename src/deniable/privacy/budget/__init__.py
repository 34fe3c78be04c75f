"""What may still be asked: budgets, filters and odometers, valid when questions depend on earlier answers."""

from deniable.privacy.budget.additive import ApproximateFilter, ConcentratedFilter, GaussianFilter, PureFilter
from deniable.privacy.budget.advanced import AdvancedFilter
from deniable.privacy.budget.filter import Filter
from deniable.privacy.budget.individual import (
    Active,
    IndividualConcentratedFilter,
    IndividualFilter,
    IndividualGaussianFilter,
    IndividualRenyiFilter,
)
from deniable.privacy.budget.odometer import ConcentratedOdometer, Odometer, PureOdometer, RenyiOdometer
from deniable.privacy.budget.renyi import RenyiFilter, RenyiGridFilter

__all__ = [
    "Active",
    "AdvancedFilter",
    "ApproximateFilter",
    "ConcentratedFilter",
    "ConcentratedOdometer",
    "Filter",
    "GaussianFilter",
    "IndividualConcentratedFilter",
    "IndividualFilter",
    "IndividualGaussianFilter",
    "IndividualRenyiFilter",
    "Odometer",
    "PureFilter",
    "PureOdometer",
    "RenyiFilter",
    "RenyiGridFilter",
    "RenyiOdometer",
]
