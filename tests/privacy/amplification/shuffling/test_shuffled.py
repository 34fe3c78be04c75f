"""Shuffled reports: brute force over all small data sets, published values, and a published bound that is none."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import binom

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.balls import ball
from deniable.privacy import GaussianLoss, PrivacyLoss, RandomizedResponseLoss, Replace, ShuffledLoss
from deniable.privacy.amplification.shuffling.randomizers import AnyRandomizer, Channel, KaryResponse, ReportClass

Rows = Sequence[Sequence[Fraction]]


def histogram_law(rows: Rows, data: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
    """The exact law of the shuffled reports, as a histogram."""
    size = len(rows[0])
    law = {(0,) * size: Fraction(1)}
    for value in data:
        following: Counter[tuple[int, ...]] = Counter()
        for seen, mass in law.items():
            for report, chance in enumerate(rows[value]):
                if chance:
                    following[*seen[:report], seen[report] + 1, *seen[report + 1 :]] += mass * chance
        law = dict(following)
    return law


def brute_force(rows: Rows, users: int, epsilon: Fraction) -> Fraction:
    """The greatest hockey-stick divergence over all data sets of this size: exact rationals, e^epsilon to 40 digits."""
    with mpmath.workdps(50):
        e = Fraction(str(mpmath.nstr(mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator), 40)))
    worst = Fraction(0)
    for others in itertools.combinations_with_replacement(range(len(rows)), users - 1):
        laws = [histogram_law(rows, (value, *others)) for value in range(len(rows))]
        scale = math.lcm(*(mass.denominator for law in laws for mass in law.values()))
        whole = [{seen: int(mass * scale) for seen, mass in law.items()} for law in laws]
        for first, second in itertools.permutations(whole, 2):
            gains = (mass * e.denominator - e.numerator * second.get(seen, 0) for seen, mass in first.items())
            worst = max(worst, Fraction(sum(gain for gain in gains if gain > 0), scale * e.denominator))
    return worst


def response_rows(odds: Fraction, categories: int) -> Rows:
    """k-ary response with e^epsilon = odds, a rational."""
    rare = 1 / (odds + categories - 1)
    return [[odds * rare if x == y else rare for y in range(categories)] for x in range(categories)]


@st.composite
def channels(draw: st.DrawFn) -> Rows:
    """Any channel with 2 or 3 values and 2 to 4 reports, zeros included."""
    size, values = draw(st.integers(2, 4)), draw(st.integers(2, 3))
    rows = [draw(st.lists(st.integers(0, 6), min_size=size, max_size=size).filter(any)) for _ in range(values)]
    return [[Fraction(entry, sum(row)) for entry in row] for row in rows]


@given(channels(), st.integers(1, 3), st.fractions(0, 2, max_denominator=8))
def test_the_worst_data_set_of_any_channel_lies_below_the_upper_end(rows: Rows, users: int, epsilon: Fraction) -> None:
    truth = brute_force(rows, users, epsilon)
    found = ShuffledLoss(Channel(rows), users=users).delta(epsilon)
    assert (
        Fraction(found.lower) * (1 - Fraction(1, 10**15)) <= truth <= Fraction(found.upper) * (1 + Fraction(1, 10**15))
    )


@pytest.mark.parametrize(
    ("odds", "categories", "users"), [(3, 2, 6), (3, 3, 5), (2, 4, 4), (8, 4, 4), (5, 5, 4), (20, 6, 3)]
)
@pytest.mark.parametrize("share", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
def test_the_worst_data_set_of_kary_response(odds: int, categories: int, users: int, share: Fraction) -> None:
    """The channel is exact; the response has an epsilon just above ln(odds), so its bound may not be lower."""
    rows = response_rows(Fraction(odds), categories)
    local = Fraction(math.nextafter(math.log(odds), math.inf))
    epsilon = local * share
    truth = brute_force(rows, users, epsilon)
    for randomizer in (Channel(rows), KaryResponse(epsilon=local, categories=categories)):
        found = ShuffledLoss(randomizer, users=users).delta(epsilon)
        assert found.lower * (1 - 1e-12) <= truth <= found.upper * (1 + 1e-12)
    generic = ShuffledLoss(AnyRandomizer(epsilon=local), users=users).delta(epsilon)
    assert truth <= generic.upper * (1 + 1e-12)


def test_the_variation_ratio_bound_is_no_bound() -> None:
    """shuffle.md, section 5: the reduction lumps all reports that are neither of the victim's two; by Jensen the
    result is too low from k = 4 on. The very formula, evaluated here, falls below one explicit data set."""
    odds, users = Fraction(3), 4
    rows, epsilon = response_rows(odds, 4), Fraction(1)

    def lumped() -> list[ReportClass]:
        rare = 1 / (odds + 3)
        cells = [(odds * rare, rare, rare), (rare, odds * rare, rare), (2 * rare, 2 * rare, (odds + 1) * rare)]
        return [ReportClass(ball(a), ball(b), ball(w), 1) for a, b, w in cells]

    loss = ShuffledLoss(Channel(rows), users=users)
    reduced = loss.statement._above(lumped, epsilon, 1e-6).value
    first, second = (histogram_law(rows, (value, 2, 2, 2)) for value in (0, 1))
    with mpmath.workdps(30):
        truth = mpmath.fsum(max(mpmath.mpf(float(mass)) - mpmath.e * float(second[s]), 0) for s, mass in first.items())
    assert reduced < 0.3 * truth
    assert truth <= loss.delta(epsilon).upper


def test_all_others_at_one_value_is_exact() -> None:
    """shuffle.md, example 2: binary response, epsilon 1, five users, delta at 1/2."""
    found = ShuffledLoss(KaryResponse(epsilon=1, categories=2), users=5).delta("0.5")
    assert found.lower == pytest.approx(0.0821621482, abs=5e-11)
    assert found.lower <= 0.08216214821 <= found.upper


def test_binary_response_with_all_others_equal_has_the_published_epsilon() -> None:
    """errata.md E72: 10^4 users, epsilon 1, delta 1e-6: exactly 0.03566 on the all-zero data set."""
    found = ShuffledLoss(KaryResponse(epsilon=1, categories=2), users=10_000).epsilon("1e-6")
    assert found.lower == pytest.approx(0.03566, abs=5e-6)
    assert found.lower <= 0.0356588 < found.upper


def test_clones_have_the_published_epsilon() -> None:
    """shuffle.md, example 1: clones, 10^5 users, epsilon 4, delta 1e-6; Apple's code brackets it."""
    found = ShuffledLoss(AnyRandomizer(epsilon=4), users=10**5).epsilon("1e-6", tolerance=1e-4)
    assert found.upper == pytest.approx(0.16976975, abs=2e-7)
    assert 0.16753856 <= found.upper <= 0.17279055


