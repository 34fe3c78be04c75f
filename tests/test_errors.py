"""One tree of exceptions, drawn in the module's first lines, and one text for everything that may depend on a row."""

import inspect
import re

import deniable.errors
from deniable.errors import DeniableError, ExecutionError, InvalidParameterError

CLASSES = {name: kind for name, kind in vars(deniable.errors).items() if inspect.isclass(kind)}


def test_every_error_is_in_the_tree_and_in_the_picture() -> None:
    drawn = re.findall(r"^[├└│─ ]*([A-Z][A-Za-z]+Error)\b", deniable.errors.__doc__ or "", flags=re.MULTILINE)
    assert set(drawn) == set(CLASSES)
    assert all(issubclass(kind, DeniableError) for kind in CLASSES.values())
    assert all(kind.__doc__ for kind in CLASSES.values())


def test_a_bad_parameter_is_a_value_error_too() -> None:
    assert issubclass(InvalidParameterError, ValueError)


def test_an_execution_error_takes_no_words() -> None:
    assert str(ExecutionError()) == str(ExecutionError())
    assert list(inspect.signature(ExecutionError).parameters) == []
