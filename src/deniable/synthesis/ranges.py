"""Ranges of one column, measured by the strategy of least error.

The error is that of all sums that matter. The strategy is a matrix of whole numbers, and noise is added to its answers;
every range is a weighted sum of them. The least error has a certificate: see
`deniable.mechanisms.correlated.triangular.optimal` and docs/theory/synthesis/marginals.md.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.correlated.triangular import Optimum, optimal
from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats, Integers, MachineIntegers
from deniable.numbers.rationals import shown
from deniable.privacy import PrivacyLoss, Relation, Sensitivity
from deniable.release import Release
from deniable.release.columns import Key
from deniable.release.display import price as price_text
from deniable.statistics.units import bounded_rows
from deniable.synthesis.domain import DeclaredDomain
from deniable.synthesis.paid import Paid
from deniable.synthesis.residuals import Spread, excess_kurtosis
from deniable.synthesis.tables import COUNT, counts_column, free_name

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


WORKLOADS = ("ranges", "prefixes")
MAX_LEVELS = 1025  # of the column: the best strategy for so many takes 15 seconds, for prefixes a minute
UNIT = 2**14  # in which entries of a strategy are whole numbers


@dataclass(frozen=True, kw_only=True)
class RangePlan:
    """Plan of noisy counts of one column for ranges, with their error and their cost.

    All of it is public. Of three strategies the one with the least mean squared error at the price is taken: the
    optimum for Gaussian noise, sums of halves of halves, and the counts themselves.

    Args:
        domain: the one column and its levels.
        workload: the sums that matter: all "ranges" of levels, or "prefixes"; missing values apart.
        price: what it costs.
        relation: the neighbouring relation.
        rows: the most rows of one unit that count.

    Raises: InvalidParameterError for more columns or levels, or another workload.
    Guarantee: `privacy_loss`, for one unit with at most `rows` rows that count.

    >>> import deniable as dn
    >>> columns = {"age": dn.Number(lower=0, upper=99)}
    >>> budget = dn.Budget(epsilon=1, delta="1e-6")
    >>> db = dn.connect(dn.datasets.visits(), name="visits", unit="patient", rows=2, columns=columns, budget=budget)
    >>> plan = db.explain_ranges("age", rho="1/2", bins=64)
    >>> round(plan.error, 1), round(plan.lower_bound, 1)
    (4.6, 4.6)
    """

    domain: DeclaredDomain
    workload: str
    price: Price
    relation: Relation
    rows: int

    def __post_init__(self) -> None:
        if len(self.domain) != 1:
            raise InvalidParameterError(f"ranges are of one column, got {', '.join(self.domain.names)}.")
        if self.workload not in WORKLOADS:
            raise InvalidParameterError(f"workload must be {' or '.join(WORKLOADS)}, got {shown(self.workload)}.")
        if not 2 <= self.levels <= MAX_LEVELS:
            raise InvalidParameterError(
                f"{self.domain.names[0]} has {self.levels:,} levels; ranges need 2 to {MAX_LEVELS:,}. Take fewer bins."
            )

    @property
    def levels(self) -> int:
        """Number of levels, that of missing values included."""
        return self.domain.sizes[0]

    @property
    def edges(self) -> list[Any]:
        """Lower ends of the bins, at which ranges begin and end."""
        return list(self.domain.attributes[0].values[:-1])

    @cached_property
    def gram(self) -> Floats:
        """Products of the columns of the workload, over the number of its sums.

        Their shape is (known, known). Missing values are in no sum; an answer of their own costs the others nothing, as
        a row is in one level.
        """
        known = np.arange(self.levels - 1)
        later, earlier = np.maximum.outer(known, known), np.minimum.outer(known, known)
        number = known.size * (known.size + 1) / 2 if self.workload == "ranges" else known.size
        through = (known.size - later) * (earlier + 1 if self.workload == "ranges" else 1)  # sums with both levels
        return np.asarray(through / max(1, number), dtype=np.float64)

    @cached_property
    def optimum(self) -> Optimum:
        """Best Gaussian strategy under add/remove, with the bound that certifies it."""
        return optimal(self.gram)

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        """The loss of all answers together."""
        return self.price.stated(self.price.concentrated().bound().under(self.relation))

    @cached_property
    def _chosen(self) -> tuple[Integers, AdditiveNoise]:
        """The strategy of whole numbers and its noise."""
        known = self.levels - 1
        candidates = [np.eye(known), _halves(known), np.rint(np.linalg.cholesky(self.optimum.gram).T * UNIT)]
        priced = []
        for candidate in candidates:
            strategy = np.zeros((len(candidate) + 1, known + 1), dtype=np.int64)
            strategy[:-1, :-1] = candidate
            strategy[-1, -1] = math.isqrt(int((candidate**2).sum(axis=0).max())) or 1  # of missing values
            noise = self.price.concentrated().noise(strategy_sensitivity(strategy, self.rows, self.relation))
            priced.append((self._mean_squared_error(strategy, noise), strategy, noise))
        return min(priced, key=lambda each: each[0])[1:]

    @property
    def strategy(self) -> Integers:
        """Strategy of whole numbers, of shape (answers, levels).

        Noise is added to these sums of counts.
        """
        return self._chosen[0]

    @property
    def noise(self) -> AdditiveNoise:
        """Noise of each answer."""
        return self._chosen[1]

    def _mean_squared_error(self, strategy: Integers, noise: AdditiveNoise) -> float:
        values = strategy[:-1, :-1].astype(np.float64)
        return float(np.trace(np.linalg.solve(values.T @ values, self.gram))) * noise.standard_deviation() ** 2

    @cached_property
    def error(self) -> float:
        """Root of the mean squared error of the sums that matter."""
        return math.sqrt(self._mean_squared_error(*self._chosen))

    @property
    def lower_bound(self) -> float:
        """Least error of any strategy with Gaussian noise under add/remove.

        It is 0 under pure differential privacy.
        """
        rho = self.price.concentrated().rho
        return 0.0 if rho is None else self.optimum.lower * self.rows / math.sqrt(2 * rho)

    @cached_property
    def _inverse(self) -> Floats:
        """Matrix that makes counts of the answers."""
        values = self.strategy.astype(np.float64)
        return np.asarray(np.linalg.solve(values.T @ values, values.T))

    def spread(self, weights: Floats) -> Spread:
        """Return how far the errors of weighted sums of counts spread.

        The weights have the shape (sums, levels).
        """
        loads = np.abs(weights @ self._inverse)
        deviation = self.noise.standard_deviation()
        fourth = excess_kurtosis(self.noise) * (loads**4).sum(axis=1) * deviation**4
        steps = loads.max(axis=1)
        return Spread.of((loads**2).sum(axis=1) * deviation**2, fourth, steps, (steps * deviation) ** 2)

    def measured_text(self, levels: MachineIntegers, units: object, bits: Bits) -> str:
        """Return noisy answers about rows, as a ledger keeps them.

        The rows are given as levels, of shape (1, rows).
        """
        present = np.ones(levels.shape[1], dtype=np.bool_)
        held = levels[0, bounded_rows(units, rows=self.rows, present=present, bits=bits)]
        counts = np.bincount(held, minlength=self.levels).astype(np.int64)
        return json.dumps(np.asarray(self.noise.release(self.strategy @ counts, bits=bits).value).tolist())

    def counts_of(self, text: str) -> Floats:
        """Return the least-squares counts of the levels, from a text of `measured_text`."""
        return np.asarray(self._inverse @ np.array(json.loads(text), dtype=np.float64))

    def __str__(self) -> str:
        """The column, the error and the cost."""
        above = f", at least {self.lower_bound:.4g} by any Gaussian strategy" if self.lower_bound else ""
        return (
            f"{self.workload} of {self.domain.names[0]}: {self.levels} levels from {len(self.strategy)} answers\n"
            f"  root of the mean squared error {self.error:.4g}{above}\n"
            f"cost {price_text(self.privacy_loss)}"
        )

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


@dataclass(frozen=True, kw_only=True, eq=False)
class RangeCounts(Paid):
    """Noisy counts of one column's levels, from which any range follows.

    All of it is public.

    Args:
        plan: what was measured, by what noise.
        counts: unbiased, of shape (levels,); the last one is of missing values.
        cost: the privacy loss of this answer; of a stored one, nothing.
        budget_left: what the ledger had left after it; None without a ledger.
        safe: False if the noise came from a test stream.
        protects: whose data the cost is about.
        notes: what a reader must know, one sentence each.
        provenance: the payment in the ledger; None without one.

    >>> import deniable as dn
    >>> columns = {"age": dn.Number(lower=0, upper=99, integer=True)}
    >>> budget = dn.Budget(epsilon=1, delta="1e-6")
    >>> db = dn.connect(dn.datasets.visits(), name="visits", unit="patient", rows=2, columns=columns, budget=budget)
    >>> ages = db.ranges("age", epsilon=1, delta="1e-6")
    >>> ages.between([(0, 18), (65, 100)]).columns
    ('from', 'below', 'count')
    """

    plan: RangePlan
    counts: Floats

    def between(self, ranges: "Sequence[tuple[Any, Any]]") -> Release:
        """Return the number of rows in each range, with intervals.

        Args:
            ranges: pairs (from, below) of ends of bins: the lower end counts, the upper one does not; the upper end of
                the column stands for everything.

        Raises: InvalidParameterError for an end that is not one of a bin.
        """
        attribute = self.plan.domain.attributes[0]
        ends = attribute.values[:-1]
        weights = np.zeros((len(ranges), self.plan.levels))
        for row, pair in enumerate(ranges):
            if not attribute.ordered or not isinstance(pair, tuple | list) or len(pair) != 2:
                raise InvalidParameterError(
                    "ranges of a column with bounds are pairs (from, below), [(0, 18), (18, 65)]; for one with keys, "
                    "take linear."
                )
            first, last = _index(ends, pair[0]), _index(ends, pair[1], last=True)
            if last < first:
                raise InvalidParameterError(f"a range begins below its end, got {shown(pair)}.")
            weights[row, first:last] = 1
        keys = [Key(name=name, values=tuple(each[at] for each in ranges)) for at, name in enumerate(("from", "below"))]
        return self._sums(keys, weights, f"{attribute.name} in ranges")

    def linear(self, coefficients: "ArrayLike") -> Release:
        """Return weighted sums of the counts, each with an interval.

        Args:
            coefficients: of shape (sums, levels); the last level stands for missing values.

        Raises: InvalidParameterError for another shape.
        """
        weights = np.asarray(coefficients, dtype=np.float64)
        if weights.ndim != 2 or weights.shape[1] != self.plan.levels or not np.isfinite(weights).all():
            raise InvalidParameterError(f"coefficients are finite numbers of shape (sums, {self.plan.levels}).")
        index = Key(name="index", values=tuple(range(len(weights))), kind="int64")
        return self._sums([index], weights, f"weighted sums of {self.plan.domain.names[0]}")

    def release(self) -> Release:
        """Return the count of every level, with intervals."""
        attribute = self.plan.domain.attributes[0]
        key = Key(name=attribute.name, values=tuple(attribute.values), kind=attribute.kind, edge=attribute.edge)
        return self._sums([key], np.eye(self.plan.levels), f"rows by {attribute.name}")

    def _sums(self, keys: Sequence[Key], weights: Floats, text: str) -> Release:
        """Return weighted sums of the counts with their intervals."""
        spread = self.plan.spread(weights)
        name = free_name(COUNT, [key.name for key in keys])
        half, counted = spread.half_widths, bool((weights >= 0).all())
        column = counts_column(weights @ self.counts, half, counted=counted, name=name)
        return self._release([*keys, column], text)

    def __str__(self) -> str:
        """The plan, what is left, and what a reader must know."""
        return self._with_payment(self.plan)


def strategy_sensitivity(strategy: Integers, rows: int, relation: Relation) -> Sensitivity:
    """Return how far one unit moves the answers of a strategy, exactly.

    Args:
        strategy: of shape (answers, levels).
        rows: the most rows of one unit that count.
        relation: the neighbouring relation.

    Guarantee: `rows` equal rows move the answers by as many columns of the strategy, and no others move them further;
        under replace, by differences of two columns, or by one, where the other unit has no row.
    """
    sizes = np.abs(strategy)
    gram = strategy.T @ strategy
    own = np.diag(gram)
    l1, l2_squared, linf = int(sizes.sum(axis=0).max()), int(own.max()), int(sizes.max())
    if relation is Relation.REPLACE:
        l1, linf = 2 * l1, 2 * linf
        l2_squared = max(l2_squared, int((own[:, None] + own - 2 * gram).max()))
    scaled = partial(Fraction, denominator=1)
    l2 = scaled(rows**2 * l2_squared)
    linf = min(rows * linf, math.isqrt(int(l2)))
    return Sensitivity(l1=scaled(rows * l1), l2_squared=l2, linf=scaled(linf), relation=relation)


def _halves(known: int) -> Floats:
    """Return sums of all levels, of their halves, of the halves of these, and so on."""
    parts, rows = [(0, known)], []
    for start, stop in parts:
        row = np.zeros(known)
        row[start:stop] = 1
        rows.append(row)
        middle = (start + stop) // 2
        if stop - start > 1:
            parts += [(start, middle), (middle, stop)]
    return np.array(rows)


def _index(ends: Sequence[Any], value: Any, *, last: bool = False) -> int:
    """Return the index of an end of a bin.

    As the last end of a range, anything beyond the start of the last bin is beyond all bins.
    """
    try:
        if last and value > ends[-1]:
            return len(ends)
        return ends.index(value)
    except (TypeError, ValueError):
        first_ends = ", ".join(map(str, ends[:4]))
        kind = type(ends[0]).__name__
        raise InvalidParameterError(
            f"ranges begin and end as bins do ({first_ends}, ...; each a {kind}), got {shown(value)}; see plan.edges."
        ) from None
