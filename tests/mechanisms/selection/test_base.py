from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms import (
    ContinuousExponential,
    ExponentialMechanism,
    JointTopK,
    Mechanism,
    NoisyMax,
    PeelingTopK,
    PermuteAndFlip,
)
from deniable.mechanisms.base import Released
from deniable.mechanisms.selection import base
from deniable.mechanisms.selection.base import Selection
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, PureLoss, Replace, Sensitivity, of_count

COUNT = of_count(rows=1, groups=1, relation=AddRemove)
PAIR = of_count(rows=1, groups=1, relation=Replace)
SIMPLE: list[type[Selection]] = [ExponentialMechanism, PermuteAndFlip, NoisyMax]


@pytest.mark.parametrize("kind", SIMPLE)
@pytest.mark.parametrize("monotone", [False, True])
def test_calibration_and_loss_agree(kind: type[Selection], monotone: bool) -> None:
    for reach in (COUNT, COUNT * 3):
        mechanism = kind.calibrated(reach, epsilon="0.3", monotone=monotone)
        assert mechanism.rate == Fraction(3, 10) / (reach.linf * (1 if monotone else 2))
        loss = mechanism.privacy_loss(reach)
        assert loss.pure_epsilon == Fraction(3, 10)
        assert loss.relations == {AddRemove}


@pytest.mark.parametrize(
    ("mechanism", "epsilon"),
    [
        (PeelingTopK.calibrated(COUNT, epsilon="0.3", count=3), "0.3"),
        (PeelingTopK.calibrated(COUNT, epsilon="0.3", count=3, noise="laplace", monotone=True), "0.3"),
        (JointTopK.calibrated(COUNT, epsilon=2, count=3), 2),
        (JointTopK.calibrated(COUNT * 5, epsilon=2, count=3, monotone=True), 2),
        (ContinuousExponential.calibrated(COUNT, epsilon=1, bounds=(0, 10)), 1),
    ],
)
def test_other_calibrations_and_losses_agree(mechanism: Selection, epsilon: object) -> None:
    reach = COUNT * 5 if mechanism.monotone and isinstance(mechanism, JointTopK) else COUNT
    assert mechanism.privacy_loss(reach).pure_epsilon == Fraction(epsilon)  # type: ignore[arg-type]
    assert Mechanism.from_json(mechanism.to_json()) == mechanism


def test_what_is_proved_for_one_relation_is_not_claimed_for_the_other() -> None:
    for kind in SIMPLE:
        mechanism = kind(rate=Fraction(1))
        assert mechanism.privacy_loss(COUNT).relations == {AddRemove}
        assert mechanism.privacy_loss(PAIR).relations == {Replace}


def test_monotone_scores_are_refused_under_replace() -> None:
    with pytest.raises(UnprovedError, match="Leave monotone out"):
        PermuteAndFlip.calibrated(PAIR, epsilon=1, monotone=True)
    with pytest.raises(UnprovedError, match="Leave monotone out"):
        PermuteAndFlip(rate=Fraction(1), monotone=True).privacy_loss(PAIR)


@pytest.mark.parametrize(
    "mechanism",
    [
        ExponentialMechanism.calibrated(COUNT * 3, rho="0.02", weights=(1, 2)),
        PermuteAndFlip.calibrated(COUNT * 3, rho="0.02", monotone=True),
        PeelingTopK.calibrated(COUNT * 3, rho="0.02", count=10),
        JointTopK.calibrated(COUNT * 3, rho="0.02", count=10),
    ],
)
def test_a_target_rho_is_met_and_used_up(mechanism: Selection) -> None:
    rho = mechanism.privacy_loss(COUNT * 3).rho
    assert rho is not None
    assert Fraction("0.02") * (1 - Fraction(1, 10**5)) < rho <= Fraction("0.02")


@pytest.mark.parametrize("kind", SIMPLE)
def test_a_target_pair_is_met_and_used_up(kind: type[Selection]) -> None:
    mechanism = kind.calibrated(COUNT, epsilon="0.5", delta="1e-3")
    found = mechanism.privacy_loss(COUNT).epsilon("1e-3")
    assert 0.499 < found.upper <= 0.5
    assert mechanism.rate > kind.calibrated(COUNT, epsilon="0.5").rate


def test_ten_rounds_cost_less_under_a_pair_than_ten_times_one() -> None:
    rounds = PeelingTopK.calibrated(COUNT, epsilon=1, delta="1e-6", count=10)
    assert rounds.privacy_loss(COUNT).proves(Fraction(1), Fraction(1, 10**6))
    assert rounds.rate > Fraction(7, 5) * PeelingTopK.calibrated(COUNT, epsilon=1, count=10).rate


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (ExponentialMechanism, {}),
        (PermuteAndFlip, {}),
        (NoisyMax, {}),
        (PeelingTopK, {"count": 3, "noise": "exponential"}),
        (PeelingTopK, {"count": 3, "noise": "laplace"}),
        (JointTopK, {"count": 3}),
    ],
)
def test_a_small_delta_never_makes_a_choice_less_exact(kind: type[Selection], parameters: dict[str, object]) -> None:
    """The search ends a little below the limit; it gave 0.9995 of the rate of delta = 0."""
    for epsilon in ("1/100", 5):
        for delta in ("1e-12", "1e-9"):
            reach = COUNT * 5
            pure = kind.calibrated(reach, epsilon=epsilon, **parameters)  # type: ignore[arg-type]
            mechanism = kind.calibrated(reach, epsilon=epsilon, delta=delta, **parameters)  # type: ignore[arg-type]
            assert mechanism.rate >= pure.rate
            assert mechanism.privacy_loss(reach).delta(epsilon).upper <= float(delta)


