"""The algebra of losses: commutative, countable, written to JSON and back; and what every loss promises."""

import json
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    ConcentratedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    ExponentialMechanismLoss,
    FiniteLoss,
    GaussianDPLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    RandomizedResponseLoss,
    Relation,
    RenyiLoss,
    Replace,
    ShuffledLoss,
    compose,
    of_count,
    parallel,
)
from deniable.privacy.amplification.sampling.poisson import PoissonSampledStatement
from deniable.privacy.amplification.sampling.poisson_replace import PoissonReplacedStatement
from deniable.privacy.amplification.sampling.sampled_group import SampledGaussianGroupStatement
from deniable.privacy.amplification.sampling.subsets import SubsetSampledStatement
from deniable.privacy.amplification.shuffling.randomizers import AnyRandomizer, KaryResponse
from deniable.privacy.amplification.training.correlated import ToeplitzStrategy
from deniable.privacy.charge import Charge
from deniable.privacy.composition.group import GroupStatement
from deniable.privacy.composition.mixture import PublicMixture
from deniable.privacy.constructors import (
    CorrelatedLoss,
    DiscreteTruncatedLaplaceLoss,
    LastIterateLoss,
    ObjectivePerturbationLoss,
    PermuteAndFlipLoss,
    SparseVectorLoss,
    TruncatedLaplaceLoss,
)
from deniable.privacy.statement import Statement


def built(kind: type[Statement], *fields: object, **named: object) -> st.SearchStrategy[PrivacyLoss]:
    """Losses with such a statement."""
    return st.builds(kind, *fields, **named).map(PrivacyLoss)


small = st.fractions(min_value=Fraction(1, 4), max_value=3, max_denominator=50)  # losses of ordinary size
shares = st.fractions(min_value=Fraction(1, 20), max_value=Fraction(19, 20), max_denominator=20)
reaches = st.builds(of_count, rows=st.integers(1, 3), groups=st.integers(1, 2), relation=st.just(AddRemove))
single = st.one_of(
    st.builds(PureLoss, small),
    st.builds(ApproximateLoss, small, st.fractions(0, Fraction(1, 10), max_denominator=1000)),
    st.builds(LaplaceLoss, small),
    st.builds(GaussianLoss, small),
    st.builds(ConcentratedLoss, small, st.sampled_from([0, Fraction(1, 3)]), st.sampled_from([0, Fraction(1, 50)])),
    st.builds(GaussianDPLoss, small),
    st.builds(lambda a, b: RenyiLoss([2, 8], sorted([a, b])), small, small),
    st.builds(DiscreteLaplaceLoss, small, reaches),
    st.builds(DiscreteGaussianLoss, small, reaches),
    st.builds(lambda epsilon: PureLoss(epsilon).stated(epsilon=epsilon, delta=0), small),
)
mechanisms = st.one_of(
    st.builds(ExponentialMechanismLoss, small),
    st.builds(lambda epsilon: ExponentialMechanismLoss(epsilon).under(AddRemove), small),
    st.builds(PermuteAndFlipLoss, small, monotone=st.booleans()),
    st.builds(TruncatedLaplaceLoss, small, st.integers(1, 40)),
    st.builds(DiscreteTruncatedLaplaceLoss, small, st.integers(6, 40), reaches),
    st.builds(
        lambda w, c, s: GaussianMixtureLoss([(1 - w, 0), (w, c)], sigma=s, relation=AddRemove), shares, small, small
    ),
    st.builds(lambda a, b: FiniteLoss([a, 1 - a], [b, 1 - b], relation=AddRemove), shares, shares),
    st.builds(
        SparseVectorLoss,
        threshold_multiplier=small,
        query_multiplier=small,
        answers=st.integers(1, 3),
        monotone=st.booleans(),
    ),
)

