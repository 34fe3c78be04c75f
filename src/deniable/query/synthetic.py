"""Synthetic rows of a table: its declared domain, one payment, and levels of rows as the engine hands them out."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

import numpy as np

from deniable.errors import CatalogError, ExecutionError, InvalidParameterError
from deniable.ledger import Entry
from deniable.mechanisms.price import Price
from deniable.noise.bits import DeterministicBits
from deniable.numbers.rationals import positive_integer, quotient_text, shown
from deniable.privacy import compose
from deniable.query.answer import FREE
from deniable.query.catalog import DeclaredTable
from deniable.query.chosen import scope_of
from deniable.query.engines.base import ARROW
from deniable.query.expression import Expression, Facts, Kind
from deniable.query.responder import Responder
from deniable.query.statistics import condition_of
from deniable.query.table_expression import Scan, filtered
from deniable.rows import silence
from deniable.synthesis import Synthesis
from deniable.synthesis.domain import Attribute, Binned, DeclaredDomain, Listed
from deniable.synthesis.measurements import Measurements, Measuring

VERSION = 1  # of the way to measure: another one is another question
BINS = 100


@dataclass(frozen=True)
class SyntheticQuestion:
    """A request for synthetic rows, checked before anything is paid.

    Args:
        table: whose rows are read.
        where: which of them count; None for all.
        measuring: what is measured, and what it costs.
        left_out: columns without a declared domain.
    """

    table: DeclaredTable
    where: Expression | None
    measuring: Measuring
    left_out: tuple[str, ...]

    @classmethod
    def of(
        cls,
        table: DeclaredTable,
        columns: Sequence[str] | None,
        *,
        where: Expression | None,
        price: Price,
        bins: int,
    ) -> "SyntheticQuestion":
        """Return the question about these columns, or about all that have a declared domain.

        Args:
            columns: names; None for all columns of the table.

        Raises: CatalogError if a named column has no domain, or no column has one; InvalidParameterError for a price
            that buys no noise.
        """
        if columns is not None and (isinstance(columns, str) or not all(isinstance(name, str) for name in columns)):
            raise InvalidParameterError(f'columns is a list of names, such as ["age", "ward"], got {shown(columns)}.')
        whose = table.unit.column
        if table.auto:
            raise InvalidParameterError("rows='auto' is for SQL and frames; synthetic rows need rows=... of the table.")
        attributes, left_out = [], []
        for name in table.schema if columns is None else columns:
            known = columns is not None or table.schema[name] is not None
            attribute = attribute_of(name, table.column(name).facts, bins) if known and name != whose else None
            if attribute is not None:
                attributes.append(attribute)
            elif columns is not None:
                raise CatalogError(
                    f"{name} has no declared domain. Declare {name}: dn.Keys([...]), or dn.Number, dn.Date or "
                    "dn.Timestamp with bounds; the column that says whose row it is has none."
                )
            elif name != whose:
                left_out.append(name)
        if not attributes:
            raise CatalogError("synthetic rows need columns with a declared domain: dn.Keys([...]), or bounds.")
        rows = table.rows * table.groups if table.total_rows is None else table.total_rows
        measuring = Measuring(domain=DeclaredDomain(tuple(attributes)), price=price, relation=table.relation, rows=rows)
        question = cls(table, where, measuring, tuple(left_out))
        with silence():
            nobody = np.zeros((len(attributes), 0), dtype=np.int64)
            measuring.measure(nobody, None if whose is None else nobody[0], DeterministicBits(0))
        return question

    def entry(self, safe: bool) -> Entry:
        """Return what the ledger keeps of the question."""
        domain = self.measuring.domain
        canonical = {
            "synthetic rows": VERSION,
            "domain": [attribute.to_json() for attribute in domain.attributes],
            "price": {name: quotient_text(value) for name, value in self.measuring.price.words.items()},
            **scope_of(self.table, self.where),
        }
        name = hashlib.sha256(json.dumps(canonical, sort_keys=True).encode()).hexdigest()
        text = f"synthetic rows of {self.table.name}: {', '.join(domain.names)}; {self.measuring.price}"
        loss = self.measuring.privacy_loss
        return Entry(question=name, text=text, loss=loss, mechanisms="synthetic rows", safe=safe)

    def answer(self, responder: Responder, *, fresh: bool) -> Synthesis:
        """Return the stored tables, or charge the ledger and measure new ones.

        Args:
            responder: answers for the table.
            fresh: whether to charge again for new noise although an answer is stored.
        """
        ledger, safe = responder.ledger, responder.bits.safe
        entry = self.entry(safe)
        ledger.check_unit(entry.text, units=True)
        text, was_stored = ledger.answer(entry, lambda: self._measured(responder), fresh=fresh)
        record, _ = ledger.payment(entry.question, text, safe=safe, last=not was_stored)
        notes = [*responder.notes(grouped=True), *([FREE] if was_stored else [])]
        if self.left_out:
            notes.append(f"Left out, as they have no declared domain: {', '.join(self.left_out)}.")
        return Synthesis(
            measured=Measurements.from_text(text, self.measuring),
            cost=compose([]) if was_stored else self.measuring.privacy_loss,
            paid=record.loss,
            budget_left=ledger.left(),
            safe=safe,
            protects=self.table.protects,
            notes=tuple(notes),
        )

    def _measured(self, responder: Responder) -> str:
        """Return noisy tables of the private rows, as the ledger keeps them.

        Raises: ExecutionError, with one text for all failures, since they may depend on private rows.
        """
        text = ""
        try:
            rows = filtered(Scan(self.table), self.where)
            domain = self.measuring.domain
            held = responder.engine.columns(rows, [self.table.column(name) for name in domain.names])
            with silence():
                units = None if self.table.unit.column is None else held.column("unit")
                levels = domain.encode([held.column(index) for index in range(len(domain))])
                text = self.measuring.measure(levels, units, responder.bits).to_text()
        except Exception:  # noqa: S110 - raised below, so that nothing private is attached to it
            pass
        if not text:
            raise ExecutionError
        return text


def answer_synthesis(
    responder: Responder, columns: Sequence[str] | None, price: Price, *, where: str | None, bins: int, fresh: bool
) -> Synthesis:
    """Return synthetic rows of the responder's table: check the question, charge, and measure, in this order.

    Args:
        columns: names; None for all columns with a declared domain.
        price: of all tables together.
        where: condition on rows as SQL; None where all count.
        bins: of a column of numbers, at most.
        fresh: whether to charge again for new noise although an answer is stored.
    """
    rows = condition_of(where, responder)
    question = SyntheticQuestion.of(responder.table, columns, where=rows, price=price, bins=bins)
    return question.answer(responder, fresh=fresh)


def attribute_of(name: str, facts: Facts, bins: int) -> Attribute | None:
    """Return the levels that public facts leave to a column; None if they leave too many to list."""
    max_bins = positive_integer("bins", bins)
    if facts.kind not in ARROW:
        return None
    kind = ARROW[facts.kind]
    if facts.kind is Kind.BOOLEAN:
        return Listed(name, kind, (False, True))
    if facts.keys is not None and facts.kind not in (Kind.REAL, Kind.TIMESTAMP):
        return Listed(name, kind, tuple(key for key in facts.keys if key is not None))
    if facts.lower is None or facts.upper is None or facts.kind is Kind.TEXT:
        return None
    if facts.kind not in (Kind.INTEGER, Kind.DATE):
        return Binned(name, kind, facts.lower, facts.upper, max_bins)
    lower = Fraction(ceil(facts.lower))
    upper = Fraction(floor(facts.upper))
    if lower > upper:
        return None
    return Binned(name, kind, lower, upper, min(max_bins, int(upper - lower) + 1))
