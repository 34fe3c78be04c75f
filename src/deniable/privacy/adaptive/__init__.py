"""Losses whose parameters depend on earlier answers: filters stop in time, odometers say where one stands."""

from deniable.privacy.adaptive.additive import ApproximateFilter, ConcentratedFilter, GaussianFilter, PureFilter
from deniable.privacy.adaptive.advanced import AdvancedFilter
from deniable.privacy.adaptive.filter import Filter
from deniable.privacy.adaptive.individual import (
    Active,
    IndividualConcentratedFilter,
    IndividualFilter,
    IndividualGaussianFilter,
    IndividualRenyiFilter,
)
from deniable.privacy.adaptive.odometer import ConcentratedOdometer, Odometer, PureOdometer, RenyiOdometer
from deniable.privacy.adaptive.renyi import RenyiFilter, RenyiGridFilter

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
