"""k-means: Lloyd's algorithm with noise, from a start on a noisy grid."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.learning.estimators.estimator import Priced, Work, same_length
from deniable.learning.estimators.reading import Bounds, Features
from deniable.learning.losses import products
from deniable.learning.sets import L1Ball, L2Ball
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.price import Price
from deniable.mechanisms.vectors.clipping import clipped, squared_norms
from deniable.noise import simulation
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats, Integers
from deniable.numbers.rationals import Real, positive_rational, shown, whole_number
from deniable.privacy import Relation, Sensitivity, compose, of_count
from deniable.privacy.sensitivity.vectors import of_ball_sum, of_l1_ball_sum
from deniable.rows import Container, silence, table

_LATTICE_STEPS = 2**20  # to the radius
_MAX_AXES = 4  # of a grid: features, or random directions
_BINS = {1: 64, 2: 32, 3: 16, 4: 8}  # of the grid, for each number of axes
_LARGE_RHO = Fraction(1, 10)  # from which, as from epsilon 2 on, one more round is better: 2,000 to 20,000 rows
_RESTARTS, _ITERATIONS = 10, 30  # of k-means on the grid, which costs no privacy
# Shares of the price, chosen on blobs of seeds that no benchmark uses.
_GRID_SHARE, _COUNT_SHARE, _SUM_SHARE = 5, 1, 4


@dataclass(kw_only=True, eq=False, repr=False)
class KMeans(Priced):
    """Cluster rows around `n_clusters` centres, which alone are released.

    "lloyd" is the algorithm of Lloyd with noise: in each round every row belongs to the nearest centre (of equally near
    ones to the first), and each centre moves to a noisy sum over a noisy count, cut to the bounds and the ball; it
    stays where the noisy count is below 1. A cluster without rows is handled like any other. It starts at points drawn
    uniformly within the bounds, or at `start`. "grid" spends half the price on noisy counts of a grid (of more than 4
    features, of 4 random directions), finds the start by ordinary k-means on its cells, and goes on as "lloyd". Epsilon
    alone buys Laplace noise on rows in the l1 ball; epsilon with delta, or rho, Gaussian noise in the l2 ball.

    Args:
        bounds: a pair (lower, upper) for all features, or a list with one pair for each; features are not scaled.
        n_clusters: the number of centres.
        epsilon, delta, rho, relation: the price of the fit, as in `StandardScaler`.
        method: "grid" or "lloyd".
        rounds: of Lloyd; by default 5. After a grid 1; with more than 4 features, of which the grid covers 4
            directions, one more for Gaussian noise, and one more from epsilon 2 or rho 1/10 on.
        radius: rows are cut to the ball of this radius around the middle of the bounds; by default one that holds all.
        start: public centres to start "lloyd" at.

    Guarantee: `cost_`, the composition of all noises. One row is in one cell and in one cluster, so it moves
        counts by 1 and sums by the radius, and under replace twice as far in l1; assignments read released centres.
        Half of the price of a round of "lloyd" buys counts, as in the lectures: epsilon' = epsilon / (2 rounds).
    Source: Blum, Dwork, McSherry, Nissim (2005); McSherry (2009); Su, Cao, Li, Bertino, Jin (2016), arXiv:1504.05998,
        who also start from a grid; Balcan, Dick, Liang, Mou, Zhang (2017) for projections.

    >>> from deniable.learning import KMeans
    >>> model = KMeans(n_clusters=2, bounds=[(0, 10)], epsilon=1).fit([[2.0], [8.0]] * 2000)
    >>> sorted(model.cluster_centers_.round().ravel().tolist())
    [2.0, 8.0]
    """

    n_clusters: int
    bounds: Bounds
    method: Literal["grid", "lloyd"] = "grid"
    rounds: int | None = None
    radius: Real | None = None
    start: Sequence[Sequence[float]] | Floats | None = None
    cluster_centers_: Floats = field(init=False)
    _features: Features = field(init=False)

    def predict(self, X: Container) -> Integers:
        """Return the index of the nearest centre of each row: private on private rows.

        Args:
            X: rows, of shape (rows, features).
        """
        self._check_fitted(X)
        with silence():
            return nearest(self._features.cut(X), self.cluster_centers_)

    def _planned(self, X: Container, y: Container | None) -> Work:
        price = Price.of(self.epsilon, self.delta, self.rho)
        relation = Relation.checked(self.relation)
        if self.method not in ("grid", "lloyd"):
            raise InvalidParameterError(f'method must be "grid" or "lloyd", got {shown(self.method)}')
        same_length(X, X)
        features = Features.of(self.bounds, X)
        clusters = whole_number("n_clusters", self.n_clusters, lower=1)
        pure = price.rho is None and not price.delta
        rounds = self._rounds(price, features.count)
        start = None if self.start is None else self._started(clusters, features)
        half = _half_widths(features)
        space = _Space(features=features, half=half, radius=self._radius(half, pure=pure), pure=pure)
        sensitivities, weights = self._releases(clusters, half.size, rounds, pure=pure, relation=relation)
        noises = price.noises(sensitivities, weights)
        loss = compose(
            noise.privacy_loss(sensitivity) for noise, sensitivity in zip(noises, sensitivities, strict=True)
        )

        def train(bits: Bits) -> dict[str, Any]:
            whole = space.integers(X)
            points = np.asarray(whole * space.unit, dtype=np.float64)
            of_rounds = list(noises)
            if self.method == "grid":
                centres = _from_grid(points, half, clusters, of_rounds.pop(0), bits)
            elif start is None:
                centres = (2 * simulation.uniforms((clusters, len(half)), bits=bits) - 1) * half
            else:
                centres = start - space.middle
            path = _noisy_path(whole, points, centres, space=space, noises=of_rounds, bits=bits)
            centres = np.array([space.projected(each) for each in path]) + space.middle
            return {
                "cluster_centers_": centres[-1],
                "path_": centres,
                "n_features_in_": len(half),
                "_features": features,
            }

        began = "noisy counts of a grid, then " if self.method == "grid" else ""
        how = f"{began}Lloyd (rounds: {rounds}), {type(noises[-1]).__name__} noise on sums and counts of {clusters}."
        return self._work(how, price.stated(loss), train)

    def _rounds(self, price: Price, features: int) -> int:
        """Return the number of rounds of Lloyd."""
        if self.rounds is not None:
            return whole_number("rounds", self.rounds, lower=1)
        if self.method == "lloyd":
            return 5
        if features <= _MAX_AXES:
            return 1
        gaussian = price.rho is not None or bool(price.delta)
        accurate = (price.epsilon or 0) >= 2 or (price.rho or 0) >= _LARGE_RHO
        return 1 + gaussian + accurate

    def _radius(self, half: Floats, *, pure: bool) -> float:
        """Return the radius of the ball of rows.

        By default one that holds the bounds, in the l1 or the l2 norm.
        """
        holds = half.sum() if pure else np.sqrt((half**2).sum())
        return float(holds if self.radius is None else positive_rational("radius", self.radius))

    def _releases(
        self, clusters: int, features: int, rounds: int, *, pure: bool, relation: Relation
    ) -> tuple[list[Sensitivity], list[int]]:
        """Return the sensitivity of each release, and its share of the price."""
        of_sum = of_l1_ball_sum if pure else of_ball_sum
        counting = of_count(rows=1, groups=1, cells=clusters, relation=relation)
        summing = of_sum(radius=_LATTICE_STEPS, dimensions=clusters * features, rows=1, relation=relation)
        if self.method == "lloyd":
            weights = [1, 1] * rounds
            return [counting, summing] * rounds, weights
        axes = min(features, _MAX_AXES)
        grid = of_count(rows=1, groups=1, cells=_BINS[axes] ** axes, relation=relation)
        weights = [_GRID_SHARE * rounds, *[_COUNT_SHARE, _SUM_SHARE] * rounds]
        return [grid, *[counting, summing] * rounds], weights

    def _started(self, clusters: int, features: Features) -> Floats:
        """Return the public centres at which Lloyd's algorithm starts."""
        start, _ = table(self.start, "start", columns=features.count)
        if start.shape != (clusters, features.count) or not np.isfinite(start).all() or self.method == "grid":
            raise InvalidParameterError(f"start must be {clusters} points of finite numbers, for method='lloyd' alone")
        return start


