"""Sample sizes of private learners: the formula solved, and learners that keep it."""

import math

import numpy as np
import pytest

from deniable.adaptive import learn_threshold
from deniable.errors import InvalidParameterError
from deniable.limits import iterated_logarithm, learner_rows, threshold_error
from deniable.noise.bits import DeterministicBits
from deniable.privacy import PureLoss


@pytest.mark.parametrize("epsilon", [0.1, 1, 5])
def test_the_number_is_the_least_that_keeps_the_bound(epsilon: float) -> None:
    def excess(rows: int) -> float:
        return 2 * math.sqrt(math.log(4 * 10**4 / 0.05) / (2 * rows)) + 2 * math.log(2 * 10**4 / 0.05) / (
            rows * epsilon
        )

    rows = learner_rows(10**4, error="0.1", epsilon=epsilon)
    assert excess(rows) <= 0.1 < excess(rows - 1)
    assert learner_rows(10**4, error="0.1", epsilon=epsilon, realizable=True) < rows


def test_learners_keep_it_and_a_twelfth_of_the_rows_is_not_enough() -> None:
    """Thresholds of 1000 values, realizable, 60 samples; and what packing says of so few rows."""
    rows = learner_rows(1001, error="0.1", epsilon="0.2", failure="0.1", realizable=True)
    for count, share in ((rows, 0.1), (rows // 12, None)):
        random, wrong = np.random.default_rng(3), 0
        for seed in range(60):
            values = random.integers(0, 1000, count)
            found = learn_threshold(
                values, values >= 400, domain=1000, epsilon="0.2", bits=DeterministicBits(seed)
            ).hypothesis
            assert isinstance(found, int)
            wrong += abs(found - 400) / 1000 > 0.1
        assert (wrong / 60 <= share) if share else (wrong / 60 > 0.1)
    assert threshold_error(PureLoss("0.2"), rows=rows // 20, domain=1000) > 0.1


def test_log_star_of_towers() -> None:
    assert [iterated_logarithm(number) for number in (1, 2, 3, 4, 5, 16, 17, 10**80)] == [0, 1, 2, 2, 3, 3, 4, 5]


@pytest.mark.parametrize("wrong", [{"error": 2}, {"error": 0}, {"failure": 0}, {"epsilon": 0}, {"hypotheses": 1}])
def test_what_has_no_answer_is_refused(wrong: dict[str, object]) -> None:
    asked = {"hypotheses": 10, "error": "0.1", "epsilon": 1, **wrong}
    with pytest.raises(InvalidParameterError):
        learner_rows(asked.pop("hypotheses"), **asked)
