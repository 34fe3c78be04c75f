"""Exact audits: epsilon and delta of a finite mechanism, over all neighbours and all sets of outputs."""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import accumulate
from typing import Any

import numpy as np

from deniable.audit.laws import Law, lower, read_law, upper
from deniable.audit.result import AuditResult, Measured, Number, read_claim
from deniable.audit.universe import Neighbouring, Universe
from deniable.errors import InvalidParameterError
from deniable.mechanisms import Mechanism
from deniable.numbers.balls import ball, certified
from deniable.numbers.interval import NONNEGATIVE, round_up
from deniable.numbers.rationals import exact_rational, probability, shown
from deniable.privacy import FiniteLoss, PrivacyLoss, Relation, Replace

Pairs = Universe | Iterable[tuple[Any, Any]]

_DELTAS = ("0", *(f"1e-{digits}" for digits in range(9, 0, -1)), "0.3")  # that are tried of a claimed curve
_MOST_POINTS = 512  # of a measured curve
_MOST_SHOWN = 6  # outputs in an event


@dataclass(frozen=True)
class _Corners:
    """The most likely events of one law against another: outputs by falling odds, with both sums so far."""

    inputs: tuple[Any, Any]
    outputs: tuple[Hashable, ...]
    here: tuple[Fraction, ...]  # least probability of the first k outputs, on the first input
    there: tuple[Fraction, ...]  # greatest, on the second

    def odds(self, delta: Fraction) -> tuple[Fraction | float, int]:
        """The least odds t with P - t Q <= delta for all events, and how many outputs the event has that shows it."""
        best: tuple[Fraction | float, int] = (Fraction(0), 0)
        for count, (p, q) in enumerate(zip(self.here, self.there, strict=True), 1):
            if not q and p > delta:
                return math.inf, self.there.count(Fraction(0))
            if q and p - delta > best[0] * q:
                best = ((p - delta) / q, count)
        return best


def measure_exactly(
    mechanism: Mechanism | Callable[[Any], object],
    inputs: Pairs,
    *,
    relation: Neighbouring | None = None,
    claim: PrivacyLoss | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
) -> AuditResult:
    """Epsilon of a finite mechanism at delta: the worst pair of neighbours, in either direction, and its worst event.

    Nothing is drawn: where probabilities are rational the answer is exact up to its last float rounding, and where
    they are intervals it is a proved lower bound.

    Args:
        mechanism: a function from an input to {output: probability}, or a mechanism of ours with a finite law.
        inputs: a universe, whose tables are the inputs; or pairs of neighbouring inputs.
        relation: of a universe: AddRemove, Replace or a ZeroOut.
        claim: as a loss; or epsilon, and delta in [0, 1).
        delta: None takes 0; for a claimed loss that is infinite there, its own delta or the power of ten at which the
            claim fails most.

    Raises: InvalidParameterError if a law is not one, or if there are no neighbours.
    Source: the optimal event of Neyman and Pearson (1933); docs/theory/audit/exact.md.

    >>> print(measure_exactly(lambda bit: {bit: "3/4", 1 - bit: "1/4"}, [(0, 1)], epsilon=1).sentence)
    The claim of epsilon=1 is false: epsilon is at least 1.099, certainly.
    """
    read = read_claim(claim, epsilon=epsilon, delta=0 if delta is None else delta)
    found = []
    for (p, q), pair in _laws(mechanism, inputs, relation):
        found += [_corners(p, q, pair), _corners(q, p, pair[::-1])]
    level, (odds, count, corners) = _worst(found, claim, delta)
    over = f"{len(found) // 2:,} pair{'s' * (len(found) > 2)}"
    if isinstance(inputs, Universe):
        over = f"every pair of neighbouring tables, {len(found) // 2:,} in all"
    thinned = np.unique(np.linspace(0, len(corners.outputs) - 1, _MOST_POINTS).astype(int))
    return AuditResult(
        claim=read,
        epsilon=_epsilon(odds),
        delta=float(level),
        confidence=1.0,
        event=_event(corners, count) if count else "",
        runs=0,
        tried=(f"every set of outputs, both ways, on {over}",),
        measured=Measured(
            false_positive=np.array([0.0, *(min(float(corners.there[k]), 1.0) for k in thinned)]),
            false_negative=np.array([1.0, *(max(float(1 - corners.here[k]), 0.0) for k in thinned)]),
        ),
    )


def hockey_stick(p: object, q: object, *, odds: Number | Fraction) -> Fraction:
    """Hockey-stick divergence of two finite laws: the sum of max(0, p - odds q), which is delta at epsilon = ln(odds).

    Args:
        p: {output: probability}; q likewise. With intervals the answer is a lower bound.
        odds: e^epsilon, at least 0.

    Source: Barthe, Olmedo (2013); Balle, Barthe, Gaboardi (2018), arXiv:1807.01647.

    >>> hockey_stick({0: "3/4", 1: "1/4"}, {0: "1/4", 1: "3/4"}, odds=2)
    Fraction(1, 4)
    """
    here, there, times = read_law(p), read_law(q), exact_rational("odds", odds)
    if times < 0:
        raise InvalidParameterError(f"odds must be at least 0, got {odds}")
    excess = (lower(mass) - times * upper(there.get(output, Fraction(0))) for output, mass in here.items())
    return sum((more for more in excess if more > 0), Fraction(0))


