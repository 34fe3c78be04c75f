import math

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Laplace
from deniable.mechanisms.tested import ProposeTestRelease
from deniable.mechanisms.tested.stability import of_quantile
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace, of_count
from tests.mechanisms.tables import multisets, replaced
from tests.mechanisms.tested.laws import of_proposal

DOMAIN = range(6)
ROW = of_count(rows=1, groups=1, cells=1, relation=Replace)


def excess(first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray], epsilon: float) -> float:
    """delta at epsilon between two laws of integers."""
    kinds = np.union1d(first[0], second[0])
    p, q = np.zeros(kinds.size), np.zeros(kinds.size)
    p[np.searchsorted(kinds, first[0])] = first[1]
    q[np.searchsorted(kinds, second[0])] = second[1]
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def test_calibration_reaches_twice_epsilon() -> None:
    """The threshold is at most ln(1 / delta) / epsilon, and the composed loss is below (2 epsilon, delta)."""
    mechanism = ProposeTestRelease.calibrated(bound=4, epsilon="0.5", delta="1e-6")
    assert mechanism.noise == Laplace(scale=8)
    assert mechanism.threshold <= math.log(1e6) / 0.5
    loss = mechanism.privacy_loss(ROW)
    assert loss.relations == {Replace}
    assert loss.delta(1).upper <= 1.0001e-6
    assert loss.epsilon("1e-3").upper < 1


def test_all_neighbours_keep_to_the_loss_and_shortcuts_do_not() -> None:
    """The exact laws of the median of three records. One twin does not test, the other one tests without noise."""
    mechanism = ProposeTestRelease(test=Laplace(scale=1), threshold=2, noise=Laplace(scale=2), bound=2)
    inputs = {table: of_quantile(table, quantile="1/2", bound=2, bounds=(0, 5)) for table in multisets(DOMAIN, 3)}
    laws = {table: of_proposal(mechanism, exact) for table, exact in inputs.items()}
    claims = {epsilon: mechanism.privacy_loss(ROW).delta(epsilon).upper for epsilon in (0.0, 0.5, 1.0, 2.0)}
    pairs = [(x, y) for x in inputs for y in replaced(x, DOMAIN)]
    for epsilon, claim in claims.items():
        assert max(excess(laws[x], laws[y], epsilon) for x, y in pairs) <= claim + 1e-12
    untested = {table: of_proposal(mechanism, (value, 10**3)) for table, (value, _) in inputs.items()}
    bare = {table: untested[table] if inputs[table][1] > 0 else (np.array([-1000]), np.ones(1)) for table in inputs}
    for twin in (untested, bare):
        assert max(excess(twin[x], twin[y], 2.0) for x, y in pairs) > 1.5 * claims[2.0]


def test_an_unstable_table_gets_no_answer() -> None:
    mechanism = ProposeTestRelease.calibrated(bound=10, epsilon=1, delta="1e-9")
    spread = of_quantile([0, 0, 1000, 1000], quantile="1/2", bound=10, bounds=(0, 1000))
    assert spread[1] == 0
    assert mechanism.release(spread, bits=DeterministicBits(1)).value is None
    close = of_quantile(np.full(200, 500), quantile="1/2", bound=10, bounds=(0, 1000))
    answer = mechanism.release(close, bits=DeterministicBits(1))
    assert answer.value is not None
    assert abs(answer.value - 500) < 300
    assert not answer.safe


def test_several_records_cost_more() -> None:
    mechanism = ProposeTestRelease.calibrated(bound=1, epsilon="0.1", delta="1e-6")
    one = mechanism.privacy_loss(of_count(rows=1, groups=1, cells=1, relation=AddRemove))
    two = mechanism.privacy_loss(of_count(rows=2, groups=1, cells=1, relation=AddRemove))
    assert one.epsilon("1e-3").upper < two.epsilon("1e-3").upper <= 0.4


def test_other_inputs_are_refused() -> None:
    mechanism = ProposeTestRelease.worst_case().mechanism
    with pytest.raises(InvalidParameterError, match="value, distance") as error:
        mechanism.release([77, 1, 2])
    assert "77" not in str(error.value)
    with pytest.raises(InvalidParameterError, match="additive"):
        ProposeTestRelease(test=Laplace(scale=1), threshold=2, noise=mechanism, bound=2)
