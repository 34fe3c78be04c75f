"""Public tests made private: a noisy count of the blocks that reject."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.noise.bits import Bits
from deniable.numbers.rationals import Real, positive_integer, probability, whole_number
from deniable.privacy import Sensitivity, of_count
from deniable.release import Release
from deniable.rows import Container, attempted, labels, plain
from deniable.statistics.call import asks
from deniable.statistics.hypothesis.base import HypothesisTest, TestOptions, multinomials, noise, p_value
from deniable.statistics.noised import Noised
from deniable.statistics.statistic import Answer, release

_MAX_BLOCKS = 10**7  # blocks


@dataclass(frozen=True, kw_only=True)
class SubsampledTest(Noised, HypothesisTest):
    """Noisy count of the blocks in which a test rejects: see `subsampled_test`."""

    name: ClassVar[str] = "subsampled_test"
    null: ClassVar[str] = "that of the inner test"

    test: Callable[[NDArray[Any]], float]
    blocks: Annotated[int, partial(whole_number, lower=1, upper=_MAX_BLOCKS)]
    inner_level: Real = "1/5"
    columns: Annotated[int | None, positive_integer] = None

    def _check(self) -> None:
        if not callable(self.test):
            raise InvalidParameterError(f"test must be a function from rows to a p-value, got {self.test!r}")
        if not 0 < probability("inner_level", self.inner_level) < 1:
            raise InvalidParameterError(f"inner_level must be in (0, 1), got {self.inner_level!r}")

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """Sensitivity of the number of blocks that reject."""
        return of_count(rows=1, groups=1, relation=self.relation, cells=1)

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        table = plain(values, columns=self.columns)
        owners = np.arange(len(table)) if units is None else labels(units, "units")
        if owners.shape != table.shape[:1]:
            raise InvalidParameterError("units must have one entry for each row of the values")
        drawn = bits.words(int(owners.max(initial=-1)) + 1) % np.uint64(self.blocks)
        block_indices = np.where(owners >= 0, drawn[owners] if len(drawn) else 0, self.blocks).astype(np.int64)
        order = np.argsort(block_indices, kind="stable")
        ends = np.searchsorted(block_indices[order], np.arange(self.blocks + 1))
        level = float(probability("inner_level", self.inner_level))
        rejected = sum(self._p_value(table[order[start:end]]) <= level for start, end in pairwise(ends))
        observed = float(self.mechanism.release([rejected], bits=bits).value[0])
        made_up = multinomials(self.blocks, np.array([level, 1 - level]), self.simulations, bits)[:, 0]
        return self._tested(observed, p_value(observed, made_up + noise(self.mechanism, (self.simulations,), bits)))

    def _p_value(self, block: NDArray[Any]) -> float:
        """Return the p-value of the inner test; 1 where it gives none.

        Whatever the reason: it may depend on private rows.
        """
        p_value_of_block = attempted(lambda: float(self.test(block)))
        return p_value_of_block if p_value_of_block is not None and 0 <= p_value_of_block <= 1 else 1.0


@asks(SubsampledTest)
def subsampled_test(
    values: Container,
    *,
    test: Callable[[NDArray[Any]], float],
    blocks: int,
    inner_level: Real = "1/5",
    columns: int | None = None,
    **options: Unpack[TestOptions],
) -> Release:
    """Run a public test on random blocks of units, and count noisily where it rejects.

    Under the null hypothesis each block rejects with probability at most `inner_level`, independently, so the count is
    at most binomial: the p-value is exact if that of the inner test is valid on every block. A unit lies in one block
    with all its rows, however many they are.

    Args:
        values: private rows: a column or a table.
        test: gives the p-value of one block of rows. What raises, or gives no number, does not reject. The type of the
            block depends on that of the rows alone: see `deniable.rows.plain`. A list holds numbers, with NaN for
            anything else.
        blocks: how many, at most 10^7; public. Each needs enough rows for the inner test to have power.
        inner_level: level at which a block rejects, in (0, 1).
        columns: how many numbers a row of a list has, where it is a list itself.
        options: price, relation, units, ledger and `simulations`: see `TestOptions`.

    Guarantee: one unit changes the verdict of one block, so the count moves by at most 1 under either relation.
    Proof: docs/theory/statistics/hypothesis.md.
    Source: Kazan, Shi, Groce, Bray (2023), arXiv:2302.03260; Peña, Barrientos (2022), arXiv:2208.06236.

    >>> import deniable as dn
    >>> from scipy.stats import ttest_1samp
    >>> heights = [171.0, 168.5, 180.2, 175.0] * 200
    >>> answer = dn.statistics.subsampled_test(
    ...     heights, test=lambda block: ttest_1samp(block, 170).pvalue, blocks=30, epsilon=1
    ... )
    """
    parameters = {"test": test, "blocks": blocks, "inner_level": inner_level, "columns": columns}
    return release(SubsampledTest, values, parameters, options)
