"""The mean of a column."""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, Unpack

import numpy as np

from deniable.noise.bits import Bits
from deniable.release import Measure, Noisy, Release
from deniable.statistics.bounded import Bounded
from deniable.statistics.data import Floats
from deniable.statistics.laws import Law
from deniable.statistics.shares import STEP, UNIT, count_and_total
from deniable.statistics.statistic import Answer, Options, release


@dataclass(frozen=True, kw_only=True)
class Mean(Bounded):
    """The mean of the values, each clamped to the bounds.

    With u the place of a value between its bounds, from 0 to 1, the sums of u and of 1 - u get noise. One row adds 1 in
    all to the two, so each may have the noise that a single count would need, and their sum is the number of rows.
    Where that number is public, the first sum is enough.

    Guarantee: one unit moves the two sums by at most `rows` in l1 and in l2 (add/remove; twice and sqrt 2 times that
        under replace). The noise is calibrated to that: docs/theory/moments.md.
    Error: expected_error is for values that are spread evenly between the bounds; up to sqrt 2 times that for others.
        With bounds="auto" it is a share of the width of the bounds.
    """

    name: ClassVar[str] = "mean"

    def expected_error(self, size: int) -> float:
        parts = 1.0 if self.size_is_public else sqrt(1 / 2)
        return self.bounding.width() * min(parts * self.spread / max(size, 1), 1 / 2)

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        column, ends = self._bounded(values, units, bits)
        count, exact = self._sums(column, ends)
        noisy = [float(value) / UNIT for value in self.mechanism.release(exact, bits=bits).values]
        law = Law(self.mechanism, STEP)
        lower, upper = ends
        width = upper - lower
        if self.size_is_public:
            mean = Measure(
                name=self.name,
                bases=("above",),
                evaluate=lambda sums: lower + width * sums["above"] / max(count, 1),
                lower=lower,
                upper=upper,
            )
        else:
            least = 2 * self.spread  # where fewer rows seem to be there, the answer is drawn to the middle
            mean = Measure(
                name=self.name,
                bases=("above", "below"),
                evaluate=lambda sums: (
                    (lower + upper) / 2
                    + width / 2 * (sums["above"] - sums["below"]) / np.maximum(sums["above"] + sums["below"], least)
                ),
                denominators=(lambda sums: np.maximum(sums["above"] + sums["below"], 0),),
                lower=lower,
                upper=upper,
            )
        return Answer(
            parts=(mean,),
            noisy=tuple(
                Noisy(name=base, values=np.array([value]), law=law)
                for base, value in zip(mean.bases, noisy, strict=True)
            ),
            notes=self.bounding.notes(ends),
        )

    def _sums(self, column: Floats, ends: tuple[float, float]) -> tuple[int, list[int]]:
        count, total = count_and_total(column, ends, relation=self.relation)
        return count, [total] if self.size_is_public else [total, count * UNIT - total]


def mean(values: object, *, bounds: object, **options: Unpack[Options]) -> Release:
    """The mean of the values: see `Mean`.

    >>> import deniable as dn
    >>> answer = dn.statistics.mean([31, 45, 28], bounds=(0, 100), epsilon=1)
    """
    return release(Mean, values, {"bounds": bounds}, options)
