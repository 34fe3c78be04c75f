"""An audit over many runs: how often an attacker said "included" where it was true, and where it was not."""

import math

import numpy as np
from scipy.stats import norm

from deniable.audit.binomial import upper_rate
from deniable.audit.canaries.counting import gaussian as curves_of_gaussian
from deniable.audit.result import AuditResult, Measured, Number, read_claim, read_failure
from deniable.audit.running import MOST_RUNS
from deniable.numbers.rationals import probability, whole_number
from deniable.privacy import PrivacyLoss


def audit_counts(
    true_positives: int,
    false_positives: int,
    *,
    runs_with: int,
    runs_without: int,
    claim: PrivacyLoss | None = None,
    epsilon: Number | None = None,
    delta: Number = 0,
    confidence: float = 0.95,
    gaussian: bool = False,
) -> AuditResult:
    """Bound epsilon by the error rates of one attack over many independent runs.

    The attack, with its threshold, must have been fixed before these runs, on others.

    Args:
        true_positives: runs with the record in which the attack said so, of `runs_with`.
        false_positives: runs without the record in which the attack said it was there, of `runs_without`.
        claim: what the mechanism claims, or `epsilon` and `delta` of a claim.
        delta: at which epsilon is bounded.
        confidence: of the bound, in (0, 1).
        gaussian: whether to bound mu of a Gaussian mechanism, and epsilon by it: wrong for other mechanisms.

    Guarantee: with Clopper-Pearson bounds, each failing with (1 - confidence)/2, epsilon is at least
        ln((TPR - delta)/FPR) and ln((TNR - delta)/FNR), and mu at least -Phi^-1(FPR) - Phi^-1(FNR).
    Raises: InvalidParameterError for counts that are not between 0 and the number of runs.
    Source: Jagielski, Ullman, Oprea (2020), arXiv:2006.07709; Nasr et al. (2023), arXiv:2302.07956, for mu.

    >>> from deniable.audit import audit_counts
    >>> audit_counts(950, 30, runs_with=1000, runs_without=1000, epsilon=2).violated
    True
    """
    stated, failure = read_claim(claim, epsilon=epsilon, delta=delta), read_failure(confidence)
    least = float(probability("delta", delta))
    counts = {"true_positives": (true_positives, runs_with), "false_positives": (false_positives, runs_without)}
    for name, (count, runs) in counts.items():
        whole_number(name, count, lower=0, upper=whole_number("a number of runs", runs, lower=1, upper=MOST_RUNS))
    alarms = upper_rate(false_positives, runs_without, failure / 2)
    misses = upper_rate(runs_with - true_positives, runs_with, failure / 2)

    def certified(alarms: float, misses: float) -> float:
        if gaussian:
            return curves_of_gaussian(least).epsilon(max(0.0, float(norm.isf(alarms) - norm.ppf(misses))))
        return by_rates(alarms, misses, delta=least)

    found = certified(alarms, misses)
    best = certified(*(upper_rate(0, runs, failure / 2) for runs in (runs_without, runs_with)))
    limit = f"an epsilon above {best:.3g} by {runs_with + runs_without:,} runs"
    if gaussian:
        limit = "anything about mechanisms that are not Gaussian: the bound is for these alone"
    claimed = 0.0 if stated is None else float(stated.epsilon(least).upper)
    return AuditResult(
        claim=stated,
        epsilon=found,
        delta=least,
        confidence=1 - failure,
        event=f"seen in {true_positives:,} of {runs_with:,} runs with it, {false_positives:,} of {runs_without:,} else",
        runs=runs_with + runs_without,
        tried=("one attack with a threshold fixed before",),
        limits=(limit,),
        inconclusive="" if best > claimed else f"{runs_with + runs_without:,} runs cannot certify so much",
        measured=Measured(false_positive=np.array([alarms]), false_negative=np.array([misses])),
    )


def by_rates(alarms: float, misses: float, *, delta: float) -> float:
    """Least epsilon whose (epsilon, delta)-DP admits both error rates: the bounds of the two directions."""
    sides = [(1 - misses - delta, alarms), (1 - alarms - delta, misses)]
    return max([0.0, *(math.log(hits / errors) for hits, errors in sides if hits > 0)])