def closed_inner_sum(local: float, categories: int, users: int, epsilon: float) -> float:
    """The blanket of k-ary response by another route: a sum over two counts with binomial tails inside, in floats.

    With c draws at the victim's two values, a of them at the first, and others that contribute o,
    E (A0 a + A1 (c - a) + o)_+ = (A0 - A1) c/2 P[Bin(c - 1) >= t - 1] + (c A1 + o) P[Bin(c) >= t].
    """
    odds, e = math.exp(local), math.exp(epsilon)
    share = categories / (odds + categories - 1)
    high, low, other = share * (odds - e), share * (1 - e * odds), share * (1 - e)
    pair, rest = 2 * share / categories, (categories - 2) * share / categories
    places = [
        np.arange(max(0, int(users * p - 9 * math.sqrt(users * p))), int(users * p + 9 * math.sqrt(users * p)) + 20)
        for p in (pair, rest)
    ]
    c, j = np.meshgrid(*places, indexing="ij")
    idle = users - c - j
    logs = gammaln(users + 1) - gammaln(c + 1) - gammaln(j + 1) - gammaln(idle + 1)
    logs += c * math.log(pair) + j * math.log(rest) + idle * math.log(1 - pair - rest)
    offset = other * j
    least = np.maximum(0, np.floor((-offset - c * low) / (high - low)) + 1)
    tails = [binom.sf(least - 1 - less, np.maximum(c - less, 0), 0.5) for less in (1, 0)]
    inner = (high - low) * (c / 2) * tails[0] + (c * low + offset) * tails[1]
    return float((np.exp(logs) * np.maximum(inner, 0)).sum()) / (share * users)


