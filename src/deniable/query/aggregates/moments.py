"""Variances, deviations, covariances and correlations, from noisy means.

The means are those of values and of their products.

Deviations are taken from the exact middle of the public range. A product of two lies within the product of half the
ranges, and a square above 0: these are the bounds of its sum. Everything else is arithmetic on what was released.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from deniable.query.aggregates.counts import count_of
from deniable.query.aggregates.sums import average, positive, summand
from deniable.query.allowlist import called
from deniable.query.expression import Expression, literal
from deniable.query.operators import call

if TYPE_CHECKING:
    from deniable.query.clauses import ResultScope


def read_variance(
    node: exp.Expr, where: Expression | None, scope: "ResultScope", *, sample: bool, root: bool = False
) -> Expression:
    """Return VAR_POP or VAR_SAMP from noisy means, within its range.

    The mean of the squares less the square of the mean.

    Args:
        sample: whether it is that of the population that the rows were drawn from: n / (n - 1) times as much.
        root: whether the standard deviation is asked for.
    """
    rows = _rows(node, (node.this,), where, scope)
    (value,) = rows.values
    half = _half(value)
    spread = rows.covariance(value, value)
    if not sample and not root:
        return _within(spread, Fraction(0), half**2)
    spread = _clamped(_within(spread, Fraction(0), half**2))
    if sample:
        spread = _of_sample(spread, rows.count)
    return _within(call("sqrt", spread) if root else spread, Fraction(0), None if sample else half)


def read_covariance(node: exp.Expr, where: Expression | None, scope: "ResultScope", *, sample: bool) -> Expression:
    """COVAR_POP and COVAR_SAMP, over rows that have both values."""
    rows = _rows(node, (node.this, node.expression), where, scope)
    one, other = rows.values
    largest = _half(one) * _half(other)
    spread = _within(rows.covariance(one, other), -largest, largest)
    return _of_sample(_clamped(spread), rows.count) if sample else spread


def read_correlation(node: exp.Expr, where: Expression | None, scope: "ResultScope") -> Expression:
    """Return CORR over rows that have both values.

    It is undefined where a noisy variance is not above 0.
    """
    rows = _rows(node, (node.this, node.expression), where, scope)
    one, other = rows.values
    scale = call("multiply", *(call("sqrt", rows.covariance(value, value)) for value in (one, other)))
    return _within(call("divide", rows.covariance(one, other), scale), Fraction(-1), Fraction(1))


@dataclass(frozen=True)
class _Rows:
    """The rows of `where` in which all of some bounded values are there."""

    values: tuple[Expression, ...]
    where: Expression | None
    scope: "ResultScope"

    @property
    def count(self) -> Expression:
        return count_of(self._kept(self.values[0], self.values[0]), self.scope)

    def covariance(self, one: Expression, other: Expression) -> Expression:
        """The noisy mean product of deviations less the product of the mean deviations.

        Both values are clamped before they are multiplied. A square needs no clamp but its own: what lies outside of
        the range has a larger one than its ends.
        """
        largest = _half(one) * _half(other)
        low = Fraction(0) if one == other else -largest
        factors = [value if one == other else _clamped(value) for value in (one, other)]
        deviations = [call("subtract", each, literal(_centre(each))) for each in factors]
        product = _within(call("multiply", *deviations), low, largest)
        mean = average(self._kept(product, one, other), self.count, self.scope)
        shifts = [
            call("subtract", average(self._kept(value, value), self.count, self.scope), literal(_centre(value)))
            for value in (one, other)
        ]
        return call("subtract", mean, call("multiply", *shifts))

    def _kept(self, value: Expression, *read: Expression) -> Expression:
        """Return `value` in the rows that have all that it reads.

        It is missing in all others.
        """
        present = [call("not", call("is_null", each)) for each in self.values if each not in read]
        where = self.where
        for each in present:
            where = each if where is None else call("and", where, each)
        return self.scope.kept(where, value)


def _rows(node: exp.Expr, read: tuple[exp.Expr, ...], where: Expression | None, scope: "ResultScope") -> _Rows:
    return _Rows(tuple(summand(called(node), each, None, scope) for each in read), where, scope)


def _of_sample(spread: Expression, count: Expression) -> Expression:
    return call("multiply", spread, call("divide", count, positive(call("subtract", count, literal(1)))))


def _clamped(value: Expression) -> Expression:
    """`value` within its range; NULL fails every test and stays NULL."""
    low, high = (literal(bound) for bound in value.facts.ends)
    return call("case", call("lt", value, low), low, call("gt", value, high), high, value)


def _centre(value: Expression) -> Fraction:
    low, high = value.facts.ends
    return (low + high) / 2


def _half(value: Expression) -> Fraction:
    low, high = value.facts.ends
    return (high - low) / 2


def _within(value: Expression, lower: Fraction, upper: Fraction | None) -> Expression:
    return replace(value, facts=replace(value.facts, lower=lower, upper=upper))
