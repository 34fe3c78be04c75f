"""Samplers tell their arguments by name."""

import numpy as np
import pytest

from deniable.audit import numpy_samplers
from deniable.audit.recorded import RecordedSampler
from deniable.errors import InvalidParameterError
from deniable.noise import laplace


def test_arguments_are_told_by_name() -> None:
    read = RecordedSampler(owner=laplace, name="sample").bound((), {"scale": 3})
    assert read["scale"] == 3
    assert read["size"] is None
    listed = next(one for one in numpy_samplers() if one.title == "random.laplace")
    assert listed.bound((1.0, 2.0), {"size": 3}) == {"loc": 1.0, "scale": 2.0, "size": 3}


def test_every_sampler_of_numpy_exists_there() -> None:
    made = numpy_samplers()
    assert {one.owner for one in made} == {np.random, np.random.Generator}
    assert all(callable(one.function) for one in made)


def test_a_sampler_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="no function 'draw'"):
        _ = RecordedSampler(owner=laplace, name="draw").function