losses = st.recursive(
    st.one_of(single, mechanisms),
    lambda inner: st.builds(compose, st.lists(inner, min_size=1, max_size=3)),
    max_leaves=4,
)
bases_of_samples = st.one_of(st.builds(PureLoss, small), st.builds(GaussianLoss, small), st.builds(LaplaceLoss, small))
samples = st.one_of(
    st.builds(RandomizedResponseLoss, truth=shares, choices=st.integers(2, 5)),
    st.builds(lambda rows: FiniteLoss.of_channel([[a, 1 - a] for a in rows]), st.lists(shares, min_size=2, max_size=4)),
    built(PoissonSampledStatement, bases_of_samples, st.sampled_from(["1/100", "1/2"])),
    built(PoissonReplacedStatement, bases_of_samples, st.sampled_from(["1/100", "1/2", "1"])),
    st.builds(
        CorrelatedLoss,
        st.just(ToeplitzStrategy([1.0, 0.5, -0.25], steps=9)),
        noise_multiplier=small,
        participations=st.integers(1, 3),
    ),
    st.builds(
        LastIterateLoss,
        steps=st.integers(3, 50),
        noise_multiplier=small,
        learning_rate=st.just("1/10"),
        smoothness=st.integers(1, 20),
        batches=st.integers(1, 4),
        steps_after=st.integers(0, 2),
    ),
    st.builds(ObjectivePerturbationLoss, noise_multiplier=small, curvature=small),
    built(SampledGaussianGroupStatement, small, rate=st.just("1/5"), size=st.just(2)),
    built(GroupStatement, st.builds(ApproximateLoss, small, st.just("1/1000")), st.integers(1, 5)),
    st.builds(ShuffledLoss, st.builds(AnyRandomizer, epsilon=small), st.integers(1, 20)),
    st.builds(ShuffledLoss, st.builds(KaryResponse, epsilon=small, categories=st.integers(2, 9)), st.integers(1, 20)),
    built(SubsetSampledStatement, bases_of_samples, st.integers(1, 9), st.just(10)),
)
choices = st.one_of(
    st.builds(lambda a, b: PrivacyLoss(PublicMixture([("1/3", a), ("2/3", b)])), single, single),
    st.builds(parallel, st.lists(bases_of_samples, min_size=1, max_size=3), relation=st.sampled_from(Relation)),
)
epsilons = st.fractions(min_value=0, max_value=3, max_denominator=100)  # delta stays above 1e-40


@given(losses, losses, losses)
def test_addition_is_commutative_and_associative(a: PrivacyLoss, b: PrivacyLoss, c: PrivacyLoss) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert hash(a + b) == hash(b + a)


@given(losses, st.integers(1, 5))
def test_a_multiple_is_a_repeated_sum(loss: PrivacyLoss, count: int) -> None:
    assert loss * count == count * loss == compose(loss, count) == compose([loss] * count) == sum([loss] * count)
    assert loss * count + loss == loss * (count + 1)
    assert loss * 1 == loss


@given(losses)
def test_json_round_trip(loss: PrivacyLoss) -> None:
    text = loss.to_json()
    again = PrivacyLoss.from_json(text)
    assert again == loss
    assert again.to_json() == text
    assert again.charge() == loss.charge()


@given(samples)
@settings(max_examples=10)
def test_samples_are_written_and_charged_like_all_losses(loss: PrivacyLoss) -> None:
    assert PrivacyLoss.from_json(loss.to_json()) == loss
    assert loss * 2 == compose([loss, loss])
    assert loss.delta(1).lower <= (loss * 2).delta(1, tolerance=0.05).upper
    charge = loss.charge()
    if charge.epsilon is not None:
        assert Fraction(loss.delta(charge.epsilon).upper) <= charge.delta


@given(choices)
@settings(max_examples=20)
def test_choices_are_written_and_charged_like_all_losses(loss: PrivacyLoss) -> None:
    assert PrivacyLoss.from_json(loss.to_json()) == loss
    assert loss * 2 == compose([loss, loss])
    charge = loss.charge()
    if charge.epsilon is not None:
        assert Fraction(loss.delta(charge.epsilon).upper) <= charge.delta * (1 + Fraction(1, 2**50))


@given(losses, epsilons, epsilons)
def test_the_curve_falls(loss: PrivacyLoss, a: Fraction, b: Fraction) -> None:
    low, high = sorted((a, b))
    first, second = loss.delta(low), loss.delta(high)
    assert 0 <= first.lower <= first.upper <= 1
    assert second.lower <= first.upper  # the truth falls, and each interval holds it


@given(losses, st.integers(1, 9))
@settings(max_examples=20)
@example(ExponentialMechanismLoss("3/4") + PureLoss("39/16"), 9)  # wider than the default tolerance
def test_epsilon_inverts_delta(loss: PrivacyLoss, digits: int) -> None:
    delta = Fraction(1, 10**digits)
    found = loss.epsilon(delta)
    numeric = (
        Fraction(1, 500) if loss.statement.kind == "composed" else Fraction(1, 2**50)
    )  # twice the default tolerance
    if found.upper < float("inf"):
        assert Fraction(loss.delta(found.upper).upper) <= delta * (1 + numeric)
    if 0 < found.lower < float("inf"):
        assert Fraction(loss.delta(found.lower).lower) > delta * (1 - numeric)


@given(losses, losses, epsilons)
@settings(max_examples=20)
def test_two_answers_reveal_at_least_as_much_as_one(a: PrivacyLoss, b: PrivacyLoss, epsilon: Fraction) -> None:
    assert (a + b).delta(epsilon).upper >= max(a.delta(epsilon).lower, b.delta(epsilon).lower)


@given(losses)
def test_the_charge_is_proved_by_the_curve(loss: PrivacyLoss) -> None:
    charge = loss.charge()
    if charge.epsilon is not None:
        assert loss.delta(charge.epsilon).lower <= charge.delta
        assert Fraction(loss.delta(charge.epsilon).upper) <= charge.delta * (1 + Fraction(1, 2**50))


