"""Provenance of an answer: who was charged what, for which unit and noise.

All of it is public.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import deniable
from deniable.privacy.loss import PrivacyLoss
from deniable.release.display import price

if TYPE_CHECKING:
    from deniable.release.release import Release

KEY = "deniable"  # of the metadata of Arrow tables and Parquet files


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """The payment for an answer, and the policy that it was made under.

    Args:
        paid: what the answer cost when it was paid, whatever a repetition of it costs.
        entries: numbers of the ledger's entries that paid for it.
        head: hash of the ledger's record that holds the answer, which `Ledger.verify(expected_head=...)` finds; empty
            if the ledger ends with its process.
        day: of the last payment, in UTC and ISO 8601; the ledger has the time.
        analyst: who asked.
        mechanisms: the noise, as the ledger describes it.
        policy: data set, table, unit, relation, and how many rows of one unit count.
        version: of this library when it was paid.

    >>> from deniable.privacy import PureLoss
    >>> origin = Provenance(paid=PureLoss("0.5"), entries=(1,), analyst="ada", day="2026-01-31")
    >>> origin.paid, origin.analyst
    (PureLoss(epsilon=0.5), 'ada')
    """

    paid: PrivacyLoss
    entries: tuple[int, ...] = ()
    head: str = ""
    day: str = ""
    analyst: str = ""
    mechanisms: Any = ()
    policy: Mapping[str, Any] = field(default_factory=dict)
    version: str = deniable.__version__

    def to_data(self) -> dict[str, Any]:
        """Return all but the loss as plain data, for JSON."""
        return {word: value for word, value in vars(self).items() if word != "paid"}

    @classmethod
    def from_data(cls, data: Mapping[str, Any], *, paid: PrivacyLoss) -> "Provenance":
        """Read what `to_data` gives."""
        return cls(**{**data, "paid": paid, "entries": tuple(data["entries"])})


def facts(release: "Release", level: float | None) -> dict[str, Any]:
    """Describe a release without its rows: what accompanies them in every form.

    Args:
        level: of the intervals; None if they are left out.
    """
    known = release.provenance
    return {
        "query": release.text,
        "columns": list(release.columns),
        "level": level,
        "cost": price(release.paid),
        "loss": release.paid.to_data(),
        "charged": price(release.cost),
        "left": None if release.budget_left is None else str(release.budget_left),
        "post_processing": {m.name: m.post_processing for m in release.measures if m.post_processing},
        "notes": list(release.notes),
        "protects": release.protects,
        "relations": sorted(map(str, release.paid.relations)),
        "provenance": None if known is None else known.to_data(),
        "version": deniable.__version__ if known is None else known.version,
        "safe": release.safe,
    }


def as_metadata(release: "Release", level: float | None) -> dict[str, str]:
    """Return the facts as metadata of an Arrow table."""
    return {KEY: json.dumps(facts(release, level), default=str, allow_nan=False)}
