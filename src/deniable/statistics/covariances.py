"""Covariances and correlations of the columns of a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import ClassVar, Unpack

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.ledger.payment import Payer
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.price import Price
from deniable.noise.bits import SECURE, Bits, DeterministicBits
from deniable.numbers.arrays import Floats
from deniable.privacy import PrivacyLoss, Relation, compose
from deniable.release import Release
from deniable.release.columns import Bounds, Estimate, Key
from deniable.rows import Container, table
from deniable.statistics.bounds import SHARE, Bounding, for_each_column, resolve
from deniable.statistics.call import asks
from deniable.statistics.products import LARGEST_TABLE, JointTable, Products, Separate
from deniable.statistics.shares import UNIT, rows_that_count, shares
from deniable.statistics.statistic import Answer, BoundsLike, Options, Statistic, release

_MIN_DRAWS, _MAX_DRAWS = 1000, 4000  # draws for an interval
_NUMBERS = 2**23  # held at once for them
_FIXED = 20261122  # the draws are public, and the same for every release


@dataclass(frozen=True, kw_only=True)
class Covariance(Statistic):
    """Covariance of every two columns, with the variances: see `covariance`."""

    name: ClassVar[str] = "covariance"

    bounds: Sequence[BoundsLike]

    def _check(self) -> None:
        listed = self.bounds if isinstance(self.bounds, Sequence) and not isinstance(self.bounds, str) else ()
        if not listed or not all(isinstance(each, Sequence) for each in listed):
            raise InvalidParameterError(
                f'bounds must have an entry for each column, a pair (lower, upper) or "auto", got {self.bounds!r}'
            )
        for bounding in self._resolved[0]:
            bounding.check_square()

    @cached_property
    def _resolved(self) -> tuple[tuple[Bounding, ...], Price]:
        columns = len(self.bounds)
        parts = self.price.split(*[1] * columns)
        boundings = [
            resolve(bounds, part, relation=self.relation, rows=self.rows)[0]
            for bounds, part in zip(self.bounds, parts, strict=True)
        ]
        searched = Fraction(sum(bounding.public is None for bounding in boundings), columns) * SHARE
        rest = self.price.split(1 - searched, searched)[0]
        return tuple(boundings), rest

    @cached_property
    def _chosen(self) -> tuple[Products, AdditiveNoise]:
        columns = len(self.bounds)
        rest = self._resolved[1]
        kinds: list[type[Products]] = [Separate, JointTable] if columns <= LARGEST_TABLE else [Separate]
        designs = [kind(columns=columns, relation=self.relation, rows=self.rows) for kind in kinds]
        noises = [rest.noise(design.sensitivity) for design in designs]
        return min(zip(designs, noises, strict=True), key=lambda pair: pair[0].error * pair[1].standard_deviation())

    @property
    def design(self) -> Products:
        """Sums that get noise."""
        return self._chosen[0]

    @property
    def mechanism(self) -> AdditiveNoise:
        """Noise on the sums."""
        return self._chosen[1]

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        loss = self._resolved[1].stated(self.mechanism.privacy_loss(self.design.sensitivity))
        searches = [bounding.loss for bounding in self._resolved[0] if bounding.loss is not None]
        return self.price.stated(compose([loss, *searches]))

    @property
    def size_is_public(self) -> bool:
        """Whether the number of rows that count is public.

        Under replace every unit has one.
        """
        return self.relation is Relation.REPLACE and self.rows == 1

    def expected_error(self, size: int) -> float:
        return min(self.design.error * self.mechanism.standard_deviation() / UNIT / max(size, 1), 1 / 4)

    def __call__(
        self, values: object, *, units: object = None, ledger: Payer | None = None, bits: Bits = SECURE
    ) -> Release:
        shape = getattr(values, "shape", None)
        if shape is not None and (len(shape) != 2 or shape[1] != len(self.bounds)):
            raise InvalidParameterError(f"values must be a table of {len(self.bounds)} columns, as many as bounds")
        return super().__call__(values, units=units, ledger=ledger, bits=bits)

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        columns, names = table(values, columns=len(self.bounds))
        if len(names) != len(self.bounds):
            raise InvalidParameterError(f"values must be a table of {len(self.bounds)} columns, as many as bounds")
        rows = rows_that_count(columns, units, rows=self.rows, relation=self.relation, bits=bits)
        ends = [b.ends(rows[:, index], bits=bits) for index, b in enumerate(self._resolved[0])]
        count = 0
        totals = [0] * len(self.design.maps.size)
        for block in shares(rows, ends, relation=self.relation):
            count += block.shape[1]
            totals = [total + part for total, part in zip(totals, self.design.sums(block), strict=True)]
        noisy = self.mechanism.release(totals, bits=bits).value.astype(np.float64) / UNIT
        widths = np.array([upper - lower for lower, upper in ends])
        return self._published(noisy, count if self.size_is_public else None, widths, names, ends)

    def _published(
        self,
        noisy: Floats,
        count: int | None,
        widths: Floats,
        names: tuple[str, ...],
        ends: list[tuple[float, float]],
    ) -> Answer:
        """Return the release, from public numbers alone."""
        matrix = nearest_covariance(self._matrices(noisy[np.newaxis], count)[0][0])
        estimates = self._final(matrix, widths).ravel()
        columns = len(names)
        return Answer(
            parts=(
                Key(name="row", values=tuple(np.repeat(names, columns).tolist())),
                Key(name="column", values=names * columns),
                Estimate(
                    name=self.name,
                    estimates=estimates,
                    ends=partial(self._ends, noisy, count, widths, estimates),
                    post_processing="moved to the nearest matrix without negative eigenvalues",
                ),
            ),
            notes=tuple(note for b, end in zip(self._resolved[0], ends, strict=True) for note in b.notes(end)),
        )

    def _ends(self, noisy: Floats, count: int | None, widths: Floats, estimates: Floats, level: float) -> Bounds:
        """Return intervals in the unit of the answer, which hold it."""
        lower, upper = (self._scaled(end, widths).ravel() for end in self._intervals(noisy, count, level))
        return Bounds(np.minimum(lower, estimates), np.maximum(upper, estimates))

    def _matrices(self, noisy: Floats, count: int | None) -> tuple[Floats, Floats]:
        """Return covariances as shares of the widths, and the numbers of rows.

        Of shape (draws, columns, columns).
        """
        maps = self.design.maps
        columns = len(self.bounds)
        rows = noisy @ maps.size if count is None else np.full(len(noisy), float(count))
        spread = np.sqrt((maps.size**2).sum()) * self.mechanism.standard_deviation()
        size = np.maximum(rows, 1.0 if count is not None else max(2 * spread, 1.0) / UNIT)[:, np.newaxis]
        values, products = noisy @ maps.values.T / size, noisy @ maps.products.T / size
        first, second = self.design.pairs
        covariances = np.empty((len(noisy), columns, columns))
        covariances[:, first, second] = products - values[:, first] * values[:, second]
        covariances[:, second, first] = covariances[:, first, second]
        return covariances, rows

    def _intervals(self, noisy: Floats, count: int | None, level: float) -> tuple[Floats, Floats]:
        """Return ends of the answer from the noisy sums less fresh draws of the noise.

        As shares of the widths.
        """
        wanted = int(np.clip(_NUMBERS // (noisy.size + len(self.bounds) ** 2), _MIN_DRAWS, _MAX_DRAWS))
        words = DeterministicBits(_FIXED).words(wanted * noisy.size).reshape(wanted, noisy.size)
        draws = self.mechanism.quantile((words.astype(np.float64) + 0.5) * 2.0**-64) / UNIT
        matrices, rows = self._matrices(noisy - draws, count)
        final, lowest, highest = self._of_draws(matrices)
        undefined = np.isnan(final) | (rows <= 0)[:, np.newaxis, np.newaxis]
        tail = (1 - level) / 2
        lower = np.quantile(np.where(undefined, lowest, final), tail, axis=0, method="lower")
        upper = np.quantile(np.where(undefined, highest, final), 1 - tail, axis=0, method="higher")
        return np.clip(lower, lowest, highest), np.clip(upper, lowest, highest)

    def _of_draws(self, matrices: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the final numbers of each draw, and between what they can lie, as shares."""
        diagonal = np.eye(len(self.bounds), dtype=np.bool_)
        return matrices, np.where(diagonal, 0.0, -0.25), np.full(diagonal.shape, 0.25)

    def _final(self, matrix: Floats, widths: Floats) -> Floats:
        """Return the published matrix of a covariance matrix in shares."""
        return self._scaled(matrix, widths)

    def _scaled(self, shares_of_widths: Floats, widths: Floats) -> Floats:
        return shares_of_widths * np.outer(widths, widths)


