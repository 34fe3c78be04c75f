"""Wrong calls of every mechanism: an error of ours that names the parameter, never one of Python's."""

import copy
import inspect
import math
import pickle
from collections.abc import Iterable
from dataclasses import fields, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms import MECHANISMS, ExponentialMechanism, Laplace, Mechanism, PeelingTopK
from deniable.mechanisms.tested import SampleAndAggregate
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, of_count

every = pytest.mark.parametrize("name", sorted(MECHANISMS))

WRONG: dict[str, Any] = {
    "nothing": None,
    "a word": "word",
    "an empty word": "",
    "zero": 0,
    "a negative number": -1,
    "a truth value": True,
    "a float": 1.5,
    "NaN": math.nan,
    "infinity": math.inf,
    "a large number": 2**2000,
    "a large negative number": -(2**2000),
    "a small number": Fraction(1, 10**400),
    "a complex number": 1j,
    "bytes": b"1",
    "an empty list": [],
    "a list": [1, 2],
    "a ragged list": [[1], [1, 2]],
    "a list of nothing": [None],
    "a list of words": ["word"],
    "a list of large numbers": [2**63, -1],
    "an array": np.array([1, 2]),
    "a date": np.datetime64(1, "D"),
    "a dictionary": {},
    "an object": object(),
    "a class": int,
    "a function": lambda value: 0,
}
ROWS = {
    "exact of randomized_response",
    "exact of clipped_sum",
    "exact of clipped_products",
}  # private rows: what stands in one place of them is not refused


def inputs_of(name: str) -> dict[str, Any]:
    """What a release takes, apart from bits and from what has a default."""
    case = MECHANISMS[name].worst_case()
    pairs = {
        "continuous_exponential": ([2], [1, 0]),
        "sample_and_aggregate": ([1, 2], len),
        "clipped_sum": [[9]],
        "clipped_products": [[9]],
    }
    inputs = {"exact": pairs.get(name, case.exact), "threshold": 0}
    return {
        parameter: inputs[parameter]
        for parameter in inspect.signature(case.mechanism.release).parameters
        if parameter in inputs
    }


def refusals(call: Any, cases: Iterable[tuple[str, str, object]]) -> list[tuple[str, str, InvalidParameterError]]:
    """Errors of ours; those of Python come through."""
    found = []
    for parameter, what, value in cases:
        try:
            call(parameter, value)
        except InvalidParameterError as error:
            found.append((parameter, what, error))
        except Exception as error:
            raise AssertionError(f"{parameter} = {what} raised {error!r}") from error
    return found


@every
def test_wrong_values_of_fields_are_refused_by_name(name: str) -> None:
    mechanism = MECHANISMS[name].worst_case().mechanism
    names = [field.name for field in fields(mechanism)]

    def call(parameter: str, value: object) -> None:
        made = replace(mechanism, **{parameter: value})  # type: ignore[arg-type]
        made.to_json()  # what is taken is a value that can be kept

    cases = [(parameter, what, value) for parameter, (what, value) in product(names, WRONG.items())]
    refused = refusals(call, cases)
    for parameter, what, error in refused:
        assert parameter in str(error), f"{parameter} = {what}: {error}"
        assert len(str(error)) < 300
    assert len(refused) >= 10 * len(names)


@every
def test_wrong_inputs_of_a_release_are_refused(name: str) -> None:
    """Values of the secret input are in no message."""
    mechanism: Any = MECHANISMS[name].worst_case().mechanism
    inputs = inputs_of(name)

    def call(parameter: str, value: object) -> None:
        mechanism.release(**{**inputs, "bits": DeterministicBits(1), parameter: value})

    for parameter in [*inputs, "bits"]:
        refused = refusals(call, [(parameter, what, value) for what, value in WRONG.items()])
        assert len(refused) >= (1 if {parameter, f"{parameter} of {name}"} & ROWS else 10)
        assert parameter == "threshold" or not any("word" in str(error) for _, _, error in refused)
    for parameter in set(inspect.signature(mechanism.release).parameters) & {"score"}:
        assert len(refusals(call, [(parameter, what, WRONG[what]) for what in ("a word", "a list")])) == 2


@every
def test_slips_in_names_are_named(name: str) -> None:
    kind: Any = MECHANISMS[name]
    mechanism: Any = kind.worst_case().mechanism
    values = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    with pytest.raises(InvalidParameterError, match=f"{kind.__name__} takes no hue. It takes: {', '.join(values)}"):
        kind(**values, hue=1)
    with pytest.raises(InvalidParameterError, match=f"{kind.__name__} takes nothing by position, and all else by name"):
        kind(*values.values())
    with pytest.raises(InvalidParameterError, match=r"release takes no bit\. Did you mean bits"):
        mechanism.release(**inputs_of(name), bit=DeterministicBits(1))
    with pytest.raises(InvalidParameterError, match="release needs "):
        mechanism.release()
    with pytest.raises(InvalidParameterError, match="sensitivity must be of class Sensitivity, got one of int"):
        mechanism.privacy_loss(1)
    needed = [f.name for f in fields(mechanism) if inspect.signature(kind).parameters[f.name].default is inspect._empty]
    if needed:
        with pytest.raises(InvalidParameterError, match=f"{kind.__name__} needs {' and '.join(needed)}"):
            kind()


