"""Sketches: laws by enumeration, counts without bias, and a variance that has collisions in it."""

import math
import subprocess
import sys
import tracemalloc
from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.local import Collector, pack, protocol_of, unpack
from deniable.local.deployed import CountMeanSketch, HadamardSketch
from deniable.local.deployed.sketches import cells_of, keys_of
from deniable.noise.bits import DeterministicBits

BITS = DeterministicBits(12)
SMALL = [CountMeanSketch(epsilon=2, hashes=2, cells=4), HadamardSketch(epsilon=2, hashes=2, cells=4)]


def names(sketch: Any) -> str:
    return str(sketch.kind)


def law(sketch: Any, cells: tuple[int, int]) -> dict[tuple[int, ...], Fraction]:
    """The probability of every report of a value with these cells under the two functions, from the definition."""
    found = {}
    for function, cell in enumerate(cells):
        head = tuple(function.to_bytes(2, "little"))
        if sketch.kind == "cms":
            q = sketch.row.q
            for row in product((0, 1), repeat=4):
                kept = [1 - q if bit == (place == cell) else q for place, bit in enumerate(row)]
                found[*head, sum(bit << place for place, bit in enumerate(row))] = math.prod(kept, start=Fraction(1, 2))
        else:  # sign (-1)^s of entry l of column 2 cell + 1, as the number 2 l + s: 8 of them, evenly drawn
            for code in range(sketch.row.outputs):
                true = (code & (cell + 1)).bit_count() % 2 == 0
                found[*head, code] = (
                    Fraction(1, sketch.row.outputs)
                    * (sketch.likelihood_ratio if true else 1)
                    / (sketch.likelihood_ratio + 1)
                )
    return found


@pytest.mark.parametrize("sketch", SMALL, ids=names)
def test_no_pair_of_values_exceeds_the_claim_and_one_nearly_attains_it(sketch: Any) -> None:
    laws = [law(sketch, cells) for cells in product(range(4), repeat=2)]
    assert all(sum(each.values()) == 1 for each in laws)
    worst = max(one[y] / other[y] for one in laws for other in laws for y in one)
    assert worst <= sketch.likelihood_ratio
    assert math.log(worst) == pytest.approx(2, rel=1e-8)


@pytest.mark.parametrize("sketch", SMALL, ids=names)
def test_reports_are_drawn_from_the_law(sketch: Any) -> None:
    """Chi-square at level 1e-6 for each of two sketches, with fixed bits."""
    runs = 40_000
    drawn = Counter(map(tuple, sketch.encode(["tea"] * runs, bits=BITS).tolist()))
    cells = cells_of(np.arange(2), keys_of(["tea"]), shape=(2, 4))
    expected = law(sketch, tuple(cells.tolist()))
    assert set(drawn) <= set(expected)
    observed = [drawn[told] for told in expected]
    assert stats.chisquare(observed, [runs * float(mass) for mass in expected.values()]).pvalue > 1e-6


@pytest.mark.parametrize("kind", [CountMeanSketch, HadamardSketch])
def test_counts_have_no_bias_the_stated_variance_and_intervals_that_cover(kind: Any, monkeypatch: Any) -> None:
    """400 runs, each with functions of its own, as collisions are averaged over them: 1,000 people, 600 of one value.
    Means within five standard errors, variances within 35% (5 of theirs), 90% intervals cover at least 84%."""
    sketch, runs, held = kind(epsilon=4, hashes=4, cells=16), 400, np.array([600, 150, 0])
    values = ["a"] * 600 + ["b"] * 150 + ["c"] * 250
    found, covered = [], []
    source = np.random.default_rng(7)
    for _ in range(runs):
        drawn = source.integers(0, 2**31 - 1, (3, 4))
        monkeypatch.setattr("deniable.local.deployed.sketches._coefficients", lambda _, drawn=drawn: drawn)
        answer = sketch.estimate(sketch.encode(values, bits=BITS), candidates=["a", "b", "d"])
        ends = answer.intervals(0.9)["count"]
        found.append(answer["count"])
        covered.append((ends.lower <= held) & (held <= ends.upper))
    squares = np.array([150**2 + 250**2, 600**2 + 250**2, 600**2 + 150**2 + 250**2])
    expected = sketch.variance(held, people=1000, squares=squares)
    assert np.mean(found, axis=0) == pytest.approx(held, abs=5 * math.sqrt(expected.max() / runs))
    assert np.var(found, axis=0) == pytest.approx(expected, rel=0.35)
    assert np.mean(covered, axis=0).min() >= 0.84
    alone = sketch.variance(0, people=1000, squares=1000)  # as if no two people shared a value
    assert np.var(found, axis=0)[2] > 1.35 * alone


