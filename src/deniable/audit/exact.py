"""Exact audits: epsilon and delta of a finite mechanism, over all events."""

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

_DELTAS = ("0", *(f"1e-{digits}" for digits in range(9, 0, -1)), "0.3")  # that are tried for a claimed curve
_MAX_CURVE_POINTS = 512  # of a measured curve
_MAX_SHOWN_OUTPUTS = 6  # in an event


@dataclass(frozen=True)
class _Corners:
    """Most likely events of one distribution against another.

    Outputs are ordered by falling likelihood ratio, with both sums of probabilities so far.
    """

    inputs: tuple[Any, Any]
    outputs: tuple[Hashable, ...]
    here: tuple[Fraction, ...]  # least probability of the first k outputs, on the first input
    there: tuple[Fraction, ...]  # greatest, on the second

    def exp_epsilon(self, delta: Fraction) -> tuple[Fraction | float, int]:
        """Return the least t with P - t Q <= delta for all events, and the worst event.

        The event is given by its number of outputs.
        """
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
    """Compute epsilon of a finite mechanism at delta, over all neighbours and events.

    Nothing is drawn: where probabilities are rational the answer is exact up to its last float rounding, and where
    they are intervals it is a proved lower bound.

    Args:
        mechanism: a function from an input to {output: probability}, or a mechanism of ours with a finite distribution.
        inputs: a universe, whose tables are the inputs; or pairs of neighbouring inputs.
        relation: of a universe: AddRemove, Replace or a ZeroOut.
        claim: as a loss; or epsilon, and delta in [0, 1).
        epsilon: claimed; None claims nothing.
        delta: None takes 0; for a claimed loss that is infinite there, its own delta or the power of ten at which the
            claim fails most.

    Raises: InvalidParameterError if a distribution is not valid, or if there are no neighbours.
    Source: the optimal event of Neyman and Pearson (1933); docs/theory/audit/exact.md.

    >>> print(measure_exactly(lambda bit: {bit: "3/4", 1 - bit: "1/4"}, [(0, 1)], epsilon=1).sentence)
    The claim of epsilon=1 is false: epsilon is at least 1.099, certainly.
    """
    read = read_claim(claim, epsilon=epsilon, delta=0 if delta is None else delta)
    compared = []
    for (p, q), pair in _laws(mechanism, inputs, relation):
        compared += [_corners(p, q, pair), _corners(q, p, pair[::-1])]
    level, (exp_epsilon, count, corners) = _worst(compared, claim, delta)
    over = f"{len(compared) // 2:,} pair{'s' * (len(compared) > 2)}"
    if isinstance(inputs, Universe):
        over = f"every pair of neighbouring tables, {len(compared) // 2:,} in all"
    thinned = np.unique(np.linspace(0, len(corners.outputs) - 1, _MAX_CURVE_POINTS).astype(int))
    return AuditResult(
        claim=read,
        epsilon=_epsilon(exp_epsilon),
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


def hockey_stick(p: object, q: object, *, exp_epsilon: Number | Fraction) -> Fraction:
    """Return the hockey-stick divergence of two finite distributions, exactly.

    It is the sum of max(0, p - exp_epsilon q), which is delta at epsilon = ln(exp_epsilon).

    Args:
        p, q: {output: probability}. With intervals the answer is a lower bound.
        exp_epsilon: e^epsilon, at least 0.

    Source: Barthe, Olmedo (2013); Balle, Barthe, Gaboardi (2018), arXiv:1807.01647.

    >>> float(hockey_stick({0: "3/4", 1: "1/4"}, {0: "1/4", 1: "3/4"}, exp_epsilon=2))
    0.25
    """
    here = read_law(p)
    there = read_law(q)
    times = exact_rational("exp_epsilon", exp_epsilon)
    if times < 0:
        raise InvalidParameterError(f"exp_epsilon must be >= 0, got {exp_epsilon}")
    excess = (lower(mass) - times * upper(there.get(output, Fraction(0))) for output, mass in here.items())
    return sum((more for more in excess if more > 0), Fraction(0))


def finite_loss(
    mechanism: Mechanism | Callable[[Any], object], inputs: Pairs, *, relation: Neighbouring | None = None
) -> PrivacyLoss:
    """Return the exact loss of a finite mechanism with rational probabilities.

    Args:
        mechanism, inputs, relation: as for `measure_exactly`.

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
        raise InvalidParameterError(
            "finite_loss needs rational probabilities, got an interval. Take measure_exactly, which admits them"
        )
    between = relation if isinstance(relation, Relation) else Replace
    return FiniteLoss.of_pairs([(p, q) for p, q in rows], relation=between)


def _laws(
    mechanism: Mechanism | Callable[[Any], object], inputs: Pairs, relation: Neighbouring | None
) -> Iterator[tuple[tuple[Law, Law], tuple[Any, Any]]]:
    """Yield both distributions of every pair of neighbours.

    That of a table of a universe is computed once.
    """
    if isinstance(inputs, Universe) and relation is None:
        raise InvalidParameterError("a universe needs relation=AddRemove, Replace or a ZeroOut")
    law_of = mechanism.pmf if isinstance(mechanism, Mechanism) else mechanism
    if not callable(law_of):
        raise InvalidParameterError(f"mechanism must be a function or a mechanism of ours, got {shown(mechanism)}")
    law = partial(_law_on, law_of)
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
        raise InvalidParameterError(
            "inputs must hold at least one pair of neighbours. Give the universe more rows or values"
        )


def _law_on(law_of: Callable[[Any], object], table: Any) -> Law:
    """Return the distribution on a table, or refuse a function that fails."""
    try:
        return read_law(law_of(table))
    except InvalidParameterError:
        raise
    except Exception as error:
        raise InvalidParameterError(
            f"the mechanism fails on {shown(table)} ({type(error).__name__}). "
            "If the failure is visible, return it as an output; else leave such inputs out."
        ) from error


def _corners(p: Law, q: Law, inputs: tuple[Any, Any]) -> _Corners:
    """Return outputs by falling likelihood ratio.

    Their sums are the corners of the trade-off curve.
    """
    masses = {output: (lower(mass), upper(q.get(output, Fraction(0)))) for output, mass in p.items()}
    certain = [output for output, (here, there) in masses.items() if here and not there]
    others = [output for output, (here, there) in masses.items() if here and there]
    others.sort(key=lambda output: masses[output][0] / masses[output][1], reverse=True)
    outputs = (*certain, *others)
    here = tuple(accumulate(masses[output][0] for output in outputs))
    there = tuple(min(total, Fraction(1)) for total in accumulate(masses[output][1] for output in outputs))
    return _Corners(inputs, outputs, here, there)


WorstEvent = tuple[Fraction | float, int, _Corners]


def _worst(
    compared: Sequence[_Corners], claim: PrivacyLoss | None, delta: Number | None
) -> tuple[Fraction, WorstEvent]:
    """Return the delta that is reported, and the worst event there."""
    if claim is None or delta is not None or math.isfinite(claim.epsilon(0).upper):
        level = probability("delta", 0 if delta is None else delta)
        return level, _largest(compared, level)
    stated = Fraction(repr(round_up(claim.infinite_mass)))  # a float, as it is reported
    if stated == 1:  # the claim allows everything
        return Fraction(0), _largest(compared, Fraction(0))
    own = _largest(compared, stated)
    if _epsilon(own[0]) > claim.epsilon(stated).upper:
        return stated, own
    levels = [level for level in sorted({stated, *map(Fraction, _DELTAS)}) if math.isfinite(claim.epsilon(level).upper)]
    tried = [(level, _largest(compared, level)) for level in levels or [Fraction(0)]]
    return max(tried, key=lambda one: _epsilon(one[1][0]) - claim.epsilon(one[0]).upper)  # the smallest of equal ones


def _largest(compared: Sequence[_Corners], delta: Fraction) -> WorstEvent:
    """Return the worst event at a delta."""
    return max(((*corners.exp_epsilon(delta), corners) for corners in compared), key=lambda one: one[0])


def _epsilon(exp_epsilon: Fraction | float) -> float:
    """Return epsilon from e^epsilon, rounded down."""
    if isinstance(exp_epsilon, float):  # infinite
        return exp_epsilon
    if exp_epsilon <= 1:
        return 0.0
    return certified(lambda: ball(exp_epsilon).log(), within=NONNEGATIVE).lower


def _event(corners: _Corners, count: int) -> str:
    """Return an event in words."""
    outputs = corners.outputs[:count]
    some = ", ".join(shown(output) for output in outputs[:_MAX_SHOWN_OUTPUTS])
    more = f" and {count - _MAX_SHOWN_OUTPUTS} more" if count > _MAX_SHOWN_OUTPUTS else ""
    one, other = (shown(table) for table in corners.inputs)
    p = float(corners.here[count - 1])
    q = float(corners.there[count - 1])
    return f"output {some}{more}: probability {p:.4g} on {one}, {q:.4g} on {other}"