@every
def test_a_checked_class_is_a_dataclass_as_before(name: str) -> None:
    mechanism = MECHANISMS[name].worst_case().mechanism
    assert pickle.loads(pickle.dumps(mechanism)) == copy.deepcopy(mechanism) == mechanism
    assert list(inspect.signature(MECHANISMS[name]).parameters) == [field.name for field in fields(mechanism)]
    assert type(mechanism).__doc__ != Mechanism.__doc__


TARGETS: dict[str, dict[str, Any]] = {
    "bounded_laplace": {"epsilon": 1, "bounds": (0, 10)},
    "continuous_exponential": {"epsilon": 1, "bounds": (0, 10)},
    "elliptical_gaussian": {"strategy": [[1, 1], [1, 0]], "rho": 1},
    "gaussian": {"rho": 1},
    "joint_top_k": {"epsilon": 1, "count": 2},
    "propose_test_release": {"bound": 5, "epsilon": 1, "delta": "1e-3"},
    "smooth_laplace": {"epsilon": 1, "delta": "1e-3", "bounds": (0, 10)},
    "smooth_log_normal": {"rho": 1, "beta": "0.1", "bounds": (0, 10)},
    "snapping": {"epsilon": 1, "bound": 5},
    "sparse_vector": {"epsilon": 1, "answers": 2, "value_share": "0.5"},
    "stable_selection": {"epsilon": 1, "delta": "1e-3"},
    **{name: {"epsilon": 1, "delta": "1e-3", "groups": 2} for name in ("stability_histogram", "weighted_keys")},
    "top_k": {"epsilon": 1, "count": 2},
    "truncated_laplace": {"epsilon": 1, "delta": "1e-3"},
    **{name: {"epsilon": 1, "bounds": (0, 10)} for name in ("inverse_median", "inverse_quantile")},
    **{name: {"epsilon": 1, "bounds": (0, 10)} for name in ("inverse_sensitivity", "smooth_pareto")},
    "smooth_student_t": {"epsilon": 1, "degrees": 2, "bounds": (0, 10)},
    **{name: {"epsilon": 1} for name in ("above_threshold", "exponential_mechanism", "laplace", "noisy_max")},
    **{name: {"epsilon": 1} for name in ("permute_and_flip", "staircase")},
    **{
        name: {"epsilon": 1, "quantile": "1/2", "points": 9}
        for name in ("exponential_quantile", "permute_and_flip_quantile")
    },
    "matched_quantile": {"epsilon": 1, "quantile": "1/2", "points": 9, "matchings": 2},
    "exponential_extreme": {"epsilon": 1, "points": 9, "largest": True},
    "quartiles": {"epsilon": 1, "points": 9},
    **{
        f"{kind}_quantiles": {"epsilon": 1, "points": 9, "quantiles": ["1/2"]}
        for kind in ("recursive", "joint", "slice")
    },
}


@pytest.mark.parametrize("name", sorted(name for name, kind in MECHANISMS.items() if hasattr(kind, "calibrated")))
def test_wrong_targets_are_refused(name: str) -> None:
    kind: Any = MECHANISMS[name]
    targets = TARGETS[name]
    if "sensitivity" in inspect.signature(kind.calibrated).parameters:
        targets = {"sensitivity": kind.worst_case().sensitivity, **targets}

    def call(parameter: str, value: object) -> None:
        kind.calibrated(**{**targets, parameter: value})

    kind.calibrated(**targets)  # so that what is refused below is the wrong one
    for parameter in targets:
        assert len(refusals(call, [(parameter, what, value) for what, value in WRONG.items()])) >= 10


def test_calibration_names_slips_too() -> None:
    reach = of_count(rows=1, groups=1, relation=AddRemove)
    with pytest.raises(InvalidParameterError, match=r"calibrated takes no epsilom\. Did you mean epsilon"):
        Laplace.calibrated(reach, epsilom=1)  # type: ignore[call-arg]
    with pytest.raises(InvalidParameterError, match="calibrated needs sensitivity and epsilon"):
        Laplace.calibrated()  # type: ignore[call-arg]
    with pytest.raises(InvalidParameterError, match="sensitivity must be of class Sensitivity, got one of Fraction"):
        Laplace.calibrated(Fraction(1), epsilon=1)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match=r"PeelingTopK takes no nois\. Did you mean noise"):
        PeelingTopK.calibrated(reach, epsilon=1, count=1, nois="laplace")


def test_a_function_of_blocks_that_is_none_is_not_taken_for_one_that_fails() -> None:
    mechanism = SampleAndAggregate(inner=Laplace(scale=1), blocks=2, bounds=(0, 2))
    with pytest.raises(InvalidParameterError, match="function must be a function of rows, got NoneType"):
        mechanism.release(([1, 2], None))  # type: ignore[arg-type]


def test_the_contract_itself_sees_an_error_of_python() -> None:
    """The twin: without the words of this house, it fails."""

    def call(_: str, value: Any) -> None:
        value + 1

    with pytest.raises(AssertionError, match="raised TypeError"):
        refusals(call, [("scale", "nothing", None)])
    assert issubclass(InvalidParameterError, ValueError)
    assert not issubclass(UnprovedError, InvalidParameterError)


def test_slips_in_all_public_methods_are_named() -> None:
    """Only releases and losses were checked."""
    with pytest.raises(InvalidParameterError, match=r"gap_bound takes no failur\. Did you mean failure"):
        ExponentialMechanism(rate=1).gap_bound(3, failur="0.1")
    with pytest.raises(InvalidParameterError, match="outcomes needs bits"):
        Laplace(scale=1).outcomes((1,), 5)  # type: ignore[call-arg]
