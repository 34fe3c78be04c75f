"""A statistic whose noise is sized for one relation is paid for by ledgers of that relation alone.

The loss of a selection, and a bare epsilon, are curves that hold for any relation. What the rows of a unit can move was
measured under one of them.
"""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import deniable.statistics  # noqa: F401 - defines the subclasses
from deniable.errors import UnprovedError
from deniable.ledger import Ledger
from deniable.privacy import AddRemove, Budget, PrivacyUnit, Relation, Replace
from deniable.statistics.statistic import Statistic

BOUNDS = (0, 100)
KEYS = [0, 1]
PARAMETERS: dict[str, dict[str, Any]] = {
    "AdaptiveRidge": {"bounds": [BOUNDS], "target_bounds": BOUNDS},
    "Anova": {"bounds": BOUNDS, "keys": KEYS},
    "BinomialTest": {"share": "1/2"},
    "ChiSquaredFit": {"keys": KEYS, "shares": ["1/2", "1/2"]},
    "ChiSquaredIndependence": {"keys": KEYS, "other_keys": KEYS},
    "Correlation": {"bounds": [BOUNDS, BOUNDS]},
    "Count": {},
    "Covariance": {"bounds": [BOUNDS, BOUNDS]},
    "CumulativeDistribution": {"at": [1, 2, 3]},
    "Histogram": {"keys": KEYS},
    "InterquartileRange": {"bounds": BOUNDS},
    "KeyCounts": {"delta": "1e-6"},
    "MannWhitney": {},
    "Maximum": {"bounds": BOUNDS},
    "Mean": {"bounds": BOUNDS},
    "Median": {"bounds": BOUNDS},
    "Minimum": {"bounds": BOUNDS},
    "Mode": {"keys": KEYS},
    "OneSampleTTest": {"mean": 3, "bounds": BOUNDS},
    "Quantile": {"share": "1/2", "bounds": BOUNDS},
    "Quantiles": {"shares": ["1/4", "1/2"], "bounds": BOUNDS},
    "StandardDeviation": {"bounds": BOUNDS},
    "SubsampledTest": {"test": lambda rows: 0.5, "blocks": 10},
    "SufficientRegression": {"bounds": [BOUNDS], "target_bounds": BOUNDS},
    "Sum": {"bounds": BOUNDS},
    "TheilSen": {"bounds": [BOUNDS], "target_bounds": BOUNDS},
    "TopK": {"k": 1, "keys": KEYS},
    "TwoSampleTTest": {"bounds": BOUNDS},
    "Variance": {"bounds": BOUNDS},
    "VectorCovariance": {"bounds": [BOUNDS], "deviations": 3, "delta": "1e-6"},
    "VectorMean": {"bounds": [BOUNDS], "deviations": 3, "delta": "1e-6"},
}


def _subclasses(kind: type) -> Iterator[type]:
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


STATISTICS: dict[str, Any] = {
    each.__name__: each
    for each in _subclasses(Statistic)
    if each.__module__.startswith("deniable.statistics.") and each.__name__[0] != "_" and not inspect.isabstract(each)
}


def test_no_statistic_is_missing_here() -> None:
    assert set(STATISTICS) == set(PARAMETERS)


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("name", PARAMETERS)
def test_a_loss_holds_for_the_relation_of_its_statistic_alone(name: str, relation: Relation) -> None:
    for price in ({"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"rho": 1}):
        if name == "KeyCounts" and "rho" in price:
            continue
        parameters = {**PARAMETERS[name], **price}
        if "rho" in price:
            parameters.pop("delta", None)
        kind = STATISTICS[name]
        for own in ({}, {"interval": 0.95}) if hasattr(kind, "interval") else ({},):
            made = kind(**parameters, **own, relation=relation)
            assert made.privacy_loss.relations == {relation}, price


@pytest.mark.parametrize("name", ["Median", "Quantiles", "InterquartileRange", "Variance"])
def test_a_ledger_of_the_other_relation_refuses(name: str) -> None:
    for mine, other in ((AddRemove, Replace), (Replace, AddRemove)):
        book = Ledger.open(None, budget=Budget(epsilon=9), relation=other, unit=PrivacyUnit(), dataset="test")
        with pytest.raises(UnprovedError):
            STATISTICS[name](**PARAMETERS[name], epsilon=1, relation=mine)([1.0, 2.0], ledger=book)
        assert book.spent().epsilon == 0
