"""Exact audits beside brute force over all events, `FiniteLoss`, and published values."""

import math
from fractions import Fraction as F
from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest

from deniable.audit import finite_loss, hockey_stick, measure_exactly
from deniable.audit.universe import Universe, ZeroOut
from deniable.errors import InvalidParameterError
from deniable.mechanisms import MECHANISMS, RandomizedResponse
from deniable.mechanisms.selection import ExponentialMechanism
from deniable.numbers.interval import Interval
from deniable.privacy import AddRemove, GaussianLoss, PureLoss, Replace
from tests.mechanisms.test_contract import input_of

TRUTHS = Universe(values=(0, 1), rows=3)


def counting(table: tuple[Any, ...]) -> dict[int, F]:
    """The count of ones, a step lower or higher with probability 1/4 each."""
    count = sum(table)
    return {count - 1: F(1, 4), count: F(1, 2), count + 1: F(1, 4)}


def random_law(generator: np.random.Generator, outputs: int) -> dict[int, F]:
    weights = [int(weight) for weight in generator.integers(0, 6, outputs)]
    weights[0] += 1
    return {output: F(weight, sum(weights)) for output, weight in enumerate(weights)}


def by_brute_force(p: dict[int, F], q: dict[int, F], delta: F) -> float:
    """The largest ln((P(S) - delta)/Q(S)) over every set S of outputs, in either direction."""
    best = F(1)
    for here, there in ((p, q), (q, p)):
        for event in chain.from_iterable(combinations(here, size) for size in range(len(here) + 1)):
            up, down = sum(here[x] for x in event) - delta, sum(there[x] for x in event)
            if up > 0 and not down:
                return math.inf
            best = max(best, up / down if down else best)
    return math.log(best)


@pytest.mark.parametrize("seed", range(12))
def test_every_set_of_outputs_is_covered(seed: int) -> None:
    generator = np.random.default_rng(seed)
    p, q = random_law(generator, 6), random_law(generator, 6)
    loss = finite_loss([p, q].__getitem__, [(0, 1)])
    for delta in (F(0), F(1, 100), F(1, 5), F(3, 5)):
        found = measure_exactly([p, q].__getitem__, [(0, 1)], delta=str(delta))
        assert found.epsilon == pytest.approx(by_brute_force(p, q, delta), rel=1e-14)
        assert loss.epsilon(delta).lower * (1 - 1e-14) <= found.epsilon <= loss.epsilon(delta).upper
    for odds in (F(1), F(3, 2), F(4)):
        both = max(hockey_stick(p, q, exp_epsilon=odds), hockey_stick(q, p, exp_epsilon=odds))
        assert both == loss.statement.exact_delta(odds)


def test_all_neighbours_are_covered_in_both_directions() -> None:
    """A mechanism that is careless about one table alone."""

    def careless(table: tuple[Any, ...]) -> dict[int, F]:
        return {0: F(3, 4), 1: F(1, 4)} if table == (0, 1, 1) else {0: F(1, 4), 1: F(3, 4)}

    for relation in (AddRemove, Replace, ZeroOut(blank=0)):
        found = measure_exactly(careless, TRUTHS, relation=relation, epsilon=1)
        assert found.epsilon == pytest.approx(math.log(3), rel=1e-15)
        assert "(0, 1, 1)" in found.event
        assert found.violated
    assert measure_exactly(careless, Universe(values=(0, 1), rows=2), relation=Replace, epsilon=1).epsilon == 0


def test_a_support_that_moves_is_infinite_up_to_its_probability() -> None:
    found = measure_exactly(counting, TRUTHS, relation=AddRemove, epsilon=1)
    assert math.isinf(found.epsilon)
    assert "infinite, certainly" in found.sentence
    assert math.isinf(measure_exactly(counting, TRUTHS, relation=AddRemove, epsilon=1, delta=0.24).epsilon)
    assert measure_exactly(counting, TRUTHS, relation=AddRemove, delta=0.25).epsilon == pytest.approx(math.log(2))


def test_a_true_claim_is_never_called_false() -> None:
    """The claim that is exactly attained, which one unit in the last place would break."""
    for truth in (F(2, 3), F(3, 4), F(9, 10), F(999, 1000)):
        answer = RandomizedResponse(truth=truth)
        loss = answer.privacy_loss(answer.sensitivity())
        found = measure_exactly(answer, [(0, 1)], claim=loss)
        assert not found.violated
        assert found.epsilon == pytest.approx(loss.epsilon(0).upper, rel=1e-14)
        low = PureLoss(epsilon=loss.epsilon(0).upper * (1 - 1e-9))
        assert measure_exactly(answer, [(0, 1)], claim=low).violated


