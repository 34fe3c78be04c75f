"""Payments: one order of events in every room, and whoever reads private rows takes a ledger."""

import inspect
from collections.abc import Iterator
from fractions import Fraction
from hashlib import sha256
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from deniable.errors import BudgetExceededError, InvalidParameterError, UnprovedError
from deniable.ledger import Ledger
from deniable.ledger.payment import Payment, check_ledger
from deniable.local import DirectResponse, MeanProtocol
from deniable.noise.bits import SECURE, DeterministicBits
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    Budget,
    Filter,
    GaussianLoss,
    PrivacyUnit,
    PureLoss,
    Relation,
    Replace,
)
from deniable.variants import Kernel, MarkovChain, MarkovQuilt, Metric, PlanarLaplace

CITY = PlanarLaplace(epsilon="0.01", step=10, bounds=((0, 0), (900, 900)), unit="m")
LINE = Kernel.exponential([(0,), (1,)], epsilon=1, metric=Metric(norm="l1"))
CHAIN = MarkovChain(initial=["1/2", "1/2"], transition=[["0.6", "0.4"], ["0.4", "0.6"]])
WEATHER = MarkovQuilt(length=4, epsilon=1, chains=[CHAIN])
YES = DirectResponse(values=["no", "yes"], epsilon=1)
RELEASES: dict[str, Any] = {  # what is released, of which unit, private values, others of a wrong type, and the price
    "planar": (CITY.release, CITY.privacy_loss.privacy_unit, [(3, 4), (5, 6)], np.ones((2, 3)), "1/50"),
    "kernel": (LINE.release, LINE.privacy_loss.privacy_unit, [0, 1, 1], None, LINE.privacy_loss.epsilon * 3),
    "quilt": (WEATHER.release, WEATHER.privacy_unit, [0, 1, 1, 0], [0, 1, 1], 1),
    "local": (YES.encode, YES.unit, ["yes", "no"], None, 2),
}


def opened(unit: PrivacyUnit = PrivacyUnit(), relation: Relation = Replace, epsilon: Any = 5) -> Ledger:  # noqa: B008
    return Ledger.open(None, budget=Budget(epsilon=epsilon), relation=relation, unit=unit, dataset="t")


class Unread(list[Any]):
    """Values whose length is public, and that nobody may read."""

    def __getitem__(self, at: Any) -> Any:
        assert at == slice(None, 0), "a private value was read"
        return []

    def __iter__(self) -> Any:
        raise AssertionError("a private value was read")

    __array__ = __reversed__ = __iter__


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_is_charged_before_a_value_is_read(name: str) -> None:
    release, unit, values, wrong, price = RELEASES[name]
    ledger = opened(unit)
    release(values, ledger=ledger, bits=DeterministicBits(1))
    assert ledger.spent().epsilon == Fraction(price)
    assert [entry.safe for entry in ledger.entries()] == [False]
    with pytest.raises(BudgetExceededError):
        release(Unread(values), ledger=opened(unit, epsilon="1/1000"))
    with pytest.raises(AssertionError, match="was read"):
        release(Unread(values))  # the twin
    for other in (opened(), opened(unit, AddRemove), 3):
        with pytest.raises(InvalidParameterError, match=r"this ledger protects|must be a Ledger"):
            release(Unread(values), ledger=other)
    if wrong is not None:
        with pytest.raises(InvalidParameterError):
            release(wrong, ledger=(untouched := opened(unit)))
        assert not untouched.entries()


@pytest.mark.parametrize("name", sorted(set(RELEASES) - {"quilt"}))
def test_no_values_cost_nothing(name: str) -> None:
    release, unit, *_ = RELEASES[name]
    release([], ledger=(ledger := opened(unit)))
    assert not ledger.entries()


def test_what_does_not_fit_a_protocol_is_refused_before_the_charge() -> None:
    ledger = opened(MeanProtocol.unit)
    with pytest.raises(InvalidParameterError):
        MeanProtocol(bounds=(0, 1), columns=2, epsilon=1).encode(np.ones((2, 3)), ledger=ledger)
    assert not ledger.entries()


def test_the_first_loss_with_a_price_is_charged() -> None:
    payment = Payment(ledger := opened(relation=AddRemove), text="mean", bits=SECURE, name="mean of x")
    noisy, pure = GaussianLoss(noise_multiplier=9), PureLoss(1)
    assert str(payment.charge(noisy, ApproximateLoss(1, "1e-9"), pure)) == "epsilon=4"
    assert [entry.question for entry in ledger.entries()] == [sha256(b"mean of x").hexdigest()]
    with pytest.raises(UnprovedError, match="epsilon alone"):
        payment.charge(noisy, noisy)
    assert ledger.spent().epsilon == 1
    assert Payment(None, text="mean", bits=SECURE).charge(noisy) is None


@pytest.mark.parametrize("wrong", ["no ledger", Filter(Budget(epsilon=1), relation=Replace)])
def test_neither_text_nor_a_filter_is_a_ledger(wrong: Any) -> None:
    with pytest.raises(InvalidParameterError, match="must be a Ledger"):
        Payment(wrong, text="mean", bits=SECURE)
    with pytest.raises(InvalidParameterError, match="must be a Ledger"):
        check_ledger(wrong, PrivacyUnit())


@pytest.mark.parametrize("wrong", [None, 7, b"bits"])
def test_bits_are_checked_before_the_charge(wrong: Any) -> None:
    with pytest.raises(InvalidParameterError, match="source of random bits"):
        Payment(opened(), text="mean", bits=wrong)


ROOMS = ("statistics", "learning", "learning.federated", "games", "adaptive", "variants", "local")
ROWS = {"values", "X", "rows", "places", "points", "series", "bids", "reports", "own", "queries"}
WITHIN = {  # public names that read rows and draw noise, each with the reason why it is not charged
    "compare_minimisers": "is not private, and says so",
    **dict.fromkeys(
        ("BallsInBins", "CyclicPoisson", "FixedSize", "Poisson", "ShuffledEpochs", "TruncatedPoisson"),
        "samples for a TrainingRun",
    ),
    **dict.fromkeys(("MeanProtocol", "OneBitMean"), "`draw` is a part of `encode`"),
}


def unpaid(room: str) -> Iterator[str]:
    """Public names that read rows and draw noise, and take no ledger; of public modules too."""
    module = import_module(f"deniable.{room}")
    for name in module.__all__:
        found = getattr(module, name)
        if inspect.ismodule(found) and hasattr(found, "__all__"):
            yield from unpaid(f"{room}.{name}")
        methods = [found] if inspect.isfunction(found) else []
        if inspect.isclass(found):
            names = (each for each in dir(found) if each in ("__init__", "__call__") or not each.startswith("_"))
            methods = [each for name in names if inspect.isfunction(each := inspect.getattr_static(found, name))]
        for method in methods:
            given = set(inspect.signature(method).parameters)
            if given & ROWS and "bits" in given and "ledger" not in given:
                yield name


def test_whatever_reads_private_rows_takes_a_ledger() -> None:
    assert {name for room in ROOMS for name in unpaid(room)} == set(WITHIN)
