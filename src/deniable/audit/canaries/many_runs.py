"""Audits over several runs: the error rates of an attacker who says "included"."""

import math

import numpy as np
from scipy.stats import norm

from deniable.audit.binomial import upper_rate
from deniable.audit.canaries.counting import gaussian as curves_of_gaussian
from deniable.audit.result import AuditResult, Measured, Number, read_claim, read_failure
from deniable.audit.running import MAX_RUNS
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
    """Bound epsilon by the error rates of one attack over independent runs.

    The attack, with its threshold, must have been fixed before these runs, on others.

    Args:
        true_positives: number of runs with the record in which the attack said so, of `runs_with`.
        false_positives: number of runs without the record in which the attack said it was there, of `runs_without`.
        runs_with, runs_without: numbers of runs with and without the record.
        claim: loss that the mechanism claims; or `epsilon` and `delta` of a claim.
        epsilon: claimed; None claims nothing.
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
    stated = read_claim(claim, epsilon=epsilon, delta=delta)
    failure = read_failure(confidence)
    level = float(probability("delta", delta))
    counts = {"true_positives": (true_positives, runs_with), "false_positives": (false_positives, runs_without)}
    for name, (count, runs) in counts.items():
        whole_number(name, count, lower=0, upper=whole_number("a number of runs", runs, lower=1, upper=MAX_RUNS))
    alarms = upper_rate(false_positives, runs_without, failure / 2)
    misses = upper_rate(runs_with - true_positives, runs_with, failure / 2)

    def certified(alarms: float, misses: float) -> float:
        if gaussian:
            return curves_of_gaussian(level).epsilon(max(0.0, float(norm.isf(alarms) - norm.ppf(misses))))
        return by_rates(alarms, misses, delta=level)

    bound = certified(alarms, misses)
    best = certified(*(upper_rate(0, runs, failure / 2) for runs in (runs_without, runs_with)))
    limit = f"an epsilon above {best:.3g} by {runs_with + runs_without:,} runs"
    if gaussian:
        limit = "anything about mechanisms that are not Gaussian: the bound is for these alone"
    claimed = 0.0 if stated is None else float(stated.epsilon(level).upper)
    return AuditResult(
        claim=stated,
        epsilon=bound,
        delta=level,
        confidence=1 - failure,
        event=f"seen in {true_positives:,} of {runs_with:,} runs with it, {false_positives:,} of {runs_without:,} else",
        runs=runs_with + runs_without,
        tried=("one attack with a threshold fixed before",),
        limits=(limit,),
        inconclusive="" if best > claimed else f"{runs_with + runs_without:,} runs cannot certify so much",
        measured=Measured(false_positive=np.array([alarms]), false_negative=np.array([misses])),
    )


def by_rates(alarms: float, misses: float, *, delta: float) -> float:
    """Return the least epsilon whose (epsilon, delta)-DP admits both error rates."""
    sides = [(1 - misses - delta, alarms), (1 - alarms - delta, misses)]
    return max([0.0, *(math.log(hits / errors) for hits, errors in sides if hits > 0)])
