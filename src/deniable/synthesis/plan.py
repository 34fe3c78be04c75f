"""Plan of noisy tables: measurements of least error, and their cost.

It is made before anything is read.

Source: Xiao, He, Zhang, Kifer (2023), "An optimal and scalable matrix mechanism for noisy marginals under convex loss
functions" (ResidualPlanner), arXiv:2305.08175; here with exact integer noise. See docs/theory/synthesis/marginals.md.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from html import escape
from typing import Any

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats, Integers, MachineIntegers
from deniable.numbers.rationals import positive_rational, shown
from deniable.privacy import PrivacyLoss, Relation, Sensitivity
from deniable.privacy.sensitivity import of_spread_sum
from deniable.release.display import price as price_text
from deniable.statistics.units import bounded_rows
from deniable.synthesis.domain import DeclaredDomain
from deniable.synthesis.residuals import (
    Measurement,
    ResidualSpace,
    Table,
    centred,
    closure,
    residual_sensitivity,
    subsets,
)

MAX_CELLS = 2**22  # of all arrays that are measured together
MAX_ARRAYS = 10_000  # that are measured
SHARE_DIGITS = 16  # shares of the price are fractions with this power of two as denominator
OBJECTIVES = ("tables", "counts", "largest")
LARGEST_STEPS = 1_000  # at most, towards the least largest variance
LARGEST_GAP = 1e-3  # of its certificate, at which the search stops


@dataclass(frozen=True, kw_only=True)
class MarginalPlan:
    """Plan of noisy tables of counts, with their errors and their cost.

    All of it is public. Epsilon alone buys Laplace noise on each table; any other price buys Gaussian noise on their
    residuals, which is the optimum among all unbiased Gaussian mechanisms under add/remove.

    Args:
        domain: the columns and their levels.
        tables: as indices of columns, ascending; of no column: the number of rows.
        weights: of the squared errors, one for each table.
        price: what all tables cost together.
        relation: the neighbouring relation.
        rows: the most rows of one unit that count.
        objective: what is least: the mean squared error of all "counts", its mean over "tables", by which small tables
            matter as much as large ones, or the "largest" variance of a count.

    Raises: InvalidParameterError for an unknown objective, or for more counts than can be kept.
    Guarantee: `privacy_loss`, for one unit with at most `rows` rows that count.

    >>> import deniable as dn
    >>> columns = {"department": dn.Keys(["sales", "support"]), "leaving": dn.Boolean()}
    >>> unit, budget = dn.each_row("respondent"), dn.Budget(epsilon=1)
    >>> db = dn.connect(dn.datasets.survey(), name="survey", unit=unit, columns=columns, budget=budget)
    >>> plan = db.explain_marginals([["department"], ["department", "leaving"]], rho="1/2")
    >>> {names: round(deviation, 1) for names, deviation in plan.deviations.items()}
    {('department',): 1.3, ('department', 'leaving'): 1.2}
    """

    domain: DeclaredDomain
    tables: tuple[Table, ...]
    weights: tuple[Fraction, ...]
    price: Price
    relation: Relation
    rows: int
    objective: str = "tables"

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise InvalidParameterError(f"objective must be {' or '.join(OBJECTIVES)}, got {shown(self.objective)}.")
        cells = sum(math.prod(self.domain.sizes[column] for column in table) for table in self.tables)
        if cells > MAX_CELLS or sum(2 ** len(table) for table in self.tables) > MAX_ARRAYS * 16:
            raise InvalidParameterError(
                f"these {len(self.tables):,} tables have {cells:,} counts, and at most {MAX_CELLS:,} can be measured "
                "together. Ask for fewer tables or columns, or for fewer bins."
            )

    @classmethod
    def of(
        cls, domain: DeclaredDomain, names: Sequence[Sequence[str]], weights: Sequence[Any] | None, **known: Any
    ) -> "MarginalPlan":
        """Return the plan of tables that are given by names of columns.

        A table that comes twice is measured once.
        """
        index = {name: at for at, name in enumerate(domain.names)}
        if weights is not None and len(weights) != len(names):
            raise InvalidParameterError(f"weights has one number for each of the {len(names)} tables.")
        total: dict[Table, Fraction] = {}
        for at, columns in enumerate(names):
            table = tuple(sorted({index[name] for name in columns}))
            weight = Fraction(1) if weights is None else positive_rational("weights", weights[at])
            total[table] = total.get(table, Fraction(0)) + weight
        plan = cls(domain=domain, tables=tuple(total), weights=tuple(total.values()), **known)
        if not plan.price.delta:
            return plan
        pure = replace(plan, price=Price(epsilon=plan.price.epsilon))  # cheaper, and better for few tables
        return min(pure, plan, key=lambda each: each.error)

    @property
    def _direct(self) -> bool:
        """Whether whole tables are measured, as under pure differential privacy.

        Residuals have no advantage there.
        """
        return self.price.concentrated().rho is None

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        """The loss of all tables together."""
        return self.price.stated(self.price.concentrated().bound().under(self.relation))

    @cached_property
    def measured_tables(self) -> tuple[Table, ...]:
        """Columns of each array that is measured."""
        if self._direct:
            return self.tables
        sizes = self.domain.sizes
        return tuple(table for table in closure(self.tables) if all(sizes[column] > 1 for column in table))

    @cached_property
    def sensitivities(self) -> tuple[Sensitivity, ...]:
        """How far one unit moves each array that is measured."""
        sizes = self.domain.sizes
        if self._direct:
            spread = partial(of_spread_sum, lower=0, upper=1, total_rows=self.rows, relation=self.relation)
            return tuple(spread(cells=math.prod(sizes[column] for column in table)) for table in self.tables)
        return tuple(
            residual_sensitivity([sizes[column] for column in table], rows=self.rows, relation=self.relation)
            for table in self.measured_tables
        )

    @cached_property
    def noises(self) -> tuple[AdditiveNoise, ...]:
        """Noise of each array that is measured."""
        shares = self._shares()
        parts = [Fraction(max(1, round(share * 2**SHARE_DIGITS / shares.max())), 2**SHARE_DIGITS) for share in shares]
        return self.price.concentrated().noises(list(self.sensitivities), parts)

    @cached_property
    def space(self) -> ResidualSpace:
        """How the arrays determine the tables."""
        measured = zip(self.measured_tables, self.noises, strict=True)
        measurements = tuple(Measurement(table, noise, not self._direct) for table, noise in measured)
        return ResidualSpace(self.domain.sizes, measurements)

    def _shares(self) -> Floats:
        """Shares of the price, up to a factor, with the least error."""
        weights = np.array([float(weight) for weight in self.weights])
        sizes = self.domain.sizes
        if self.objective == "counts":
            weights *= np.array([math.prod(sizes[column] for column in table) for table in self.tables])
        if self._direct:  # best for tables with nothing in common: variances are proportional to share^-2
            return np.asarray(weights ** (1 / 2 if self.objective == "largest" else 1 / 3))
        space = ResidualSpace(sizes, ())
        index = {subset: at for at, subset in enumerate(self.measured_tables)}
        rows, columns, parts = [], [], []
        for at, table in enumerate(self.tables):
            for subset in subsets(table):
                if subset in index:
                    rows.append(at)
                    columns.append(index[subset])
                    parts.append(space.share(table, subset))
        # Unit privacy: one row moves a residual of deviation 1 by the square root of this.
        moved = np.array([math.prod(1 - 1 / sizes[column] for column in subset) for subset in index])

        def variances(of_tables: Floats) -> Floats:
            """Return variances of residuals that are best for tables of these weights.

            The sum of moved / variance is 1.
            """
            need = np.zeros(len(index))
            np.add.at(need, columns, np.array(parts) * of_tables[rows])
            return np.asarray(np.sqrt(moved * need).sum() * np.sqrt(moved / need))

        importance = weights
        if self.objective == "largest":
            importance = weights / len(weights)
            for _ in range(LARGEST_STEPS):  # the dual: its value is a lower bound for any plan
                errors = np.zeros(len(self.tables))
                np.add.at(errors, rows, np.array(parts) * variances(importance)[columns])
                errors *= weights
                if errors.max() <= (1 + LARGEST_GAP) * float((importance / weights * errors).sum()):
                    break
                scaled = importance / weights * errors / errors.max()
                importance = weights * scaled / scaled.sum()
        return np.asarray(moved / variances(importance))

    def measure(self, levels: MachineIntegers, units: object, bits: Bits) -> tuple[Integers, ...]:
        """Return noisy arrays of private rows.

        The rows are given as levels, of shape (attributes, rows).
        """
        present = np.ones(levels.shape[1], dtype=np.bool_)
        held = levels[:, bounded_rows(units, rows=self.rows, present=present, bits=bits)]
        sizes = self.domain.sizes
        arrays = []
        for table, noise in zip(self.measured_tables, self.noises, strict=True):
            shape = tuple(sizes[column] for column in table)
            cells = np.zeros(held.shape[1], dtype=np.int64)
            for column in table:
                cells = cells * sizes[column] + held[column]
            exact = np.bincount(cells, minlength=math.prod(shape)).astype(np.int64).reshape(shape)
            exact = exact if self._direct else centred(exact)
            arrays.append(np.asarray(noise.release(exact, bits=bits).value).astype(np.int64).reshape(shape))
        return tuple(arrays)

    def measured_text(self, levels: MachineIntegers, units: object, bits: Bits) -> str:
        """Return noisy arrays of private rows as a ledger keeps them."""
        return json.dumps([array.ravel().tolist() for array in self.measure(levels, units, bits)])

    def from_text(self, text: str) -> tuple[Integers, ...]:
        """Return the noisy arrays of a text that `measured_text` made."""
        sizes = self.domain.sizes
        return tuple(
            np.array(values, dtype=np.int64).reshape([sizes[column] for column in table])
            for values, table in zip(json.loads(text), self.measured_tables, strict=True)
        )

    # --- what it promises ------------------------------------------------------------------------------------------

    def names_of(self, table: Table) -> tuple[str, ...]:
        """Return the names of a table's columns."""
        return tuple(self.domain.names[column] for column in table)

    @cached_property
    def deviations(self) -> Mapping[tuple[str, ...], float]:
        """Standard deviation of every count of each table, known before data is read."""
        return {self.names_of(table): math.sqrt(self.space.variance(table)) for table in self.tables}

    def half_width(self, table: Table, level: float) -> float:
        """Return half the width of the interval of any count of a table."""
        return float(self.space.spread_of_counts(table).half_widths(level)[0])

    @property
    def error(self) -> float:
        """Weighted sum, or largest, of the variances, by the objective."""
        errors = [
            float(weight) * self.space.variance(table) for table, weight in zip(self.tables, self.weights, strict=True)
        ]
        if self.objective == "largest":
            return max(errors)
        cells = [self.space.cells(table) if self.objective == "counts" else 1 for table in self.tables]
        return sum(size * error for size, error in zip(cells, errors, strict=True))

    @property
    def root_mean_square(self) -> float:
        """Root of the mean squared error of all counts of all tables, unweighted."""
        cells = [self.space.cells(table) for table in self.tables]
        total = sum(size * self.space.variance(table) for size, table in zip(cells, self.tables, strict=True))
        return math.sqrt(total / sum(cells))

    def __str__(self) -> str:
        """The tables, how exact each will be, and the cost."""
        lines = [f"{len(self.tables)} noisy tables of {len(self.domain)} columns, from {len(self.noises)} measurements"]
        for table in self.tables[:SHOWN_TABLES]:
            names = " x ".join(self.names_of(table)) or "number of rows"
            error = f"deviation {self.deviations[self.names_of(table)]:.4g}, 95% within +-"
            lines.append(f"  {names}: {self.space.cells(table):,} counts, {error}{self.half_width(table, 0.95):.4g}")
        if len(self.tables) > SHOWN_TABLES:
            largest = max(self.deviations.values())
            lines.append(f"  ... and {len(self.tables) - SHOWN_TABLES} more; largest deviation {largest:.4g}")
        lines.append(f"cost {price_text(self.privacy_loss)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


SHOWN_TABLES = 20  # by `MarginalPlan.__str__`
