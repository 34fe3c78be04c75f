"""Events of other programs, made here by hand with the names that those programs use."""

import math
from collections import namedtuple
from dataclasses import make_dataclass
from fractions import Fraction
from types import SimpleNamespace

import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    BestOfLoss,
    ConcentratedLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    Relation,
    Replace,
    Sensitivity,
    compose,
)
from deniable.privacy.amplification.sampling.capped import CappedPoissonStatement
from deniable.privacy.composition.tuning import BestOfStatement
from deniable.privacy.constructors import BestOfPoissonLoss
from deniable.privacy.losses.gaussian_mixture import GaussianMixtureStatement
from deniable.privacy.reports.imports import of_dp_event, of_opacus


def event(name: str, **fields: object) -> object:
    """An object whose class is called DpEvent by the other program."""
    return make_dataclass(f"{name}DpEvent", list(fields))(**fields)


def alone(loss: PrivacyLoss, relation: Relation) -> PrivacyLoss:
    """The loss with each part held to one relation, if none of them is held to it already."""
    if len(loss.relations) == 1:
        return loss
    return compose([compose(part.under(relation), count) for part, count in loss.composition])


GAUSSIAN = event("Gaussian", noise_multiplier=1.1)


def test_training_as_an_event() -> None:
    step = event("PoissonSampled", sampling_probability=0.01, event=GAUSSIAN)
    found = of_dp_event(event("SelfComposed", event=step, count=1000))
    assert found == GaussianLoss("1.1").poisson_sampled(rate="0.01") * 1000


EVENTS: dict[str, tuple[object, PrivacyLoss]] = {
    "nothing": (event("NoOp"), compose([])),
    "Gaussian": (GAUSSIAN, GaussianLoss("1.1")),
    "Laplace": (event("Laplace", noise_multiplier=2.5), LaplaceLoss("2.5")),
    "discrete Laplace": (
        event("DiscreteLaplace", noise_parameter=0.2, sensitivity=3),
        DiscreteLaplaceLoss(5, Sensitivity(l1=3, l2_squared=9, linf=3, relation=AddRemove)),  # type: ignore[arg-type]
    ),
    "a pair": (event("EpsilonDelta", epsilon=0.5, delta=1e-6), ApproximateLoss("0.5", "1e-6")),
    "an epsilon": (event("EpsilonDelta", epsilon=0.5, delta=0.0), PureLoss("0.5")),
    "a rho": (event("ZC", rho=0.1, xi=0.0), ConcentratedLoss("0.1")),
    "a shifted rho": (event("ZC", rho=0.1, xi=0.2), ConcentratedLoss("0.1", shift="0.2")),
    "the best of a few": (
        event("RepeatAndSelect", event=GAUSSIAN, mean=2.0, shape=1.0),
        BestOfLoss(GaussianLoss("1.1"), "0.5"),
    ),
    "the best of some": (
        event("RepeatAndSelect", event=GAUSSIAN, mean=2.0, shape=math.inf),
        BestOfPoissonLoss(GaussianLoss("1.1"), 2),
    ),
    "the best of one": (event("RepeatAndSelect", event=GAUSSIAN, mean=1, shape=0.5), GaussianLoss("1.1")),
    "several": (
        event("Composed", events=[GAUSSIAN, event("Laplace", noise_multiplier=4), GAUSSIAN]),
        GaussianLoss("1.1") * 2 + LaplaceLoss(4),
    ),
    "a capped sample": (
        event(
            "TruncatedSubsampledGaussian",
            dataset_size=1000,
            sampling_probability=0.01,
            truncated_batch_size=20,
            noise_multiplier=1.0,
        ),
        PrivacyLoss(CappedPoissonStatement(GaussianLoss(1), "0.01", 20, 1000)),
    ),
    "a mixture": (
        event("MixtureOfGaussians", standard_deviation=2.0, sensitivities=[0.0, 1.0], sampling_probs=[0.9, 0.1]),
        GaussianMixtureLoss([("0.9", 0), ("0.1", 1)], sigma=2, relation=AddRemove),
    ),
    "a sample of any mechanism": (
        event("PoissonSampled", sampling_probability=0.5, event=event("ZC", rho=0.1, xi=0.0)),
        ConcentratedLoss("0.1").poisson_sampled(rate="0.5"),
    ),
    "a trusted sample": (event("PoissonSampled", sampling_probability=1, event=GAUSSIAN), GaussianLoss("1.1")),
}


