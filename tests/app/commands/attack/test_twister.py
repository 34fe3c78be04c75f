"""Noisy counts in a file, and the seed that made them."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.app.conftest import Call

COUNTS = np.array([31, 41, 59, 26, 53, 58, 97, 93])


@pytest.fixture
def answers(place: Path) -> Path:
    told = COUNTS + np.random.RandomState(2017).laplace(scale=10, size=8)
    (place / "told.csv").write_text("answer\n" + "\n".join(map(str, told.tolist())) + "\n", encoding="utf-8")
    return place


def test_the_seed_is_found_and_the_noise_comes_off(call: Call, answers: Path) -> None:
    result = call("attack", "twister", "told.csv", "--scale", "10", "--seeds", "4096", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    told = json.loads(result.stdout)["answer"]
    assert (told["right"], told["facts"]["seed"]) == (4, "2017")


@pytest.mark.parametrize(("scale", "seeds"), [("9", "4096"), ("10", "2000")])
def test_another_scale_or_fewer_seeds_find_none(call: Call, answers: Path, scale: str, seeds: str) -> None:
    result = call("attack", "twister", "told.csv", "--scale", scale, "--seeds", seeds)
    assert (result.exit_code, "seed: none fits" in result.stdout) == (0, True)


@pytest.mark.parametrize(("scale", "seeds"), [("0", "10"), ("nan", "10"), ("1", "0")])
def test_what_cannot_be_searched_is_refused(call: Call, answers: Path, scale: str, seeds: str) -> None:
    result = call("attack", "twister", "told.csv", "--scale", scale, "--seeds", seeds)
    assert (result.exit_code, "must" in result.stderr or "needs" in result.stderr) == (2, True), result.stderr
