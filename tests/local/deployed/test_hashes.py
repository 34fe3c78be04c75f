"""Public hash functions, and sums by group."""

import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest

from deniable.local.deployed.hashes import HashFamily, keys_of, sums_by_group


def test_three_values_collide_as_independent_cells_do() -> None:
    """20,000 functions into 4 cells: pairs 1/4 and triples 1/16, within five standard errors."""
    family = HashFamily(20_000, 4)
    cells = family.cells_of(np.arange(20_000)[:, np.newaxis], keys_of(["a", "b", "c", 4]))
    for one, other in combinations(range(4), 2):
        assert np.mean(cells[:, one] == cells[:, other]) == pytest.approx(1 / 4, abs=5 * 0.0031)
    assert np.mean(np.ptp(cells[:, :3], axis=1) == 0) == pytest.approx(1 / 16, abs=5 * 0.0018)
    assert np.bincount(cells[:, 0], minlength=4) == pytest.approx(5000, abs=5 * 62)


def test_another_process_has_the_same_cells() -> None:
    """Functions that a server draws anew match no client: these follow from two public numbers."""
    code = (
        "import numpy as np; from deniable.local.deployed.hashes import HashFamily, keys_of; "
        "print(HashFamily(8, 100).cells_of(np.arange(8), keys_of(['tea'])).tolist())"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert told.strip() == str(HashFamily(8, 100).cells_of(np.arange(8), keys_of(["tea"])).tolist())


def test_keys_are_of_values_and_kinds() -> None:
    keys = keys_of(["tea", "mate", "tea", None, 1, 1.0, True, float("nan"), "\ud800"])
    assert keys[0] == keys[2]
    assert keys[3] == keys[7]
    assert len(set(keys[[0, 1, 3, 4, 5, 6]].tolist())) == 6
    assert keys_of([]).shape == (0,)


def test_sums_by_group_are_those_of_a_loop() -> None:
    source = np.random.default_rng(5)
    groups, rows = source.integers(0, 7, 9000), source.integers(0, 2, (9000, 11), dtype=np.uint8)
    found = sums_by_group(groups, np.packbits(rows, axis=1, bitorder="little"), count=9, columns=11)
    assert (found == [rows[groups == group].sum(axis=0) for group in range(9)]).all()