@pytest.mark.parametrize(
    ("local", "categories", "users", "epsilon"), [(1.0, 4, 800, 0.15), (2.0, 3, 1500, 0.2), (4.0, 8, 3000, 0.5)]
)
def test_the_blanket_agrees_with_a_plain_double_sum(local: float, categories: int, users: int, epsilon: float) -> None:
    loss = ShuffledLoss(KaryResponse(epsilon=local, categories=categories), users=users)
    (case,) = loss.statement.randomizer.blankets()
    truth = closed_inner_sum(local, categories, users, epsilon)
    exact = Fraction(repr(epsilon))
    assert loss.statement._below(case, exact, 1e-3).value <= truth * (1 + 1e-8)
    assert truth * (1 - 1e-8) <= loss.statement._above(case, exact, 1e-3).value <= truth * (1 + 2e-4)


@pytest.mark.parametrize("categories", [3, 4, 16])
def test_the_two_sides_of_kary_response_meet_for_many_users(categories: int) -> None:
    found = ShuffledLoss(KaryResponse(epsilon=2, categories=categories), users=10**6).epsilon("1e-6", tolerance=1e-4)
    assert found.width < 1e-6


@pytest.mark.parametrize(
    "randomizer",
    [KaryResponse(epsilon=2, categories=2), KaryResponse(epsilon=2, categories=5), AnyRandomizer(epsilon=2)],
)
def test_more_users_hide_better_and_nobody_hides_worse_than_alone(randomizer: KaryResponse | AnyRandomizer) -> None:
    found = [ShuffledLoss(randomizer, users=users).epsilon("1e-5").upper for users in (1, 10, 100, 1000, 10**5)]
    assert found == sorted(found, reverse=True)
    assert found[0] <= 2


def test_one_user_has_the_curve_of_the_randomizer() -> None:
    """delta = (E - e)/(E + k - 1) for k-ary response."""
    loss = ShuffledLoss(KaryResponse(epsilon=2, categories=5), users=1)
    truth = (math.exp(2) - math.exp(0.5)) / (math.exp(2) + 4)
    found = loss.delta("0.5")
    assert found.lower * (1 - 1e-12) <= truth <= found.upper * (1 + 1e-12)
    assert found.width < 1e-12


def test_kary_response_is_within_clones_and_clones_within_the_local_epsilon() -> None:
    for users in (20, 2000):
        exact = ShuffledLoss(KaryResponse(epsilon=1, categories=3), users=users).epsilon("1e-4")
        generic = ShuffledLoss(AnyRandomizer(epsilon=1), users=users).epsilon("1e-4")
        assert exact.upper <= generic.upper <= 1
        assert generic.lower >= exact.lower * (1 - 1e-5)  # it is one of the randomizers


def test_delta_zero_keeps_the_local_epsilon() -> None:
    assert ShuffledLoss(KaryResponse(epsilon=2, categories=3), users=100).epsilon(0).contains(2)
    loss = ShuffledLoss(Channel([["1/2", "1/2"], ["1/4", "3/4"]]), users=100)
    assert loss.epsilon(0).contains(Fraction(math.log(2)))
    assert loss.delta(loss.pure_epsilon).upper == 0
    assert loss.relations == {Replace}


def test_a_delta_near_zero_keeps_the_local_epsilon() -> None:
    """Which lies between two floats, the lower one of which is 1; alone, the truth is within 10^-199 of it."""
    limit = 1 + Fraction(1, 10**20)
    for users in (1, 2):
        assert ShuffledLoss(AnyRandomizer(epsilon=limit), users=users).epsilon("1e-200").upper >= limit


@pytest.mark.parametrize("users", [1, 1000, 10**10])
def test_extreme_parameters_have_an_answer(users: int) -> None:
    everything = ShuffledLoss(Channel([[1, 0], [0, 1]]), users=users)
    assert everything.delta(1).contains(1)
    nothing = ShuffledLoss(Channel([["1/2", "1/2"], ["1/2", "1/2"]]), users=users)
    assert nothing.delta(0).upper == 0
    assert nothing.epsilon("1e-6").upper == 0
    for randomizer in (KaryResponse(epsilon=40, categories=3), AnyRandomizer(epsilon="0.0001")):
        found = ShuffledLoss(randomizer, users=users).epsilon("1e-9")
        assert 0 <= found.lower <= found.upper <= randomizer.epsilon


def test_a_report_that_names_its_sender_is_never_hidden() -> None:
    loss = ShuffledLoss(Channel([["1/2", "1/2", 0], [0, "1/2", "1/2"]]), users=50)
    assert loss.infinite_mass == Fraction(1, 2)
    assert loss.epsilon("0.4").upper == math.inf
    assert loss.delta(20).contains(Fraction(1, 2))
    assert loss.pure_epsilon is None
    assert loss.epsilon("0.6").upper < 1