@dataclass(frozen=True, kw_only=True, eq=False)
class _Space:
    """The ball in which rows and centres lie, around the middle of the bounds.

    Args:
        features: of the rows.
        half: half of the widths of the bounds.
        radius: of the ball.
        pure: whether the ball is that of the l1 norm, for Laplace noise, and not of the l2 norm.
    """

    features: Features
    half: Floats
    radius: float
    pure: bool

    @property
    def middle(self) -> Floats:
        """Middle of the bounds."""
        return self.features.lower + self.half

    @property
    def unit(self) -> float:
        """One lattice step."""
        return self.radius / _LATTICE_STEPS

    def integers(self, X: Container) -> Integers:
        """Return rows relative to the middle, cut to the ball, in lattice steps."""
        return clipped(self.features.cut(X) - self.middle, radius=self.radius, steps=_LATTICE_STEPS, l1=self.pure)

    def projected(self, centres: Floats) -> Floats:
        """Return centres relative to the middle, within the bounds and the ball."""
        ball = (L1Ball if self.pure else L2Ball)(radius=self.radius, columns=len(self.half))  # type: ignore[arg-type]
        return np.array([ball.project(np.clip(centre, -self.half, self.half)) for centre in centres])


def _half_widths(features: Features) -> Floats:
    """Return half of the widths of the bounds.

    Raises: InvalidParameterError if floats cannot hold what is computed from them.
    """
    half: Floats = features.upper / 2 - features.lower / 2
    if half.min() < 1e-100 or np.abs([features.lower, features.upper]).max() > 1e100:
        raise InvalidParameterError("bounds must be 1e-100 apart and at most 1e100 in size. Use another unit.")
    return half


