"""Methods that ask for a statistic look like the functions, with names of columns for rows."""

import inspect

import pytest

import deniable as dn
from deniable.errors import InvalidParameterError


def test_a_method_has_the_signature_of_its_function_without_what_the_database_knows() -> None:
    for name in ("median", "quantile", "top_k", "linear_regression", "mann_whitney"):
        method, function = getattr(dn.Database, name), getattr(dn.statistics, name)
        shown = list(inspect.signature(method).parameters)
        known = {"relation", "rows", "units", "ledger", "bits"}
        renamed = {"values": "column"} | ({"first": "column", "second": "by"} if name == "mann_whitney" else {})
        wanted = [renamed.get(word, word) for word in inspect.signature(function).parameters if word not in known]
        assert shown == ["self", *wanted, "where", "fresh"]
        assert inspect.getdoc(method).partition("\n")[0] == inspect.getdoc(function).partition("\n")[0]  # type: ignore[union-attr]
    assert inspect.signature(dn.Database.std) == inspect.signature(dn.Database.standard_deviation)


def test_a_misspelt_parameter_is_named() -> None:
    with pytest.raises(InvalidParameterError, match="Did you mean bounds"):
        dn.Database.median(None, "age", bound=(0, 1))
