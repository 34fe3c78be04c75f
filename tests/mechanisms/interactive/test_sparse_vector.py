"""The sparse vector technique against enumerated transcripts, and the versions of the literature that are broken."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms import AboveThreshold, Laplace, Mechanism, SparseVector
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace, Sensitivity
from tests.mechanisms.interactive.broken import algorithm_3, algorithm_4, algorithm_5, algorithm_6
from tests.mechanisms.interactive.laws import at_least, masses, sessions, transcript


def moved(linf: object, relation: Relation = AddRemove) -> Sensitivity:
    size = Fraction(str(linf))
    return Sensitivity(l1=10 * size, l2_squared=10 * size**2, linf=size, relation=relation)


def extreme_loss(threshold_scale: float, query_scale: float, answers: int) -> float:
    """The loss of 10,000 times "below" at 0 against 1, then `answers` times "above" far below the threshold, by 1 less.

    The queries move against each other, so that noise on the threshold hides neither.
    """
    z, weights = masses(threshold_scale, reach=2000)

    def chance(low: int, far: int) -> float:
        below = np.maximum(1 - at_least(query_scale, z - low), 1e-300)
        return float((weights * np.exp(10_000 * np.log(below)) * at_least(query_scale, z - far) ** answers).sum())

    return math.log(chance(0, -40) / chance(1, -41))


@pytest.mark.parametrize("answers", [1, 3, 10])
def test_the_worst_loss_of_the_right_version_is_the_claim(answers: int) -> None:
    """E64: 1 for every number of answers, with the noise of Lyu, Su, Li: Lap(2) and Lap(4 answers) for epsilon = 1."""
    mechanism = SparseVector(threshold_scale=Fraction(2), query_scale=Fraction(4 * answers), answers=answers)
    claim = mechanism.privacy_loss(moved(1)).pure_epsilon
    assert claim == 1
    assert extreme_loss(2, 4 * answers, answers) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("answers", "loss"), [(1, 1.75), (3, 4.75), (10, 15.25)])
def test_lee_and_clifton_lose_a_quarter_of_one_and_six_times_the_answers(answers: int, loss: float) -> None:
    """E64: (1 + 6 answers)/4 at epsilon = 1, by enumeration and by the one formula."""
    assert extreme_loss(4, 4 / 3, answers) == pytest.approx(loss, abs=1e-6)
    mechanism = SparseVector(threshold_scale=Fraction(4), query_scale=Fraction(4, 3), answers=answers)
    assert mechanism.privacy_loss(moved(1)).pure_epsilon == Fraction(1 + 6 * answers, 4)


@pytest.mark.parametrize(("answers", "loss"), [(1, 1.0), (3, 2.0), (10, 5.5)])
def test_query_noise_without_the_number_of_answers_loses_more(answers: int, loss: float) -> None:
    """E64: noise Lap(4) for every number of answers."""
    assert extreme_loss(2, 4, answers) == pytest.approx(loss, abs=1e-6)
    mechanism = SparseVector(threshold_scale=Fraction(2), query_scale=Fraction(4), answers=answers)
    assert mechanism.privacy_loss(moved(1)).pure_epsilon == Fraction(loss)


@pytest.mark.parametrize("answers", [1, 3, 10])
def test_noise_for_monotone_queries_loses_half_as_much_again_on_others(answers: int) -> None:
    """E64: noise Lap(2 answers): 1 for monotone queries, 1.5 for others."""
    assert extreme_loss(2, 2 * answers, answers) == pytest.approx(1.5, abs=1e-6)
    general = SparseVector(threshold_scale=Fraction(2), query_scale=Fraction(2 * answers), answers=answers)
    assert general.privacy_loss(moved(1)).pure_epsilon == Fraction(3, 2)
    assert replace(general, monotone=True).privacy_loss(moved(1)).pure_epsilon == 1


def test_version_3_tells_more_with_every_question() -> None:
    """Released values that were compared bound the noise of the threshold from above."""
    losses = [
        math.log(
            algorithm_3([0] * m + [1], 0, epsilon=1, answers=1) / algorithm_3([1] * m + [0], 0, epsilon=1, answers=1)
        )
        for m in (1, 4, 16, 64)
    ]
    assert losses[1] > 1
    assert np.diff(losses).min() > 1


def test_version_4_is_caught_on_seven_questions() -> None:
    """What an audit of a small stream would see: above the claim 1 with 3 answers."""
    queries, neighbour = [0, 0, 0, 0, -9, -9, -9], [1, 1, 1, 1, -10, -10, -10]
    said = [False] * 4 + [True] * 3
    loss = math.log(algorithm_4(queries, said, epsilon=1) / algorithm_4(neighbour, said, epsilon=1))
    assert 1 < loss <= 4.75


def test_version_5_has_transcripts_that_a_neighbour_never_gives() -> None:
    """E64: real noise Lap(2) gives (below, above) with probability (1 - e^-1/2)/2 = 0.1967 against exactly 0."""
    ours = algorithm_5([0, 1], [False, True], epsilon=1)
    assert ours == pytest.approx(math.exp(-0.5) * math.tanh(0.25))  # P(noise = 1)
    assert stats.laplace.cdf(1, scale=2) - stats.laplace.cdf(0, scale=2) == pytest.approx(0.1967, abs=5e-5)
    assert algorithm_5([1, 0], [False, True], epsilon=1) == 0


def test_version_6_loses_epsilon_with_every_second_answer() -> None:
    losses = []
    for m in (1, 4, 16):
        said = [False] * m + [True] * m
        ours = algorithm_6([0] * m + [1] * m, said, epsilon=1)
        losses.append(math.log(ours / algorithm_6([1] * m + [0] * m, said, epsilon=1)))
    assert losses[1] > 1
    assert losses[2] > 4 * losses[1] * 0.9


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("answers", [1, 2])
def test_no_transcript_of_integer_questions_exceeds_the_claim(answers: int, monotone: bool) -> None:
    """All pairs of three questions of {-1, 0, 1} with sensitivity 1, all transcripts, both directions: 4,000 losses."""
    mechanism = SparseVector(
        threshold_scale=Fraction(3, 2), query_scale=Fraction(2), answers=answers, monotone=monotone
    )
    claim = mechanism.privacy_loss(moved(1)).pure_epsilon
    assert claim is not None
    steps = (0, 1) if monotone else (-1, 0, 1)
    for queries in product((-1, 0, 1), repeat=3):
        ours = sessions(mechanism, queries)[1]
        for step in product(steps, repeat=3):
            theirs = sessions(mechanism, tuple(q + s for q, s in zip(queries, step, strict=True)))[1]
            assert np.abs(np.log(ours / theirs)).max() <= float(claim) + 1e-12


def test_ties_may_fall_to_either_side() -> None:
    """The proof for integers holds for > as for >=: > is >= about a threshold that is higher by 1."""
    scales = {"threshold_scale": 1.5, "query_scale": 2.0}
    queries = [0, 1, -1]
    for said in product((False, True), repeat=3):
        z, weights = masses(1.5)
        for query, above in zip(queries, said, strict=True):
            chance = at_least(2.0, z - query + 1)  # query + noise > z
            weights = weights * (chance if above else 1 - chance)
        assert weights.sum() == pytest.approx(transcript([q - 1 for q in queries], said, **scales), rel=1e-12)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("answers", [1, 3, 20])
def test_calibration_spends_epsilon_exactly_and_splits_it_best(answers: int, monotone: bool) -> None:
    """The variance of the difference that is compared is within a millionth of the least over a grid of splits."""
    reach = moved(3)
    mechanism = SparseVector.calibrated(reach, epsilon="0.7", answers=answers, monotone=monotone)
    loss = mechanism.privacy_loss(reach)
    assert loss.charge().epsilon == Fraction(7, 10)
    moves = answers if monotone else 2 * answers
    share = np.linspace(0.001, 0.999, 999)
    least = ((3 / (0.7 * share)) ** 2 + (3 * moves / (0.7 * (1 - share))) ** 2).min()
    found = float(mechanism.threshold_scale**2 + mechanism.query_scale**2)
    assert found <= least * (1 + 1e-6)


def test_values_are_paid_from_the_share_asked_for() -> None:
    mechanism = SparseVector.calibrated(moved(2), epsilon=1, answers=4, value_share="1/4")
    assert mechanism.value_scale == 4 * 2 / Fraction(1, 4)
    assert mechanism.privacy_loss(moved(2)).charge().epsilon == 1
    assert replace(mechanism, value_scale=None).privacy_loss(moved(2)).charge().epsilon == Fraction(3, 4)


def test_the_loss_is_for_the_relation_of_the_sensitivity() -> None:
    mechanism = AboveThreshold.calibrated(moved(1), epsilon=1)
    assert mechanism.privacy_loss(moved(1)).relations == {AddRemove}
    assert mechanism.privacy_loss(moved(1, Replace)).relations == {Replace}
    monotone = AboveThreshold.calibrated(moved(1), epsilon=1, monotone=True)
    with pytest.raises(UnprovedError, match="replace"):
        monotone.privacy_loss(moved(1, Replace))
    for kind, parameters in ((AboveThreshold, {}), (SparseVector, {"answers": 2})):
        with pytest.raises(UnprovedError, match="replace"):
            kind.calibrated(moved(1, Replace), epsilon=1, monotone=True, **parameters)


def test_a_fraction_of_a_step_moves_no_integer() -> None:
    mechanism = SparseVector(threshold_scale=Fraction(2), query_scale=Fraction(8), answers=2)
    assert mechanism.privacy_loss(moved("1.5")) == mechanism.privacy_loss(moved(1))
    assert mechanism.privacy_loss(moved("0.5")).pure_epsilon == 0
    with pytest.raises(InvalidParameterError, match="no unit moves"):
        SparseVector.calibrated(moved("0.5"), epsilon=1, answers=1)


@pytest.mark.parametrize(("questions", "miss"), [(1, "0.05"), (1000, "1e-6")])
def test_the_accuracy_is_within_that_of_dwork_and_roth(questions: int, miss: str) -> None:
    """At most 8 (ln k + ln(2/beta))/epsilon for scales 2/epsilon and 4/epsilon, rounded up (their theorem 3.24)."""
    mechanism = AboveThreshold(threshold_scale=Fraction(2), query_scale=Fraction(4))
    found = mechanism.half_width(1 - Fraction(miss), questions=questions)
    assert found <= math.ceil(8 * (math.log(questions) + math.log(2 / float(miss))))
    assert Laplace(scale=Fraction(4)).half_width(1 - Fraction(miss) / questions) <= found


def test_answers_are_as_accurate_as_stated() -> None:
    """Questions at the stated distance: at most 5% of 20,000 sessions err, up to six standard deviations.

    The twin: at a third of the distance more of them err.
    """
    mechanism = SparseVector(threshold_scale=Fraction(2), query_scale=Fraction(6), answers=2)
    distance = mechanism.half_width("0.95", questions=4)
    right = 0b0110
    for far, few in ((distance, True), (distance // 3, False)):
        exact = (-far - 1, far + 1, far + 1, -far - 1)
        wrong = (mechanism.outcomes(exact, 20_000, bits=DeterministicBits(3)) != right).mean()
        assert (wrong <= 0.05 + 6 * math.sqrt(0.05 * 0.95 / 20_000)) == few


def test_values_follow_their_own_noise() -> None:
    """Outcomes with values: the first value is the question plus fresh noise, independent of the comparison."""
    mechanism = SparseVector(threshold_scale=Fraction(1), query_scale=Fraction(2), answers=1, value_scale=Fraction(3))
    codes = mechanism.outcomes((5, 5), 40_000, bits=DeterministicBits(4))
    bits = np.array([code & 3 for code in codes])
    assert set(bits) == {0, 1, 2}
    first = np.array([(code >> 2) & (2**64 - 1) for code in codes[bits == 1]], dtype=np.int64)
    values = np.where(first % 2, -(first + 1) // 2, first // 2)
    noise, chances = masses(3.0)
    inside = np.abs(noise) <= 12
    observed = np.array([(values == 5 + k).sum() for k in noise[inside]])
    expected = chances[inside] * values.size
    rest = values.size - observed.sum(), values.size - expected.sum()
    statistic = ((observed - expected) ** 2 / expected).sum() + (rest[0] - rest[1]) ** 2 / rest[1]
    assert stats.chi2.sf(statistic, observed.size) > 1e-6


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"threshold_scale": 0}, "threshold_scale"),
        ({"query_scale": -1}, "query_scale"),
        ({"answers": 0}, "answers"),
        ({"value_scale": 0}, "value_scale"),
        ({"monotone": 1}, "monotone"),
        ({"query_scale": Fraction(2**60)}, "scale"),
    ],
)
def test_parameters_are_checked_when_the_mechanism_is_made(values: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"threshold_scale": 1, "query_scale": 1, "answers": 1}
    with pytest.raises(InvalidParameterError, match=message):
        SparseVector(**(good | values))  # type: ignore[arg-type]


def test_a_mechanism_with_values_is_written_and_read() -> None:
    mechanism = SparseVector.calibrated(moved(2), epsilon=1, answers=4, value_share="1/4")
    assert Mechanism.from_json(mechanism.to_json()) == mechanism
    assert Mechanism.from_json(replace(mechanism, value_scale=None).to_json()).to_data()["value_scale"] is None


@pytest.mark.parametrize("questions", [1, 7, 1000])
def test_threshold_and_all_questions_together_err_as_seldom_as_said(questions: int) -> None:
    found = SparseVector(threshold_scale=Fraction(3), query_scale=Fraction(5), answers=2)
    one, each = Fraction(1, 20) / 2, Fraction(1, 20) / (2 * questions)
    wide = Laplace(scale=Fraction(3)).half_width(1 - one) + Laplace(scale=Fraction(5)).half_width(1 - each)
    assert found.half_width("0.95", questions=questions) == wide
