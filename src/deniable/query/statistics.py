"""Every statistic of `deniable.statistics` as a question to a database: on its unit, bounds, relation and ledger.

A method names columns where the function takes values, and leaves out what the database knows. What is wrong is found
on a table without rows; then the ledger pays; only then does the engine hand out the columns.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from deniable.errors import ExecutionError, InvalidParameterError, UnprovedError
from deniable.ledger import Entry, Ledger
from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.privacy import Budget, PrivacyLoss, Relation, compose
from deniable.query.answer import FREE
from deniable.query.asking import SAMPLES, Asked
from deniable.query.catalog import Table
from deniable.query.chosen import Chosen
from deniable.query.engines.base import Engine
from deniable.query.expression import Expression
from deniable.query.rules import price
from deniable.query.sql import parse
from deniable.query.table_expression import FilteredRows, Scan
from deniable.release import Provenance, Release, stored


class Statistics:
    """The statistics of a database."""

    _engine: Engine
    _bits: Bits
    _table: Table
    tables: Mapping[str, Table]
    ledger: Ledger

    count = Asked()
    sum = Asked()
    mean = Asked()
    variance = Asked()
    var = Asked("variance")
    standard_deviation = Asked()
    std = Asked("standard_deviation")
    covariance = Asked()
    correlation = Asked()
    vector_mean = Asked()
    vector_covariance = Asked()
    median = Asked()
    quantile = Asked()
    quantiles = Asked()
    interquartile_range = Asked()
    iqr = Asked("interquartile_range")
    minimum = Asked()
    min = Asked("minimum")
    maximum = Asked()
    max = Asked("maximum")
    cumulative_distribution = Asked()
    histogram = Asked()
    key_counts = Asked()
    top_k = Asked()
    mode = Asked()
    linear_regression = Asked()
    one_sample_t_test = Asked()
    two_sample_t_test = Asked()
    anova = Asked()
    mann_whitney = Asked()
    binomial_test = Asked()
    chi_squared_fit = Asked()
    chi_squared_independence = Asked()
    subsampled_test = Asked()

    def _notes(self, *, grouped: bool) -> tuple[str, ...]:
        """What a reader of any answer must know."""
        raise NotImplementedError

    def _ask(
        self,
        function: Callable[..., Release],
        asked: Mapping[str, object],
        given: Mapping[str, Any],
        *,
        where: str | None,
        fresh: bool,
    ) -> Release:
        """Rehearse, pay, look, release, remember: in this order."""
        if self._table.auto:
            raise InvalidParameterError(
                "rows='auto' is found for SQL and frames; statistics need rows=... of the table."
            )
        self._check_sizes()
        chosen = Chosen(function, asked, self._table, self._condition(function.__name__, where))
        public = chosen.completed(given)
        loss, text = chosen.rehearse(public)
        question = chosen.key(text)
        if where is not None:
            text = f"{text[:-1]}, where={where!r})"
        self.ledger.check_unit(text, units=True)
        entry = Entry(question=question, text=text, loss=loss, mechanisms=function.__name__, safe=self._bits.safe)
        new: list[Release] = []

        def compute() -> str:
            release, kept = self._read(chosen, public, loss)
            new.append(release)
            return kept

        known_by_text = not any(callable(value) for value in public.values())
        answer, was_stored = self.ledger.answer(entry, compute, fresh=fresh or not known_by_text)
        notes = self._notes(grouped="groups" in public)
        if was_stored:
            parts, said = stored.from_text(answer)
            release, notes = Release(parts=parts, cost=compose([]), safe=self._bits.safe, notes=said), (*notes, FREE)
        else:
            (release,) = new
        release = replace(
            release,
            text=text,
            budget_left=self.ledger.left(),
            protects=self._table.protects,
            notes=(*release.notes, *notes),
        )
        return self._with_provenance(release, question, answer, self._table, stored=was_stored)

    def _with_provenance(self, release: Release, question: str, answer: str, table: Table, *, stored: bool) -> Release:
        """The release with its payment in the ledger; of one that is new, with everything that it cost."""
        record, head = self.ledger.payment(question, answer, safe=self._bits.safe, last=not stored)
        known = Provenance(
            paid=record.loss if stored else release.cost,
            entries=(record.number,),
            head=head if self.ledger.is_lasting else "",
            day=record.time.date().isoformat(),
            analyst=record.analyst,
            mechanisms=record.mechanisms,
            policy={"data set": self.ledger.dataset, **table.promise},
            version=record.version,
        )
        return replace(release, provenance=known)

    def _check_sizes(self) -> None:
        """Refuse to take the number of rows for public where a unit may have none.

        Under replace with one row a unit, statistics take it for the number of units. In one of several private tables
        a unit may have no row, and the one that takes its place may have one.
        """
        table = self._table
        single = (table.total_rows or table.rows) == 1 and table.unit.column is not None
        private = sum(not each.public for each in self.tables.values())
        if table.relation is Relation.REPLACE and single and private > 1:
            raise UnprovedError(
                f"under replace with one row of each {table.unit.noun}, statistics take the number of rows for public. "
                f"In {table.name}, one of {private} private tables, a {table.unit.noun} may have none. Ask in SQL, or "
                "declare rows=2 or add/remove."
            )

    def _condition(self, statistic: str, where: str | None) -> Expression | None:
        """Which rows count, checked by the engine as the filter of a query is."""
        replaced = self._table.relation is Relation.REPLACE
        if replaced and statistic in SAMPLES:
            raise UnprovedError(
                f"under replace {statistic} takes the sizes of its samples for public, and one who changes sides moves "
                "them. Ask a database under add/remove."
            )
        if where is None:
            return None
        if replaced:
            raise UnprovedError(
                "where= makes the number of rows that count private, and under replace statistics take it for public. "
                "Ask in SQL, or a database under add/remove."
            )
        if not isinstance(where, str):
            raise InvalidParameterError(f'where must be a condition as in SQL, such as "age > 30", got {where!r}')
        name = self._table.name.replace('"', '""')
        query = parse(f'SELECT COUNT(*) FROM "{name}" WHERE (\n{where}\n)', {self._table.name: self._table})  # noqa: S608
        outcome = query.outcome
        if query.question.keys or outcome.having is not None or outcome.order or outcome.limit is not None:
            raise InvalidParameterError(f'where must be one condition, such as "age > 30", got {where!r}')
        self._engine.check(price(query, Price(epsilon=Fraction(1)), Budget(epsilon=1)))
        return query.question.where

    def _read(self, chosen: Chosen, public: Mapping[str, Any], loss: PrivacyLoss) -> tuple[Release, str]:
        """The statistic of the private rows, and as it is kept.

        Whatever goes wrong here looks the same, as it may depend on them.
        """
        release, kept = None, ""
        try:
            rows = Scan(self._table) if chosen.where is None else FilteredRows(Scan(self._table), chosen.where)
            held = self._engine.columns(rows, list(chosen.expressions.values()))
            release = chosen.release(held, public, ledger=None, bits=self._bits)
            kept = stored.as_text(release)
        except Exception:  # noqa: S110 - raised below, so that nothing private is attached to it
            pass
        if release is None or release.cost.to_data() != loss.to_data():
            raise ExecutionError
        return release, kept
