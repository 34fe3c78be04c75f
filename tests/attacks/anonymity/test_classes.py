"""Classes of rows, with missing values as values and as wildcards."""

import numpy as np
import polars as pl

from deniable.attacks.anonymity.classes import read_classes, read_secrets


def test_a_wildcard_reaches_all_that_agree_where_both_are_known() -> None:
    table = pl.DataFrame({"a": [1, 1, None, 2, None], "b": [1, None, 1, 1, None]})
    classes = read_classes(table, ["a", "b"], "wildcard")
    agree = [
        [x is None or y is None or x == y for x, y in zip(one, other, strict=True)]
        for one in table.rows()
        for other in table.rows()
    ]
    expected = np.array([all(pair) for pair in agree]).reshape(5, 5).sum(axis=1)
    assert classes.sizes[classes.of_row].tolist() == expected.tolist()
    assert expected.tolist() == [4, 4, 5, 3, 5]


def test_secrets_are_counted_in_each_class_without_storing_zeros() -> None:
    table = pl.DataFrame({"a": [1, 1, 2], "c": ["x", "y", "x"]})
    secret = read_secrets(table, "c", None, apart="a")[0]
    held = read_classes(table, "a", "value").count(secret)
    assert held.counts.toarray().tolist() == [[1, 1], [1, 0]]
    assert held.counts.nnz == 3
    assert held.table.tolist() == [2 / 3, 1 / 3]
