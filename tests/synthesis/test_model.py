"""The model explains measured tables as far as their noise allows."""

import numpy as np
import pytest

from deniable.mechanisms.price import Price
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove
from deniable.synthesis.domain import DeclaredDomain, Listed
from deniable.synthesis.measurements import Measurements, Measuring
from deniable.synthesis.model import DISCREPANCY, fitted
from tests.synthesis.tables import measuring, rows


def measured(rho: float) -> Measurements:
    return measuring(rho=rho).measure(rows(3_000), None, DeterministicBits(1))


def test_the_fit_stops_where_noise_begins() -> None:
    model = fitted(measured(0.1))
    assert model.misfit <= DISCREPANCY
    assert model.steps < 1_000
    assert all(shares.sum(axis=1) == pytest.approx(1, abs=1e-4) for shares in model.probabilities)


def test_a_fit_that_comes_no_nearer_ends() -> None:
    """Many columns of few rows have more cells than soft records can follow."""
    domain = DeclaredDomain(tuple(Listed(f"c{at}", "int64", tuple(range(10))) for at in range(40)))
    levels = np.random.default_rng(0).integers(0, 10, (40, 2_000))
    price = Price.of(1, "1e-9", None)
    plan = Measuring(domain=domain, price=price, relation=AddRemove, rows=1)
    model = fitted(plan.measure(levels, None, DeterministicBits(1)))
    assert DISCREPANCY < model.misfit < 1
    assert model.steps <= 600


def test_pairs_of_the_model_are_those_of_the_rows() -> None:
    made = measured(5)
    model = fitted(made)
    for (one, other), table in zip(made.pair_indices, made.pairs, strict=True):
        fit = model.probabilities[one].T @ model.probabilities[other] / model.records
        assert np.abs(fit - table / made.total).sum() / 2 < 0.02


def test_the_same_tables_give_the_same_model_and_say_how_far_it_is() -> None:
    done: list[float] = []
    made = measured(5)
    one, other = fitted(made, done.append), fitted(made)
    assert all((a == b).all() for a, b in zip(one.probabilities, other.probabilities, strict=True))
    assert done == sorted(done)
