"""Estimates from randomised answers: no bias, the stated variance, intervals that hold, published sample sizes."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaincinv

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Laplace, RandomizedResponse, Shares, reports_needed, variance_of_shares
from deniable.mechanisms.response.estimate import _chances
from deniable.mechanisms.response.tally import shares_of_population
from deniable.noise.bits import DeterministicBits
from deniable.numbers.arrays import Floats

METHODS = ["exact", "hoeffding", "chebyshev"]


def law_of_tally(holders: int, count: int, p: float, q: float) -> np.ndarray:
    return np.convolve(
        stats.binom.pmf(np.arange(holders + 1), holders, p),
        stats.binom.pmf(np.arange(count - holders + 1), count - holders, q),
    )


@pytest.mark.parametrize("mechanism", [RandomizedResponse.of_bias("1/5"), RandomizedResponse(choices=4, epsilon=1)])
def test_the_estimate_has_no_bias_and_the_stated_variance(mechanism: RandomizedResponse) -> None:
    """The exact law of the tally, for three true counts: mean and variance to rounding."""
    count = 60
    odds = None if mechanism.epsilon is None else math.exp(float(mechanism.epsilon))
    p = float(mechanism.truth) if odds is None else odds / (odds + mechanism.choices - 1)
    q = (1 - p) / (mechanism.choices - 1)
    rest = mechanism.choices - 2
    for holders in (0, 20, 60):
        law = law_of_tally(holders, count, p, q)
        values = np.array(
            [Shares(mechanism=mechanism, tally=(c, count - c, *[0] * rest)).values[0] for c in range(count + 1)]
        )
        assert law @ values == pytest.approx(holders / count, abs=1e-12)
        spread = law @ (values - holders / count) ** 2
        expected = round(count * (holders / count * (p - q) + q), 9)
        at_truth = Shares(mechanism=mechanism, tally=(round(expected), count - round(expected), *[0] * rest))
        f = holders / count
        assert variance_of_shares(mechanism, [f, f], reports=count) == pytest.approx([spread] * 2, rel=1e-9)
        assert spread == pytest.approx((f * p * (1 - p) + (1 - f) * q * (1 - q)) / (count * (p - q) ** 2))
        assert at_truth.variance()[0] == pytest.approx(spread, rel=0.08)


def test_the_variance_of_two_answers_does_not_depend_on_the_share() -> None:
    """Var = 1/(16 gamma^2 n) - 1/(4 n), E96: the notes leave out the second term."""
    for tally in ((0, 900), (450, 450), (700, 200)):
        found = Shares(mechanism=RandomizedResponse.of_bias("1/5"), tally=tally).variance()
        assert found == pytest.approx([(1 / (16 * 0.04) - 0.25) / 900] * 2)


def test_a_sample_of_a_population_adds_its_own_variance() -> None:
    shares = Shares(mechanism=RandomizedResponse(truth="3/4"), tally=(500, 500))
    assert (shares.variance(population=True) - shares.variance()) == pytest.approx([0.25 / 1000] * 2)


def test_the_variance_of_a_stated_share_of_a_population_is_that_of_its_tally() -> None:
    """Tallies are then binomial with q + (p - q) f."""
    mechanism = RandomizedResponse(choices=3, truth="3/5")
    for share in (0.0, 0.3, 1.0):
        chance = 0.2 + 0.4 * share
        found = variance_of_shares(mechanism, share, reports=70, population=True)
        assert found == pytest.approx(chance * (1 - chance) / 70 / 0.4**2)


def test_wrong_questions_about_variances_are_refused() -> None:
    mechanism = RandomizedResponse(epsilon=1)
    for shares in (1.5, [0.5, -0.1], float("nan"), "half", None):
        with pytest.raises(InvalidParameterError, match="shares must be numbers in"):
            variance_of_shares(mechanism, shares, reports=10)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="reports must be"):
        variance_of_shares(mechanism, 0.5, reports=0)
    with pytest.raises(InvalidParameterError, match="population must be True or False"):
        variance_of_shares(mechanism, 0.5, reports=10, population=1)  # type: ignore[arg-type]


def test_published_sample_sizes() -> None:
    """Golden G5: 2951.1 rounded up. E96, gamma = 0.2, error and miss 0.05: 10500 by the exact variance where the notes
    have 12500, and 4612 by Hoeffding."""
    assert reports_needed(RandomizedResponse.of_bias("1/4"), error="0.05", level="0.95") == 2952
    mechanism = RandomizedResponse.of_bias("1/5")
    assert reports_needed(mechanism, error="0.05", level="0.95", method="chebyshev") == 10500
    assert Fraction(1) / (16 * Fraction(1, 25) * Fraction(1, 20) ** 3) == 12500
    assert reports_needed(mechanism, error="0.05", level="0.95") == 4612


def test_sample_sizes_by_epsilon_and_by_truth_agree() -> None:
    by_epsilon, by_truth = (
        RandomizedResponse(choices=3, epsilon="1.0986122886681"),
        RandomizedResponse(choices=3, truth="0.6"),
    )
    for method in ("hoeffding", "chebyshev"):
        sizes = [reports_needed(each, error="0.013", method=method) for each in (by_epsilon, by_truth)]
        assert abs(sizes[0] - sizes[1]) <= 1


def test_more_bias_more_reports_less_error() -> None:
    sizes = [reports_needed(RandomizedResponse.of_bias(g), error="0.05") for g in ("0.05", "0.2", "0.45")]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse(truth="3/4"),
        RandomizedResponse(truth="1/5"),
        RandomizedResponse(choices=3, epsilon=2),
    ],
    ids=str,
)
def test_intervals_hold_at_every_true_count(mechanism: RandomizedResponse, method: str) -> None:
    """Coverage summed over the exact law of the tally, for all 41 true counts of 40 people and for populations."""
    count, rest = 40, mechanism.choices - 2
    ends = {
        population: np.array(
            [
                [
                    end[0]
                    for end in Shares(mechanism=mechanism, tally=(c, count - c, *[0] * rest)).interval(
                        level="0.9", method=method, population=population
                    )
                ]
                for c in range(count + 1)
            ]
        )
        for population in (False, True)
    }
    p = float(mechanism.truth) if mechanism.truth else math.exp(2) / (math.exp(2) + 2)
    q = (1 - p) / (mechanism.choices - 1)
    for holders in range(count + 1):
        share = holders / count
        covered = {
            population: (found[:, 0] <= share + 1e-12) & (share - 1e-12 <= found[:, 1])
            for population, found in ends.items()
        }
        assert law_of_tally(holders, count, p, q)[covered[False]].sum() >= 0.9 - 1e-9
        assert stats.binom.pmf(np.arange(count + 1), count, q + share * (p - q))[covered[True]].sum() >= 0.9 - 1e-9


def test_an_interval_of_half_the_width_does_not_hold() -> None:
    """The twin of the test above."""
    mechanism, count = RandomizedResponse(truth="3/4"), 40
    missed = 0.0
    for c, chance in enumerate(law_of_tally(20, count, 0.75, 0.25)):
        low, high = (end[0] for end in Shares(mechanism=mechanism, tally=(c, count - c)).interval(level="0.9"))
        if abs(0.5 - (low + high) / 2) > (high - low) / 4:
            missed += chance
    assert missed > 0.15


def test_exact_intervals_are_the_shortest() -> None:
    shares = Shares(mechanism=RandomizedResponse(choices=3, epsilon=1), tally=(700, 900, 400))
    widths = [np.subtract(*reversed(shares.interval(method=method))).mean() for method in METHODS]
    assert widths == sorted(widths)
    wide = shares.interval(population=True)
    inner = shares.interval()
    assert (wide[0] <= inner[0] + 1e-3).all()
    assert (wide[1] >= inner[1] - 1e-3).all()


def test_clopper_pearson_at_full_truthfulness_is_the_published_one() -> None:
    """Brown, Cai, DasGupta (2001) and every table: 1 of 10 at 95% is [0.0025, 0.4450]."""
    nearly = RandomizedResponse(truth=1 - Fraction(1, 10**12))
    low, high = Shares(mechanism=nearly, tally=(9, 1)).interval(population=True)
    assert (low[1], high[1]) == (pytest.approx(0.00253, abs=1e-5), pytest.approx(0.44502, abs=1e-5))
    assert Shares(mechanism=nearly, tally=(10, 0)).interval(population=True)[0][1] == 0.0


def test_from_reports_to_shares() -> None:
    """50,000 people: within six standard deviations, one seed in 10^8; the counts sum to n."""
    mechanism = RandomizedResponse(choices=3, epsilon=1)
    truth = np.repeat([0, 1, 2], [10_000, 15_000, 25_000])
    shares = Shares.of_reports(mechanism, mechanism.release(truth, bits=DeterministicBits(1)).value)
    assert shares.counts.sum() == pytest.approx(50_000)
    assert (np.abs(shares.values - [0.2, 0.3, 0.5]) <= 6 * np.sqrt(shares.variance())).all()


def test_no_bias_no_estimate() -> None:
    """E90: with gamma = 0 the estimator would divide by zero; the loss of such a report is 0."""
    blind = RandomizedResponse.of_bias(0)
    assert blind.privacy_loss(blind.sensitivity()).charge().epsilon == 0
    with pytest.raises(InvalidParameterError, match="Take a bias gamma > 0"):
        Shares(mechanism=blind, tally=(5, 5))
    with pytest.raises(InvalidParameterError, match="Take a bias gamma > 0"):
        reports_needed(blind, error="0.1")


@pytest.mark.parametrize("tally", [(), (1, 2, 3), "34", None, {3: 1, 4: 2}, np.array(5)])
def test_tallies_that_are_no_list_of_all_answers_are_refused(tally: object) -> None:
    with pytest.raises(InvalidParameterError, match="tally must hold a number >= 0 for each of 2 answers"):
        Shares(mechanism=RandomizedResponse(epsilon=1), tally=tally)  # type: ignore[arg-type]


@pytest.mark.parametrize("tally", [(3.5, 4), (math.nan, 4), (-1, 5), (True, 1), (None, 1), np.ones((2, 2), dtype=int)])
def test_numbers_of_reports_are_whole(tally: object) -> None:
    with pytest.raises(InvalidParameterError, match="tally must"):
        Shares(mechanism=RandomizedResponse(epsilon=1), tally=tally)  # type: ignore[arg-type]


def test_there_is_a_report_and_not_too_many() -> None:
    for tally in ((0, 0), (2**53, 1)):
        with pytest.raises(InvalidParameterError, match="tally must hold from 1 to 2"):
            Shares(mechanism=RandomizedResponse(epsilon=1), tally=tally)
    assert Shares(mechanism=RandomizedResponse(epsilon=1), tally=np.array([3, 4])).tally == (3, 4)  # type: ignore[arg-type]


def test_reports_of_other_mechanisms_are_refused() -> None:
    other = Laplace(scale=Fraction(1))
    for question in (
        lambda: Shares(mechanism=other, tally=(3, 4)),  # type: ignore[arg-type]
        lambda: Shares.of_reports(other, [0, 1]),  # type: ignore[arg-type]
        lambda: reports_needed(other, error="0.1"),  # type: ignore[arg-type]
        lambda: variance_of_shares(other, 0.5, reports=9),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidParameterError, match="RandomizedResponse, got Laplace"):
            question()


def test_reports_that_tell_nothing_are_no_estimate() -> None:
    """Epsilon = 10^-20 divided by zero; how many reports it takes is still known."""
    blind = RandomizedResponse(epsilon="1e-20")
    with pytest.raises(InvalidParameterError, match="hardly depend on the answers"):
        Shares(mechanism=blind, tally=(3, 4))
    with pytest.raises(InvalidParameterError, match="hardly depend on the answers"):
        variance_of_shares(blind, 0.5, reports=9)
    assert reports_needed(blind, error="0.1") > 2**53
    hardly = Shares(mechanism=RandomizedResponse.of_bias("1e-8"), tally=(3, 4))
    assert hardly.values.sum() == pytest.approx(1, abs=1e-6)
    assert hardly.variance() == pytest.approx([1 / (16 * 1e-16) / 7] * 2)


@pytest.mark.parametrize("reports", [[0.5], [2], [-1]])
def test_wrong_reports_are_refused(reports: list[float]) -> None:
    with pytest.raises(InvalidParameterError, match="reports must be integers from 0 to 1"):
        Shares.of_reports(RandomizedResponse(epsilon=1), reports)


def test_no_reports_are_named() -> None:
    with pytest.raises(InvalidParameterError, match="reports must hold at least one report, got none"):
        Shares.of_reports(RandomizedResponse(epsilon=1), [])


def test_the_exact_interval_of_so_many_reports_is_within_the_error() -> None:
    """What the docstring of `reports_needed` says, at shares from 0 to 1."""
    mechanism = RandomizedResponse(truth="3/4")
    count = reports_needed(mechanism, error="0.05")
    for tally in range(count // 4, 3 * count // 4, 150):
        low, high = (end[0] for end in Shares(mechanism=mechanism, tally=(tally, count - tally)).interval())
        assert (high - low) / 2 < 0.05


def longest(mechanism: RandomizedResponse, count: int, level: str) -> float:
    """Of all intervals of Clopper and Pearson of so many reports, by the binomial law alone."""
    odds = math.exp(mechanism.epsilon or 0)
    p = float(mechanism.truth or odds / (odds + mechanism.choices - 1))
    q = (1 - p) / (mechanism.choices - 1)
    miss, tallies = (1 - float(Fraction(level))) / 2, np.arange(count + 1)

    def root(law: Callable[[Floats], Floats]) -> Floats:
        """Where a growing function of the probability of a report crosses 0, for each tally; 0 or 1 if nowhere."""
        below, above = np.zeros(count + 1), np.ones(count + 1)
        for _ in range(45):
            middle = (below + above) / 2
            below, above = np.where(law(middle) < 0, middle, below), np.where(law(middle) < 0, above, middle)
        return (below + above) / 2

    low = root(lambda t: stats.binom.sf(tallies - 1, count, t) - miss)
    high = root(lambda t: miss - stats.binom.cdf(tallies, count, t))
    shares = np.clip((np.array([low, high]) - q) / (p - q), 0, 1)
    return float(np.abs(shares[1] - shares[0]).max())


@pytest.mark.parametrize(
    ("mechanism", "error", "level"),
    [
        (RandomizedResponse(truth="3/4"), "0.3", "0.95"),
        (RandomizedResponse(truth="1/4"), "0.3", "0.95"),
        (RandomizedResponse(truth="9/10"), "0.2", "0.99"),
        (RandomizedResponse(choices=3, epsilon=2), "0.3", "0.9"),
        (RandomizedResponse(choices=20, epsilon=3), "0.35", "0.9"),  # both chances far below 1/2
        (RandomizedResponse(truth="999/1000"), "0.4", "0.5"),
        (RandomizedResponse(truth="2/3"), "0.6", "0.95"),  # longer than all shares
    ],
)
def test_the_exact_number_of_reports_is_enough_and_one_less_is_not(
    mechanism: RandomizedResponse, error: str, level: str
) -> None:
    """Against all tallies of all numbers up to Hoeffding's, beyond which Hoeffding's intervals are short enough."""
    most = reports_needed(mechanism, error=error, level=level)
    short = [longest(mechanism, n, level) <= 2 * float(Fraction(error)) + 1e-10 for n in range(1, most + 1)]
    least = 1 + max((n for n, holds in enumerate(short, start=1) if not holds), default=0)
    assert reports_needed(mechanism, error=error, level=level, method="exact") == least


def test_more_reports_may_have_a_longer_interval_yet_within_those_of_two_neighbours() -> None:
    """51 reports are enough, and 53 are not; each is within two of 51, Hoeffding's hold.

    Proof: docs/theory/mechanisms/response.md.
    """
    mechanism = RandomizedResponse(choices=5, epsilon=1)
    assert reports_needed(mechanism, error="0.49", method="exact") == 51
    assert longest(mechanism, 51, "0.95") <= 0.98
    assert longest(mechanism, 53, "0.95") == pytest.approx(0.98025, abs=1e-5)
    p, q = _chances(mechanism)
    low, high = shares_of_population(np.arange(52), 51, p, q, 0.05)
    hoeffding = reports_needed(mechanism, error="0.49")
    for count in range(51, 2 * hoeffding):
        inner_low, inner_high = shares_of_population(np.arange(count + 1), count, p, q, 0.05)
        at = np.minimum(np.arange(count + 1) * 51 // count, 50)
        assert (low[at] <= inner_low + 1e-12).all()
        assert (inner_high <= high[at + 1] + 1e-12).all()
        assert count < hoeffding or (inner_high - inner_low).max() <= 0.98


def test_the_whole_search_agrees_with_all_tallies() -> None:
    """At 8,136 reports, where the search tries 2,000 or so; one less has a tally that it has to find."""
    mechanism = RandomizedResponse(choices=3, epsilon=1)
    count = reports_needed(mechanism, error="0.03", method="exact")
    p, q = _chances(mechanism)
    for number, holds in ((count, True), (count - 1, False)):
        low, high = shares_of_population(np.arange(number + 1), number, p, q, 0.05)
        assert ((high - low) <= 0.06).all() == holds


@pytest.mark.parametrize("level", ["0.85", "0.95", "0.999"])
def test_more_reports_in_the_same_proportion_have_a_narrower_interval(level: str) -> None:
    """Docs/theory/mechanisms/response.md, step 3, whole tallies and fractions of one."""
    miss = 1 - float(level)
    for share in (0.0, 0.01, 0.2, 0.5, 0.77, 1.0):
        for small, large in ((3, 4), (3, 30), (50, 51), (700, 10_000)):
            (low, high), (inner_low, inner_high) = (
                (
                    betaincinv(share * n, n - share * n + 1, miss / 2) if share else 0.0,
                    betaincinv(share * n + 1, n - share * n, 1 - miss / 2) if share < 1 else 1.0,
                )
                for n in (small, large)
            )
            assert low <= inner_low <= inner_high <= high


def test_half_of_the_reports_are_enough() -> None:
    """Far out: normal quantiles, with the square of 1.96 / 2 for 2 ln 40 / 4."""
    for error, most in (("0.003", 10**6), ("0.001", 10**7)):
        count = reports_needed(RandomizedResponse(truth="3/4"), error=error, method="exact")
        assert count == pytest.approx(1.959964**2 / float(error) ** 2, rel=2e-3)
        assert count < most


def test_wrong_levels_and_methods_are_refused() -> None:
    shares = Shares(mechanism=RandomizedResponse(epsilon=1), tally=(5, 5))
    for level in (0, 1, "much"):
        with pytest.raises(InvalidParameterError, match="level must be"):
            shares.interval(level=level)
    with pytest.raises(InvalidParameterError, match="method must be 'exact', 'hoeffding' or 'chebyshev', got 'wald'"):
        shares.interval(method="wald")
    with pytest.raises(InvalidParameterError, match="method must be 'exact', 'hoeffding' or 'chebyshev', got 'wald'"):
        reports_needed(RandomizedResponse(epsilon=1), error="0.1", method="wald")
    with pytest.raises(InvalidParameterError, match="Allow a larger error"):
        reports_needed(RandomizedResponse(epsilon=1), error="1e-6", method="exact")
    with pytest.raises(InvalidParameterError, match="error must be"):
        reports_needed(RandomizedResponse(epsilon=1), error=0)


def test_levels_next_to_one_are_exact_or_refused() -> None:
    """10^-400 is 0 in floats: a raw ZeroDivisionError; and 1 - 10^-20 was 1, so that upper ends were."""
    shares = Shares(mechanism=RandomizedResponse(truth="9/10"), tally=(620, 380))
    for method in METHODS:
        for population in (False, True):
            with pytest.raises(InvalidParameterError, match="level must be at most 1 - 2"):
                shares.interval(level=1 - Fraction(1, 10**400), method=method, population=population)  # type: ignore[arg-type]
            low, high = shares.interval(level=1 - Fraction(1, 2**200), method=method, population=population)  # type: ignore[arg-type]
            assert low + high[::-1] == pytest.approx([1, 1])  # what one answer has the other has not
    low, high = shares.interval(level=1 - Fraction(1, 10**20), population=True)
    for end, below in ((low, 0.0), (high, 1.0)):
        chance = 0.1 + 0.8 * end[0]
        tail = stats.binom.cdf(620, 1000, chance) if below else stats.binom.sf(619, 1000, chance)
        assert tail == pytest.approx(0.5e-20, rel=1e-6)


def test_numbers_of_reports_for_levels_next_to_one() -> None:
    """Upper ends are lower ends of the other tally, as chances are 3/4 and 1/4. They were 1 before."""
    mechanism, tiny = RandomizedResponse(truth="3/4"), Fraction(1, 10**20)
    count = reports_needed(mechanism, error="0.2", level=1 - tiny, method="exact")
    assert count < reports_needed(mechanism, error="0.2", level=1 - tiny)
    for number, holds in ((count, True), (count - 1, False)):
        low, high = shares_of_population(np.arange(number + 1), number, 0.75, 0.25, float(tiny))
        assert high == pytest.approx(1 - low[::-1])
        assert ((high - low).max() <= 0.4) == holds
    with pytest.raises(InvalidParameterError, match="level must be at most 1 - 2"):
        reports_needed(mechanism, error="0.2", level=1 - Fraction(1, 10**400), method="exact")
    assert reports_needed(mechanism, error="0.2", level=1 - Fraction(1, 10**400)) > count
