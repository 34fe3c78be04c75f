"""COUNT(DISTINCT value): the number of different values in a group.

Each unit shows a few of its own.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from deniable.errors import UnsupportedQueryError
from deniable.privacy import of_count
from deniable.query.aggregates.aggregate import WHOLE, Aggregate, BoundedAggregate
from deniable.query.expression import text_of

if TYPE_CHECKING:
    from deniable.query.plan import Question


@dataclass(frozen=True)
class Distinct(Aggregate):
    """The number of different values of `argument`, few of them from each unit.

    A unit shows at most `rows` of them in a group.

    Those it shows are chosen among its own by a keyed hash, whatever other units have, so a unit that leaves takes at
    most `rows` values with it: the bound of COUNT(*). Proof: docs/theory/query/bounding.md.
    """

    function: ClassVar[str] = "distinct"

    def bounded(self, question: "Question") -> BoundedAggregate:
        table = question.table
        if table.total_rows is not None:
            raise UnsupportedQueryError(
                "COUNT(DISTINCT ...) needs to know how many values of one unit count in a group, and in how many "
                "groups. Declare rows and groups, not total_rows."
            )
        sensitivity = of_count(
            rows=table.rows, groups=table.groups, relation=table.relation, cells=question.cells, ids=table.unit.ids
        )
        return BoundedAggregate(aggregate=self, lattice=WHOLE, lower=0, upper=1, sensitivity=sensitivity)

    def __str__(self) -> str:
        assert self.argument is not None
        return f"COUNT(DISTINCT {text_of(self.argument)})"
