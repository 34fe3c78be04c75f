"""Types of arrays have one home, and attacks, which import nothing of ours, another."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable
from deniable.attacks import numbers
from deniable.numbers import arrays

SOURCE = Path(deniable.__file__).parent
NAMES = re.findall(r"^(\w+): TypeAlias", Path(arrays.__file__).read_text(encoding="utf-8"), re.MULTILINE)


def homes(name: str) -> set[str]:
    """Files that give a name to a type."""
    defined = re.compile(rf"^_?{name}(: TypeAlias)? = NDArray|^type {name} =", re.MULTILINE)
    files = (path for path in SOURCE.rglob("*.py") if defined.search(path.read_text(encoding="utf-8")))
    return {str(path.relative_to(SOURCE)) for path in files}


@pytest.mark.parametrize("name", NAMES)
def test_a_type_of_arrays_is_defined_once(name: str) -> None:
    assert homes(name) - {"attacks/numbers.py"} == {"numbers/arrays.py"}
    if hasattr(numbers, name):
        assert getattr(numbers, name) == getattr(arrays, name)


@pytest.mark.parametrize(
    ("name", "dtype"), [("Floats", np.float64), ("Integers", np.int64), ("Indices", np.int64), ("Mask", np.bool_)]
)
def test_the_dtype_is_in_the_type(name: str, dtype: Any) -> None:
    assert getattr(arrays, name) == np.typing.NDArray[dtype]
