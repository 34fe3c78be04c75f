"""What an engine must offer: the schema of its source, and exact integers for a priced plan."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from deniable.query.expression import Kind
from deniable.query.plan import PricedPlan


class Engine(ABC):
    """Holds one private source.

    `schema` and `check` read no row. `exact` is the only door to the rows; its answers are SECRET until noise is added.
    """

    table: str | None = None  # inside the source, where that holds several

    @abstractmethod
    def schema(self) -> Mapping[str, Kind | None]:
        """The columns in their order; None for a type that queries cannot use."""

    @abstractmethod
    def check(self, plan: PricedPlan) -> None:
        """Make sure that the plan can be run here, before anything is spent. Reads no row.

        Raises: UnsupportedQueryError if it cannot.
        """

    @abstractmethod
    def exact(self, plan: PricedPlan, *, secret: bytes) -> "list[NDArray[Any]]":
        """One integer array of shape (cells,) per aggregate, on the plan's lattice.

        Args:
            secret: keys the hash that chooses which groups of a unit count.

        Raises: ExecutionError, with a constant text, if the engine stops for any reason.
        """