def test_mechanisms_of_ours_keep_their_claims() -> None:
    """Every finite law of a worst pair: none is above its claim, and those that attain it come within a millionth."""
    audited = []
    for name, mechanism in MECHANISMS.items():
        case = mechanism.worst_case()
        loss, pair = case.mechanism.privacy_loss(case.sensitivity), [input_of(name, case.exact)]
        pair.append(input_of(name, case.neighbour))
        try:
            found = measure_exactly(case.mechanism, [tuple(pair)], claim=loss)
        except InvalidParameterError as error:
            assert "no finite law" in str(error)  # noqa: PT017
            continue
        assert not found.violated, found.sentence
        pure = math.isfinite(loss.epsilon(0).upper) and case.attains
        assert not pure or found.epsilon >= loss.epsilon(0).lower * (1 - 1e-6), name
        audited.append(name)
    assert len(audited) >= 13


def test_intervals_bound_epsilon_from_below() -> None:
    choose = ExponentialMechanism(rate="1/2")  # weights e^(score/2): one score moves by 1
    found = measure_exactly(choose, [((0, 0), (1, 0))], epsilon=1)
    assert found.epsilon == pytest.approx(math.log((1 / 2) / (1 / (1 + math.exp(0.5)))), rel=1e-12)
    assert found.epsilon <= math.log((1 + math.exp(0.5)) / 2)


def test_a_curve_is_audited_where_it_fails_most() -> None:
    steps = {x: F(w, 64) for x, w in zip(range(-3, 4), (1, 6, 15, 20, 15, 6, 1), strict=True)}  # binomial noise
    law = [steps, {x + 1: mass for x, mass in steps.items()}].__getitem__
    brave = measure_exactly(law, [(0, 1)], claim=GaussianLoss(noise_multiplier=3))
    assert brave.violated
    assert brave.delta > 0
    kept = measure_exactly(RandomizedResponse(truth=F(3, 4)), [(0, 1)], claim=GaussianLoss(noise_multiplier="1/2"))
    assert not kept.violated
    assert kept.epsilon > 0


def test_the_measured_curve_lies_on_the_trade_off() -> None:
    found = measure_exactly(RandomizedResponse(truth=F(3, 4)), [(0, 1)], epsilon=1)
    assert found.measured is not None
    assert found.measured.false_positive.tolist() == [0, 0.25, 1]
    assert found.measured.false_negative.tolist() == [1, 0.25, 0]


def test_bad_input_is_refused_in_words() -> None:
    for wrong in (
        lambda: measure_exactly(lambda _: [0.5, 0.5], [(0, 1)]),
        lambda: measure_exactly(counting, TRUTHS),
        lambda: measure_exactly(lambda _: 1 / 0, [(0, 1)]),  # type: ignore[arg-type]
        lambda: measure_exactly(3, [(0, 1)]),  # type: ignore[arg-type]
        lambda: measure_exactly(counting, 5),  # type: ignore[arg-type]
        lambda: measure_exactly(counting, [0, 1]),  # type: ignore[list-item]
        lambda: measure_exactly(counting, []),
        lambda: measure_exactly(counting, Universe(values=(0,), rows=1, min_rows=1), relation=Replace),
        lambda: measure_exactly(counting, TRUTHS, relation=Replace, delta=1),
        lambda: hockey_stick({0: 1}, {0: 1}, exp_epsilon=-1),
        lambda: finite_loss(ExponentialMechanism(rate="1/2"), [((0, 0), (1, 0))]),
    ):
        with pytest.raises(InvalidParameterError):
            wrong()


def test_equal_inputs_of_other_types_have_laws_of_their_own() -> None:
    assert math.isinf(measure_exactly(lambda x: {str(x): 1}, [(0.0, -0.0)]).epsilon)
    assert math.isinf(measure_exactly(lambda x: {str(x): 1}, [([1], [2])]).epsilon)


def test_a_claim_that_allows_everything_is_no_violation() -> None:
    shows = {0: {0: 1}, 1: {1: 1}}
    assert not measure_exactly(shows.get, [(0, 1)], claim=finite_loss(shows.get, [(0, 1)])).violated


def test_a_divergence_of_laws_in_intervals_is_below_that_of_all_laws_within_them() -> None:
    """The least p and the greatest q that the intervals allow: 3/4 - 1/4; and nothing where they overlap."""
    half, far = Interval(0.5, 0.75), Interval(0.75, 0.875)
    p, q = {0: far, 1: Interval(0.125, 0.25)}, {0: Interval(0.125, 0.25), 1: far}
    assert hockey_stick(p, q, exp_epsilon=1) == F(1, 2)
    assert hockey_stick({0: half, 1: Interval(0.25, 0.5)}, {0: half, 1: Interval(0.25, 0.5)}, exp_epsilon=1) == 0
