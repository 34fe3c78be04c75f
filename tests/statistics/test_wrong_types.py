"""Whatever stands in the place of a parameter, what is raised is an error of ours that names it."""

import inspect
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable import statistics as dn
from deniable.errors import DeniableError, InvalidParameterError
from deniable.statistics.hypothesis.subsampled import SubsampledTest
from deniable.statistics.hypothesis.t_tests import OneSampleTTest
from deniable.statistics.means import Mean
from deniable.statistics.order.quantile import Median

VALUES = np.arange(20.0)
TABLE = np.stack([VALUES, VALUES[::-1]], axis=1)
KEYS = ["a", "b"] * 10
BOUNDS = (0, 20)
MEAN = Mean(bounds=BOUNDS, epsilon=1)
FEW: dict[str, Any] = {"simulations": 9}

CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "anova": ((VALUES, KEYS), {"bounds": BOUNDS, "keys": ["a", "b"], **FEW}),
    "binomial_test": ((VALUES > 3,), {"share": "1/2", **FEW}),
    "bootstrap": (
        (MEAN, MEAN(VALUES), dn.models.Normal(mean=9, deviation=5)),
        {"size": 20, "runs": 3},
    ),
    "chi_squared_fit": ((KEYS,), {"keys": ["a", "b"], "shares": [1, 1], **FEW}),
    "chi_squared_independence": ((KEYS, KEYS), {"keys": ["a", "b"], "other_keys": ["a", "b"], **FEW}),
    "correlation": ((TABLE,), {"bounds": [BOUNDS, BOUNDS]}),
    "count": ((VALUES,), {}),
    "covariance": ((TABLE,), {"bounds": [BOUNDS, BOUNDS]}),
    "cumulative_distribution": ((VALUES,), {"at": [1, 2]}),
    "histogram": ((KEYS,), {"keys": ["a", "b"]}),
    "interquartile_range": ((VALUES,), {"bounds": BOUNDS}),
    "key_counts": ((KEYS,), {"delta": "1e-3"}),
    "linear_regression": ((TABLE[:, :1], VALUES), {"bounds": [BOUNDS], "target_bounds": BOUNDS}),
    "mann_whitney": ((VALUES, VALUES), FEW),
    "maximum": ((VALUES,), {"bounds": BOUNDS}),
    "mean": ((VALUES,), {"bounds": BOUNDS}),
    "median": ((VALUES,), {"bounds": BOUNDS}),
    "minimum": ((VALUES,), {"bounds": BOUNDS}),
    "mode": ((KEYS,), {"keys": ["a", "b"]}),
    "one_sample_t_test": ((VALUES,), {"mean": 3, "bounds": BOUNDS, **FEW}),
    "quantile": ((VALUES,), {"share": "1/3", "bounds": BOUNDS}),
    "quantiles": ((VALUES,), {"shares": ["1/3"], "bounds": BOUNDS}),
    "standard_deviation": ((VALUES,), {"bounds": BOUNDS}),
    "subsampled_test": ((VALUES,), {"test": np.mean, "blocks": 3, **FEW}),
    "sum": ((VALUES,), {"bounds": BOUNDS}),
    "top_k": ((KEYS,), {"k": 1, "keys": ["a", "b"]}),
    "two_sample_t_test": ((VALUES, VALUES), {"bounds": BOUNDS, **FEW}),
    "variance": ((VALUES,), {"bounds": BOUNDS}),
    "vector_covariance": ((TABLE,), {"bounds": [BOUNDS, BOUNDS], "deviations": 5}),
    "vector_mean": ((TABLE,), {"bounds": [BOUNDS, BOUNDS], "deviations": 5}),
}
WRONG: list[Any] = [
    None,
    "x",
    -1,
    1.5,
    float("nan"),
    float("inf"),
    1e308,
    True,
    [],
    [None],
    ["x"],
    {"a": 1},
    {1},
    object(),
    (0, None),
    (5, "x"),
    [("a", "b")],
    np.array([[1.0]]),
    b"x",
    1j,
]


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_parameter_raises_an_error_of_ours(name: str) -> None:
    function: Callable[..., Any] = getattr(dn, name)
    data, options = CALLS[name]
    parameters = list(inspect.signature(function).parameters)
    right = dict(zip(parameters, data, strict=False)) | options
    if name != "bootstrap":
        right["epsilon"] = 1
    assert function(**right) is not None
    for parameter in parameters[len(data) :]:
        if parameter in ("bits", "ledger", "units", "progress", "runs"):
            continue
        for wrong in WRONG:
            with suppress(DeniableError):  # all else fails the test
                function(**(right | {parameter: wrong}))


def test_every_function_is_called() -> None:
    functions = {getattr(dn, name).__name__ for name in dn.__all__ if name.islower() and name not in ("models", "plan")}
    assert set(CALLS) == functions  # std and var are other names of two of them


@pytest.mark.parametrize("step", [30, 1e308, "1e-310", 10**400])
def test_a_step_beyond_the_bounds_or_beyond_floats_is_refused(step: object) -> None:
    for bounds in (BOUNDS, "auto"):
        if (step, bounds) != (30, "auto"):
            with pytest.raises(InvalidParameterError, match="step"):
                Median(bounds=bounds, epsilon=1, step=step)


@pytest.mark.parametrize("epsilon", [10**400, 10**15, "1e-14"])
def test_a_choice_that_no_race_can_make_is_refused_when_it_is_asked_for(epsilon: object) -> None:
    for function in (dn.median, dn.interquartile_range, dn.maximum):
        with pytest.raises(InvalidParameterError, match=r"2\^40|at most 1\.79e308"):
            dn.plan(function, bounds=BOUNDS, epsilon=epsilon)
    for most in (Fraction(2**40), Fraction(1, 2**40)):
        answer = dn.median(VALUES, bounds=BOUNDS, epsilon=most, interval=None).scalar()
        assert 0 <= answer <= 20


@pytest.mark.parametrize("method", [[], {}, None, "lasso"])
def test_a_method_is_one_of_those_that_exist(method: Any) -> None:
    with pytest.raises(InvalidParameterError, match="method must be one of"):
        dn.linear_regression(TABLE[:, :1], VALUES, bounds=[BOUNDS], target_bounds=BOUNDS, method=method, epsilon=1)


def test_many_simulations_or_blocks_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="simulations"):
        OneSampleTTest(mean=3, bounds=BOUNDS, epsilon=1, simulations=10**400)
    with pytest.raises(InvalidParameterError, match="blocks"):
        SubsampledTest(test=_nothing, blocks=10**400, epsilon=1)
    with pytest.raises(InvalidParameterError, match="rows"):
        dn.subsampled_test(None, test=_nothing, blocks=3, epsilon=1)


def _nothing(block: np.ndarray) -> float:
    return 1.0