def test_single_choices_use_delta_to_the_last_digits() -> None:
    """The curves inverted: 2 ln of the root of (e^(l/2) - e^(x/2))^2 = delta (e^l - 1), and x - 2 ln(1 - delta)."""
    epsilon, delta = 1.0, 1e-3
    tail = 1 - delta
    root = (np.exp(epsilon / 2) + np.sqrt(np.exp(epsilon) - tail * (np.exp(epsilon) + delta))) / tail
    for kind, limit in ((ExponentialMechanism, 2 * np.log(root)), (PermuteAndFlip, epsilon - 2 * np.log(tail))):
        mechanism = kind.calibrated(COUNT, epsilon=1, delta="1e-3")  # type: ignore[attr-defined]
        assert limit * (1 - 1e-7) < 2 * mechanism.rate <= limit * (1 + 1e-12)


def test_the_same_calibration_is_searched_once() -> None:
    """Rounds with a delta take seconds."""
    base._limit_within.cache_clear()
    for _ in range(3):
        PeelingTopK.calibrated(COUNT, epsilon=1, delta="1e-6", count=2)
    assert base._limit_within.cache_info().misses == 1


@pytest.mark.parametrize(("epsilon", "delta", "count"), [(1, "0.9", 2), (1, "0.99", 5), (400, "1e-6", 2)])
@pytest.mark.parametrize("monotone", [False, True])
def test_rounds_are_calibrated_where_curves_of_far_settings_are_unknown(
    epsilon: int, delta: str, count: int, monotone: bool
) -> None:
    """It was refused after seconds, with words about an argument that is not there."""
    parameters = {"epsilon": epsilon, "count": count, "monotone": monotone}
    pure = PeelingTopK.calibrated(COUNT, **parameters)  # type: ignore[arg-type]
    mechanism = PeelingTopK.calibrated(COUNT, delta=delta, **parameters)  # type: ignore[arg-type]
    assert mechanism.rate >= pure.rate * (10 if epsilon == 1 else 1)
    assert mechanism.privacy_loss(COUNT).proves(Fraction(epsilon), Fraction(delta))


def test_rounds_fall_back_to_the_pure_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(make: object, **settings: object) -> Fraction:
        if "over" in settings:
            raise InvalidParameterError("no curve is known")
        return Fraction(7)

    base._limit_within.cache_clear()
    monkeypatch.setattr(base, "calibrate", lost)
    assert PeelingTopK.calibrated(COUNT, epsilon=1, delta="0.1", count=2).rate == Fraction(1, 4)
    base._limit_within.cache_clear()


@pytest.mark.parametrize("target", [{}, {"delta": 0.1}, {"rho": 1, "epsilon": 1}, {"rho": 1, "delta": 0.1}])
def test_one_target_is_needed(target: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError, match="give one target"):
        PermuteAndFlip.calibrated(COUNT, **target)  # type: ignore[arg-type]


def test_scores_are_integers_and_so_is_how_far_they_move() -> None:
    """A bound of 3/2 on the change of integers is one of 1."""
    assert PermuteAndFlip.calibrated(COUNT * Fraction(3, 2), epsilon=1).rate == Fraction(1, 2)


def test_scores_that_nobody_can_change_cost_nothing_and_need_no_noise() -> None:
    still = Sensitivity(l1=Fraction(0), l2_squared=Fraction(0), linf=Fraction(0), relation=AddRemove)
    assert PermuteAndFlip(rate=Fraction(1)).privacy_loss(still) == PureLoss(0).under(AddRemove)
    with pytest.raises(InvalidParameterError, match="the sensitivity is 0"):
        PermuteAndFlip.calibrated(still, epsilon=1)


@pytest.mark.parametrize("kind", SIMPLE)
def test_the_choice_says_whether_it_may_be_published(kind: type[Selection]) -> None:
    mechanism = kind(rate=Fraction(50))
    assert mechanism.release([3, 9, 1], bits=DeterministicBits(1)) == Released(1, False)  # type: ignore[attr-defined]
    assert mechanism.release(np.array([3, 9, 1], dtype=np.int8)) == Released(1, True)  # type: ignore[attr-defined]
    assert mechanism.release([4]) == Released(0, True)  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", SIMPLE)
