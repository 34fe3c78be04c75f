"""How many rows there are."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Unpack

import numpy as np

from deniable.noise.bits import Bits
from deniable.privacy import Sensitivity, of_count
from deniable.release import Measure, Noisy, Release
from deniable.rows import Container, labels
from deniable.statistics.call import in_words
from deniable.statistics.noised import Noised
from deniable.statistics.statistic import Answer, Options, release
from deniable.statistics.units import bounded_rows


@dataclass(frozen=True, kw_only=True)
class Count(Noised):
    """The number of rows that are not NULL, with discrete noise.

    Under replace the number of all rows is public, but not how many of them are NULL.

    Guarantee: one unit moves the count by at most `rows`; the noise is calibrated to that.
    Proof: docs/theory/privacy/sensitivity.md.
    Source: Dwork, McSherry, Nissim, Smith (2006), "Calibrating noise to sensitivity in private data analysis".
    """

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


@in_words
def count(values: Container, **options: Unpack[Options]) -> Release:
    """The number of rows that are not NULL: see `Count`.

    >>> import deniable as dn
    >>> answer = dn.statistics.count([4, 8, None, 2], epsilon=1)
    """
    return release(Count, values, {}, options)