@given(losses, losses)
def test_charges_of_a_sum_are_the_sum_of_charges(a: PrivacyLoss, b: PrivacyLoss) -> None:
    assert (a + b).charge() == a.charge() + b.charge()


def test_an_empty_composition_reveals_nothing() -> None:
    nothing = compose([])
    assert nothing == PureLoss(1) * 0
    assert nothing.delta(0).upper == 0
    assert nothing.epsilon(0).upper == 0
    assert nothing.charge() == Charge.nothing()
    assert nothing + PureLoss(1) == PureLoss(1)


def test_losses_for_different_relations_do_not_mix() -> None:
    added = DiscreteLaplaceLoss(1, of_count(rows=1, groups=1, relation=AddRemove))
    replaced = DiscreteLaplaceLoss(1, of_count(rows=1, groups=1, relation=Replace))
    with pytest.raises(UnprovedError, match="different neighbouring relations"):
        added + replaced
    assert (added + PureLoss(1)).relations == frozenset({AddRemove})
    assert PureLoss(1).relations == frozenset({AddRemove, Replace})


def test_the_same_noise_costs_more_under_replace() -> None:
    """errata.md: a typed relation; the sensitivity of a grouped count doubles."""
    added, replaced = (of_count(rows=1, groups=1, relation=relation) for relation in (AddRemove, Replace))
    for law in (DiscreteLaplaceLoss, DiscreteGaussianLoss):
        assert law(8, replaced).epsilon(1e-6).upper > law(8, added).epsilon(1e-6).upper


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), True, "text", None])
def test_bad_epsilon_is_refused(value: object) -> None:
    with pytest.raises(InvalidParameterError, match="epsilon must be"):
        PureLoss(1).delta(value)
    with pytest.raises(InvalidParameterError, match="epsilon must be"):
        PureLoss(value)


@pytest.mark.parametrize("value", [-1, 1, 2, float("nan"), True, "text"])
def test_bad_delta_is_refused(value: object) -> None:
    with pytest.raises(InvalidParameterError, match="delta must be"):
        PureLoss(1).epsilon(value)
    with pytest.raises(InvalidParameterError, match="delta must be"):
        ApproximateLoss(1, value)


@pytest.mark.parametrize("factor", [-1, 1.5, True, "2"])
def test_bad_counts_are_refused(factor: object) -> None:
    with pytest.raises((InvalidParameterError, TypeError)):
        PureLoss(1) * factor


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", '{"loss": "unknown"}', '{"loss": 3}', '{"loss": "composed", "parts": 3}'),
        *('{"loss": "pure"}', '{"loss": "pure", "epsilon": "1", "more": 1}', '{"loss": "pure", "epsilon": "-1"}'),
        '{"loss": "pure", "epsilon": "1", "limit": "1"}',
    ],
)
def test_text_that_is_no_loss_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameterError):
        PrivacyLoss.from_json(text)


@pytest.mark.parametrize(
    ("text", "loss"),
    [
        ('{"loss": "pure", "limit": "1"}', PureLoss(epsilon=1)),
        ('{"loss": "approximate", "limit": "1", "failed": "1/9"}', ApproximateLoss(epsilon=1, delta="1/9")),
        ('{"loss": "concentrated", "limit": "1/2"}', ConcentratedLoss(rho="1/2")),
        (
            '{"loss": "exponential_mechanism", "limit": "1", "monotone": true}',
            ExponentialMechanismLoss(epsilon=1, monotone=True),
        ),
        (
            '{"loss": "randomized_response", "choices": 3, "limit": "1", "truth": null}',
            RandomizedResponseLoss(epsilon=1, choices=3),
        ),
    ],
)
def test_ledgers_of_before_can_be_read(text: str, loss: PrivacyLoss) -> None:
    assert PrivacyLoss.from_json(text) == loss == PrivacyLoss.from_json(loss.to_json())
    assert "limit" not in loss.to_json()


def test_a_stated_pair_in_json_is_proved_again() -> None:
    data = json.loads(PureLoss(1).stated(epsilon=1, delta=0).to_json())
    data["epsilon"] = "1/2"
    with pytest.raises(InvalidParameterError, match="above the stated delta"):
        PrivacyLoss.from_data(data)


def test_losses_cannot_be_changed() -> None:
    loss = PureLoss(1)
    with pytest.raises(AttributeError):
        loss.statement.limit = Fraction(0)  # type: ignore[misc]


def test_an_answer_that_is_wider_than_was_asked_for_says_so() -> None:
    """A group of sampled Laplace noise is known from above and from below by two laws."""
    gap = LaplaceLoss(1).poisson_sampled(rate="0.1").group(2).epsilon("1e-6")
    assert gap.width > 1e-3 * gap.upper
    assert gap.wide
    assert "all that is known" in str(gap)
    assert not LaplaceLoss(1).poisson_sampled(rate="0.1").epsilon("1e-6").wide
