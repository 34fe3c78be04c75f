"""What wraps a loss forgets nothing of it; the subclasses are tested in their own files."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    ConcentratedLoss,
    ExponentialMechanismLoss,
    GaussianLoss,
    Interval,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    Replace,
    compose,
    parallel,
)
from deniable.privacy.composition.restricted import RestrictedStatement
from deniable.privacy.composition.wrapped import WrappedStatement
from deniable.privacy.constructors import DominatedLoss, TeachingLoss
from deniable.privacy.statement import Statement
from tests.privacy.zoo import ANIMALS, OPERATIONS, SLOW, Mechanism, Operation


@dataclass(frozen=True, init=False)
class Renamed(WrappedStatement):
    """Another name, and nothing else."""

    kind: ClassVar[str] = "renamed in a test"


@pytest.mark.parametrize(
    "loss",
    [
        ExponentialMechanismLoss("1/2", monotone=True),
        ApproximateLoss(1, "1/100"),
        ConcentratedLoss("1/10", shift="1/3", delta="1/50"),
        GaussianLoss(2) * 3 + ApproximateLoss(1, 0),
    ],
)
def test_every_statement_is_that_of_the_loss(loss: PrivacyLoss) -> None:
    same = PrivacyLoss(Renamed(loss))
    for name in ("relations", "failure", "infinite_mass", "failing_epsilon", "failing_rho", "mu_squared"):
        assert getattr(same, name) == getattr(loss, name)
    assert same.charge() == loss.charge()
    assert same.delta("1/2", tolerance=0.1) == loss.delta("1/2", tolerance=0.1)
    assert same.epsilon("1/20", tolerance=0.1) == loss.epsilon("1/20", tolerance=0.1)
    assert same.proves(Fraction(1), Fraction(1, 10)) == loss.proves(Fraction(1), Fraction(1, 10))
    assert (same.statement.laws() is None) == (loss.statement.laws() is None)
    assert [n for _, n in same.statement.laws_of_runs(70)] == [n for _, n in loss.statement.laws_of_runs(70)]


BOTH = {"pure": PureLoss(1), "gaussian": GaussianLoss(2), "laplace": LaplaceLoss(2)}
LOSSES = {
    **{name: animal.loss for name, animal in ANIMALS.items()},
    **{f"{name} twice": loss * 2 for name, loss in BOTH.items()},
    **{f"{name} sampled": loss.poisson_sampled(rate="1/10") for name, loss in BOTH.items()},
    "pure group": PureLoss("1/2").group(2),
}
QUICK = {"as it is", "three times", "sampled", "with nothing"}  # numbers of others are compared for a few losses
FEW = ("gaussian twice", "laplace", "approximate")
CASES = [(name, operation) for name in LOSSES for operation in OPERATIONS if operation not in SLOW or name in FEW]


def wrapped(loss: PrivacyLoss) -> list[PrivacyLoss]:
    """The same loss, stated for each relation, at a pair of its own, and composed with nothing else."""
    stated = [loss.stated(epsilon=1, delta=loss.delta(1).upper)] if loss.delta(1).upper < 1 else []
    return [*(loss.under(relation) for relation in sorted(loss.relations, key=str)), *stated, compose([loss])]


def bare(value: Any) -> Any:
    """Data of a loss, without the wrappers in it: what is left is the path that is taken."""
    if isinstance(value, dict):
        if value.get("loss") in ("restricted", "stated"):
            return bare(value.get("base", value.get("loss_stated")))
        if value.get("loss") == "composed":
            counts: Counter[str] = Counter()
            for part in value["parts"]:
                inner = bare(part["part"])
                held = inner["parts"] if isinstance(inner, dict) and inner["loss"] == "composed" else {repr(inner): 1}
                for name, count in held.items():
                    counts[name] += count * part["count"]
            return {"loss": "composed", "parts": dict(counts)}
        return {name: bare(item) for name, item in value.items()}
    if isinstance(value, list):
        return sorted((bare(item) for item in value), key=repr)
    return value


def outcome(operation: Operation, loss: PrivacyLoss) -> PrivacyLoss | type[Exception]:
    try:
        return operation(Mechanism(loss, np.ones(1), np.ones(1))).loss
    except (UnprovedError, InvalidParameterError) as error:
        return type(error)


def numbers(loss: PrivacyLoss) -> list[object]:
    """What a loss says in every currency; the class of an error where it says nothing."""
    questions: list[Callable[[], object]] = [
        lambda: loss.delta("1/2", tolerance=0.1),
        lambda: loss.epsilon("1/20", tolerance=0.1),
        lambda: loss.renyi("3/2"),
        lambda: [loss.failure, loss.infinite_mass, loss.pure_epsilon, loss.rho, loss.mu_squared],
    ]
    found: list[object] = []
    for question in questions:
        try:
            found.append(question())
        except (UnprovedError, InvalidParameterError) as error:
            found.append(type(error))
    return found


def alike(found: object, plain: object) -> bool:
    """Equal, or both within the tolerance: what a search knows from earlier questions may sharpen its answer."""
    if not isinstance(found, Interval) or not isinstance(plain, Interval) or found == plain:
        return found == plain
    meet = found.lower <= plain.upper and plain.lower <= found.upper
    return meet and all(one.width <= 0.1 * max(one.upper, 0.05) for one in (found, plain))


@pytest.mark.parametrize(("name", "operation"), CASES)
def test_what_changes_nothing_changes_no_number(name: str, operation: str) -> None:
    """The same path is taken, and the same numbers come out, in every operation. A relation may only be refused."""
    loss = LOSSES[name]
    plain = outcome(OPERATIONS[operation], loss)
    compared = operation in QUICK or (name in FEW and operation != "the best")
    wanted = numbers(plain) if compared and isinstance(plain, PrivacyLoss) else []
    for same in wrapped(loss):
        if operation == "under replace" and same.relations == {Replace} != loss.relations:
            continue  # stated for replace, it counts once
        found = outcome(OPERATIONS[operation], same)
        if isinstance(same.statement, RestrictedStatement) and isinstance(found, type):
            assert isinstance(plain, type) or len(loss.relations) == 2
            continue
        if isinstance(plain, type) or isinstance(found, type):
            assert found == plain
            continue
        assert bare(found.to_data()) == bare(plain.to_data())
        assert not compared or all(alike(*both) for both in zip(numbers(found), wanted, strict=True))


@pytest.mark.parametrize("name", FEW)
def test_what_changes_nothing_changes_no_tradeoff(name: str) -> None:
    rates = np.array([0.01, 0.3])
    for same in wrapped(LOSSES[name]):
        found, plain = (loss.tradeoff(tolerance=0.01).false_negative_rates(rates) for loss in (same, LOSSES[name]))
        assert np.array_equal(found, plain)


def test_every_method_of_a_loss_is_forwarded() -> None:
    """A method with a default in `Statement`, forgotten here, would answer for no loss at all.

    The ones left out follow from those that are wrapped, or are the business of the subclass.
    """
    derived = {"statement", "operand", "delta_at", "epsilon_at", "upper_delta"}
    written = {"to_data", "from_data", "to_json", "from_fields", "kind", "words"}
    said = {name for name in vars(Statement) if not name.startswith("_")} - derived - written
    assert said <= set(vars(WrappedStatement))


def test_a_group_of_the_issue_is_as_sharp_as_without_a_relation() -> None:
    """[1.54, 3.309] before: the wrapped noise was not known to be noise."""
    noise = GaussianLoss(4).under(AddRemove)
    for found in ((noise * 2).group(2).epsilon("1e-6"), (GaussianLoss(4) * 2).group(2).epsilon("1e-6")):
        assert 3.30760 <= found.lower <= found.upper <= 3.30761
    sampled = noise.poisson_sampled(rate="0.01")
    assert sampled.group(2) == GaussianLoss(4).poisson_sampled(rate="0.01").group(2)


@pytest.mark.parametrize("count", [8, 40])
def test_parts_of_a_wrapped_partition_are_compared(count: int) -> None:
    """All but two parts are dominated, so that few pairs of parts are composed, whatever is stated of them."""
    parts = [LaplaceLoss(place) for place in range(3, 3 + count)]
    inside = [LaplaceLoss(2)] * count
    plain = parallel(parts, relation=Replace, inside=inside)
    stated = parallel([part.under(AddRemove) for part in parts], relation=Replace, inside=inside)
    assert len(stated.statement.alternatives) == len(plain.statement.alternatives) == 2


def test_only_losses_are_wrapped() -> None:
    for kind in (Renamed, TeachingLoss):
        with pytest.raises(InvalidParameterError, match="loss must be a PrivacyLoss"):
            kind(DominatedLoss)


@pytest.mark.parametrize("kind", ["restricted", "stated", "teaching"])
def test_what_lacks_its_loss_in_json_is_refused(kind: str) -> None:
    with pytest.raises(InvalidParameterError):
        PrivacyLoss.from_data({"loss": kind})


def test_no_rounding_stands_between_a_pair_and_its_statement() -> None:
    """Refused before: 1e-7 lies between two floats, and the upper one was compared."""
    loss = ApproximateLoss("1/3", "1e-7")
    for same in (loss, PrivacyLoss(Renamed(loss)), loss * 3, loss + ApproximateLoss(1, "1e-6")):
        charge = same.charge()
        assert charge.epsilon is not None
        assert same.stated(epsilon=charge.epsilon, delta=charge.delta).charge().delta == charge.delta
        with pytest.raises(InvalidParameterError, match="above the stated delta"):
            same.stated(epsilon=charge.epsilon, delta=charge.delta * Fraction(99, 100))
