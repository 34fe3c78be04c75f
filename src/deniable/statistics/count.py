"""The number of rows."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Unpack

import numpy as np

from deniable.noise.bits import Bits
from deniable.privacy import Sensitivity, of_count
from deniable.release import Release
from deniable.release.columns import Measure, Noisy
from deniable.rows import Container, labels
from deniable.statistics.call import asks
from deniable.statistics.noised import Noised
from deniable.statistics.statistic import Answer, Options, release
from deniable.statistics.units import bounded_rows


@dataclass(frozen=True, kw_only=True)
class Count(Noised):
    """Number of rows that are not NULL, with discrete noise: see `count`."""

    name: ClassVar[str] = "count"

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """Sensitivity of the count."""
        return of_count(rows=self.rows, groups=1, relation=self.relation, cells=1)

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        present = labels(values) >= 0
        exact = int(np.count_nonzero(bounded_rows(units, rows=self.rows, present=present, bits=bits)))
        noisy = self.mechanism.release([exact], bits=bits).value
        return Answer(
            parts=(Measure(name="count", bases=("count",), lower=0),),
            noisy=(Noisy(name="count", values=noisy.astype(np.int64), law=self.mechanism.law()),),
        )


@asks(Count)
def count(values: Container, **options: Unpack[Options]) -> Release:
    """Return the noisy number of rows that are not NULL.

    Under replace the number of all rows is public, but not how many of them are NULL.

    Args:
        values: one column of any type.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: one unit moves the count by at most `rows`; the noise is calibrated to that.
    Proof: docs/theory/privacy/sensitivity.md.
    Source: Dwork, McSherry, Nissim, Smith (2006), "Calibrating noise to sensitivity in private data analysis".

    >>> import deniable as dn
    >>> answer = dn.statistics.count([4, 8, None, 2], epsilon=1)
    """
    return release(Count, values, {}, options)