def test_the_search_keeps_its_promise_on_both_ends() -> None:
    loss = ShuffledLoss(KaryResponse(epsilon=3, categories=8), users=3000)
    found = loss.epsilon("1e-7")
    assert loss.delta(Fraction(found.upper)).upper <= 1e-7
    assert loss.delta(Fraction(found.lower)).lower > 1e-7
    assert loss.delta(Fraction(found.upper) * Fraction(98, 100)).upper > 1e-7


@pytest.mark.parametrize(
    "randomizer",
    [KaryResponse(epsilon="1/3", categories=7), AnyRandomizer(epsilon=2), Channel([["1/3", "2/3"], ["2/3", "1/3"]])],
)
def test_json_round_trip(randomizer: KaryResponse | AnyRandomizer | Channel) -> None:
    loss = ShuffledLoss(randomizer, users=12)
    assert PrivacyLoss.from_json(loss.to_json()) == loss


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="users"):
        ShuffledLoss(AnyRandomizer(epsilon=1), users=0)
    with pytest.raises(InvalidParameterError, match="randomizer"):
        ShuffledLoss("response", users=3)  # type: ignore[arg-type]
    with pytest.raises(UnprovedError):
        ShuffledLoss(AnyRandomizer(epsilon=1), users=3).poisson_sampled(rate="0.1")


@pytest.mark.parametrize(("truth", "choices", "users"), [("3/4", 2, 4), ("1/4", 2, 4), ("1/2", 3, 3), ("1/5", 3, 3)])
def test_randomised_response_is_shuffled_as_itself(truth: str, choices: int, users: int) -> None:
    """All data sets written out; where others lie, the truth may be the rarest answer."""
    share = Fraction(truth)
    other = (1 - share) / (choices - 1)
    rows = [[share if said == held else other for said in range(choices)] for held in range(choices)]
    found = ShuffledLoss(RandomizedResponseLoss(truth=truth, choices=choices), users)
    exact = brute_force(rows, users, Fraction("0.2"))
    assert found.delta("0.2").lower <= exact <= found.delta("0.2").upper
    assert found == ShuffledLoss(Channel(rows), users)
    assert PrivacyLoss.from_json(found.to_json()) == found


def test_randomised_response_of_an_epsilon_is_kary_response() -> None:
    by_epsilon = ShuffledLoss(RandomizedResponseLoss(epsilon=1, choices=50), 100)
    assert by_epsilon == ShuffledLoss(KaryResponse(epsilon=Fraction(1), categories=50), 100)
    with pytest.raises(InvalidParameterError, match=r"KaryResponse\(epsilon='1.79\d*', categories=17\)"):
        ShuffledLoss(RandomizedResponseLoss(truth="3/11", choices=17), 100)
    with pytest.raises(InvalidParameterError, match="AnyRandomizer"):
        ShuffledLoss(GaussianLoss(1), 100)


@pytest.mark.parametrize("users", [1, 3])
def test_compositions_of_few_reports_match_brute_force(users: int) -> None:
    """Two runs for the same users, all others at one value: the law of two histograms, in rationals."""
    rows = response_rows(Fraction(3), 3)
    loss = ShuffledLoss(Channel(rows), users=users)
    first, second = (histogram_law(rows, (value, *(2,) * (users - 1))) for value in (0, 1))
    for epsilon in (0.2, 1.0):
        e, truth = math.exp(epsilon), 0.0
        for (a, p), (b, q) in itertools.product(first.items(), repeat=2):
            truth += max(float(p * q) - e * float(second[a] * second[b]), 0)
        found = (loss * 2).delta(epsilon, tolerance=0.01)
        assert found.lower <= truth * (1 + 1e-9)
        assert truth <= found.upper * (1 + 1e-9)


def test_many_runs_compose() -> None:
    loss = ShuffledLoss(KaryResponse(epsilon=2, categories=4), users=1000)
    once, run = loss.epsilon("1e-6"), (loss * 20).epsilon("1e-6")
    assert once.upper < run.lower
    assert run.upper < 20 * once.upper
    assert run.width <= 0.02 * run.upper
    assert ShuffledLoss(Channel([["1/2", "1/2", 0], [0, "1/2", "1/2"]]), users=50).statement.laws() is None
