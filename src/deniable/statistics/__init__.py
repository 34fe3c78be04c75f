"""Private statistics of arrays, series and frames.

Each has a function, `mean(values, bounds=(0, 100), epsilon=1)`, and behind it a class with the same parameters,
`Mean(bounds=(0, 100), epsilon=1)`, which knows its loss and its expected error before it sees a row.
"""

from deniable.statistics.count import Count, count
from deniable.statistics.statistic import Statistic

__all__ = ["Count", "Statistic", "count"]