def finite_loss(
    mechanism: Mechanism | Callable[[Any], object], inputs: Pairs, *, relation: Neighbouring | None = None
) -> PrivacyLoss:
    """The loss of a finite mechanism with rational probabilities: its exact curve over all neighbours.

    Args:
        mechanism: as in `measure_exactly`; inputs and relation likewise.

    Raises: InvalidParameterError if a probability is an interval.

    >>> loss = finite_loss(lambda bit: {bit: "3/4", 1 - bit: "1/4"}, [(0, 1)])
    >>> loss.statement.exact_delta(2)
    Fraction(1, 4)
    """
    rows = []
    for (p, q), _ in _laws(mechanism, inputs, relation):
        outputs = list({**p, **q})
        rows.append([[law.get(output, Fraction(0)) for output in outputs] for law in (p, q)])
    if any(not isinstance(mass, Fraction) for pair in rows for law in pair for mass in law):
        raise InvalidParameterError("finite_loss needs rational probabilities; measure_exactly also takes intervals")
    between = relation if isinstance(relation, Relation) else Replace
    return FiniteLoss.of_pairs([(p, q) for p, q in rows], relation=between)


def _laws(
    mechanism: Mechanism | Callable[[Any], object], inputs: Pairs, relation: Neighbouring | None
) -> Iterator[tuple[tuple[Law, Law], tuple[Any, Any]]]:
    """Both laws of every pair of neighbours; the law of a table of a universe is asked for once."""
    if isinstance(inputs, Universe) and relation is None:
        raise InvalidParameterError("a universe needs relation=AddRemove, Replace or a ZeroOut")
    law_of = mechanism.pmf if isinstance(mechanism, Mechanism) else mechanism
    if not callable(law_of):
        raise InvalidParameterError(f"mechanism must be a function or a mechanism of ours, got {shown(mechanism)}")
    law = partial(_told, law_of)
    if isinstance(inputs, Universe):  # of pairs, 0.0 and -0.0 are equal inputs, and lists have no hash
        law = cache(law)  # type: ignore[assignment]
    pairs = inputs.pairs(relation) if isinstance(inputs, Universe) and relation is not None else inputs
    try:
        read = [(one, other) for one, other in pairs]  # type: ignore[union-attr]
    except (TypeError, ValueError):
        raise InvalidParameterError("inputs must be a Universe, or pairs [(data, neighbour), ...]") from None
    for one, other in read:
        yield (law(one), law(other)), (one, other)
    if not read:
        raise InvalidParameterError("there is no pair of neighbours to audit: the universe needs more rows or values")


def _told(law_of: Callable[[Any], object], table: Any) -> Law:
    try:
        return read_law(law_of(table))
    except InvalidParameterError:
        raise
    except Exception as error:
        raise InvalidParameterError(
            f"the mechanism fails on {shown(table)} ({type(error).__name__}). "
            "If that is shown, return it as an output; else leave such inputs out."
        ) from error


def _corners(p: Law, q: Law, inputs: tuple[Any, Any]) -> _Corners:
    """Outputs by falling odds; their sums are the corners of the trade-off curve."""
    masses = {output: (lower(mass), upper(q.get(output, Fraction(0)))) for output, mass in p.items()}
    certain = [output for output, (here, there) in masses.items() if here and not there]
    others = [output for output, (here, there) in masses.items() if here and there]
    others.sort(key=lambda output: masses[output][0] / masses[output][1], reverse=True)
    outputs = (*certain, *others)
    here = tuple(accumulate(masses[output][0] for output in outputs))
    there = tuple(min(total, Fraction(1)) for total in accumulate(masses[output][1] for output in outputs))
    return _Corners(inputs, outputs, here, there)


Found = tuple[Fraction | float, int, _Corners]


def _worst(found: Sequence[_Corners], claim: PrivacyLoss | None, delta: Number | None) -> tuple[Fraction, Found]:
    """The level of delta that is reported, and the largest odds there."""
    if claim is None or delta is not None or math.isfinite(claim.epsilon(0).upper):
        level = probability("delta", 0 if delta is None else delta)
        return level, _largest(found, level)
    stated = Fraction(repr(round_up(claim.infinite_mass)))  # a float, as it is reported
    if stated == 1:  # the claim allows everything
        return Fraction(0), _largest(found, Fraction(0))
    own = _largest(found, stated)
    if _epsilon(own[0]) > claim.epsilon(stated).upper:
        return stated, own
    levels = [level for level in sorted({stated, *map(Fraction, _DELTAS)}) if math.isfinite(claim.epsilon(level).upper)]
    tried = [(level, _largest(found, level)) for level in levels or [Fraction(0)]]
    return max(tried, key=lambda one: _epsilon(one[1][0]) - claim.epsilon(one[0]).upper)  # of equals the smallest


def _largest(found: Sequence[_Corners], delta: Fraction) -> Found:
    return max(((*corners.odds(delta), corners) for corners in found), key=lambda one: one[0])


def _epsilon(odds: Fraction | float) -> float:
    """ln of the odds, rounded down."""
    if isinstance(odds, float) or odds <= 1:
        return float(odds) if isinstance(odds, float) else 0.0
    return certified(lambda: ball(odds).log(), within=NONNEGATIVE).lower


def _event(corners: _Corners, count: int) -> str:
    """The worst event in words, by the smaller of the two ways to name it."""
    outputs = corners.outputs[:count]
    some = ", ".join(shown(output) for output in outputs[:_MOST_SHOWN])
    more = f" and {count - _MOST_SHOWN} more" if count > _MOST_SHOWN else ""
    one, other = (shown(table) for table in corners.inputs)
    p, q = float(corners.here[count - 1]), float(corners.there[count - 1])
    return f"output {some}{more}: probability {p:.4g} on {one}, {q:.4g} on {other}"
