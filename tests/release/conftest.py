"""Error laws from scipy, so that the noise room is not asked about itself, and a release to play with."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable.privacy import PureLoss
from deniable.privacy.budget.rule import Remaining
from deniable.release import Release
from deniable.release.columns import Key, Measure, Noisy


@dataclass(frozen=True)
class ScipyLaw:
    """A continuous symmetric law."""

    law: Any

    def quantile(self, p: Any) -> Any:
        return self.law.ppf(p)

    def half_width(self, level: float) -> float:
        return float(self.law.ppf((1 + level) / 2))

    def standard_deviation(self) -> float:
        return float(self.law.std())


def laplace(scale: float) -> ScipyLaw:
    return ScipyLaw(stats.laplace(scale=scale))


def gaussian(sigma: float) -> ScipyLaw:
    return ScipyLaw(stats.norm(scale=sigma))


def average(**others: Any) -> Measure:
    """total / n, as a query divides a noisy sum by a noisy count."""
    settings: dict[str, Any] = {"name": "average", "bases": ("total", "n"), **others}
    return Measure(evaluate=lambda b: b["total"] / b["n"], denominators=(lambda b: b["n"],), **settings)


def one(values: Any, law: ScipyLaw, **post: Any) -> Release:
    """A release of one noisy column."""
    noisy = Noisy(name="n", values=np.asarray(values), law=law)
    return Release(parts=(Measure(name="n", bases=("n",), **post),), noisy=(noisy,), cost=PureLoss("0.1"))


@pytest.fixture
def release() -> Release:
    return Release(
        parts=(
            Key(name="region", values=("north", None, "<b>s&p</b>"), kind="string"),
            Measure(name="n", bases=("n",), lower=0),
            average(lower=0, upper=100, digits=2),
        ),
        noisy=(
            Noisy(name="n", values=np.array([2053, 40, -3]), law=laplace(10)),
            Noisy(name="total", values=np.array([60_000.5, 1000.0, -2.0]), law=laplace(1000)),
        ),
        cost=PureLoss("0.1"),
        budget_left=Remaining(epsilon=Fraction(9, 10)),
        text="SELECT region, COUNT(*) AS n FROM t WHERE a < 3",
        notes=("Rows were chosen by their noisy values.",),
    )
