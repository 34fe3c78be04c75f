"""Answers to planned questions: charge, read rows, add noise, keep releases."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.ledger import Entry, Ledger
from deniable.ledger.entry import Json
from deniable.noise.bits import Bits
from deniable.privacy import PrivacyLoss, compose
from deniable.query.answer import FREE, answer_text, build_release, found_of, noisy_of
from deniable.query.catalog import DeclaredTable
from deniable.query.engines.base import Engine, Progress
from deniable.query.naming import stored_name
from deniable.query.plan import Name, PricedPlan, Question
from deniable.release import Provenance, Release

BEYOND = "Rows beyond that do not count: counts and sums can be far below those of all rows."
FRACTIONS = "If one {noun} has more rows, each counts as a fraction of one, so counts may be fractions."


@dataclass(frozen=True)
class Responder:
    """Answers planned questions; every answer is charged before rows are read.

    It has a ledger, an engine that reads rows, and randomness.

    Args:
        engine: has the private rows.
        ledger: is charged before a row is read, and keeps what is released.
        bits: randomness of the noise.
        table: the private table whose unit is named to readers, and that statistics are about.
    """

    engine: Engine
    ledger: Ledger
    bits: Bits
    table: DeclaredTable

    def answer(self, plan: PricedPlan, *, fresh: bool = False, progress: Progress | None = None) -> Release:
        """Return the answer to a question: the stored one, or a new one that is charged.

        Args:
            plan: the question with its price.
            fresh: whether to charge again for new noise although an answer is stored.
            progress: called with the share that is done, after each pass over the rows.

        Raises: BudgetExceededError before anything is charged; ExecutionError if the engine stops.
        """
        question = plan.query.question
        name = stored_name(plan, self.ledger, safe=self.bits.safe) or plan.names[0]
        entry = self.entry(plan, name)
        answer, stored = self.ledger.answer(entry, lambda: self._exact(plan, name, progress), fresh=fresh)
        notes = [f"The {each.subject} are {each}." for each in plan.searches]
        if plan.key_search is not None:
            notes.insert(0, plan.key_search.note)
        release = build_release(
            plan.on(found_of(answer, plan)),
            noisy_of(answer, name),
            left=self.ledger.left(),
            safe=self.bits.safe,
            stored=stored,
            notes=(*notes, *self.notes(grouped=bool(question.keys), question=question)),
        )
        return self.with_provenance(release, name.key, answer, question.table, stored=stored)

    def entry(self, plan: PricedPlan, name: Name) -> Entry:
        """Return what the ledger records of a plan when it is charged."""
        searched = () if plan.key_search is None else (plan.key_search,)
        described: Json = [part.entry() for part in (*searched, *plan.parts)]
        return Entry(question=name.key, text=plan.query.text, loss=plan.loss, mechanisms=described, safe=self.bits.safe)

    def secret(self) -> bytes:
        """Return the key by which the engine chooses among rows and groups of a unit."""
        return self.ledger.secret("groups of a unit")

    def _exact(self, plan: PricedPlan, name: Name, progress: Progress | None) -> str:
        """Return a new answer as the ledger keeps it; called after the charge."""
        secret = self.secret()
        if plan.key_search is not None:
            plan = plan.on(plan.key_search.release(*self.engine.keys(plan, secret=secret), bits=self.bits))
        question = plan.query.question
        noisy: list[NDArray[Any]] = [np.zeros(0, dtype=np.int64) for _ in plan.parts]
        if plan.parts and question.cells:
            exact = self.engine.exact(plan, secret=secret, progress=progress)
            noisy = [part.release(values, bits=self.bits) for part, values in zip(plan.parts, exact, strict=True)]
        return answer_text(noisy, question, name)

    def notes(self, *, grouped: bool, question: Question | None = None) -> tuple[str, ...]:
        """Return the notes for a reader of any answer.

        How rows were bounded, and how long the budget lasts.

        Args:
            grouped: whether units are bounded in groups.
            question: in SQL, whose rows of one unit share the limit; a statistic draws among them.
        """
        table = self.table if question is None else question.table
        bounding = table.bounding(grouped=grouped)
        notes = [] if bounding is None else [f"{bounding[0].upper()}{bounding[1:]}."]
        unit = self.table.unit
        aggregates = () if question is None else question.aggregates
        if bounding is not None and (question is None or any(each.function != "units" for each in aggregates)):
            notes.append(BEYOND)
        if question is not None and any(each.in_fractions(question) for each in aggregates):
            notes.append(FRACTIONS.format(noun=unit.noun))
        if unit.period is not None:
            notes.append(f"Only {unit} is protected: across k values of {unit.period} the cost is k times as high.")
        if not self.ledger.is_lasting:
            notes.append(
                "The budget is kept in memory and ends with this process; "
                f'ledger="{self.table.name}.ledger" keeps it for good.'
            )
        return tuple(notes)

    def with_provenance(
        self, release: Release, question: str, answer: str, table: DeclaredTable, *, stored: bool
    ) -> Release:
        """Return a release with its payment in the ledger.

        If it is new, with everything that it cost.
        """
        known = self.provenance(question, answer, table, cost=release.cost, stored=stored)
        return replace(release, provenance=known)

    def paid_text(
        self, entry: Entry, measured: Callable[[], str], table: DeclaredTable, notes: Sequence[str], *, fresh: bool
    ) -> tuple[str, dict[str, Any]]:
        """Return a stored answer, or a new one that is charged, as the ledger keeps it.

        Args:
            entry: what the ledger keeps of the question.
            measured: makes a new answer, after the charge.
            table: whose unit is named to readers.
            notes: what a reader must know, one sentence each.
            fresh: whether to charge again for new noise although an answer is stored.

        Returns: the text, and what a result says beside it, by name: cost, budget_left, safe, protects, notes,
            provenance.
        """
        text, stored = self.ledger.answer(entry, measured, fresh=fresh)
        cost = compose([]) if stored else entry.loss
        return text, {
            "cost": cost,
            "budget_left": self.ledger.left(),
            "safe": self.bits.safe,
            "protects": table.protects,
            "notes": (*notes, FREE) if stored else tuple(notes),
            "provenance": self.provenance(entry.question, text, table, cost=cost, stored=stored),
        }

    def provenance(
        self, question: str, answer: str, table: DeclaredTable, *, cost: PrivacyLoss, stored: bool
    ) -> Provenance:
        """Return the payment for an answer in the ledger; of a new one, with its cost."""
        record, head = self.ledger.payment(question, answer, safe=self.bits.safe, last=not stored)
        return Provenance(
            paid=record.loss if stored else cost,
            entries=(record.number,),
            head=head if self.ledger.is_lasting else "",
            day=record.time.date().isoformat(),
            analyst=record.analyst,
            mechanisms=record.mechanisms,
            policy={"data set": self.ledger.dataset, **table.promise},
            version=record.version,
        )


class Responding(ABC):
    """Base of the methods of a database that ask about one of its tables."""

    @property
    @abstractmethod
    def _responder(self) -> Responder:
        """Answers on the engine and ledger of the database, about one table."""