@pytest.mark.parametrize(
    "weights", [[1 / 3] * 3, [0.1] * 10, [1 / 7] * 7, [0.7, 0.2, 0.1 + 1e-16], [0.3, 0.6, 0.1 + 1e-10]]
)
def test_weights_that_floats_left_at_nearly_one_lose_no_privacy(weights: list[float]) -> None:
    """All that moves goes from small shifts to large ones: what is read is above every mixture that may be meant."""
    shifts = [float(shift) for shift in range(len(weights))]
    given = event("MixtureOfGaussians", standard_deviation=2.0, sensitivities=shifts, sampling_probs=weights)
    loss = of_dp_event(given)
    assert isinstance(loss.statement, GaussianMixtureStatement)
    assert sum(weight for weight, _ in loss.statement.mixture) == 1
    exact = [Fraction(repr(weight)) for weight in weights]
    meant = [weight / sum(exact) for weight in exact]
    for place in range(len(shifts)):
        assert sum(weight for weight, shift in loss.statement.mixture if shift >= place) >= sum(meant[place:])
    with pytest.raises(InvalidParameterError, match="sum 1"):
        of_dp_event(
            event("MixtureOfGaussians", standard_deviation=2.0, sensitivities=[0, 1], sampling_probs=[0.9, 0.2])
        )


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_is_the_loss_that_it_describes(name: str) -> None:
    given, loss = EVENTS[name]
    assert of_dp_event(given) == alone(loss, AddRemove)


@pytest.mark.parametrize("name", EVENTS)
def test_repeating_is_listing_is_composing(name: str) -> None:
    """The trap of counts that are threaded by hand: n uses are n uses, for every event."""
    given, loss = EVENTS[name]
    for count in (0, 1, 2, 10):
        repeated = of_dp_event(event("SelfComposed", event=given, count=count))
        assert (
            repeated == of_dp_event(event("Composed", events=[given] * count)) == alone(compose(loss, count), AddRemove)
        )


def test_a_norm_bound_counts_twice_under_replace() -> None:
    """The trap of one multiplier for two relations: a record that is exchanged moves a sum by twice its norm."""
    assert of_dp_event(GAUSSIAN, relation=Replace) == GaussianLoss("0.55").under(Replace)
    halved = of_dp_event(event("Laplace", noise_multiplier=1), relation=Replace)
    assert halved == LaplaceLoss("0.5").under(Replace)
    moved = of_dp_event(event("DiscreteLaplace", noise_parameter=1, sensitivity=2), relation=Replace)
    assert moved.pure_epsilon == 4
    assert moved.relations == {Replace}


def test_randomised_response_hides_the_answer_and_not_the_person() -> None:
    given = event("RandomizedResponse", noise_parameter=0.5, num_buckets=4)
    loss = of_dp_event(given, relation=Replace)
    assert loss.epsilon(0).upper == pytest.approx(1.6094379124341003)  # ln 5: 5/8 against 1/8
    with pytest.raises(UnprovedError, match="relation=Replace"):
        of_dp_event(given)
    with pytest.raises(UnprovedError, match="relation=Replace"):
        of_dp_event(event("Composed", events=[GAUSSIAN, given]))


def test_a_sample_of_fixed_size_is_a_loss_under_replace() -> None:
    given = event("SampledWithoutReplacement", source_dataset_size=1000, sample_size=10, event=GAUSSIAN)
    assert of_dp_event(given, relation=Replace) == GaussianLoss("0.55").sampled_without_replacement(
        size=10, population=1000
    )
    with pytest.raises(UnprovedError, match="relation=Replace"):
        of_dp_event(given)
    drawn = event("SampledWithReplacement", source_dataset_size=1000, sample_size=10, event=GAUSSIAN)
    assert of_dp_event(drawn, relation=Replace) == GaussianLoss("0.55").sampled_with_replacement(
        draws=10, population=1000
    )
    with pytest.raises(UnprovedError, match="SampledWithReplacementDpEvent draws a sample of a fixed size"):
        of_dp_event(drawn)


@pytest.mark.parametrize(("steps", "levels"), [(1, 1), (2, 2), (3, 2), (4, 3), ([3, 7, 2], 3), ([8], 4)])
def test_a_record_is_in_one_node_of_each_level_of_its_tree(steps: object, levels: int) -> None:
    given = event("SingleEpochTreeAggregation", noise_multiplier=1.1, step_counts=steps)
    loss = of_dp_event(given, relation=Replace)
    assert loss == GaussianLoss("0.55").under(Replace) * levels
    with pytest.raises(UnprovedError, match="relation=Replace"):
        of_dp_event(given)