@dataclass(frozen=True, kw_only=True)
class Correlation(Covariance):
    """Correlation of every two columns: see `correlation`."""

    name: ClassVar[str] = "correlation"

    def expected_error(self, size: int) -> float:
        return min(self.design.correlation_error * self.mechanism.standard_deviation() / UNIT / max(size, 1), 1.0)

    def _of_draws(self, matrices: Floats) -> tuple[Floats, Floats, Floats]:
        variances = np.maximum(np.diagonal(matrices, axis1=1, axis2=2), 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            correlations = matrices / np.sqrt(variances[:, :, np.newaxis] * variances[:, np.newaxis, :])
        diagonal = np.eye(len(self.bounds), dtype=np.bool_)
        correlations = np.where(diagonal, 1.0, np.where(np.isfinite(correlations), correlations, np.nan))
        return correlations, np.where(diagonal, 1.0, -1.0), np.ones(diagonal.shape)

    def _final(self, matrix: Floats, widths: Floats) -> Floats:
        correlations, _, _ = self._of_draws(matrix[np.newaxis])
        return np.asarray(np.clip(np.nan_to_num(correlations[0], nan=0.0), -1, 1))

    def _scaled(self, shares_of_widths: Floats, widths: Floats) -> Floats:
        return shares_of_widths


@asks(Covariance)
def covariance(values: Container, *, bounds: BoundsLike | Sequence[BoundsLike], **options: Unpack[Options]) -> Release:
    """Return the noisy covariance matrix of the columns of a table.

    The release has a row for each pair of columns, in the order of the matrix: `answer["covariance"].reshape(d, d)`. It
    is a valid covariance matrix. Rows with a value that is not a number are left out under add/remove; under replace
    such a value is the middle of its bounds.

    Args:
        values: a table of private numbers.
        bounds: one entry for each column, a public pair (lower, upper) or "auto"; the word "auto" alone stands for all.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: one unit moves each mean and each product of two columns by what their bounds allow. Of two designs the
        one with the smaller expected error is taken.
    Proof: docs/theory/statistics/moments.md.
    Error: expected_error is for independent columns of evenly spread values, as a share of the product of the widths of
        two columns: the root mean square over the matrix.

    >>> import deniable as dn
    >>> answer = dn.statistics.covariance([[1, 2], [3, 5]], bounds=[(0, 9), (0, 9)], epsilon=1)
    """
    return release(Covariance, values, {"bounds": for_each_column(bounds, values)}, options)


@asks(Correlation)
def correlation(values: Container, *, bounds: BoundsLike | Sequence[BoundsLike], **options: Unpack[Options]) -> Release:
    """Return the noisy correlation matrix of the columns of a table.

    The release has a row for each pair of columns, in the order of the matrix; it is a valid correlation matrix, with 0
    where a variance seems to be 0.

    Args:
        values: a table of private numbers.
        bounds: one entry for each column, a public pair (lower, upper) or "auto"; the word "auto" alone stands for all.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: that of `covariance`; the rest is post-processing.
    Proof: docs/theory/statistics/moments.md.
    Error: expected_error is the root mean square over pairs of different columns. It is for evenly spread values, and a
        bound for all of these: it is met where columns depend strongly, and up to 1.5 times too large where they
        are independent. Correlations of columns whose standard deviations are s and t of their widths err by about
        1 / (12 s t) times as much: evenly spread ones have s = t = 0.29, and at 0.1 it is 8 times as much.

    >>> import deniable as dn
    >>> rows = [[21, 1.7], [45, 1.8], [33, 1.6]] * 50
    >>> answer = dn.statistics.correlation(rows, bounds=[(0, 100), (1, 2)], epsilon=1)
    """
    return release(Correlation, values, {"bounds": for_each_column(bounds, values)}, options)


def nearest_covariance(matrix: Floats) -> Floats:
    """Return the nearest matrix without negative eigenvalues, variances at most 1/4.

    Values lie between their bounds.
    """
    values, vectors = np.linalg.eigh(matrix)
    nearest = (vectors * np.maximum(values, 0)) @ vectors.T
    shrink = np.sqrt(0.25 / np.maximum(np.diagonal(nearest), 0.25))
    scaled = nearest * np.outer(shrink, shrink)
    symmetric: Floats = (scaled + scaled.T) / 2
    return symmetric
