"""Base of results of tables: what was paid for them, and what a reader must know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from deniable.privacy import PrivacyLoss
from deniable.privacy.budget.rule import Remaining
from deniable.release import Release

if TYPE_CHECKING:
    from deniable.release.columns import Estimate, Key, Measure, Noisy
    from deniable.release.provenance import Provenance


@dataclass(frozen=True, kw_only=True, eq=False)
class Paid:
    """Result of noisy tables with its payment. All of it is public.

    Args:
        cost: the privacy loss of this answer; of a stored one, nothing.
        budget_left: what the ledger had left after it; None without a ledger.
        safe: False if the noise came from a test stream.
        protects: whose data the cost is about.
        notes: what a reader must know, one sentence each.
        provenance: the payment in the ledger; None without one.
    """

    cost: PrivacyLoss
    budget_left: Remaining | None = None
    safe: bool = True
    protects: str = ""
    notes: tuple[str, ...] = ()
    provenance: Provenance | None = None

    @property
    def paid(self) -> PrivacyLoss:
        """Cost of the tables when they were measured."""
        return self.cost if self.provenance is None else self.provenance.paid

    def _release(self, parts: Sequence[Key | Measure | Estimate], text: str, noisy: Sequence[Noisy] = ()) -> Release:
        """Return some of the tables as a release with the payment of all."""
        return Release(
            parts=tuple(parts),
            noisy=tuple(noisy),
            cost=self.cost,
            budget_left=self.budget_left,
            text=text,
            safe=self.safe,
            notes=self.notes,
            protects=self.protects,
            provenance=self.provenance,
        )

    def _with_payment(self, plan: object) -> str:
        """Return a plan as text, with what is left and what a reader must know."""
        left = "" if self.budget_left is None else f"; left {self.budget_left}"
        return "\n".join([f"{plan}{left}", *([f"protects {self.protects}"] if self.protects else []), *self.notes])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"
