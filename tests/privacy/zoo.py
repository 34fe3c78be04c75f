"""A zoo: small finite mechanisms, what is stated of them, and what every operation makes of both.

A mechanism is a pair of rows (p, q), the probabilities of its outcomes for two neighbours, which satisfies the loss
that stands beside it. An operation turns the loss by the library and the pair by its definition, in a few lines.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats

from deniable.numbers.arrays import Floats
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    BestOfLoss,
    ConcentratedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    ExponentialMechanismLoss,
    FiniteLoss,
    GaussianDPLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    PureLoss,
    RandomizedResponseLoss,
    RenyiLoss,
    Replace,
    compose,
    mixture,
    of_count,
    parallel,
)

COUNT = of_count(rows=1, groups=1, relation=AddRemove)


class Mechanism(NamedTuple):
    """A loss, and a pair with one unit (p) and without it (q) that satisfies it; under replace both are with one."""

    loss: PrivacyLoss
    p: Floats
    q: Floats


def _finite(p: str, q: str) -> Mechanism:
    rows = [[f"{mass}/60" for mass in row.split()] for row in (p, q)]
    numbers = [np.array([float(mass) / 60 for mass in row.split()]) for row in (p, q)]
    return Mechanism(FiniteLoss(*rows, relation=AddRemove), *numbers)


def _response(loss: PrivacyLoss, epsilon: float, failed: float = 0.0) -> Mechanism:
    """Shows whether the unit is there with probability `failed`, else answers by randomised response."""
    truth = (1 - failed) / (1 + math.exp(-epsilon))
    p = np.array([failed, truth, 1 - failed - truth, 0.0])
    return Mechanism(loss, p, p[::-1].copy())


def _binned(loss: PrivacyLoss, law: object, shift: float = 1.0) -> Mechanism:
    """Noise that moves by `shift`, of which only a range is seen: to join outcomes is to reveal less."""
    edges = np.concatenate([[-np.inf], np.arange(-1.5, 3) * shift, [np.inf]])
    return Mechanism(loss, np.diff(law.cdf(edges - shift)), np.diff(law.cdf(edges)))  # type: ignore[attr-defined]


def _heights(shift: int) -> Floats:
    """Discrete Gaussian noise of scale 1."""
    found = np.exp(-((np.arange(-9, 11) - shift) ** 2) / 2)
    return np.asarray(found / found.sum())


ANIMALS = {
    "finite": _finite("30 20 10", "20 20 20"),
    "equal": _finite("30 30", "30 30"),
    "fails with the unit": _finite("30 30", "60 0"),
    "fails without the unit": _finite("60 0", "30 30"),
    "fails both ways": _finite("30 30 0", "30 0 30"),
    "fails unevenly": _finite("54 6 0", "48 0 12"),
    "pure": _response(PureLoss(1), 1.0),
    "approximate": _response(ApproximateLoss(1, "1/10"), 1.0, 0.1),
    "stated": _response(ApproximateLoss(1, "1/10").stated(epsilon=2, delta="1/10"), 1.0, 0.1),
    "restricted": _response(ApproximateLoss(1, "1/10").under(AddRemove), 1.0, 0.1),
    "concentrated": _response(ConcentratedLoss("1/2", delta="1/10"), 1.0, 0.1),
    "shifted": _response(ConcentratedLoss(0, shift=1), 1.0),
    "renyi": _response(RenyiLoss(["2"], ["1"]), 1.0),
    "gaussian curve": _binned(GaussianDPLoss(1), stats.norm()),
    "gaussian": _binned(GaussianLoss(1), stats.norm()),
    "laplace": _binned(LaplaceLoss(1), stats.laplace()),
    "integers": _binned(DiscreteLaplaceLoss(1, COUNT), stats.dlaplace(1.0)),
    "integers by gauss": Mechanism(DiscreteGaussianLoss(1, COUNT), _heights(1), _heights(0)),
    "chosen": _response(ExponentialMechanismLoss(1), 0.5),
    "answers": Mechanism(
        RandomizedResponseLoss(truth="3/4", choices=3), np.array([6, 1, 1]) / 8, np.array([1, 6, 1]) / 8
    ),
}

Operation = Callable[[Mechanism], Mechanism]
HALF = _response(PureLoss("1/2"), 0.5)


SLOW = {"two runs sampled": 5, "under replace": 3, "a group": 3, "allocated": 4, "the best": 2}  # so many of the few
FEW = ("fails with the unit", "finite", "fails without the unit", "approximate", "fails unevenly", "stated")


def together(a: Mechanism, b: Mechanism, loss: PrivacyLoss) -> Mechanism:
    return Mechanism(loss, np.outer(a.p, b.p).ravel(), np.outer(a.q, b.q).ravel())


def runs(mechanism: Mechanism, count: int, loss: PrivacyLoss) -> Mechanism:
    made = Mechanism(loss, mechanism.p, mechanism.q)
    for _ in range(count - 1):
        made = together(made, mechanism, loss)
    return made


def _two_units(mechanism: Mechanism) -> tuple[Floats, Floats, Floats]:
    """The laws with a first unit alone, a second one alone, and nobody: each unit has a run of its own."""
    _, p, q = mechanism
    return np.outer(p, q).ravel(), np.outer(q, p).ravel(), np.outer(q, q).ravel()


def _sampled(mechanism: Mechanism, rate: float) -> Mechanism:
    loss, p, q = mechanism
    return Mechanism(loss.poisson_sampled(rate=repr(rate)), (1 - rate) * q + rate * p, q)


def _replaced(mechanism: Mechanism) -> Mechanism:
    first, second, _ = _two_units(mechanism)
    loss = mechanism.loss.under_replace()
    return mechanism if loss == mechanism.loss else Mechanism(loss, first, second)


def _sampled_under_replace(mechanism: Mechanism) -> Mechanism:
    first, second, nobody = _two_units(mechanism)
    loss = mechanism.loss.poisson_sampled(rate="1/4", relation=Replace)
    return Mechanism(loss, 0.75 * nobody + 0.25 * first, 0.75 * nobody + 0.25 * second)


def _allocated(mechanism: Mechanism) -> Mechanism:
    """The unit takes part in one of two runs."""
    first, second, nobody = _two_units(mechanism)
    return Mechanism(mechanism.loss.randomly_allocated(of=2), (first + second) / 2, nobody)


def _drawn(mechanism: Mechanism, rate: float, loss: PrivacyLoss) -> Mechanism:
    """Under replace: another unit, which looks like the second value, is taken where the unit is not."""
    _, p, q = mechanism
    return Mechanism(loss, (1 - rate) * q + rate * p, q)


def _best(mechanism: Mechanism) -> Mechanism:
    """The best of a geometric number of runs, where the first outcomes are the best."""
    loss, p, q = mechanism

    def best(row: Floats) -> Floats:
        worse = np.clip(1 - np.cumsum(row), 0.0, 1.0)  # P(all runs are worse) = E[worse^K]
        return -np.diff(np.append(1.0, 0.25 * worse / (1 - 0.75 * worse)))

    return Mechanism(BestOfLoss(loss, "0.25"), best(p), best(q))


def _tossed(mechanism: Mechanism) -> Mechanism:
    loss, p, q = mechanism
    both = mixture([("1/4", loss), ("3/4", HALF.loss)])
    return Mechanism(both, np.append(p / 4, HALF.p * 0.75), np.append(q / 4, HALF.q * 0.75))


OPERATIONS: dict[str, Operation] = {
    "as it is": lambda one: one,
    "three times": lambda one: runs(one, 3, one.loss * 3),
    "with another": lambda one: together(one, HALF, one.loss + HALF.loss),
    "with nothing": lambda one: one._replace(loss=compose([one.loss, compose([])])),
    "sampled": lambda one: _sampled(one, 0.25),
    "sampled always": lambda one: _sampled(one, 1.0),
    "two runs sampled": lambda one: _sampled(runs(one, 2, one.loss * 2), 0.5),
    "under replace": _replaced,
    "sampled under replace": _sampled_under_replace,
    "capped": lambda one: _sampled(one, 0.25)._replace(
        loss=one.loss.capped_poisson_sampled(rate="1/4", cap=9, population=9)
    ),
    "in a subset": lambda one: _drawn(one, 0.25, one.loss.sampled_without_replacement(size=1, population=4)),
    "drawn": lambda one: _drawn(one, 0.25, one.loss.sampled_with_replacement(draws=1, population=4)),
    "allocated": _allocated,
    "a group": lambda one: runs(one, 2, one.loss.group(2)),
    "the best": _best,
    "after a toss": _tossed,
    "of two parts": lambda one: one._replace(loss=parallel([one.loss, HALF.loss], relation=AddRemove)),
}


def truth(mechanism: Mechanism, epsilon: float) -> float:
    """The least delta at `epsilon`, in the worse direction; an infinite epsilon promises nothing."""
    if math.isinf(epsilon):
        return 0.0
    odds = math.exp(min(epsilon, 700.0))
    return max(
        float(np.maximum(a - odds * b, 0).sum()) for a, b in ((mechanism.p, mechanism.q), (mechanism.q, mechanism.p))
    )


def divergence(mechanism: Mechanism, order: float) -> float:
    """The Rényi divergence in the worse direction."""
    found = []
    for a, b in ((mechanism.p, mechanism.q), (mechanism.q, mechanism.p)):
        seen = a > 0
        if (b[seen] == 0).any():
            return math.inf
        ratio = a[seen] / b[seen]
        mean = float(b[seen] @ ratio**order) if order != 1 else float(a[seen] @ np.log(ratio))
        found.append(math.log(mean) / (order - 1) if order != 1 else mean)
    return max(found)
