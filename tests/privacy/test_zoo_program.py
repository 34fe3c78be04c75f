"""Groups against a linear program over all mechanisms: the worst of those that keep a curve, whatever they show."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from deniable.privacy import AddRemove, ApproximateLoss, FiniteLoss, PrivacyLoss, PureLoss

LOSSES: dict[str, tuple[PrivacyLoss, tuple[float, ...]]] = {  # with the odds at which their curves bend
    "pure": (PureLoss("1/2"), (math.exp(0.5),)),
    "approximate": (ApproximateLoss("1/2", "1/20"), (math.exp(0.5),)),
    "finite": (FiniteLoss(["1/2", "1/3", "1/6"], ["1/3"] * 3, relation=AddRemove), (1.0, 1.5, 2.0)),
    "fails with the unit": (FiniteLoss(["9/10", "1/10"], [1, 0], relation=AddRemove), (1.0, 10 / 9)),
    "fails unevenly": (FiniteLoss(["54/60", "6/60", 0], ["48/60", 0, "12/60"], relation=AddRemove), (1.0, 9 / 8)),
}
OUTCOMES = 3


def worst(loss: PrivacyLoss, bends: tuple[float, ...], size: int, epsilon: float) -> float:
    """The greatest P_0(S) - e^epsilon P_size(S) of a chain whose successive laws keep the curve, in both directions."""
    laws = OUTCOMES * (size + 1)
    rules = [(j, j + way, x) for j in range(size + 1) for way in (-1, 1) if 0 <= j + way <= size for x in bends]
    width = laws + OUTCOMES * len(rules)  # probabilities, then the positive parts of each rule
    rows, limits = [], []
    for place, (one, other, odds) in enumerate(rules):
        excess = laws + OUTCOMES * place + np.arange(OUTCOMES)
        for outcome in range(OUTCOMES):
            row = np.zeros(width)
            row[OUTCOMES * one + outcome], row[OUTCOMES * other + outcome], row[excess[outcome]] = 1, -odds, -1
            rows.append(row)
            limits.append(0.0)
        row = np.zeros(width)
        row[excess] = 1
        rows.append(row)
        limits.append(loss.delta(Fraction(math.log(odds))).upper)
    whole = np.zeros((size + 1, width))
    for law in range(size + 1):
        whole[law, OUTCOMES * law : OUTCOMES * (law + 1)] = 1
    found = []
    for event in range(1, OUTCOMES + 1):  # by symmetry only its size matters
        gain = np.zeros(width)
        gain[:event], gain[laws - OUTCOMES : laws - OUTCOMES + event] = -1, math.exp(epsilon)
        solved = linprog(gain, np.array(rows), limits, whole, np.ones(size + 1), method="highs")
        assert solved.success
        found.append(-solved.fun)
    return float(max(found))


@pytest.mark.parametrize("name", LOSSES)
def test_a_group_costs_what_the_worst_mechanism_of_all_loses(name: str) -> None:
    loss, bends = LOSSES[name]
    for size in (2, 3):
        for epsilon in ("0", "1/4", "3/4", "6/5"):
            known, attained = loss.group(size).delta(epsilon), worst(loss, bends, size, float(Fraction(epsilon)))
            assert attained <= known.upper * (1 + 1e-7) + 1e-9
            if name in ("pure", "approximate"):  # stated to be exact
                assert abs(known.upper - attained) < 1e-7
            elif not name.startswith("fails"):  # there the split that is searched may miss the best one
                assert known.upper <= attained + 5e-3
