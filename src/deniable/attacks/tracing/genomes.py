"""Homer's attack: members of a pool by the frequencies published about it.

Everybody has a vector y with one entry in [0, 1] for each attribute: an allele (0 or 1), the mean of two alleles
(0, 1/2, 1), or any answer of yes and no. Known are the population's frequencies p; published are the pool's, M.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from deniable.attacks.membership.roc import infer_membership
from deniable.attacks.numbers import Floats, check_probability, read_numbers, real, start_dice, whole
from deniable.attacks.result import AttackResult, Curve
from deniable.errors import InvalidParameterError

TracingStatistic = Literal["likelihood", "homer", "score"]
MIN_FREQUENCY = 1e-3  # of published ones in the likelihood


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Pool of people whose frequencies are published, and strangers.

    Args:
        members: shape (people, attributes), in [0, 1].
        strangers: shape (strangers, attributes), in [0, 1].
        reference: shape (attributes,), frequencies in the population.

    >>> from deniable.attacks.tracing import draw_pool
    >>> draw_pool(people=10, attributes=3, strangers=5).frequencies.shape
    (3,)
    """

    members: Floats
    strangers: Floats
    reference: Floats

    def __repr__(self) -> str:
        people, attributes = self.members.shape
        return f"<Pool: {people:,} members, {len(self.strangers):,} strangers, {attributes:,} attributes>"

    @property
    def frequencies(self) -> Floats:
        """Exact frequencies in the pool."""
        return np.asarray(self.members.mean(axis=0))


def draw_pool(
    *, people: int, attributes: int, strangers: int = 1000, alleles: int = 1, lower: float = 0.05, seed: int = 0
) -> Pool:
    """Draw a population's frequencies, a pool of members, and strangers.

    Attributes are independent of each other.

    Args:
        people: number of members.
        attributes: number of attributes.
        strangers: number of strangers.
        alleles: number that a person carries of each attribute, 1 or 2; an entry is their mean.
        lower: smallest frequency of the rarer allele, in (0, 1/2).
        seed: of the draws.

    Returns: a `Pool`.

    >>> from deniable.attacks.tracing import draw_pool
    >>> draw_pool(people=10, attributes=3, strangers=5).members.shape
    (10, 3)
    """
    for name, value in {"people": people, "attributes": attributes, "strangers": strangers, "alleles": alleles}.items():
        whole(name, value)
    check_probability("twice lower", 2 * real("lower", lower))
    dice = start_dice(seed)
    reference = dice.uniform(lower, 1 - lower, attributes)
    members, others = (
        dice.binomial(alleles, reference, (count, attributes)) / alleles for count in (people, strangers)
    )
    return Pool(members=members, strangers=others, reference=reference)


def score_targets(
    targets: ArrayLike, *, reference: ArrayLike, published: ArrayLike, statistic: TracingStatistic = "likelihood"
) -> Floats:
    """Score how likely each target is to be in the pool; higher means "in".

    | statistic | score, with sums and means over the attributes | source |
    |---|---|---|
    | likelihood | sum of y ln(M/p) + (1 - y) ln((1 - M)/(1 - p)) | Sankararaman et al. (2009) |
    | homer | mean(D) sqrt(attributes) / sd(D), D = abs(y - p) - abs(y - M) | Homer et al. (2008) |
    | score | sum of (y - p)(M - p) | Dwork, Smith, Steinke, Ullman, Vadhan (2015) |

    The first is the best there is against exact frequencies (Neyman, Pearson), the third is the one for noisy ones.

    Args:
        targets: shape (targets, attributes), in [0, 1].
        reference: shape (attributes,), frequencies in the population, in (0, 1).
        published: shape (attributes,), frequencies of the pool as they were released: any finite numbers; the
            likelihood clamps them to [0.001, 0.999].
        statistic: "likelihood", "homer" or "score".

    Returns: shape (targets,).

    >>> from deniable.attacks.tracing import score_targets
    >>> score_targets([[1, 1], [0, 0]], reference=[0.5, 0.5], published=[0.9, 0.8], statistic="score").round(2)
    array([ 0.35, -0.35])
    """
    if statistic not in get_args(TracingStatistic):
        raise InvalidParameterError(
            f"statistic must be one of {', '.join(get_args(TracingStatistic))}, got {statistic!r}"
        )
    y = read_numbers("targets", targets, dimensions=2)
    p = _frequencies(reference)
    m = read_numbers("published", published, dimensions=1)
    if y.shape[1] != len(p) or len(m) != len(p):
        raise InvalidParameterError(
            f"targets, reference and published must have the same attributes, got {y.shape}, {p.shape} and {m.shape}"
        )
    if y.min() < 0 or y.max() > 1:
        raise InvalidParameterError("targets must lie in [0, 1]")
    if statistic == "homer":
        moved = np.abs(y - p) - np.abs(y - m)
        spread = moved.std(axis=1, ddof=1) if len(p) > 1 else np.ones(len(y))
        return np.asarray(moved.mean(axis=1) * np.sqrt(len(p)) / np.maximum(spread, 1e-12))
    if statistic == "score":
        return np.asarray((y - p) @ (m - p))
    m = np.clip(m, MIN_FREQUENCY, 1 - MIN_FREQUENCY)
    inside = np.log(m / p)
    outside = np.log((1 - m) / (1 - p))
    return np.asarray(y @ (inside - outside) + outside.sum())


