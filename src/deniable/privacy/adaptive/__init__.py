"""Losses whose parameters depend on earlier answers: filters stop in time, odometers say where one stands."""

from deniable.privacy.adaptive.additive import ApproximateFilter, ConcentratedFilter, GaussianFilter, PureFilter
from deniable.privacy.adaptive.advanced import AdvancedFilter
from deniable.privacy.adaptive.filter import Filter
from deniable.privacy.adaptive.odometer import ConcentratedOdometer, Odometer, PureOdometer, RenyiOdometer
from deniable.privacy.adaptive.renyi import RenyiFilter, RenyiGridFilter

__all__ = [
    "AdvancedFilter",
    "ApproximateFilter",
    "ConcentratedFilter",
    "ConcentratedOdometer",
    "Filter",
    "GaussianFilter",
    "Odometer",
    "PureFilter",
    "PureOdometer",
    "RenyiFilter",
    "RenyiGridFilter",
    "RenyiOdometer",
]
