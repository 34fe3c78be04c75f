"""Silence is one for all threads, and ends when the last of them leaves."""

import warnings
from contextlib import ExitStack

import numpy as np
import pytest

from deniable import statistics as st
from deniable.mechanisms import Laplace
from deniable.mechanisms.tested import SampleAndAggregate
from deniable.rows import silence


def test_the_filters_are_put_back_in_whatever_order_callers_leave() -> None:
    before = list(warnings.filters)
    with ExitStack() as first:
        first.enter_context(silence())
        with ExitStack() as second:
            second.enter_context(silence())
            first.close()
            warnings.warn("a row", stacklevel=1)  # an error in this suite
            np.float64(1) / np.float64(0)
    assert warnings.filters == before
    with pytest.warns(UserWarning, match="a row"):
        warnings.warn("a row", stacklevel=1)


def test_a_function_of_the_user_warns_nobody_of_its_rows() -> None:
    def function(block: object) -> float:
        warnings.warn("a row", stacklevel=1)
        return float(np.float64(1) / np.float64(0))

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        st.subsampled_test([1.0] * 9, test=function, blocks=3, epsilon=1)
        SampleAndAggregate(inner=Laplace(scale=1), blocks=3, bounds=(0, 9)).release(([1] * 9, function))
    assert not said