def _frequencies(reference: ArrayLike) -> Floats:
    """Return frequencies in (0, 1), or raise InvalidParameterError."""
    p = read_numbers("reference", reference, dimensions=1)
    if p.min() <= 0 or p.max() >= 1:
        raise InvalidParameterError("reference must lie in (0, 1): leave out what nobody or everybody has")
    return p


def tracing_power(*, people: int, reference: ArrayLike, noise: float = 0.0, false_positive_rate: float = 0.05) -> float:
    """Return the power of the best test for membership of one target.

    It holds for a large number of independent, common attributes. It is Phi(D - z) with z the normal quantile of 1 -
    rate and D^2 = sum over attributes of 1/(n + n^2 s^2/(p (1-p))): n people in the pool, noise of standard deviation s
    on each published frequency. Without noise, D = sqrt(attributes/n), which no number of alleles changes. Derivation:
    the mean of (y-p)(M-p)/(p(1-p)) differs by 1/n between members and strangers, its variance is 1/n + s^2/(p(1-p)) to
    first order, and the best weights add up the ratios. For two alleles give s times sqrt(2). Rounding to a step h acts
    like s = h/sqrt(12).
    Source: Sankararaman, Obozinski, Jordan, Halperin, Nature Genetics 41 (2009).

    Args:
        people: number of people in the pool, at least 1.
        reference: shape (attributes,), frequencies in (0, 1).
        noise: standard deviation, in the unit of a frequency, at least 0.
        false_positive_rate: of the test, in (0, 1).

    >>> from deniable.attacks.tracing import tracing_power
    >>> round(tracing_power(people=100, reference=[0.5] * 1000), 3)
    0.935
    """
    from scipy.stats import norm

    check_probability("false_positive_rate", false_positive_rate)
    return float(norm.sf(norm.isf(false_positive_rate) - _distance(people, reference, noise)))


def _distance(people: int, reference: ArrayLike, noise: float) -> float:
    """Return the best distance of scores of members and strangers.

    It is in standard deviations.
    """
    p = _frequencies(reference)
    n = float(whole("people", people))
    if not real("noise", noise) >= 0:
        raise InvalidParameterError(f"noise must be >= 0, got {noise}")
    return float(np.sqrt(np.sum(1 / (n + n**2 * noise**2 / (p * (1 - p))))))


def attributes_to_trace(*, people: int, false_positive_rate: float = 0.05, power: float = 0.95) -> int:
    """Return the number of exact frequencies that trace a share of members.

    It is people (z_alpha + z_beta)^2.

    Args:
        people: number of people in the pool, at least 1.
        false_positive_rate: of the test, in (0, 1).
        power: share of members that is traced, in (0, 1).

    Source: Sankararaman et al. (2009), who call the bound SecureGenome.

    >>> from deniable.attacks.tracing import attributes_to_trace
    >>> attributes_to_trace(people=1000, false_positive_rate=1e-3, power=0.95)
    22422
    """
    from scipy.stats import norm

    check_probability("false_positive_rate", false_positive_rate)
    check_probability("power", power)
    distance = max(0.0, float(norm.isf(false_positive_rate) + norm.ppf(power)))
    return int(np.ceil(whole("people", people) * distance**2))


def trace(
    members: ArrayLike,
    strangers: ArrayLike,
    *,
    reference: ArrayLike,
    published: ArrayLike | Callable[[ArrayLike], ArrayLike],
    statistic: TracingStatistic = "likelihood",
    noise: float = 0.0,
    false_positive_rate: float = 0.05,
    confidence: float = 0.95,
    seed: int = 0,
) -> AttackResult:
    """Trace people in a pool from its published frequencies.

    Args:
        members: shape (people, attributes), in [0, 1]: all who are in the pool.
        strangers: shape (strangers, attributes), likewise.
        reference: shape (attributes,), frequencies in the population, in (0, 1).
        published: shape (attributes,), as released: exact, rounded or noisy; or a function that releases them,
            given the members.
        statistic: "likelihood", "homer" or "score", see `score_targets`.
        noise: standard deviation of the published frequencies' error, for the power that theory predicts.
        false_positive_rate, confidence, seed: as in `infer_membership`.

    >>> from deniable.attacks.tracing import draw_pool
    >>> pool = draw_pool(people=20, attributes=500, seed=1)
    >>> trace(pool.members, pool.strangers, reference=pool.reference, published=pool.frequencies).success.value
    1.0
    """
    from scipy.stats import norm

    means = published(members) if callable(published) else published
    scores = [
        score_targets(group, reference=reference, published=means, statistic=statistic)
        for group in (members, strangers)
    ]
    result = infer_membership(
        *scores,
        false_positive_rate=false_positive_rate,
        confidence=confidence,
        seed=seed,
        attack={"homer": "Homer's tracing", "score": "Tracing by scores"}.get(statistic, "Tracing by likelihood"),
    )
    rates = np.linspace(0.001, 0.999, 500)
    distance = _distance(len(scores[0]), reference, noise)
    power = norm.sf(norm.isf(false_positive_rate) - distance)
    theory = f"{power:.3f} by the best test of independent frequencies with errors of {noise:.3g}"
    return replace(
        result,
        facts={**(result.facts or {}), "share found in theory": theory},
        curves=(*result.curves, Curve(label="the best test in theory", x=rates, y=norm.sf(norm.isf(rates) - distance))),
    )