@pytest.mark.parametrize("sketch", SMALL, ids=names)
def test_reports_survive_the_wire_and_hostile_ones_are_refused(sketch: Any) -> None:
    there, reports = protocol_of(sketch.to_json()), sketch.encode(["a", None, 3], bits=BITS)
    message = pack(sketch, reports)
    assert (unpack(there, message) == reports).all()
    collector = Collector(there)
    collector.add(message)
    answer = collector.estimate(candidates=["a", "b"])
    assert (answer["count"] == sketch.estimate(reports, candidates=["a", "b"])["count"]).all()
    for place in (0, sketch.width - 1):
        bad = bytearray(message)
        bad[17 + place] = 255
        for hostile in (bytes(bad), message[:-1]):
            with pytest.raises(InvalidParameterError):
                unpack(there, hostile)
    with pytest.raises(InvalidParameterError, match="candidates"):
        collector.estimate()
    for wrong in ({"cells": 3}, {"hashes": 0}, {"epsilon": 41}):
        with pytest.raises(InvalidParameterError):
            type(sketch)(**{"epsilon": 1, **wrong})


@pytest.mark.parametrize("kind", [CountMeanSketch, HadamardSketch])
def test_a_collector_holds_one_table_and_makes_no_second_one_for_a_message(kind: Any) -> None:
    sketch = kind(epsilon=4, hashes=512, cells=512)
    message, collector = pack(sketch, sketch.encode(["tea"], bits=BITS)), Collector(sketch)
    tracemalloc.start()
    collector.add(message)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert max(held, peak) < 8 * sketch.size / 10


def test_three_values_collide_as_independent_cells_do() -> None:
    """20,000 functions into 4 cells: pairs 1/4 and triples 1/16, within five standard errors."""
    keys = keys_of(["a", "b", "c", 4])
    cells = cells_of(np.arange(20_000)[:, np.newaxis], keys, shape=(20_000, 4))
    for one, other in combinations(range(4), 2):
        assert np.mean(cells[:, one] == cells[:, other]) == pytest.approx(1 / 4, abs=5 * 0.0031)
    assert np.mean(np.ptp(cells[:, :3], axis=1) == 0) == pytest.approx(1 / 16, abs=5 * 0.0018)
    assert np.bincount(cells[:, 0], minlength=4) == pytest.approx(5000, abs=5 * 62)


def test_another_process_has_the_same_cells() -> None:
    """Functions that a server draws anew match no client: these follow from two public numbers."""
    code = (
        "import numpy as np; from deniable.local.deployed.sketches import cells_of, keys_of; "
        "print(cells_of(np.arange(8), keys_of(['tea']), shape=(8, 100)).tolist())"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert told.strip() == str(cells_of(np.arange(8), keys_of(["tea"]), shape=(8, 100)).tolist())


def test_keys_are_of_values_and_not_of_their_types() -> None:
    keys = keys_of(["tea", "mate", "tea", None, 1, 1.0, True, float("nan"), "\ud800"])
    assert keys[0] == keys[2]
    assert keys[3] == keys[7]
    assert keys[4] == keys[5] == keys[6]
    assert len(set(keys[[0, 1, 3, 4]].tolist())) == 4
    assert keys_of([]).shape == (0,)


def test_tallies_are_those_of_a_loop() -> None:
    sketch = CountMeanSketch(epsilon=1, hashes=9, cells=11)
    reports = sketch.encode(np.arange(5000), bits=DeterministicBits(5))
    rows = np.unpackbits(reports[:, 2:], axis=1, count=11, bitorder="little")
    found = sketch.supports(reports).reshape(9, 12)
    assert (found[:, 1:] == [rows[reports[:, 0] == group].sum(axis=0) for group in range(9)]).all()
    assert (found[:, 0] == np.bincount(reports[:, 0], minlength=9)).all()
