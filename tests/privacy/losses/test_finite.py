"""Finite pairs: the curve by its definition, compositions by enumeration, families, bounds, refusals."""

import math
from fractions import Fraction
from itertools import product

import mpmath
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import AddRemove, FiniteLoss, PrivacyLoss, PureLoss, Replace

Masses = list[Fraction]


@st.composite
def distributions(draw: st.DrawFn, size: int) -> Masses:
    counts = draw(st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(sum))
    return [Fraction(count, sum(counts)) for count in counts]


pairs = st.integers(2, 5).flatmap(lambda size: st.tuples(distributions(size), distributions(size)))


def curve(p: Masses, q: Masses, x: Fraction) -> Fraction:
    return sum((max(a - x * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))


def repeated(masses: Masses, count: int) -> Masses:
    return [math.prod(choice, start=Fraction(1)) for choice in product(masses, repeat=count)]


@given(pairs, st.fractions(1, 30, max_denominator=20))
def test_one_run_is_exact_in_the_worse_direction(pair: tuple[Masses, Masses], odds: Fraction) -> None:
    p, q = pair
    truth = max(curve(p, q, odds), curve(q, p, odds))
    for relation in (AddRemove, Replace):
        assert FiniteLoss(p, q, relation=relation).statement.exact_delta(odds) == truth


@given(pairs, st.sampled_from([2, 3]), st.fractions(0, 4, max_denominator=20))
def test_several_runs_hold_the_sum_over_all_outcomes(
    pair: tuple[Masses, Masses], count: int, epsilon: Fraction
) -> None:
    p, q = (repeated(masses, count) for masses in pair)
    with mpmath.workdps(40):
        x = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        terms = [
            (mpmath.mpf(a.numerator) / a.denominator, mpmath.mpf(b.numerator) / b.denominator)
            for a, b in zip(p, q, strict=True)
        ]
        truth = max(mpmath.fsum(max(a - x * b, 0) for a, b in terms), mpmath.fsum(max(b - x * a, 0) for a, b in terms))
    for relation in (AddRemove, Replace):
        found = (FiniteLoss(*pair, relation=relation) * count).delta(epsilon, tolerance=0.01)
        assert found.lower <= truth * (1 + mpmath.mpf(10) ** -30)
        assert found.upper >= truth * (1 - mpmath.mpf(10) ** -30)
        if relation is AddRemove:
            assert found.width <= 0.01 * found.upper


def test_both_directions_are_kept_under_add_remove() -> None:
    """(with, without) can reveal, (without, with) cannot: 1/8 of P where Q is 0, the rest balanced."""
    p, q = ["1/8", "7/16", "7/16"], [0, "1/2", "1/2"]
    loss = FiniteLoss(p, q, relation=AddRemove)
    laws = loss.statement.laws()
    assert laws is not None
    assert (laws.upper[0].infinite, laws.upper[0].vanishing) == (0.125, 0.0)
    assert (laws.upper[1].infinite, laws.upper[1].vanishing) == (0.0, 0.125)
    assert loss.infinite_mass == loss.failure == Fraction(1, 8)
    assert loss.epsilon("0.1").upper == math.inf
    assert (loss * 3).delta(5).contains(1 - Fraction(7, 8) ** 3)


def test_under_replace_the_composed_pair_is_above_both_directions() -> None:
    """Two mechanisms whose worst directions differ: a pair that keeps one direction would lie below the truth."""
    p, q = ["0.5", "0.49", "0.01"], ["0.4", "0.4", "0.2"]
    same, mirrored = FiniteLoss(p, q, relation=Replace), FiniteLoss(q, p, relation=Replace)
    first, second = ([Fraction(mass) for mass in masses] for masses in (p, q))
    left = [a * b for a, b in product(first, second)]
    right = [a * b for a, b in product(second, first)]
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        truth = curve(left, right, Fraction(math.exp(epsilon)))
        assert (same + mirrored).delta(epsilon).upper >= float(truth) * (1 - 1e-12)


@given(st.lists(distributions(3), min_size=2, max_size=4), st.fractions(1, 20, max_denominator=9))
def test_a_channel_is_the_worst_of_its_pairs(rows: list[Masses], odds: Fraction) -> None:
    loss = FiniteLoss.of_channel(rows)
    assert loss.statement.exact_delta(odds) == max(curve(a, b, odds) for a in rows for b in rows)
    chain = FiniteLoss.of_channel(rows, neighbours=[(i, i + 1) for i in range(len(rows) - 1)])
    assert chain.statement.exact_delta(odds) <= loss.statement.exact_delta(odds)


def test_a_channel_composes_above_every_choice_of_pairs() -> None:
    rows = [["0.6", "0.3", "0.1"], ["0.3", "0.6", "0.1"], ["0.2", "0.2", "0.6"]]
    laws = [[Fraction(mass) for mass in row] for row in rows]
    twice = FiniteLoss.of_channel(rows) * 2
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        found = twice.delta(epsilon)
        chosen = [
            curve([x * y for x, y in product(a, c)], [x * y for x, y in product(b, d)], Fraction(math.exp(epsilon)))
            for a, b, c, d in product(laws, repeat=4)
        ]
        assert found.upper >= float(max(chosen)) * (1 - 1e-12)
        assert found.lower <= float(max(chosen)) * (1 + 1e-12)


@given(pairs)
def test_rho_and_mu_bound_what_they_say(pair: tuple[Masses, Masses]) -> None:
    """Renyi divergences at three orders, and the curve of mu-GDP, for pairs that share all outcomes."""
    p, q = ([mass + Fraction(1, 7) for mass in masses] for masses in pair)
    p, q = ([mass / sum(masses) for mass in masses] for masses in (p, q))
    loss = FiniteLoss(p, q, relation=AddRemove)
    for order in (1.5, 2.0, 10.0):
        for a, b in ((p, q), (q, p)):
            moment = math.fsum(float(x) ** order * float(y) ** (1 - order) for x, y in zip(a, b, strict=True))
            assert math.log(moment) / (order - 1) <= order * float(loss.rho) + 1e-12
    assert loss.mu_squared is not None
    from deniable.privacy.notions.gaussian_dp import gaussian_delta

    for epsilon in (Fraction(0), Fraction(1, 3), Fraction(1)):
        assert loss.delta(epsilon).lower <= gaussian_delta(loss.mu_squared, epsilon).upper + 1e-12


def test_randomised_response_as_a_pair_is_the_pure_loss() -> None:
    response = FiniteLoss(["3/4", "1/4"], ["1/4", "3/4"], relation=Replace)
    assert response.pure_epsilon == pytest.approx(Fraction(math.log(3)))
    for epsilon in (0, 0.5, 1.0):
        assert response.delta(epsilon).upper == pytest.approx(PureLoss(math.log(3)).delta(epsilon).upper, rel=1e-9)
    assert (response * 30).epsilon("1e-6").upper == pytest.approx(
        (PureLoss(math.log(3)) * 30).epsilon("1e-6").upper, rel=1e-3
    )


@given(pairs, st.fractions("0.05", "0.95", max_denominator=20), st.fractions(0, 3, max_denominator=9))
def test_a_sampled_pair_is_the_pair_of_the_mixture(
    pair: tuple[Masses, Masses], rate: Fraction, epsilon: Fraction
) -> None:
    p, q = pair
    assume(any(a and b for a, b in zip(p, q, strict=True)))
    mixed = [rate * a + (1 - rate) * b for a, b in zip(p, q, strict=True)]
    sampled = FiniteLoss(p, q, relation=AddRemove).poisson_sampled(rate=rate).delta(epsilon, tolerance=0.01)
    expected = FiniteLoss(mixed, q, relation=AddRemove).delta(epsilon)
    assert sampled.lower <= expected.upper * (1 + 1e-12)
    assert expected.lower <= sampled.upper * (1 + 1e-12)


def test_nothing_in_common_reveals_everything() -> None:
    loss = FiniteLoss([1, 0], [0, 1], relation=Replace)
    assert loss.delta(9).lower == 1
    assert loss.statement.laws() is None
    assert (loss + loss).delta(3).lower == 1


def test_equal_laws_reveal_nothing() -> None:
    loss = FiniteLoss(["1/3", "2/3"], ["1/3", "2/3"], relation=AddRemove)
    assert loss.delta(0).upper == 0
    assert (loss * 5).epsilon("1e-9").upper == 0
    assert loss.pure_epsilon == loss.rho == 0


@pytest.mark.parametrize(
    "loss",
    [
        FiniteLoss(["1/3", "2/3"], ["2/3", "1/3"], relation=Replace),
        FiniteLoss.of_channel([["1/2", "1/2", 0], ["1/4", "1/4", "1/2"], [0, 0, 1]]),
    ],
)
def test_json_round_trip(loss: PrivacyLoss) -> None:
    assert PrivacyLoss.from_json(loss.to_json()) == loss
    assert PrivacyLoss.from_json((loss * 2).to_json()) == loss * 2


def test_the_repr_of_a_pair_can_be_typed() -> None:
    loss = FiniteLoss(["1/3", "2/3"], [1, 0], relation=Replace)
    assert repr(loss) == "FiniteLoss(['1/3', '2/3'], [1, 0], relation=Relation.REPLACE)"


def test_a_replace_pair_is_not_sampled_by_poisson() -> None:
    with pytest.raises(UnprovedError):
        FiniteLoss(["1/3", "2/3"], ["2/3", "1/3"], relation=Replace).poisson_sampled(rate="0.1")


@pytest.mark.parametrize(
    ("p", "q", "message"),
    [
        ([0.3, 0.3], [0.5, 0.5], "sum 1"),
        ([1 / 3, 1 / 3, 1 / 3], [1, 0, 0], "sum 1"),
        ([2, -1], [0.5, 0.5], ">= 0"),
        ([1], [0.5, 0.5], "the same outcomes"),
        (["x"], [1], "must be a number"),
        ([float("nan"), 1], [1, 0], "finite number"),
        ([], [], "sum 1"),
        ("1", "1", "must be a list"),
    ],
)
def test_what_is_no_pair_of_distributions_is_refused(p: list[object], q: list[object], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        FiniteLoss(p, q, relation=AddRemove)


def test_the_relation_must_be_one() -> None:
    with pytest.raises(InvalidParameterError, match="relation"):
        FiniteLoss([1], [1], relation="replace")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="indices"):
        FiniteLoss.of_channel([[1], [1]], neighbours=[(0, 2)])
    with pytest.raises(InvalidParameterError, match="at least one pair"):
        FiniteLoss.of_channel([[1]])


def test_epsilon_at_an_atom_is_exact() -> None:
    """An atom of 0.01 that reveals everything: nothing else reveals more than ln(0.49/0.5) or ln(0.5/0.49)."""
    loss = FiniteLoss(["0.01", "0.49", "0.5"], ["0", "0.5", "0.5"], relation=AddRemove)
    assert loss.epsilon("0.01").upper == 0.0
    assert loss.epsilon("0.009").lower == math.inf
    assert loss.epsilon("0.009999999").lower == math.inf
    everything = FiniteLoss([1, 0], [0, 1], relation=AddRemove)
    assert everything.epsilon("0.5").lower == math.inf