def nearest(points: Floats, centres: Floats) -> Integers:
    """Return the index of the nearest centre of each point.

    Of equally near ones the first.
    """
    return np.asarray(np.argmin([squared_norms(points - centre) for centre in centres], axis=0))


def totals(whole: Integers, cluster_of_row: Integers, clusters: int) -> tuple[Integers, Integers]:
    """Return the number of rows of each cluster, and their sum: exact, secret.

    Shape (clusters,) and (clusters, columns).
    """
    sums = np.array([whole[cluster_of_row == cluster].sum(axis=0) for cluster in range(clusters)])
    return np.bincount(cluster_of_row, minlength=clusters), sums


def _noisy_path(
    whole: Integers, points: Floats, centres: Floats, *, space: _Space, noises: Sequence[AdditiveNoise], bits: Bits
) -> list[Floats]:
    """Return the centres before and after each round of Lloyd's algorithm.

    Rounds use noisy counts and sums.

    Args:
        whole: private rows in lattice steps, shape (rows, features).
        points: the same rows as floats, relative to the middle.
        centres: at the start, relative to the middle.
        space: of rows and centres.
        noises: of the counts and the sums of each round, in turn.
        bits: randomness.
    """
    path = [centres]
    for of_counts, of_sums in zip(noises[::2], noises[1::2], strict=True):
        exact = totals(whole, nearest(points, path[-1]), len(centres))
        counts = of_counts.release(exact[0], bits=bits).value.astype(np.float64)[:, np.newaxis]
        sums = of_sums.release(exact[1], bits=bits).value.astype(np.float64)
        means = space.projected(sums * space.unit / np.maximum(counts, 1.0))
        path.append(np.where(counts >= 1, means, path[-1]))
    return path


def _from_grid(points: Floats, half: Floats, clusters: int, noise: AdditiveNoise, bits: Bits) -> Floats:
    """Return centres from noisy counts of cells along up to four axes.

    Directions are orthonormal, so a point is nearest to the same centre in all dimensions as along the axes.
    """
    axes = min(half.size, _MAX_AXES)
    bins = _BINS[axes]
    extent = half
    directions = np.eye(axes)
    if half.size > axes:  # nearly all points stay within twice their spread
        extent = np.full(axes, 2 * np.sqrt((half**2).mean()))
        directions = np.linalg.qr(simulation.normals((half.size, axes), bits=bits))[0].T
    cell = np.floor((products(points, directions) / extent + 1) * (bins / 2))
    codes = np.clip(cell, 0, bins - 1).astype(np.int64) @ bins ** np.arange(axes)
    noisy = noise.release(np.bincount(codes, minlength=bins**axes), bits=bits).value.astype(np.float64)
    threshold = float(noise.half_width(1 - 1 / bins**axes))  # a cell without rows is rarely above it
    kept = np.argsort(-noisy, kind="stable")[: max(clusters, int((noisy > threshold).sum()))]
    middles = ((kept[:, np.newaxis] // bins ** np.arange(axes)) % bins + 0.5) * (2 / bins) - 1
    return products(_weighted(middles * extent, np.maximum(noisy[kept], 1.0), clusters, bits), directions.T)


def _weighted(points: Floats, weights: Floats, clusters: int, bits: Bits) -> Floats:
    """Return the best centres of several runs of k-means++ on weighted points.

    The points are public.
    """
    best = points[:0]
    lowest_cost = np.inf
    for draws in simulation.uniforms((_RESTARTS, clusters), bits=bits):
        centres = _improved(points, weights, points[_seeds(points, weights, draws)])
        distances = np.min([squared_norms(points - centre) for centre in centres], axis=0)
        cost = float((weights * distances).sum())
        if cost < lowest_cost:
            best, lowest_cost = centres, cost
    return best


def _seeds(points: Floats, weights: Floats, draws: Floats) -> list[int]:
    """Choose points by k-means++, one for each uniform draw.

    Far ones are chosen with the greater probability.
    """
    chosen: list[int] = []
    distances = np.ones(len(points))
    for draw in draws:
        masses = distances * weights
        cumulated = np.cumsum(masses if masses.any() else weights)
        chosen.append(int(np.searchsorted(cumulated, draw * cumulated[-1])))
        to_last = squared_norms(points - points[chosen[-1]])
        distances = to_last if len(chosen) == 1 else np.minimum(distances, to_last)
    return chosen


def _improved(points: Floats, weights: Floats, centres: Floats) -> Floats:
    """Return centres after iterations of Lloyd's algorithm on weighted points.

    The points are public.
    """
    clusters = len(centres)
    for _ in range(_ITERATIONS):
        cluster_of_point = nearest(points, centres)
        mass = np.bincount(cluster_of_point, weights=weights, minlength=clusters)
        columns = [np.bincount(cluster_of_point, weights=weights * line, minlength=clusters) for line in points.T]
        means = np.array(columns).T / np.maximum(mass, 1.0)[:, np.newaxis]
        centres = np.where(mass[:, np.newaxis] > 0, means, centres)
    return centres