def test_scores_may_come_piece_by_piece(kind: type[Selection]) -> None:
    pieces = iter([np.array([3, 9]), np.array([1]), np.array([200, 5])])
    assert kind(rate=Fraction(50)).release(pieces).value == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ([], "at least one candidate"),
        (np.array([], dtype=np.int64), "at least one candidate"),
        ([1.0, 2.0], "scores must hold integers, got an array of float64"),
        ([1, float("nan")], "NaN and infinity have no place there"),
        ([1, float("inf")], "lattice first"),
        ([[1, 2]], "got 2 dimensions"),
        ([True, False], "of bool"),
        ([2**70, 1.5], "of object"),
        (["a"], "an array of str"),
        (5, "got 0 dimensions"),
    ],
)
def test_scores_that_are_no_integers_are_refused_before_anything(scores: object, words: str) -> None:
    mechanisms: list[Mechanism] = [kind(rate=Fraction(1)) for kind in SIMPLE]
    mechanisms += [PeelingTopK(rate=Fraction(1), count=1), JointTopK(rate=Fraction(1), count=1)]
    for mechanism in mechanisms:
        with pytest.raises(InvalidParameterError, match=words):
            mechanism.release(scores)  # type: ignore[attr-defined]


def test_only_single_choices_take_scores_piece_by_piece() -> None:
    for mechanism in (PeelingTopK(rate=Fraction(1), count=1), JointTopK(rate=Fraction(1), count=1)):
        with pytest.raises(InvalidParameterError, match="got an array of object"):
            mechanism.release(iter([np.array([1, 2])]))  # type: ignore[arg-type]


def test_errors_name_no_score() -> None:
    for secret in ([123456.5, 2.0], [[123456, 2]]):
        with pytest.raises(InvalidParameterError) as caught:
            PermuteAndFlip(rate=Fraction(1)).release(secret)
        assert "123456" not in str(caught.value)


@pytest.mark.parametrize("rate", [0, -1, "x", 2**101, Fraction(1, 2**101), None])
def test_wrong_rates_are_refused(rate: object) -> None:
    with pytest.raises(InvalidParameterError, match="rate must be"):
        PermuteAndFlip(rate=rate)  # type: ignore[arg-type]


def test_monotone_is_a_yes_or_no() -> None:
    with pytest.raises(InvalidParameterError, match="monotone must be True or False, got 1"):
        PermuteAndFlip(rate=Fraction(1), monotone=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
def test_integers_of_every_width_are_taken(kind: type) -> None:
    scores = np.array([3, 100, 1], dtype=kind)
    mechanisms: list[Mechanism] = [each(rate=Fraction(50)) for each in SIMPLE]
    for mechanism in mechanisms:
        assert mechanism.release(scores).value == 1  # type: ignore[attr-defined]
    assert PeelingTopK(rate=Fraction(50), count=2).release(scores).value == (1, 0)
    assert JointTopK(rate=Fraction(50), count=2).release(scores).value == (1, 0)
    interval = ContinuousExponential(rate=Fraction(50), bounds=(0, 3))
    assert interval.release((np.array([1, 2], dtype=kind), scores)).value == 1


def test_differences_of_large_scores_are_exact() -> None:
    for scores in ([2**63 - 1, 2**63 - 3, -(2**63)], np.array([2**64 - 1, 2**64 - 3, 0], dtype=np.uint64)):
        assert base.behind_few(scores) == [0, 2, 2**64 - 1]
    assert base.behind_few(np.array([-3, 100], dtype=np.int8)) == [103, 0]


@pytest.mark.parametrize("kind", SIMPLE)
def test_scores_beyond_64_bits_are_chosen_by_their_differences(kind: type[Selection]) -> None:
    """The same draw, whatever is added to all of them; none is refused by its value."""
    mechanism = kind(rate=Fraction(1, 3))
    moved = [
        [
            mechanism.release([by + 4, by, by + 6], bits=DeterministicBits(seed)).value  # type: ignore[attr-defined]
            for seed in range(40)
        ]
        for by in (0, 2**63 - 5, -(2**70), 2**90)
    ]
    assert len(set(moved[0])) == 3
    assert moved.count(moved[0]) == 4
    assert mechanism.release([2**63, -1]).value == 0  # type: ignore[attr-defined]


def test_scores_out_of_reach_keep_their_sensitivity() -> None:
    """Neighbouring scores, some of them further below than 64 bits: differences move by no more than the scores do."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        best = 2 ** int(rng.integers(60, 80))
        scores = [best, best - 2**64 + int(rng.integers(-4, 5)), -best, best - 3]
        other = [score + int(step) for score, step in zip(scores, rng.integers(-2, 3, 4), strict=True)]
        ours, theirs = (base.checked_array(each).astype(object) for each in (scores, other))
        ours, theirs = ours - ours[0] + scores[0], theirs - theirs[0] + other[0]  # before the common move
        assert np.abs(ours - theirs).max() <= 2


def test_ties_are_broken_evenly() -> None:
    """Binomial of 40,000 at 1/4 each: five standard deviations are 433; one seed in 10^6."""
    for kind in SIMPLE:
        found = kind(rate=Fraction(3)).outcomes((5, 5, 5, 5), 40_000, bits=DeterministicBits(2))
        assert np.abs(np.bincount(found, minlength=4) - 10_000).max() < 433