@pytest.mark.parametrize(("name", "lost"), [("Gaussian", "a pair"), ("Laplace", "several"), ("a rho", "an epsilon")])
def test_an_imported_loss_does_not_add_to_one_for_the_other_relation(name: str, lost: str) -> None:
    """A norm that one record adds says nothing of two that are exchanged: the sum would claim half the truth."""
    for kind in (name, lost):
        loss = of_dp_event(EVENTS[kind][0])
        assert loss.relations == {AddRemove}
        with pytest.raises(UnprovedError, match="different neighbouring relations"):
            loss + PureLoss(1).under(Replace)
        truth, found = EVENTS[kind][1].delta("0.3"), loss.delta("0.3")
        assert found.lower <= truth.upper
        assert truth.lower <= found.upper


@pytest.mark.parametrize(("mean", "shape"), [(3.0, 0.5), (10, 0), (1.5, 2.5), (50, 0.1)])
def test_the_mean_of_the_runs_is_at_least_that_of_the_event(mean: float, shape: float) -> None:
    given = event("RepeatAndSelect", event=event("EpsilonDelta", epsilon=0.5, delta=0.0), mean=mean, shape=shape)
    loss = of_dp_event(given)
    best = loss.statement.unrestricted
    assert isinstance(best, BestOfStatement)
    assert mean <= best.mean_runs.lower <= best.mean_runs.upper <= mean * (1 + 1e-10)


@pytest.mark.parametrize("name", ["a capped sample", "a mixture"])
def test_what_is_stated_for_add_remove_alone_is_refused_for_replace(name: str) -> None:
    with pytest.raises(UnprovedError, match="add/remove"):
        of_dp_event(EVENTS[name][0], relation=Replace)


def test_the_named_tuple_of_an_event_is_read_too() -> None:
    shape = namedtuple("_GaussianDpEventNamedTupleWrapper", "module_name class_name noise_multiplier")
    assert of_dp_event(shape("dp_accounting.dp_event", "GaussianDpEvent", 1.1)) == of_dp_event(GAUSSIAN)
    assert of_dp_event(shape(b"dp_accounting.dp_event", b"GaussianDpEvent", 1.1)) == of_dp_event(GAUSSIAN)


@pytest.mark.parametrize(
    "given",
    [
        *(event("NonPrivate"), event("Unsupported"), event("Banana"), object(), None, 3),
        event("RepeatAndSelect", event=event("Banana"), mean=2.0, shape=1.0),
        event("Composed", events=[GAUSSIAN, event("Banana")]),
    ],
)
def test_what_has_no_loss_is_refused_by_name(given: object) -> None:
    with pytest.raises(UnprovedError) as refusal:
        of_dp_event(given)
    assert "is not supported" in str(refusal.value)


@pytest.mark.parametrize(
    "given",
    [
        event("Gaussian"),
        event("Gaussian", noise_multiplier=0),
        event("Gaussian", noise_multiplier=float("nan")),
        event("SelfComposed", event=GAUSSIAN, count=-1),
        event("SelfComposed", event=GAUSSIAN, count=1.5),
        event("Composed", events=3),
        event("SingleEpochTreeAggregation", noise_multiplier=1, step_counts=3.5),
        event("SingleEpochTreeAggregation", noise_multiplier=1, step_counts=[]),
        event("RepeatAndSelect", event=GAUSSIAN, mean=0.5, shape=1.0),
        event("RepeatAndSelect", event=GAUSSIAN, mean=2.0, shape=-0.5),
        event("RepeatAndSelect", event=GAUSSIAN, mean=1e280, shape=0.5),
        event("PoissonSampled", sampling_probability=2, event=GAUSSIAN),
    ],
)
def test_fields_without_a_meaning_are_refused(given: object) -> None:
    with pytest.raises(InvalidParameterError):
        of_dp_event(given, relation=Replace if type(given).__name__.startswith("SingleEpoch") else AddRemove)
    with pytest.raises(InvalidParameterError, match="relation must be"):
        of_dp_event(GAUSSIAN, relation="replace")  # type: ignore[arg-type]


def test_an_opacus_history_in_its_three_forms() -> None:
    history = [(1.1, 0.01, 500), (0.9, 0.02, 100)]
    expected = GaussianLoss("1.1").poisson_sampled(rate="0.01") * 500
    expected += GaussianLoss("0.9").poisson_sampled(rate="0.02") * 100
    assert of_opacus(history) == expected
    assert of_opacus({"history": history, "mechanism": "rdp"}) == expected
    assert of_opacus(SimpleNamespace(history=history)) == expected
    assert of_opacus([(1.1, 1.0, 3)]) == GaussianLoss("1.1").under(AddRemove) * 3
    assert of_opacus([]) == compose([])


@pytest.mark.parametrize("history", [3, "abc", None, [(1, 2)], [3], [(1.1, 0.1, 2.5)], [(0, 0.1, 2)], [(1, 7, 2)]])
def test_what_is_no_history_is_refused(history: object) -> None:
    with pytest.raises(InvalidParameterError):
        of_opacus(history)
