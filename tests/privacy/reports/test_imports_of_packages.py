"""Descriptions that other packages make themselves, against their own answers."""

import math
from typing import Any

import pytest

from deniable.privacy import AddRemove, PrivacyLoss, Relation, Replace
from deniable.privacy.reports.imports import _READERS, of_dp_event, of_opacus

DELTA = 1e-6


@pytest.fixture(name="google")
def google_() -> Any:
    import dp_accounting.pld
    import dp_accounting.rdp

    return dp_accounting


def events(google: Any) -> dict[str, tuple[Any, Relation]]:
    """One of each kind that has a loss here, with the relation under which both sides state it."""
    noisy = google.dp_event.GaussianDpEvent(1.1)
    sampled = google.dp_event.PoissonSampledDpEvent(0.01, noisy)
    return {
        "nothing": (google.dp_event.NoOpDpEvent(), AddRemove),
        "Gaussian": (noisy, AddRemove),
        "Gaussian under replace": (noisy, Replace),
        "Laplace": (google.dp_event.LaplaceDpEvent(4.0), AddRemove),
        "discrete Laplace": (google.dp_event.DiscreteLaplaceDpEvent(0.2, 3), AddRemove),
        "randomised response": (google.dp_event.RandomizedResponseDpEvent(0.5, 4), Replace),
        "training": (google.dp_event.SelfComposedDpEvent(sampled, 1000), AddRemove),
        "a sample for replace": (google.dp_event.SelfComposedDpEvent(sampled, 100), Replace),
        "several": (google.dp_event.ComposedDpEvent([noisy, google.dp_event.LaplaceDpEvent(4.0), sampled]), AddRemove),
        "a mixture": (google.dp_event.MixtureOfGaussiansDpEvent(2.0, [0.0, 1.0], [0.9, 0.1]), AddRemove),
        "a capped sample": (google.dp_event.TruncatedSubsampledGaussianDpEvent(1000, 0.01, 30, 1.0), AddRemove),
    }


def accountant(google: Any, relation: Relation) -> Any:
    one, other = google.NeighboringRelation.ADD_OR_REMOVE_ONE, google.NeighboringRelation.REPLACE_ONE
    return google.pld.PLDAccountant(one if relation is AddRemove else other, value_discretization_interval=1e-3)


def test_every_event_of_the_package_is_read_or_refused_on_purpose(google: Any) -> None:
    kinds = {name for name in dir(google.dp_event) if name.endswith("DpEvent")} - {"DpEvent"}
    assert kinds - set(_READERS) == {"NonPrivateDpEvent", "UnsupportedDpEvent"}


@pytest.mark.parametrize(
    "name",
    [
        *("nothing", "Gaussian", "Laplace", "discrete Laplace", "training", "several", "a mixture"),
        *("Gaussian under replace", "randomised response", "a capped sample", "a sample for replace"),
    ],
)
def test_losses_agree_with_the_accountant_of_the_package(google: Any, name: str) -> None:
    """Its answers are rounded up and ours hold the truth, so that it is not below, and little above where it is sharp.

    A capped sample is bounded more coarsely here, and it computes events under replace_one or not at all.
    """
    event, relation = events(google)[name]
    theirs = accountant(google, relation)
    ours = of_dp_event(event, relation=relation).epsilon(DELTA)
    if not theirs.supports(event):
        pytest.skip(f"the package has no loss for {name} under {relation}")
    found = theirs.compose(event).get_epsilon(DELTA)
    assert ours.lower <= found * (1 + 1e-6) + 1e-4
    if name != "a capped sample":
        assert found <= ours.upper * 1.01 + 1e-3


def test_named_tuples_of_real_events_are_read(google: Any) -> None:
    event = google.dp_event.SelfComposedDpEvent(
        google.dp_event.PoissonSampledDpEvent(0.01, google.dp_event.GaussianDpEvent(1.1)), 10
    )
    assert of_dp_event(event.to_named_tuple()) == of_dp_event(event)


def test_the_mean_of_real_repetitions_is_the_one_that_is_read(google: Any) -> None:
    """The package finds the probability of a stop in floats; its divergence at infinity is (2 + shape) epsilon."""
    module = google.rdp.rdp_privacy_accountant
    for mean, shape in ((3.0, 0.5), (10.0, 0.0), (2.0, 1.0)):
        base = google.dp_event.LaplaceDpEvent(10.0)
        loss: Any = of_dp_event(google.dp_event.RepeatAndSelectDpEvent(base, mean, shape))
        stop = module._gamma_truncated_negative_binomial(shape, mean)
        assert float(loss.statement.unrestricted.stop) == pytest.approx(stop, rel=1e-8)
        assert loss.pure_epsilon <= (2 + shape) * 0.1 * (1 + 1e-9)
    assert (
        of_dp_event(google.dp_event.RepeatAndSelectDpEvent(google.dp_event.GaussianDpEvent(5.0), 4.0, math.inf))
        .delta(1)
        .upper
        < 0.01
    )


def test_a_real_tree_has_the_levels_that_the_package_counts(google: Any) -> None:
    """It exchanges a record for nothing; two that are exchanged move each node twice as far, four times in rho."""
    for steps in (1, 2, 3, 4, 7, 8, 1000):
        event = google.dp_event.SingleEpochTreeAggregationDpEvent(2.0, steps)
        divergence = google.rdp.rdp_privacy_accountant._compute_rdp_single_epoch_tree_aggregation(2.0, steps, [1])[0]
        assert of_dp_event(event, relation=Replace).rho == 4 * divergence


def test_real_concentrated_events_keep_their_shift(google: Any) -> None:
    ours: PrivacyLoss = of_dp_event(google.dp_event.ZCDpEvent(0.1, 0.2))
    theirs = google.rdp.RdpAccountant().compose(google.dp_event.ZCDpEvent(0.1, 0.2)).get_epsilon(DELTA)
    assert ours.epsilon(DELTA).upper == pytest.approx(theirs, rel=0.02)


def test_a_real_opacus_accountant_agrees() -> None:
    from opacus import accountants

    real = accountants.PRVAccountant()
    for _ in range(200):
        real.step(noise_multiplier=1.1, sample_rate=0.01)
    ours = of_opacus(real).epsilon(DELTA)
    assert of_opacus(real.state_dict()) == of_opacus(real.history) == of_opacus(real)
    assert ours.lower <= real.get_epsilon(DELTA)
    rough = accountants.RDPAccountant()
    rough.history = real.history
    assert ours.upper < rough.get_epsilon(DELTA)
