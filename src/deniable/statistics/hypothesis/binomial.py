"""Test of the share of rows that are 1."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, ClassVar, Unpack

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.noise.bits import Bits
from deniable.numbers.rationals import Real, exact_rational
from deniable.privacy import Sensitivity
from deniable.privacy.sensitivity import of_spread_sum
from deniable.release import Release
from deniable.rows import Container, numbers
from deniable.statistics.call import asks
from deniable.statistics.hypothesis.base import (
    Alternative,
    HypothesisTest,
    TestOptions,
    checked_alternative,
    directed,
    multinomials,
    noise,
    p_value,
)
from deniable.statistics.noised import Noised
from deniable.statistics.statistic import Answer, release
from deniable.statistics.units import bounded_rows


@dataclass(frozen=True, kw_only=True)
class BinomialTest(Noised, HypothesisTest):
    """Test of a share by noisy numbers of ones and of other rows: see `binomial_test`."""

    name: ClassVar[str] = "binomial_test"
    null: ClassVar[str] = "the share of ones is as stated"

    share: Real
    alternative: Annotated[Alternative, checked_alternative] = "two-sided"

    def _check(self) -> None:
        if not 0 < exact_rational("share", self.share) < 1:
            raise InvalidParameterError(f"share must be in (0, 1), got {self.share!r}")

    @cached_property
    def _share(self) -> float:
        return float(exact_rational("share", self.share))

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """Sensitivity of the pair (ones, others), to one of which each row belongs."""
        return of_spread_sum(lower=0, upper=Fraction(1), total_rows=self.rows, relation=self.relation, cells=2)

    def expected_error(self, size: int) -> float:
        """Return the standard deviation of the noise in ones - share * rows."""
        return float(np.hypot(1 - self._share, self._share) * self.mechanism.standard_deviation())

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        column = numbers(values)
        kept = bounded_rows(units, rows=self.rows, present=~np.isnan(column), bits=bits)
        ones = int(np.count_nonzero(column[kept] == 1))
        exact = [ones, int(np.count_nonzero(kept)) - ones]
        noisy = self.mechanism.release(exact, bits=bits).value.astype(np.float64)
        chances = np.array([self._share, 1 - self._share])
        made_up = multinomials(max(round(noisy.sum()), 0), chances, self.simulations, bits)
        simulated = made_up + noise(self.mechanism, made_up.shape, bits)
        contrast = np.array([1 - self._share, -self._share])
        statistic = noisy @ contrast
        return self._tested(
            float(statistic),
            p_value(directed(statistic, self.alternative), directed(simulated @ contrast, self.alternative)),
        )


@asks(BinomialTest)
def binomial_test(
    values: Container, *, share: Real, alternative: Alternative = "two-sided", **options: Unpack[TestOptions]
) -> Release:
    """Test whether the share of rows that are 1 (or True) is `share`.

    The statistic is ones - share * rows, from noisy numbers of ones and of other rows. Its null law is simulated with
    the noisy number of rows, which is off by about the noise; the p-value is exact up to that.

    Args:
        values: one column of private numbers or booleans.
        share: of ones, under the null hypothesis; in (0, 1).
        alternative: "two-sided", "greater" or "less".
        options: price, relation, units, ledger and `simulations`: see `TestOptions`.

    Guarantee: a row is counted in one of two numbers, so both together move by at most `rows` (replace: twice that).
    Proof: docs/theory/privacy/sensitivity.md.
    Source: Awan, Slavković (2018), arXiv:1805.09236: for one share of a known number of rows no private test is better
        than the noisy count.

    >>> import deniable as dn
    >>> test = dn.statistics.binomial_test([1, 0, 1, 1] * 50, share=0.5, epsilon=1)
    """
    return release(BinomialTest, values, {"share": share, "alternative": alternative}, options)
