"""Events of other programs, made here by hand with the names that those programs use."""

from collections import namedtuple
from dataclasses import make_dataclass
from types import SimpleNamespace

import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    ConcentratedLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    Replace,
    Sensitivity,
    compose,
)
from deniable.privacy.reports.imports import of_dp_event, of_opacus
from deniable.privacy.sampling.capped import CappedPoissonLoss


def event(name: str, **fields: object) -> object:
    """An object whose class is called DpEvent by the other program."""
    return make_dataclass(f"{name}DpEvent", list(fields))(**fields)


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
        CappedPoissonLoss(GaussianLoss(1), "0.01", 20, 1000),
    ),
    "a mixture": (
        event("MixtureOfGaussians", standard_deviation=2.0, sensitivities=[0.0, 1.0], sampling_probs=[0.9, 0.1]),
        GaussianMixtureLoss([("0.9", 0), ("0.1", 1)], sigma=2, relation=AddRemove),
    ),
    "a trusted sample": (event("PoissonSampled", sampling_probability=1, event=GAUSSIAN), GaussianLoss("1.1")),
}


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_is_the_loss_that_it_describes(name: str) -> None:
    given, loss = EVENTS[name]
    assert of_dp_event(given) == loss


@pytest.mark.parametrize("name", EVENTS)
def test_repeating_is_listing_is_composing(name: str) -> None:
    """The trap of counts that are threaded by hand: n uses are n uses, for every event."""
    given, loss = EVENTS[name]
    for count in (0, 1, 2, 10):
        repeated = of_dp_event(event("SelfComposed", event=given, count=count))
        assert repeated == of_dp_event(event("Composed", events=[given] * count)) == compose(loss, count)


def test_a_norm_bound_counts_twice_under_replace() -> None:
    """The trap of one multiplier for two relations: a record that is exchanged moves a sum by twice its norm."""
    assert of_dp_event(GAUSSIAN, relation=Replace) == GaussianLoss("0.55")
    assert of_dp_event(event("Laplace", noise_multiplier=1), relation=Replace) == LaplaceLoss("0.5")
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


@pytest.mark.parametrize("name", ["a capped sample", "a mixture"])
def test_what_is_stated_for_add_remove_alone_is_refused_for_replace(name: str) -> None:
    with pytest.raises(UnprovedError, match="add/remove"):
        of_dp_event(EVENTS[name][0], relation=Replace)


def test_the_named_tuple_of_an_event_is_read_too() -> None:
    shape = namedtuple("_GaussianDpEventNamedTupleWrapper", "module_name class_name noise_multiplier")
    assert of_dp_event(shape("dp_accounting.dp_event", "GaussianDpEvent", 1.1)) == GaussianLoss("1.1")
    assert of_dp_event(shape(b"dp_accounting.dp_event", b"GaussianDpEvent", 1.1)) == GaussianLoss("1.1")


@pytest.mark.parametrize(
    "given",
    [
        *(event("NonPrivate"), event("Unsupported"), event("Banana"), object(), None, 3),
        event("SampledWithReplacement", source_dataset_size=10, sample_size=2, event=GAUSSIAN),
        event("RepeatAndSelect", event=GAUSSIAN, mean=2.0, shape=1.0),
        event("ZC", rho=0.1, xi=0.1),
        event("PoissonSampled", sampling_probability=0.5, event=event("ZC", rho=0.1, xi=0.0)),
        event("Composed", events=[GAUSSIAN, event("Banana")]),
    ],
)
def test_what_has_no_loss_is_refused_by_name(given: object) -> None:
    with pytest.raises(UnprovedError) as refusal:
        of_dp_event(given)
    assert "DpEvent" in str(refusal.value) or "pair of distributions" in str(refusal.value)


@pytest.mark.parametrize(
    "given",
    [
        event("Gaussian"),
        event("Gaussian", noise_multiplier=0),
        event("Gaussian", noise_multiplier=float("nan")),
        event("SelfComposed", event=GAUSSIAN, count=-1),
        event("SelfComposed", event=GAUSSIAN, count=1.5),
        event("Composed", events=3),
        event("PoissonSampled", sampling_probability=2, event=GAUSSIAN),
    ],
)
def test_fields_without_a_meaning_are_refused(given: object) -> None:
    with pytest.raises(InvalidParameterError):
        of_dp_event(given)
    with pytest.raises(InvalidParameterError, match="relation must be"):
        of_dp_event(GAUSSIAN, relation="replace")  # type: ignore[arg-type]


def test_an_opacus_history_in_its_three_forms() -> None:
    history = [(1.1, 0.01, 500), (0.9, 0.02, 100)]
    expected = GaussianLoss("1.1").poisson_sampled(rate="0.01") * 500
    expected += GaussianLoss("0.9").poisson_sampled(rate="0.02") * 100
    assert of_opacus(history) == expected
    assert of_opacus({"history": history, "mechanism": "rdp"}) == expected
    assert of_opacus(SimpleNamespace(history=history)) == expected
    assert of_opacus([(1.1, 1.0, 3)]) == GaussianLoss("1.1") * 3
    assert of_opacus([]) == compose([])


@pytest.mark.parametrize("history", [3, "abc", None, [(1, 2)], [3], [(1.1, 0.1, 2.5)], [(0, 0.1, 2)], [(1, 7, 2)]])
def test_what_is_no_history_is_refused(history: object) -> None:
    with pytest.raises(InvalidParameterError):
        of_opacus(history)
