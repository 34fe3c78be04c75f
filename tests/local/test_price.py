"""The price of the local model, and counts made consistent."""

import math

import numpy as np
import pytest
from scipy import optimize

from deniable.local import DirectResponse, MeanProtocol, UnaryEncoding, consistent, local_price
from deniable.noise.bits import DeterministicBits


def contraction(epsilon: float) -> float:
    """By how much reports contract squares of distances of populations: the smaller of two bounds from ln 2 on."""
    odds = math.exp(epsilon)
    return (odds - 1) ** 2 / odds if odds <= 2 else 2 * (odds - 1) ** 2 / (odds + 2)


def test_the_floor_is_the_best_of_le_cams_bounds_and_below_what_protocols_reach() -> None:
    for people, epsilon in ((100, 0.1), (10_000, 1.0), (10**6, 3.0)):
        price = local_price(people, epsilon=str(epsilon))
        slope = math.sqrt(people * contraction(epsilon)) / 2
        tried = [t / 2 * math.sqrt(max(0, 1 - slope * t)) for t in np.linspace(1e-5, 1, 200_001)]
        assert price.floor == pytest.approx(max(tried), rel=1e-3)
        assert price.floor < math.hypot(price.local, price.sampling)


def test_a_quarter_of_epsilon_costs_sixteen_times_the_people_and_so_do_coordinates() -> None:
    one = local_price(10**6, epsilon="0.1")
    assert one.people == pytest.approx(10**6 * 0.1**2 / 4, rel=0.02)  # ((e + 1) / (e - 1))^2 / 4 = 1 / epsilon^2
    assert one.people / local_price(10**6, epsilon="0.025").people == pytest.approx(16, rel=0.02)
    assert one.people / local_price(10**6, epsilon="0.1", columns=8).people == pytest.approx(8, rel=0.02)
    assert one.central == pytest.approx(math.sqrt(2) / 10**5)
    wide = local_price(10**6, epsilon="0.1", columns=8)
    assert wide.central == pytest.approx(8 * one.central)  # a row moves eight means, l1
    assert wide.local == pytest.approx(math.sqrt(8) * one.local, rel=0.02)  # a report tells of one column in eight


def test_consistent_counts_are_the_nearest_ones_and_stand_beside_those_without_bias() -> None:
    """Against a general solver for the projection onto the simplex."""
    protocol = UnaryEncoding(values=8, epsilon="1/2")
    release = protocol.estimate(protocol.encode([0] * 60 + [3] * 40, bits=DeterministicBits(3)))
    both = consistent(release, people=100)
    assert (both["count"] == release["count"]).all()
    assert (both["count"] < 0).any()
    found = optimize.minimize(
        lambda x: float(((x - release["count"]) ** 2).sum()),
        np.full(8, 12.5),
        jac=lambda x: 2 * (x - release["count"]),
        bounds=[(0, None)] * 8,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 100},
        method="SLSQP",
        options={"ftol": 1e-12},
    ).x
    assert both["consistent"] == pytest.approx(found, abs=1e-3)
    assert "biased" in str(both.parts[-1])
    even = consistent(DirectResponse(values=2, epsilon=9).estimate(np.array([5, 5]), people=10), people=10)
    assert even["consistent"] == pytest.approx([5, 5])


def test_reports_of_two_populations_are_as_close_as_the_floor_needs() -> None:
    """KL(M1, M2) + KL(M2, M1) <= c TV^2, over channels of this room and random populations; c is below that of Duchi,
    Jordan, Wainwright (2013, theorem 1), and with one more power of e^epsilon - 1 it would be broken."""
    random, broken = np.random.default_rng(5), False
    for epsilon in ("1/4", 1, 3):
        protocols = [
            DirectResponse(values=4, epsilon=epsilon),
            MeanProtocol(bounds=(0, 1), epsilon=epsilon, steps=3),
        ]
        p, q = float(protocols[0].p), float(protocols[0].q)
        for law in (q + (p - q) * np.eye(4), np.array(protocols[1].channel(range(4)), dtype=np.float64)):
            for one, other in random.dirichlet([0.2] * 4, (50, 2)):
                first, second = one @ law, other @ law
                found = float(((first - second) * np.log(first / second)).sum())
                e, apart = math.exp(float(protocols[0].epsilon)), np.abs(one - other).sum() / 2
                assert found <= contraction(math.log(e)) * apart**2 <= min(4, e**2) * (e - 1) ** 2 * apart**2
                broken |= found > contraction(math.log(e)) * (e - 1) * apart**2
    assert broken
