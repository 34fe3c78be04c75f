"""What `replay` counts for additive noise, in the currency of the price: numbers that add up, so that it is quick."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from deniable.mechanisms.additive import Gaussian
from deniable.privacy import PrivacyLoss, PureLoss
from tests.audit.draws import RELEASES

CLAIMS = {"epsilon": PureLoss(1), "rho": PureLoss("1/10")}
PRICES: list[dict[str, Any]] = [{"epsilon": 1}, {"rho": "1/10"}]


def spent(mine: Any, theirs: Any) -> PrivacyLoss | None:
    """l1 / scale for epsilon; l2^2 / (2 sigma^2) for rho, which adds up as epsilon does and is written as one."""
    noise, exact = mine["self"], [np.asarray(each["exact"], dtype=object).ravel() for each in (mine, theirs)]
    steps = [abs(int(a) - int(b)) for a, b in zip(*exact, strict=True)]
    if not any(steps):
        return None
    if isinstance(noise, Gaussian):
        return PureLoss(Fraction(sum(step**2 for step in steps)) / (2 * noise.sigma_squared))
    return PureLoss(Fraction(sum(steps)) / noise.scale)


SAMPLERS = tuple(replace(each, loss=spent) if each.loss else each for each in RELEASES)
